// What strangers wrote, fit to be shown. Pure.
#ifndef RAILWITNESS_PROBES_MODEL_PRINTABLE_H_
#define RAILWITNESS_PROBES_MODEL_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace railwitness::model {

// What a stranger wrote, fit for a terminal: control characters (C0, DEL, C1) become '?', `max_bytes` at most, never
// cut inside a character.
std::string printable(std::string_view text, size_t max_bytes);

// What a program says of its failure: ": " and the last line of `errors`, its standard error; empty if it said nothing.
std::string last_error_line(std::string_view errors);

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_PRINTABLE_H_
