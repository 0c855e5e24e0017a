// `railwitness fabric` and `railwitness ports`: files of tools and a plan to one map, its findings, and who is plugged in where.
#ifndef RAILWITNESS_PROBES_CLI_FABRIC_H_
#define RAILWITNESS_PROBES_CLI_FABRIC_H_

#include <string>
#include <vector>

namespace railwitness::cli {

struct FabricOptions {
  std::vector<std::string> files;  // PATH, HOST=PATH, or - for standard input
  std::string kind;                // of all files; empty: by the shape of each
  std::string plan;                // empty: none
  std::string state;               // file of the memory; empty: none
  std::string svg, html;           // where to write pictures; empty: nowhere
  bool json = false;
};

struct PortsOptions {
  std::vector<std::string> words;  // a host first, if the first word is no file
  std::string kind, state;
  bool json = false;
};

struct Answer;
Answer run_fabric(const FabricOptions& options);
Answer run_ports(const PortsOptions& options);

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_FABRIC_H_
