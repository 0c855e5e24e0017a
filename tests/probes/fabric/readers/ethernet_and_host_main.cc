// Reads every fixture of the Ethernet and host kinds in the folder RAILWITNESS_TEST_FIXTURES and compares what the
// readers say with what its LOG.tsv concludes. Exit 77 without that folder.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "probes/fabric/readers/text.h"
#include "tests/probes/fabric/readers/ethernet_and_host.h"

namespace railwitness::fabric {
namespace {

const std::set<std::string_view> kKinds{
    "lldp",      "netq",      "ufm_json", "ufm_events",      "slurm_topology", "nccl_topo_xml", "rdma_json",
    "gid_table", "ethtool_S", "mlxlink",  "nvidia_smi_topo", "inventory_csv",  "switch_syslog"};

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

std::map<std::string, FixtureRow> table() {
  std::map<std::string, FixtureRow> out;
  for (const auto& rows :
       {rows_of_lldp(), rows_of_fabric_managers(), rows_of_slurm(), rows_of_hosts(), rows_of_ports()}) {
    for (const FixtureRow& row : rows) out[row.file] = row;
  }
  return out;
}

int run(const std::filesystem::path& folder) {
  const std::map<std::string, FixtureRow> rows = table();
  const std::string log = contents(folder / "LOG.tsv");
  size_t right = 0, all = 0;
  Lines lines(log);
  for (std::string_view line; lines.next(line);) {
    const std::string file(take_until(line, "\t"));
    if (!kKinds.contains(take_until(line, "\t"))) continue;
    ++all;
    const auto row = rows.find(file);
    const std::string expected = row == rows.end() ? "a row of this table" : row->second.expected;
    const std::string seen =
        row == rows.end() ? "none"
                          : row->second.see(std::filesystem::path(file).filename().string(), contents(folder / file));
    right += seen == expected ? 1 : 0;
    std::cout << file << (seen == expected ? "" : "  WRONG") << "\n  expected " << expected << "\n  seen     " << seen
              << "\n";
  }
  std::cout << "fixtures_ethernet_and_host: " << right << " of " << all << " right\n";
  return right == all && all > 0 ? 0 : 1;
}

}  // namespace
}  // namespace railwitness::fabric

int main() {
  const char* folder = std::getenv("RAILWITNESS_TEST_FIXTURES");
  if (folder == nullptr) {
    std::cout << "not run: RAILWITNESS_TEST_FIXTURES names no folder\n";
    return 77;
  }
  return railwitness::fabric::run(folder);
}
