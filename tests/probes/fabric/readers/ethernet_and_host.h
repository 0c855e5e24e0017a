// What the table over the handed fixtures is made of: each row runs a reader and says in one line what came out.
#ifndef RAILWITNESS_TESTS_PROBES_FABRIC_READERS_ETHERNET_AND_HOST_H_
#define RAILWITNESS_TESTS_PROBES_FABRIC_READERS_ETHERNET_AND_HOST_H_

#include <string>
#include <string_view>
#include <vector>

namespace railwitness::fabric {

struct FixtureRow {
  std::string file;      // below the folder, as LOG.tsv names it
  std::string expected;  // what LOG.tsv concludes, in the words of `see`
  std::string (*see)(std::string_view name, std::string_view bytes);
};

std::vector<FixtureRow> rows_of_lldp();
std::vector<FixtureRow> rows_of_fabric_managers();  // netq, ufm_json, ufm_events, inventory_csv
std::vector<FixtureRow> rows_of_slurm();
std::vector<FixtureRow> rows_of_hosts();  // nccl_topo_xml, nvidia_smi_topo
std::vector<FixtureRow> rows_of_ports();  // ethtool_S, gid_table, mlxlink, rdma_json, switch_syslog

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_TESTS_PROBES_FABRIC_READERS_ETHERNET_AND_HOST_H_
