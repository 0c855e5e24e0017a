#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "probes/fabric/readers/ibstat.h"
#include "probes/fabric/readers/ibswinfo.h"
#include "tests/probes/fabric/readers/fixtures_infiniband.h"

namespace railwitness::fabric {
namespace {

using model::FabricFacts;
using model::PortState;

// NICs whose port is in this state on this link layer, with its rate.
std::string nics(const FabricFacts& facts, PortState state, std::string_view layer) {
  std::vector<std::string> all;
  for (const auto& port : facts.ports) {
    if (port.state != state || port.link_layer != layer) continue;
    all.push_back(absl::StrCat(facts.devices[port.device].nic, port.rate_mbps ? absl::StrCat(":", *port.rate_mbps) : ""));
  }
  return absl::StrJoin(all, " ");
}

void add_ibstat(std::vector<Row>& all) {
  const auto add = [&](std::string_view file, std::string expected, auto see) {
    all.push_back({absl::StrCat("ibstat/", std::string(file)), read_ibstat, std::move(expected), see});
  };
  const auto by_state = [](const FabricFacts& facts) {
    return absl::StrCat("InfiniBand up ", nics(facts, PortState::kUp, "InfiniBand"), "; Ethernet up ",
                        nics(facts, PortState::kUp, "Ethernet"), "; down ", nics(facts, PortState::kDown, "Ethernet"), "; disabled ",
                        nics(facts, PortState::kDisabled, "Ethernet"));
  };
  add("gen-rxe-ibv_devinfo-v.txt",
      "InfiniBand up ; Ethernet up rxe_h0r0; down ; disabled ; MTU 4096 of 4096; 1x10000; GIDs fe80::ff:fe00:0 ::ffff:10.0.0.1; "
      "000000fffe000000",
      [=](const FabricFacts& facts) {
        const auto& port = facts.ports.at(0);
        return absl::StrCat(by_state(facts), "; MTU ", port.mtu_bytes.value_or(0), " of ", port.max_mtu_bytes.value_or(0), "; ",
                            port.lanes.value_or(0), "x", port.lane_mbps.value_or(0), "; GIDs ", absl::StrJoin(port.gids, " "), "; ",
                            facts.devices.at(0).guid);
      });
  add("hgx-h100-12ca-8ib-4eth.txt",
      "InfiniBand up mlx5_0:400000 mlx5_10:400000 mlx5_11:400000 mlx5_3:400000 mlx5_4:400000 mlx5_5:400000 mlx5_6:400000 "
      "mlx5_9:400000; Ethernet up mlx5_7:100000 mlx5_8:100000; down ; disabled mlx5_1 mlx5_2; mlx5_1 and mlx5_2 share a card: 1",
      [=](const FabricFacts& facts) {
        std::string first, second;
        for (const auto& device : facts.devices) {
          if (device.nic == "mlx5_1") first = device.system_guid;
          if (device.nic == "mlx5_2") second = device.system_guid;
        }
        return absl::StrCat(by_state(facts), "; mlx5_1 and mlx5_2 share a card: ", !first.empty() && first == second);
      });
  add("ibdev2netdev-mixed-down.txt",
      "InfiniBand up mlx5_0 mlx5_3 mlx5_4 mlx5_7 mlx5_9 mlx5_10 mlx5_11 mlx5_12; Ethernet up mlx5_6; down mlx5_5; disabled ", by_state);
  add("superbench-vm-guid-list.txt", "10 hosts, 10 GUIDs; vma414bbc00005I 0ff08c4321664e96; vma414bbc00005R 043f720300e61112",
      [](const FabricFacts& facts) {
        size_t hosts = 0, guids = 0;
        for (const auto& device : facts.devices) hosts += !device.host.empty();
        for (const auto& port : facts.ports) guids += !port.guid.empty();
        return absl::StrCat(hosts, " hosts, ", guids, " GUIDs; ", facts.devices.front().host, " ", facts.ports.front().guid, "; ",
                            facts.devices.back().host, " ", facts.ports.back().guid);
      });
}

std::string hardware(const FabricFacts& facts) {
  const auto& of = facts.hardware.at(0);
  std::vector<std::string> supplies, fans;
  for (const auto& supply : of.power_supplies) {
    supplies.push_back(absl::StrCat("PSU", supply.number, " ", supply.status.empty() ? "unknown" : supply.status, " ",
                                    supply.watts ? absl::StrCat(*supply.watts) : "?", " W"));
  }
  for (const auto& fan : of.fans) fans.push_back(fan.rpm ? absl::StrCat(*fan.rpm) : "?");
  return absl::StrCat(facts.devices[of.device].guid, " ", of.serial_number, "; ", absl::StrJoin(supplies, ", "), "; ",
                      of.celsius ? absl::StrCat(*of.celsius) : "?", " of ", of.max_celsius ? absl::StrCat(*of.max_celsius) : "?",
                      " C; fans ", of.fan_status.empty() ? "unknown" : of.fan_status, " ", absl::StrJoin(fans, " "), "; up ",
                      of.uptime_s.value_or(0), " s; ", remarks(facts, ""));
}

void add_ibswinfo(std::vector<Row>& all) {
  const auto add = [&](std::string_view file, std::string expected) {
    all.push_back({absl::StrCat("ibswinfo/", std::string(file)), read_ibswinfo, std::move(expected), hardware});
  };
  const std::string fans = " 7349 8441 7270 8337 7156 8441 7232; up 13862333 s; ";
  add("test-err2.out", absl::StrCat("1c34da0300010540 MT1943X90001; PSU0 OK 72 W, PSU1 OK 71 W; ? of 57 C; fans OK 8493", fans,
                                    "28: temperature (C): \"foo\" is no number: unknown"));
  add("test1-missing.out", absl::StrCat("1c34da0300010540 MT1943X90001; PSU0 OK ? W, PSU1 unknown 71 W; ? of ? C; fans unknown ?", fans));
  // Its row says that all is well; the file says so of all but the fans' status.
  add("test1.out", absl::StrCat("1c34da0300010540 MT1943X90001; PSU0 OK 72 W, PSU1 OK 71 W; 45 of 57 C; fans ERROR 8493", fans));
}

}  // namespace

std::vector<Row> rows_of_hosts() {
  std::vector<Row> all;
  add_ibstat(all);
  add_ibswinfo(all);
  return all;
}

}  // namespace railwitness::fabric
