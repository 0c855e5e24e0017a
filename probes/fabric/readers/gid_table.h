// `show_gids`: the GIDs of a host's RDMA ports.
//
// Source: the script of MLNX_OFED / DOCA and of rdma-core's packages (columns DEV PORT INDEX GID IPv4 VER DEV).
//
// Refused, with the line: no head "DEV PORT INDEX GID ...", a row whose port, index, GID or version is none.
// Tolerated: an empty IPv4 column, an index that does not begin at 0, no netdev, rows cut from the table, prompts
// around it. Told: a count at the end that is not that of the rows.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_GID_TABLE_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_GID_TABLE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "probes/model/gid_facts.h"

namespace railwitness::fabric {

absl::StatusOr<model::GidFacts> read_gid_table(std::string_view file_name, std::string_view bytes);

// Indices of a port that RoCE v2 can be routed with, those that carry an IPv4 address first: what NCCL_IB_GID_INDEX may
// be.
std::vector<uint32_t> routable_roce_v2(const model::GidFacts& facts, std::string_view device, uint32_t port);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_GID_TABLE_H_
