// `rdma dev`, `rdma link`, `rdma res`, `rdma res show qp` and `rdma statistic`, as JSON (-j) and as text.
//
// Source: rdma(8) of iproute2 5.x to 6.1. One input may hold several answers, in both forms, one after the other: each
// is known by its members.
//
// Refused, with the line: an element without ifname, JSON that ends too early, a line of none of the forms.
// Tolerated: any device names (mlx5_0, bnxt_re0, rdmap0s31, rxe_h0r0) and any counters, kept under their names; node
// types "ca" and "RNIC"; GUIDs in groups or with 0x; counters one a line (-p) or in one line. A port that is ACTIVE
// says nothing of the far end: its own device stays so when the peer's port goes down.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_RDMA_JSON_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_RDMA_JSON_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/rdma_facts.h"

namespace railwitness::fabric {

absl::StatusOr<model::RdmaFacts> read_rdma_json(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_RDMA_JSON_H_
