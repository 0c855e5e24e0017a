// A cable plan out of a spreadsheet: UFM's NDT, CSV with StartDevice, StartPort, EndDevice and EndPort.
//
// Source: NVIDIA's UFM NDT plugin (.ndt), read through libcsv (RFC 4180); commas, semicolons or tabs.
//
// Refused, with the line: a head without one of those four columns, broken quoting, no cable at all.
// Tolerated: columns in any order, without name or with one that another has too (the first is taken), "#Fields:" or
// "#" before the first, further columns and summaries beside the table, rows without a start and an end. Told: rows
// that lack one of the four, ports that are planned twice, and devices that are named by their place ("Server 1 IB Port
// 1" in a rack): no host name is in such a plan, so that its ports match those of hosts through a list of places and
// host names only.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_INVENTORY_CSV_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_INVENTORY_CSV_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

// is_plan. Ports are labelled as the plan says ("Port 21", "Blade 1_Port 1/1"); "Port 21" and "21" have the number 21, too.
// Hosts' NICs are named as InfiniBand describes them, by host and NIC: StartDevice "node-05 mlx5_4", StartPort "1"; or
// "node-05" and "mlx5_4", or "mlx5_4/1".
absl::StatusOr<model::FabricFacts> read_inventory_csv(std::string_view file_name, std::string_view bytes);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_INVENTORY_CSV_H_
