#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "probes/fabric/readers/ibqueryerrors.h"
#include "probes/fabric/readers/perfquery.h"
#include "probes/fabric/readers/sysfs_infiniband.h"
#include "tests/probes/fabric/readers/fixtures_infiniband.h"

namespace railwitness::fabric {
namespace {

using model::FabricFacts;

std::string value_of(const model::FabricPort& port, const std::string& counter) {
  const auto known = port.counters.find(counter);
  if (known == port.counters.end()) return absl::StrCat(counter, " unknown");
  return absl::StrCat(counter, " ", known->second.value, known->second.saturated ? "+" : "");
}

// Of each port, the named counters.
std::string values(const FabricFacts& facts, const std::vector<std::string>& counters) {
  std::vector<std::string> all;
  for (const auto& port : facts.ports) {
    if (port.line == 0) continue;
    std::vector<std::string> of_port;
    for (const std::string& counter : counters) of_port.push_back(value_of(port, counter));
    all.push_back(absl::StrCat(port.number, ": ", absl::StrJoin(of_port, ", ")));
  }
  return absl::StrJoin(all, "; ");
}

constexpr const char* kErrorsOfGenA =
    "leaf-r1/1 PortRcvSwitchRelayErrors=3; leaf-r1/38 SymbolErrorCounter=912; leaf-r4/3 LinkDownedCounter=255+ "
    "LinkErrorRecoveryCounter=17 SymbolErrorCounter=65535+; node-04 mlx5_5/1 LocalLinkIntegrityErrors=15+ PortRcvErrors=120; "
    "spine-1/5 PortXmitDiscards=48233 PortXmitWait=4294967295+";

void add_ibqueryerrors(std::vector<Row>& all) {
  const auto add = [&](std::string_view file, std::string expected, auto see) {
    all.push_back({absl::StrCat("ibqueryerrors/", std::string(file)), read_ibqueryerrors, std::move(expected), see});
  };
  add("data-counters-with-link-info.txt",
      "errors: ; 1: PortXmitData 19892634015130, PortRcvData 15567487854894; 2: PortXmitData 19182100903731, PortRcvData "
      "14084187130334; l-2-3 IS5030 23 - site-router-2 HCA-1 2 (4x10000); l-2-3 IS5030 34 - site-router-2 HCA-1 1 (4x10000); "
      "e41d2d03007c1820, 0002c90200429160",
      [](const FabricFacts& facts) {
        return absl::StrCat("errors: ", errors(facts), "; ", values(facts, {"PortXmitData", "PortRcvData"}), "; ",
                            absl::StrJoin(links(facts), "; "), "; ", facts.devices.at(0).guid, ", ", facts.devices.at(1).guid);
      });
  const std::string summary =
      "; 5 ports; 14: 83 nodes checked, 4 bad nodes found; 15: 854 ports checked, 5 ports have errors beyond threshold";
  const auto with_summary = [](const FabricFacts& facts) {
    return absl::StrCat(errors(facts), "; ", facts.ports.size(), " ports; ", remarks(facts, ""));
  };
  add("gen-A-counters.txt", kErrorsOfGenA + summary, with_summary);
  add("gen-A-counters.details-data.txt", absl::StrCat(kErrorsOfGenA, summary, "; leaf-r4 3 PortXmitData 2160"),
      [=](const FabricFacts& facts) {
        const auto* port = port_of(facts, "leaf-r4", 3);
        return absl::StrCat(with_summary(facts), "; leaf-r4 3 ", port == nullptr ? "" : value_of(*port, "PortXmitData"));
      });
  add("gen-H0-none.txt",
      "; 0 ports; 2: 84 nodes checked, 0 bad nodes found; 3: 852 ports checked, 0 ports have errors beyond threshold", with_summary);
}

void add_perfquery(std::vector<Row>& all) {
  const auto add = [&](std::string_view file, std::string expected, const std::vector<std::string>& counters) {
    all.push_back({absl::StrCat("perfquery/", std::string(file)), read_perfquery, std::move(expected), [=](const FabricFacts& facts) {
                     return absl::StrCat(facts.devices.at(0).guid, " lid ", facts.devices[0].lid.value_or(0), "; ",
                                         values(facts, counters));
                   }});
  };
  add("0x506b4b03005c2740.out",
      "506b4b03005c2740 lid 2052; 1: PortXmitData 178791657177235, LinkDownedCounter 1, PortRcvSwitchRelayErrors 7, "
      "PortXmitDiscards 20046, PortXmitWait 41864608, QP1Dropped 0, CounterSelect unknown",
      {"PortXmitData", "LinkDownedCounter", "PortRcvSwitchRelayErrors", "PortXmitDiscards", "PortXmitWait", "QP1Dropped", "CounterSelect"});
  add("0x7cfe9003009ce5b0.out",
      "7cfe9003009ce5b0 lid 1719; 1: PortRcvData 12279028775751, PortXmitWait 22730501; 2: PortRcvData 39078804993378, PortXmitWait "
      "36510964",
      {"PortRcvData", "PortXmitWait"});
  add("rcv-error-0x7cfe9003009ce5b0-1.out",
      "7cfe9003009ce5b0 lid 1719; 1: PortLocalPhysicalErrors 0, PortBufferOverrunErrors 0, PortRcvErrors unknown",
      {"PortLocalPhysicalErrors", "PortBufferOverrunErrors", "PortRcvErrors"});
}

// "mlx5_0/1 up InfiniBand 400000 4x106250" of each port.
std::string ports(const FabricFacts& facts) {
  static const char* kStates[] = {"unknown", "up", "down", "disabled", "training"};
  std::vector<std::string> all;
  for (const auto& port : facts.ports) {
    all.push_back(absl::StrCat(facts.devices[port.device].nic, "/", port.number, " ", kStates[static_cast<int>(port.state)], " ",
                               port.link_layer, " ", port.rate_mbps.value_or(0), " ", port.lanes.value_or(0), "x",
                               port.lane_mbps.value_or(0)));
  }
  return absl::StrJoin(all, ", ");
}

size_t counters_below(const FabricFacts& facts, bool hw) {
  size_t all = 0;
  for (const auto& port : facts.ports) {
    all += static_cast<size_t>(std::count_if(port.counters.begin(), port.counters.end(), [=](const auto& counter) {
      return counter.first.starts_with("hw_counters/") == hw;
    }));
  }
  return all;
}

void add_sysfs(std::vector<Row>& all) {
  const auto add = [&](std::string_view file, std::string expected, const std::vector<std::string>& counters) {
    all.push_back({absl::StrCat("sysfs_infiniband/", std::string(file)), read_sysfs_infiniband, std::move(expected),
                   [=](const FabricFacts& facts) {
                     return absl::StrCat(ports(facts), "; ", counters_below(facts, false), " counters, ", counters_below(facts, true),
                                         " of hardware; ", values(facts, counters), "; ", remarks(facts, ""));
                   }});
  };
  add("efa-hw_counters-grep.txt",
      "rdmap0s31/1 unknown  0 0x0; 0 counters, 22 of hardware; 1: hw_counters/unresponsive_remote_events 2, "
      "hw_counters/impaired_remote_conn_events 3, hw_counters/retrans_timeout_events 1, hw_counters/rdma_write_wr_err 4, "
      "hw_counters/rdma_read_wr_err 5, hw_counters/rx_drops 7, link_downed unknown; ",
      {"hw_counters/unresponsive_remote_events", "hw_counters/impaired_remote_conn_events", "hw_counters/retrans_timeout_events",
       "hw_counters/rdma_write_wr_err", "hw_counters/rdma_read_wr_err", "hw_counters/rx_drops", "link_downed"});
  add("gen-rxe-all-grep.txt",
      "rxe_h0r0/1 up Ethernet 10000 0x0; 0 counters, 15 of hardware; 1: link_downed unknown, symbol_error unknown, "
      "hw_counters/link_downed 0; ",
      {"link_downed", "symbol_error", "hw_counters/link_downed"});
  add("irdma-hw_counters-grep.txt",
      "irdma0/1 unknown  0 0x0; 0 counters, 17 of hardware; 1: hw_counters/cnpSent 90122, hw_counters/cnpHandled 88101, "
      "hw_counters/ip4InDiscards 0; ",
      {"hw_counters/cnpSent", "hw_counters/cnpHandled", "hw_counters/ip4InDiscards"});
  add("procfs-hfi1_0-grep.txt",
      "hfi1_0/1 up InfiniBand 100000 4x25781; 17 counters, 0 of hardware; 1: symbol_error 0, link_downed 0, unicast_rcv_packets "
      "unknown; ",
      {"symbol_error", "link_downed", "unicast_rcv_packets"});
  add("procfs-mlx5_0-grep.txt",
      "mlx5_0/1 up InfiniBand 25000 1x25781; 21 counters, 24 of hardware; 1: hw_counters/local_ack_timeout_err 131, "
      "hw_counters/duplicate_request 41, hw_counters/packet_seq_err 1; 52: phys_state reads \"4: ACTIVE\", which is no state of "
      "the kernel: not believed",
      {"hw_counters/local_ack_timeout_err", "hw_counters/duplicate_request", "hw_counters/packet_seq_err"});
  all.push_back({"sysfs_infiniband/h100-8xcx7-bond-grep.txt", read_sysfs_infiniband,
                 "8 NDR; mlx5_bond_0/1 up Ethernet 200000 0x0; saturated: mlx5_1 link_downed 255",
                 [](const FabricFacts& facts) {
                   size_t ndr = 0;
                   std::string bond, saturated;
                   for (const auto& port : facts.ports) {
                     ndr += port.state == model::PortState::kUp && port.lanes == 4u && port.lane_mbps == 106250u &&
                            port.rate_mbps == 400000u;
                     const auto& nic = facts.devices[port.device].nic;
                     for (const auto& [name, counter] : port.counters) {
                       if (counter.saturated && name == "link_downed") absl::StrAppend(&saturated, nic, " ", name, " ", counter.value);
                     }
                   }
                   const std::string text = ports(facts);
                   if (const size_t at = text.find("mlx5_bond_0"); at != std::string::npos) bond = text.substr(at, text.find(',', at) - at);
                   return absl::StrCat(ndr, " NDR; ", bond, "; saturated: ", saturated);
                 }});
}

}  // namespace

std::vector<Row> rows_of_counters() {
  std::vector<Row> all;
  add_ibqueryerrors(all);
  add_perfquery(all);
  add_sysfs(all);
  return all;
}

}  // namespace railwitness::fabric
