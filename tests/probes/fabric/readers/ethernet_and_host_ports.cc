#include "fmt/format.h"
#include "probes/fabric/readers/ethtool_S.h"
#include "probes/fabric/readers/gid_table.h"
#include "probes/fabric/readers/mlxlink.h"
#include "probes/fabric/readers/rdma_json.h"
#include "probes/fabric/readers/switch_syslog.h"
#include "tests/probes/fabric/readers/ethernet_and_host.h"

namespace railwitness::fabric {
namespace {

const char* state_text(model::PortState state) {
  static constexpr const char* kNames[] = {"unknown", "up", "down", "disabled", "training"};
  return kNames[static_cast<int>(state)];
}

std::string gids(std::string_view name, std::string_view bytes) {
  const auto facts = read_gid_table(name, bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  std::string out = fmt::format("{} GIDs; mlx5_0 port 1 RoCE v2 routable:", facts->entries.size());
  for (const uint32_t index : routable_roce_v2(*facts, "mlx5_0", 1)) out += fmt::format(" {}", index);
  for (const model::GidEntry& entry : facts->entries) {
    out += fmt::format("; {} {}{} {}", entry.index, entry.version, entry.link_local ? " link-local" : "",
                       entry.ipv4.empty() ? "-" : entry.ipv4);
  }
  return out;
}

std::string ethtool(std::string_view name, std::string_view bytes) {
  const auto facts = read_ethtool_s(name, bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  std::string out = fmt::format("{} counters, rx_crc_errors_phy {}; ", facts->ports[0].counters.size(),
                                facts->ports[0].counters.contains("rx_crc_errors_phy") ? "known" : "not known");
  for (const model::Remark& remark : facts->remarks) out += fmt::format("({}) ", remark.text);
  return out;
}

std::string rate(const std::optional<model::ErrorRate>& rate) {
  if (!rate) return "unknown";
  return rate->none_seen ? "none seen" : fmt::format("{:g}", rate->rate);
}

std::string mlxlink(std::string_view name, std::string_view bytes) {
  const auto facts = read_mlxlink(name, bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  std::string out = fmt::format("{} {} lanes of {} Mb/s; raw {} effective {}; lanes", state_text(facts->port.state),
                                facts->port.lanes.value_or(0), facts->port.lane_mbps.value_or(0), rate(facts->raw_ber),
                                rate(facts->effective_ber));
  for (const auto& lane : facts->raw_ber_of_lane) out += " " + rate(lane);
  out += "; errors";
  for (const auto& lane : facts->raw_errors_of_lane) out += lane ? fmt::format(" {}", *lane) : " unknown";
  out += "; bias";
  if (facts->bias_ma) {
    for (const auto& value : facts->bias_ma->values) out += value ? fmt::format(" {:g}", *value) : " unknown";
  }
  out += facts->temperature_c
             ? fmt::format("; {:g} C of {:g} to {:g}; ", facts->temperature_c->values.at(0).value_or(0),
                           facts->temperature_c->low.value_or(0), facts->temperature_c->high.value_or(0))
             : "; temperature unknown; ";
  for (const model::Remark& remark : facts->remarks) out += fmt::format("({}) ", remark.text);
  return out;
}

// Devices, ports, queue pairs and resources, whatever the input has of them.
std::string rdma(std::string_view name, std::string_view bytes) {
  const auto facts = read_rdma_json(name, bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  std::string out;
  for (const model::FabricDevice& device : facts->fabric.devices)
    out += device.name + (device.guid.empty() ? "" : " " + device.guid) + "; ";
  for (const model::FabricPort& port : facts->fabric.ports) {
    out += fmt::format("{}/{} {} {} {} counters", facts->fabric.devices[port.device].name, port.number,
                       state_text(port.state), port.label, port.counters.size());
    for (const auto& [counter, value] : port.counters) {
      if (value.value > 0) out += fmt::format(" {}={}", counter, value.value);
    }
    out += "; ";
  }
  for (const model::QueuePair& pair : facts->queue_pairs) {
    out += fmt::format("{} {}>{} {} {} {} {}; ", pair.device, pair.local_number, pair.remote_number.value_or(0),
                       pair.type, pair.state, pair.owner, pair.pid.value_or(0));
  }
  for (const auto& [device, counts] : facts->resources) {
    out += device;
    for (const auto& [what, count] : counts) out += fmt::format(" {}={}", what, count);
    out += "; ";
  }
  return out;
}

std::string log(std::string_view name, std::string_view bytes) {
  const auto facts = read_switch_syslog(name, bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  static constexpr const char* kKinds[] = {"?", "down", "up", "admin down", "admin up", "unhealthy", "counter"};
  std::string out;
  for (const model::FabricEvent& event : facts->events) {
    const int64_t ms = *event.local_ns / 1'000'000 % 60'000;
    out += fmt::format("{}{}{} {} at :{:02}.{:03}", event.device, event.device.empty() ? "" : " ", event.port,
                       kKinds[static_cast<int>(event.kind)], ms / 1000, ms % 1000);
    if (event.outage_ns) out += fmt::format(" after {:.2f} s", static_cast<double>(*event.outage_ns) / 1e9);
    out += "; ";
  }
  for (const model::Remark& remark : facts->remarks) out += fmt::format("({}) ", remark.text);
  return out;
}

const std::string kFourDevices = "rxe_h0r0; rxe_h1r0; rxe_h0r1; rxe_h1r1; ";
const std::string kOneEach = " cm_id=0 cq=1 ctx=0 mr=0 pd=1 qp=1 srq=0; ";

}  // namespace

std::vector<FixtureRow> rows_of_ports() {
  return {
      {"gid_table/show_gids-v1v2-linklocal-ipv4.txt",
       "4 GIDs; mlx5_0 port 1 RoCE v2 routable: 7; 4 v1 link-local -; 5 v2 link-local -; 6 v1 10.0.1.16; 7 v2 "
       "10.0.1.16",
       gids},
      {"ethtool_S/mlx5-kernel5.15-rx-overrun.txt",
       "31 counters, rx_crc_errors_phy not known; (rx_discards_phy 58591428329 of rx_packets_phy 97052087562, all on "
       "priority 0, and this host "
       "sent 5745042 global pause frames: it does not take what it receives; no counter of cable faults is in this "
       "output) ",
       ethtool},
      {"ethtool_S/pfc-storm-grep-prio3.txt",
       "6 counters, rx_crc_errors_phy not known; (priority 3 paused, received 148213, sent 96204; no buffer overran: "
       "congestion without loss) ",
       ethtool},
      {"mlxlink/mft-4.34.1-400g-dr4.json",
       "up 4 lanes of 100000 Mb/s; raw 5e-10 effective none seen; lanes 1e-10 1e-09 4e-10 5e-10; errors 3017647 "
       "15132549 7368641 9233545; "
       "bias 265.504 265.504 248.416 248.416; 61 C of -10 to 80; (lane 1 has a raw error rate of 1e-09, the best one "
       "1e-10) ",
       mlxlink},
      {"mlxlink/na-fields.json",
       "up 4 lanes of 100000 Mb/s; raw unknown effective unknown; lanes unknown; errors unknown unknown unknown "
       "unknown; "
       "bias 265.504 unknown 248.416 248.416; temperature unknown; ",
       mlxlink},
      {"mlxlink/oci-200g-short.json",
       "up 4 lanes of 50000 Mb/s; raw 1e-06 effective 1e-13; lanes; errors 0 0 0 0; bias; temperature unknown; ",
       mlxlink},
      {"rdma_json/gen-rdma-dev-4rxe.json",
       "rxe_h0r0 000000fffe000000; rxe_h1r0 000000fffe000100; rxe_h0r1 000000fffe000001; rxe_h1r1 000000fffe000101; ",
       rdma},
      {"rdma_json/gen-rdma-link-4rxe.json",
       kFourDevices + "rxe_h0r0/1 up h0r0 0 counters; rxe_h1r0/1 up h1r0 0 counters; rxe_h0r1/1 up h0r1 0 counters; "
                      "rxe_h1r1/1 up h1r1 0 counters; ",
       rdma},
      {"rdma_json/gen-rdma-link-peer-port-down.json",
       kFourDevices + "rxe_h0r0/1 up h0r0 0 counters; rxe_h1r0/1 down h1r0 0 counters; rxe_h0r1/1 up h0r1 0 counters; "
                      "rxe_h1r1/1 up h1r1 0 counters; ",
       rdma},
      {"rdma_json/gen-rdma-res-qp.json",
       kFourDevices +
           "rxe_h0r0 18>18 RC RTS ib_write_bw 233; rxe_h0r0 1>0 GSI RTS ib_core 0; rxe_h1r0 18>18 RC RTR ib_write_bw "
           "232; "
           "rxe_h1r0 1>0 GSI RTS ib_core 0; rxe_h0r1 1>0 GSI RTS ib_core 0; rxe_h1r1 1>0 GSI RTS ib_core 0; ",
       rdma},
      {"rdma_json/gen-rdma-res-summary.json",
       kFourDevices + "rxe_h0r0" + kOneEach + "rxe_h0r1" + kOneEach + "rxe_h1r0" + kOneEach + "rxe_h1r1" + kOneEach,
       rdma},
      {"rdma_json/gen-rdma-statistic-after.json",
       kFourDevices +
           "rxe_h0r0/1 unknown  15 counters ack_deferred=32 completer_retry_err=70 duplicate_request=222 "
           "rcvd_pkts=23425 rcvd_seq_err=14 "
           "sent_pkts=457700; rxe_h1r0/1 unknown  15 counters completer_retry_err=6 duplicate_request=2980 "
           "out_of_seq_request=14 "
           "rcvd_pkts=457635 sent_pkts=23425; rxe_h0r1/1 unknown  15 counters; rxe_h1r1/1 unknown  15 counters; ",
       rdma},
      {"rdma_json/gen-rdma-statistic-before.json",
       kFourDevices + "rxe_h0r0/1 unknown  15 counters; rxe_h1r0/1 unknown  15 counters; rxe_h0r1/1 unknown  15 "
                      "counters; rxe_h1r1/1 unknown  15 counters; ",
       rdma},
      {"rdma_json/rdma-dev-link.json", "mlx5_0 0011223344556677; mlx5_0/1 up eth0 0 counters; ", rdma},
      {"rdma_json/rdma-p-statistic-efa.txt", "rdmap0s31; rdmap0s31/1 unknown  21 counters; ", rdma},
      {"rdma_json/rdma-statistic-and-text-forms.txt",
       "rdma0; mlx5_0; bnxt_re0; rdma0/1 unknown  2 counters rx_pkts=10 tx_pkts=20; mlx5_0/1 up ens1 0 counters; "
       "bnxt_re0 cq=2 mr=0 pd=1 qp=3; ",
       rdma},
      {"rdma_json/rdma-statistic-unknown-counter.json", "mlx5_0; mlx5_0/1 unknown  2 counters brand_new_counter=7; ",
       rdma},
      {"switch_syslog/cumulus-style-ip-timestamp-monitor.log",
       "swp1 down at :48.927; swp1 up at :50.235 after 1.31 s; swp1 down at :52.243; swp1 up at :52.649 after 0.41 s; "
       "swp2 admin down at :53.654; "
       "swp2 admin up at :54.821; swp2 up at :54.822; swp1 down at :56.863; (swp1 is still down at the end of this "
       "log) ",
       log},
      {"switch_syslog/sonic-orchagent-portoper.log",
       "leaf-01 Ethernet38 up at :54.573; leaf-01 Ethernet37 up at :34.319; ", log},
      {"switch_syslog/sonic-orchagent-portsorch-flap.log",
       "leaf-03 Ethernet4 down at :02.118; leaf-03 Ethernet4 up at :04.121 after 2.00 s; leaf-03 Ethernet4 down at "
       ":14.302; "
       "leaf-03 Ethernet4 up at :15.401 after 1.10 s; ",
       log},
  };
}

}  // namespace railwitness::fabric
