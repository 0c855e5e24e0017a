#include "fmt/format.h"
#include "probes/fabric/readers/inventory_csv.h"
#include "probes/fabric/readers/netq.h"
#include "probes/fabric/readers/ufm_events.h"
#include "probes/fabric/readers/ufm_json.h"
#include "tests/probes/fabric/readers/ethernet_and_host.h"

namespace railwitness::fabric {
namespace {

std::string domains(std::string_view name, std::string_view bytes) {
  const auto topology = read_netq(name, bytes);
  if (!topology.ok()) return std::string(topology.status().message());
  std::string out;
  for (const model::NodeGroup& group : topology->groupings.at(0).groups) {
    out += group.name + ":";
    for (const std::string& node : group.nodes) out += " " + node;
    out += "; ";
  }
  for (const model::ClusterNode& node : topology->nodes) {
    out += fmt::format("{} chassis {} slot {} tray {} {} GPUs; ", node.name, node.chassis_serial, node.slot.value_or(0),
                       node.tray.value_or(0), node.gpu_ids.size());
  }
  return out;
}

std::string port_text(const model::FabricFacts& facts, size_t at) {
  const model::FabricPort& port = facts.ports[at];
  const model::FabricDevice& device = facts.devices[port.device];
  const char* kind = device.kind == model::DeviceKind::kNic      ? "NIC"
                     : device.kind == model::DeviceKind::kSwitch ? "switch"
                                                                 : "?";
  return fmt::format("{} {}({}) {}", kind, device.guid,
                     device.host.empty() ? device.name : device.host + "/" + device.nic, port.number);
}

std::string remarks(const model::FabricFacts& facts) {
  std::string out;
  for (const model::Remark& remark : facts.remarks) out += fmt::format("({}) ", remark.text);
  return out;
}

std::string ufm(std::string_view name, std::string_view bytes) {
  const auto facts = read_ufm_json(name, bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  std::string out;
  for (const model::FabricLink& link : facts->links)
    out += port_text(*facts, link.a) + " <-> " + port_text(*facts, link.b) + "; ";
  const model::FabricPort& port = facts->ports.at(0);
  out += fmt::format("{} lanes of {} Mb/s, MTU {}, {}; ", port.lanes.value_or(0), port.lane_mbps.value_or(0),
                     port.mtu_bytes.value_or(0), port.state == model::PortState::kUp ? "up" : "state unknown");
  return out + remarks(*facts);
}

std::string telemetry(std::string_view name, std::string_view bytes) {
  const auto facts = read_ufm_json(name, bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  std::string out = fmt::format("{} devices {} ports at {}; ", facts->devices.size(), facts->ports.size(),
                                facts->source.wall_ns.value_or(0));
  for (const model::FabricPort& port : facts->ports) {
    const auto downed = port.counters.find("Infiniband_LinkDowned_u_Errors");
    const bool rate = port.counters.contains("Infiniband_CBW_f_u_Gbps");
    if (downed == port.counters.end() || rate) return out + "a counter is missing or a rate taken for one";
    if (downed->second.value > 0)
      out += fmt::format("{} port {} downed {}; ", facts->devices[port.device].guid, port.number, downed->second.value);
  }
  return out + fmt::format("MBOut of the first {}; ", facts->ports.at(0).counters.at("Infiniband_MBOut_u_Gb").value) +
         remarks(*facts);
}

std::string events(std::string_view name, std::string_view bytes) {
  const auto facts = read_ufm_events(name, bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  std::string out;
  for (const model::FabricEvent& event : facts->events) {
    const char* kind = event.kind == model::FabricEvent::Kind::kDown        ? "down"
                       : event.kind == model::FabricEvent::Kind::kUnhealthy ? "unhealthy"
                                                                            : "?";
    out += fmt::format("{} {} {} / {} {}{}; ", kind, event.device, event.port, event.peer_device, event.peer_port,
                       event.wall_ns ? " with a zone" : "");
  }
  for (const model::FabricLink& link : facts->links)
    out += fmt::format("{} <-> {} cable {}; ", port_text(*facts, link.a), port_text(*facts, link.b), link.cable);
  return out;
}

std::string plan(std::string_view name, std::string_view bytes) {
  const auto facts = read_inventory_csv(name, bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  size_t nics = 0, twice = 0;
  for (const model::FabricDevice& device : facts->devices) nics += device.kind == model::DeviceKind::kNic ? 1 : 0;
  std::string out =
      fmt::format("{}{} cables, {} devices by place, {} switches; first {} {} to {} {}; ",
                  facts->is_plan ? "plan of " : "", facts->links.size(), nics, facts->devices.size() - nics,
                  facts->devices[facts->ports[facts->links[0].a].device].name, facts->ports[facts->links[0].a].label,
                  facts->devices[facts->ports[facts->links[0].b].device].name, facts->ports[facts->links[0].b].label);
  for (const model::Remark& remark : facts->remarks) {
    if (remark.text.ends_with("is planned twice")) {
      ++twice;
    } else {
      out += fmt::format("({}) ", remark.text);
    }
  }
  return out + fmt::format("{} ports planned twice", twice);
}

}  // namespace

std::vector<FixtureRow> rows_of_fabric_managers() {
  return {
      {"netq/computeNodes.json",
       "3fbfc98b-7f95-4749-ab11-bd351a2aab3e: node1 node2; node1 chassis 1800000000001 slot 5 tray 4 4 GPUs; "
       "node2 chassis 1800000000001 slot 22 tray 12 4 GPUs; ",
       domains},
      {"ufm_json/links-guid-name-mismatch.json",
       "NIC 0c42a103001b7ab6(node-0395/mlx5_10) 1 <-> switch 0c42a103009d7af6(SW-10) 19; 4 lanes of 0 Mb/s, MTU 0, "
       "state unknown; "
       "(member (top)[0]: its name 0c42a103001b7bf6_1:0c42a103009d7af6_19 has other GUIDs than its members "
       "0c42a103001b7ab6_1:0c42a103009d7af6_19; the members are taken) ",
       ufm},
      {"ufm_json/port-object-unresolved-desc.json",
       "NIC 248a070300a29d74(node-cai-ubuntu/mlx5_0) 1 <-> ? 506b4b0300854600() 25; 4 lanes of 10000 Mb/s, MTU 4096, "
       "up; "
       "(member (top)[0]: described as a switch's port, but its node is node-cai-ubuntu mlx5_0: a host's) ",
       ufm},
      {"ufm_json/telemetry-stream-small.json",
       "4 devices 6 ports at 1709652347161873000; 248a070300ef19a0 port 1 downed 1; 248a070300ef19a0 port 23 downed 3; "
       "MBOut of the first 4086720; (18 rates beside the counters are left out) ",
       telemetry},
      {"ufm_events/event-messages.txt",
       "down T3-E21-N-U47 1/17/1 / T4-E45-L-U51 1/4/2; unhealthy T2-E17-N-U45 1/3/1 / T2-E63-L-U37 1/19/2; "
       "switch 9c0591030090e000(T3-E21-N-U47) 33 <-> switch fc6a1c0300244e00(T4-E45-L-U51) 8 cable XX0000FT00000; ",
       events},
      {"inventory_csv/ndt-bad-garbage.csv",
       "ndt-bad-garbage.csv:1: no column StartDevice; StartDevice, StartPort, EndDevice and EndPort are needed", plan},
      {"inventory_csv/ndt-bad-incorrect_columns.csv",
       "ndt-bad-incorrect_columns.csv:1: no column StartPort; StartDevice, StartPort, EndDevice and EndPort are needed",
       plan},
      {"inventory_csv/ndt-rack-plan-host-switch.csv",
       "plan of 320 cables, 40 devices by place, 20 switches; first F01C04-DX413 Server 1 IB Port 1 to "
       "DEF07-0101-0806-01IB0 Port 1; "
       "(320 cables begin at devices that are named by rack and place (F01C04-DX413 Server 1): no host name is in this "
       "plan, give a "
       "list of places and host names) 0 ports planned twice",
       plan},
      {"inventory_csv/ndt-rack-plan-switch-switch.csv",
       "plan of 400 cables, 0 devices by place, 29 switches; first DEF07-0101-0806-01IB0 Port 21 to "
       "DEF07-0101-0806-01IB1 Blade 1_Port 1/1; "
       "40 ports planned twice",
       plan},
  };
}

}  // namespace railwitness::fabric
