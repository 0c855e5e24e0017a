// What the environment of a subcommand says that nobody obeys, by the one table of variables (base/knobs.h).
#ifndef RAILWITNESS_PROBES_CLI_VARIABLES_H_
#define RAILWITNESS_PROBES_CLI_VARIABLES_H_

#include <string>
#include <vector>

namespace railwitness::cli {

// A sentence for each name that begins as ours do, or nearly, and is none. `environment` ends with a null.
std::vector<std::string> unknown_variables(const char* const* environment);

// What is wrong with the value that this process has for `name`; empty if nothing is, or it is not set.
std::string wrong_value(const std::string& name);

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_VARIABLES_H_
