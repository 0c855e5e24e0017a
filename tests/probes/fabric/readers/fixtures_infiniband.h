// Rows of the table that fixtures_infiniband runs, and what their conclusions are told with.
#ifndef RAILWITNESS_TESTS_PROBES_FABRIC_READERS_FIXTURES_INFINIBAND_H_
#define RAILWITNESS_TESTS_PROBES_FABRIC_READERS_FIXTURES_INFINIBAND_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

struct Row {
  std::string file;  // below the folder of fixtures
  absl::StatusOr<model::FabricFacts> (*read)(std::string_view, std::string_view);
  std::string expected;
  std::function<std::string(const model::FabricFacts&)> see;
};

std::vector<Row> rows();
std::vector<Row> rows_of_maps();      // ibnetdiscover, iblinkinfo, ibdiagnet
std::vector<Row> rows_of_counters();  // ibqueryerrors, perfquery, sysfs
std::vector<Row> rows_of_hosts();     // ibstat, ibswinfo

// "2 switches, 3 CAs of which 1 aggregation; 4 links, 1 between switches, 0 one-sided": nodes with a record of their own.
std::string counts(const model::FabricFacts& facts);
// "4x106250 x 268, 1x106250 x 2": ports that are up, by lanes and Mb/s of a lane.
std::string speeds(const model::FabricFacts& facts);
// "1: 6, 2: 263": pairs of switches by the number of their links; loops are "loop: N".
std::string parallel_links(const model::FabricFacts& facts);
// "3: 11, 4: 128": named hosts by the number of their NICs.
std::string nics_of_hosts(const model::FabricFacts& facts);
// "leaf-r1 3 - node-03 mlx5_0 1 (4x106250)", sorted, one a link.
std::vector<std::string> links(const model::FabricFacts& facts);
std::string remarks(const model::FabricFacts& facts, std::string_view word);  // those with `word`, joined
// "name/port counter=value+ ...": counters that are not zero and not of data, '+': saturated.
std::string errors(const model::FabricFacts& facts);
const model::FabricPort* port_of(const model::FabricFacts& facts, std::string_view device, uint32_t number);
std::string short_name(const model::FabricFacts& facts, size_t device);  // "leaf-r1" of "MF0;leaf-r1:MQM9700/U1"

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_TESTS_PROBES_FABRIC_READERS_FIXTURES_INFINIBAND_H_
