// The program: command line in, exit code out.
#ifndef RAILWITNESS_PROBES_CLI_RUN_H_
#define RAILWITNESS_PROBES_CLI_RUN_H_

#include <string>
#include <vector>

namespace railwitness::cli {

// `arguments` without the program's name. Installs handlers of SIGINT and SIGTERM.
int run(const std::vector<std::string>& arguments);

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_RUN_H_
