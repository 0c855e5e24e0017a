#include "probes/model/words.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstddef>

namespace railwitness::model {
namespace {

using Words = std::string_view;

constexpr std::array<Words, 13> kClasses = {"NONE",      "WAIT",      "LINK",     "SWITCH",       "CONGESTION",
                                            "RANK_DEAD", "RANK_HUNG", "GPU_HANG", "APP_MISMATCH", "STRAGGLER",
                                            "SOFTWARE",  "CONFIG",    "UNKNOWN"};
constexpr std::array<Words, 5> kIncidentStates = {"suspected", "confirmed", "recovered", "closed", "withdrawn"};
constexpr std::array<Words, 5> kComponentKinds = {"node", "rank", "edge", "switch", "gpu"};
constexpr std::array<Words, 7> kProcessStates = {"unknown", "running", "sleeping", "disk_sleep",
                                                 "stopped", "zombie",  "gone"};
constexpr std::array<Words, 3> kDirections = {"unknown", "send", "recv"};
constexpr std::array<Words, 4> kRoles = {"unknown", "data", "cts", "flush"};
constexpr std::array<Words, 6> kAttaches = {"none", "stub", "late", "table", "chain", "ofi"};
constexpr std::array<Words, 2> kRailKinds = {"verbs", "netdev"};

static_assert(kClasses.size() == static_cast<size_t>(Class::kUnknown) + 1);
static_assert(kIncidentStates.size() == static_cast<size_t>(IncidentState::kWithdrawn) + 1);
static_assert(kComponentKinds.size() == static_cast<size_t>(ComponentKind::kGpu) + 1);
static_assert(kProcessStates.size() == static_cast<size_t>(ProcessState::kGone) + 1);
static_assert(kDirections.size() == static_cast<size_t>(Direction::kRecv) + 1);
static_assert(kRoles.size() == static_cast<size_t>(Role::kFlush) + 1);
static_assert(kAttaches.size() == static_cast<size_t>(Attach::kOfi) + 1);
static_assert(kRailKinds.size() == static_cast<size_t>(RailKind::kNetdev) + 1);

template <class Enum, size_t N>
Words word_of(const std::array<Words, N>& words, Enum value) {
  const auto index = static_cast<size_t>(value);
  return index < N ? words[index] : words[0];
}

template <class Enum, size_t N>
void value_of(const std::array<Words, N>& words, Words text, Enum& value) {
  value = Enum{};
  for (size_t i = 0; i < N; ++i) {
    if (words[i] == text) value = static_cast<Enum>(i);
  }
}

}  // namespace

std::string_view word(Class value) {
  return word_of(kClasses, value);
}
std::string_view word(IncidentState value) {
  return word_of(kIncidentStates, value);
}
std::string_view word(ComponentKind value) {
  return word_of(kComponentKinds, value);
}
std::string_view word(ProcessState value) {
  return word_of(kProcessStates, value);
}
std::string_view word(Direction value) {
  return word_of(kDirections, value);
}
std::string_view word(Role value) {
  return word_of(kRoles, value);
}
std::string_view word(Attach value) {
  return word_of(kAttaches, value);
}
std::string_view word(RailKind value) {
  return word_of(kRailKinds, value);
}

void from_word(std::string_view text, ProcessState& value) {
  value_of(kProcessStates, text, value);
}
void from_word(std::string_view text, Direction& value) {
  value_of(kDirections, text, value);
}
void from_word(std::string_view text, Role& value) {
  value_of(kRoles, text, value);
}
void from_word(std::string_view text, Attach& value) {
  value_of(kAttaches, text, value);
}
void from_word(std::string_view text, RailKind& value) {
  value_of(kRailKinds, text, value);
}

std::string gid_text(const std::array<uint8_t, 16>& gid) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < gid.size(); ++i) {
    if (i != 0 && i % 2 == 0) text.push_back(':');
    text.push_back(kDigits[gid[i] >> 4]);
    text.push_back(kDigits[gid[i] & 15]);
  }
  return text;
}

std::optional<std::string> ipv4_text(const std::string& gid) {
  in6_addr address{};
  char text[INET_ADDRSTRLEN] = {};
  if (inet_pton(AF_INET6, gid.c_str(), &address) == 1 && IN6_IS_ADDR_V4MAPPED(&address) &&
      inet_ntop(AF_INET, &address.s6_addr[12], text, sizeof(text)) != nullptr) {
    return text;
  }
  return std::nullopt;
}

std::string address_text(const std::string& gid) {
  return ipv4_text(gid).value_or("gid " + gid);
}

}  // namespace railwitness::model
