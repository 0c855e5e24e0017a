// The words of docs/verdicts.md for the enums of the model, and back.
#ifndef RAILWITNESS_PROBES_MODEL_WORDS_H_
#define RAILWITNESS_PROBES_MODEL_WORDS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "probes/model/facts.h"
#include "probes/model/incident.h"

namespace railwitness::model {

std::string_view word(Class value);  // "LINK"
std::string_view word(IncidentState value);
std::string_view word(ComponentKind value);
std::string_view word(ProcessState value);
std::string_view word(Direction value);
std::string_view word(Role value);
std::string_view word(Attach value);
std::string_view word(RailKind value);

// An address as facts spell it: eight groups of four hexadecimal digits.
std::string gid_text(const std::array<uint8_t, 16>& gid);

// The IPv4 address whose GID this is (RoCE v2), "10.0.0.4"; nothing of another GID.
std::optional<std::string> ipv4_text(const std::string& gid);

// A port's address for people: "10.0.0.4" where there is one, else "gid fe80:...".
std::string address_text(const std::string& gid);

// A word that is not known, of a later version perhaps, is the enum's first value: not known.
void from_word(std::string_view text, ProcessState& value);
void from_word(std::string_view text, Direction& value);
void from_word(std::string_view text, Role& value);
void from_word(std::string_view text, Attach& value);
void from_word(std::string_view text, RailKind& value);

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_WORDS_H_
