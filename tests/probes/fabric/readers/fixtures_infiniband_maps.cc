#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "probes/fabric/readers/ibdiagnet.h"
#include "probes/fabric/readers/iblinkinfo.h"
#include "probes/fabric/readers/ibnetdiscover.h"
#include "tests/probes/fabric/readers/fixtures_infiniband.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;
using model::FabricFacts;

std::string whole(const FabricFacts& facts) { return absl::StrCat(counts(facts), "; ", speeds(facts)); }

// Hosts of eight NICs, in the order of their numbers on leaves "...-01" to "...-08" of one unit, on one port number.
std::string aligned_hosts(const FabricFacts& facts) {
  struct Rail {
    std::string leaf;
    uint32_t port = 0;
  };
  std::map<std::string, std::map<int, Rail>> hosts;
  const auto note = [&](size_t nic, size_t leaf) {
    const auto& device = facts.devices[facts.ports[nic].device];
    int number = 0;
    if (device.kind != DeviceKind::kNic || !device.nic.starts_with("mlx5_")) return;
    if (!absl::SimpleAtoi(device.nic.substr(5), &number)) return;
    hosts[device.host][number] = {short_name(facts, facts.ports[leaf].device), facts.ports[leaf].number};
  };
  for (const auto& link : facts.links) {
    note(link.a, link.b);
    note(link.b, link.a);
  }
  size_t aligned = 0;
  std::set<std::string> units;
  for (const auto& [host, rails] : hosts) {
    if (rails.size() != 8) continue;
    int position = 0;
    bool is_aligned = true;
    for (const auto& [number, rail] : rails) {
      is_aligned &= rail.leaf.ends_with(absl::StrCat("-0", ++position)) && rail.port == rails.begin()->second.port;
    }
    aligned += is_aligned;
    units.insert(rails.begin()->second.leaf.substr(0, rails.begin()->second.leaf.find('-')));
  }
  return absl::StrCat(aligned, " hosts aligned in ", units.size(), " units");
}

// The switches that have a NIC of a host or, with `kind`, something else.
size_t switches_with(const FabricFacts& facts, DeviceKind kind) {
  std::set<size_t> with;
  for (const auto& link : facts.links) {
    const size_t a = facts.ports[link.a].device, b = facts.ports[link.b].device;
    if (facts.devices[a].kind == kind && facts.devices[b].kind == DeviceKind::kSwitch) with.insert(b);
    if (facts.devices[b].kind == kind && facts.devices[a].kind == DeviceKind::kSwitch) with.insert(a);
  }
  return with.size();
}

size_t nameless(const FabricFacts& facts) {
  return static_cast<size_t>(std::count_if(facts.devices.begin(), facts.devices.end(), [](const auto& device) {
    return device.kind == DeviceKind::kNic && device.host.empty();
  }));
}

std::string first_words(const FabricFacts& facts) {
  FabricFacts by_word = facts;
  for (auto& device : by_word.devices) device.host = device.name.substr(0, device.name.find(' '));
  return nics_of_hosts(by_word);
}

// What the plan of gen-A needs to find its six faults.
std::string faults_of_gen_a(const FabricFacts& facts) {
  std::vector<std::string> found;
  size_t to_spine_2 = 0;
  for (const std::string& link : links(facts)) {
    for (const char* word : {"node-03 mlx5_3 ", "node-03 mlx5_4 ", "node-05 mlx5_9 ", "node-07 mlx5_11 ", "node-02 mlx5_0 ",
                             "leaf-r1 38 - spine-3 2 "}) {
      if (link.find(word) != std::string::npos) found.push_back(link);
    }
    to_spine_2 += link.starts_with("leaf-r7 ") && link.find("- spine-2 ") != std::string::npos;
  }
  return absl::StrCat(absl::StrJoin(found, "; "), "; leaf-r7 to spine-2: ", to_spine_2);
}

constexpr const char* kFaultsOfGenA =
    "leaf-r1 2 - node-02 mlx5_0 1 (4x53125); leaf-r1 38 - spine-3 2 (1x106250); leaf-r2 3 - node-03 mlx5_4 1 (4x106250); "
    "leaf-r3 20 - node-05 mlx5_9 1 (4x106250); leaf-r3 3 - node-03 mlx5_3 1 (4x106250); leaf-r7 to spine-2: 1";
constexpr const char* kCountsOfGenA = "12 switches, 71 CAs of which 8 aggregation; 134 links, 63 between switches, 0 one-sided";
constexpr const char* kSpeedsOfGenA = "1x106250 x 2, 4x106250 x 264, 4x53125 x 2";

size_t ports_down(const FabricFacts& facts) {
  return static_cast<size_t>(std::count_if(facts.ports.begin(), facts.ports.end(), [](const auto& port) {
    return port.state == model::PortState::kDown && !port.lanes && !port.lane_mbps;
  }));
}

std::string gen_a(const FabricFacts& facts) {
  return absl::StrCat(counts(facts), "; ", speeds(facts), "; ", faults_of_gen_a(facts));
}

std::string expected_of_gen_a() { return absl::StrCat(kCountsOfGenA, "; ", kSpeedsOfGenA, "; ", kFaultsOfGenA); }

void add_ibnetdiscover(std::vector<Row>& all) {
  const auto add = [&](std::string_view file, std::string expected, auto see) {
    all.push_back({absl::StrCat("ibnetdiscover/", std::string(file)), read_ibnetdiscover, std::move(expected), see});
  };
  add("faked-mqm8700-mcs8500-small.txt",
      "8 switches, 10 CAs of which 0 aggregation; 18 links, 7 between switches, 1 one-sided; 4x53125 x 35; "
      "dangling: MF0;rmd70-0101-0908-01ib1-A:MCS8500/S01/U1 41 - Mellanox Technologies Aggregation Node (aggregation: 1)",
      [](const FabricFacts& facts) {
        std::string text = whole(facts);
        for (const auto& link : facts.links) {
          if (!link.one_sided) continue;
          const auto& far = facts.devices[facts.ports[link.b].device];
          absl::StrAppend(&text, "; dangling: ", facts.devices[facts.ports[link.a].device].name, " ", facts.ports[link.a].number,
                          " - ", far.name, " (aggregation: ", far.kind == DeviceKind::kAggregation, ")");
        }
        return text;
      });
  add("gb200-ndr-mqm9701-623nodes.txt",
      "40 switches, 582 CAs of which 40 aggregation; 1114 links, 532 between switches, 0 one-sided; 4x106250 x 2228; pairs "
      "1: 6, 2: 263; 31 switches with hosts; first words 2: 2, 3: 11, 4: 109, 69: 1; hosts 2: 1, 3: 10, 4: 109; without host 74",
      // Eleven first words have three NICs; one of them is "localhost", which is no host's name.
      [](const FabricFacts& facts) {
        return absl::StrCat(whole(facts), "; pairs ", parallel_links(facts), "; ", switches_with(facts, DeviceKind::kNic),
                            " switches with hosts; first words ", first_words(facts), "; hosts ", nics_of_hosts(facts),
                            "; without host ", nameless(facts));
      });
  add("gen-A-rail-faults.txt", expected_of_gen_a(), gen_a);
  add("gen-A-rail-faults.ports-p.txt", absl::StrCat(expected_of_gen_a(), "; down 583"), [](const FabricFacts& facts) {
    return absl::StrCat(gen_a(facts), "; down ", ports_down(facts));
  });
  add("gen-H0-healthy.txt",
      "12 switches, 72 CAs of which 8 aggregation; 136 links, 64 between switches, 0 one-sided; 4x106250 x 272; pairs 2: 32; "
      "hosts 8: 8; no remark: ",
      [](const FabricFacts& facts) {
        return absl::StrCat(whole(facts), "; pairs ", parallel_links(facts), "; hosts ", nics_of_hosts(facts), "; no remark: ",
                            remarks(facts, ""));
      });
  add("lab-mixed-fdr10-selfloop.txt",
      "2 switches, 13 CAs of which 1 aggregation; 16 links, 3 between switches, 0 one-sided; 4x10312 x 2, 4x14062 x 24, "
      "4x25781 x 4, 4x53125 x 2; pairs 1: 1, loop: 2; system 0002c903007b78b0",
      [](const FabricFacts& facts) {
        std::string system;
        for (const auto& device : facts.devices) {
          if (short_name(facts, 0).empty()) continue;
          if (device.name.find("SX6036") != std::string::npos) system = device.system_guid;
        }
        return absl::StrCat(whole(facts), "; pairs ", parallel_links(facts), "; system ", system);
      });
  add("ndr200-split-129ports-redacted-guids.txt",
      "1 switches, 0 CAs of which 0 aggregation; 5 links, 0 between switches, 5 one-sided; 2x106250 x 5; ports 129; hosts 1: 5; "
      "GUIDs 0; 10: GUID S-9c05<redacted> is masked or damaged: \"MF0;SITE-POD229-QM97-IB-02:MQM9700/U1\" cannot be joined "
      "with other records; and 5 more; 16: left out: ...omitted", [](const FabricFacts& facts) {
    std::set<std::string> guids;
    for (const auto& device : facts.devices) guids.insert(device.guid);
    guids.erase("");
    const size_t masked = static_cast<size_t>(std::count_if(facts.remarks.begin(), facts.remarks.end(), [](const auto& remark) {
      return remark.text.find("masked") != std::string::npos && remark.line >= 11 && remark.line <= 15;
    }));
    return absl::StrCat(whole(facts), "; ports ", facts.devices[0].port_count.value_or(0), "; hosts ", nics_of_hosts(facts),
                        "; GUIDs ", guids.size(), "; ", remarks(facts, "GUID S-"), "; and ", masked, " more; ",
                        remarks(facts, "left out"));
  });
  add("ports-report-p-edr.txt",
      "3 switches, 3 CAs of which 0 aggregation; 4 links, 1 between switches, 1 one-sided; 4x25781 x 7; ib-i1l1s01 1 - "
      "ib-i1l2s01 1 (4x25781); ib-i1l1s01 10 - o0001 HCA-1 1 (4x25781); ib-i1l1s01 11 - o0002 HCA-1 1 (4x25781); ib-i4l1s01 35 "
      "- p0001 HCA-1 1 (4x25781); down 2", [](const FabricFacts& facts) {
    return absl::StrCat(whole(facts), "; ", absl::StrJoin(links(facts), "; "), "; down ", ports_down(facts));
  });
  add("single-ca-no-link.txt",
      "0 switches, 1 CAs of which 0 aggregation; 0 links, 0 between switches, 0 one-sided; 0: no fabric seen from this port: "
      "no switch and no link (port down, or no subnet manager?)",
      [](const FabricFacts& facts) { return absl::StrCat(counts(facts), "; ", remarks(facts, "")); });
  add("superpod-a100-8rail-hdr-5007nodes.txt",
      "666 switches, 4341 CAs of which 666 aggregation; 12852 links, 8511 between switches, 0 one-sided; 4x53125 x 25704; pairs "
      "1: 4477, 2: 2003, 14: 2; 203 switches with hosts; hosts 1: 11, 8: 458; 458 hosts aligned in 25 units",
      [](const FabricFacts& facts) {
        return absl::StrCat(whole(facts), "; pairs ", parallel_links(facts), "; ", switches_with(facts, DeviceKind::kNic),
                            " switches with hosts; hosts ", nics_of_hosts(facts), "; ", aligned_hosts(facts));
      });
  add("voltaire-lmc1-dualport-2007.txt",
      "2 switches, 4 CAs of which 0 aggregation; 7 links, 2 between switches, 0 one-sided; 1x2500 x 2, 4x2500 x 12; pairs 2: 1; "
      "lmc 1; 15: the ends of a link disagree: ISR9024 Voltaire [10] says 4 lanes of 2500 Mb/s, SW-6IB4 Voltaire [1] says 1 "
      "lanes of 2500 Mb/s; 18: the ends of a link disagree: ISR9024 Voltaire [12] says 4 lanes of 2500 Mb/s, MT23108 "
      "InfiniHost Mellanox Technologies [1] says 1 lanes of 2500 Mb/s", [](const FabricFacts& facts) {
    std::set<uint32_t> lmc;
    for (const auto& port : facts.ports) {
      if (port.lmc) lmc.insert(*port.lmc);
    }
    return absl::StrCat(whole(facts), "; pairs ", parallel_links(facts), "; lmc ", absl::StrJoin(lmc, ","), "; ",
                        remarks(facts, ""));
  });
}

// Of which kind the device is, its GUID or its port's, and its LID.
std::string identity(const FabricFacts& facts, size_t device) {
  const auto& of = facts.devices[device];
  std::string text = of.kind == DeviceKind::kSwitch ? "switch" : of.kind == DeviceKind::kNic ? "NIC" : "node";
  absl::StrAppend(&text, " \"", of.name, "\"", of.guid.empty() ? "" : absl::StrCat(" ", of.guid));
  for (const auto& port : facts.ports) {
    if (port.device == device && !port.guid.empty()) absl::StrAppend(&text, " port ", port.guid);
  }
  return text;
}

std::string identities(const FabricFacts& facts) {
  std::vector<std::string> all;
  for (size_t i = 0; i < facts.devices.size(); ++i) all.push_back(identity(facts, i));
  std::sort(all.begin(), all.end());
  return absl::StrJoin(all, ", ");
}

std::string could_be(const FabricFacts& facts) {
  std::vector<std::string> all;
  for (const auto& port : facts.ports) {
    if (port.could_be_lanes || port.could_be_lane_mbps) {
      all.push_back(absl::StrCat(short_name(facts, port.device), " ", port.number, " ", port.could_be_lanes.value_or(0), "x",
                                 port.could_be_lane_mbps.value_or(0)));
    }
  }
  std::sort(all.begin(), all.end());
  return absl::StrJoin(all, ", ");
}

void add_iblinkinfo(std::vector<Row>& all) {
  const auto add = [&](std::string_view file, std::string expected, auto see) {
    all.push_back({absl::StrCat("iblinkinfo/", std::string(file)), read_iblinkinfo, std::move(expected), see});
  };
  const auto everything = [](const FabricFacts& facts) {
    return absl::StrCat(counts(facts), "; ", speeds(facts), "; ", absl::StrJoin(links(facts), "; "), "; down ",
                        ports_down(facts), "; ", identities(facts));
  };
  add("edr-switch-blocks-grep-up.txt",
      "1 switches, 3 CAs of which 0 aggregation; 3 links, 0 between switches, 0 one-sided; 4x25781 x 6; SB7700 17 - n02 HCA-1 1 "
      "(4x25781); SB7700 18 - n01 HCA-1 1 (4x25781); SB7700 36 - mgt mlx5_0 1 (4x25781); down 0; NIC \"mgt mlx5_0\" port "
      "248a070300928186, NIC \"n01 HCA-1\" port ec0d9a03003d677a, NIC \"n02 HCA-1\" port ec0d9a03003d62be, switch "
      "\"MF0;SB7700:MSB7700/U1\"",
      everything);
  add("gen-A-rail-faults.txt",
      absl::StrCat(expected_of_gen_a(), "; down 583; could be: leaf-r1 2 0x106250, leaf-r1 38 4x0, node-02 mlx5_0 1 0x106250, "
                                        "spine-3 2 4x0"),
      [](const FabricFacts& facts) {
        return absl::StrCat(gen_a(facts), "; down ", ports_down(facts), "; could be: ", could_be(facts));
      });
  add("gen-H0-healthy.txt",
      "12 switches, 72 CAs of which 8 aggregation; 136 links, 64 between switches, 0 one-sided; 4x106250 x 272; pairs 2: 32; "
      "rows 852; down 580; could be: ; no remark: ",
      [](const FabricFacts& facts) {
        return absl::StrCat(whole(facts), "; pairs ", parallel_links(facts), "; rows ", facts.ports.size(), "; down ",
                            ports_down(facts), "; could be: ", could_be(facts), "; no remark: ", remarks(facts, ""));
      });
  add("line-mode-padded-name-fdr.txt",
      "0 switches, 1 CAs of which 0 aggregation; 1 links, 0 between switches, 1 one-sided; 4x14062 x 1; ib-test-7 mlx4_0 1 - "
      "switch-e1be74 16 (4x14062); down 0; NIC \"ib-test-7 mlx4_0\" port f452140300f55051, switch "
      "\"MF0;switch-e1be74:SX6036/U1\" f45214030067c630",
      everything);
  add("ndr-one-line.txt",
      "1 switches, 0 CAs of which 0 aggregation; 1 links, 0 between switches, 1 one-sided; 4x106250 x 1;  12 - node17 mlx5_0 1 "
      "(4x106250); down 0; NIC \"node17 mlx5_0\", switch \"\"",
      everything);
  add("qdr-infiniscale-down-polling.txt",
      "1 switches, 3 CAs of which 0 aggregation; 4 links, 0 between switches, 1 one-sided; 4x10000 x 7; Infiniscale-IV Mellanox "
      "Technologies 1 - data-node-202 HCA-1 1 (4x10000); Infiniscale-IV Mellanox Technologies 2 - data-node-201 HCA-1 1 "
      "(4x10000); Infiniscale-IV Mellanox Technologies 3 - data-node-200 HCA-1 1 (4x10000); Infiniscale-IV Mellanox "
      "Technologies 4 - kube-node-100 HCA-1 1 (4x10000); down 3; NIC \"data-node-200 HCA-1\", NIC \"data-node-201 HCA-1\" port "
      "0002c903004d14a5, NIC \"data-node-202 HCA-1\" port 0002c903000cc89b, NIC \"kube-node-100 HCA-1\" port "
      "0002c903000d7aad, switch \"Infiniscale-IV Mellanox Technologies\" 0002c9020046c588",
      everything);
}

// Sets of eight leaves, each with the port that its hosts' links have on all eight of them.
std::string rails_by_port(const FabricFacts& facts) {
  std::map<uint32_t, std::set<size_t>> leaves;
  for (const auto& link : facts.links) leaves[facts.ports[link.b].number].insert(facts.ports[link.b].device);
  std::vector<std::string> all;
  for (const auto& [port, of] : leaves) all.push_back(absl::StrCat("port ", port, " of ", of.size()));
  const bool same = leaves[33] == leaves[42];
  return absl::StrCat(absl::StrJoin(all, ", "), same ? ", 33 and 42 on the same leaves" : ", 33 and 42 differ");
}

void add_ibdiagnet(std::vector<Row>& all) {
  const auto add = [&](std::string_view file, std::string expected, auto see) {
    all.push_back({absl::StrCat("ibdiagnet/", std::string(file)), read_ibdiagnet, std::move(expected), see});
  };
  add("gen-A-rail-faults.db_csv",
      absl::StrCat(expected_of_gen_a(), "; 83 nodes; down 583; leaf-r1/38 SymbolErrorCounter=912; leaf-r4/3 "
                   "LinkDownedCounter=255+ LinkErrorRecoveryCounter=17 SymbolErrorCounter=65535+; node-04 mlx5_5/1 "
                   "PortRcvErrors=120; spine-1/5 PortXmitDiscards=48233 PortXmitWait=4294967295+"),
      [](const FabricFacts& facts) {
        return absl::StrCat(gen_a(facts), "; ", facts.devices.size(), " nodes; down ", ports_down(facts), "; ", errors(facts));
      });
  add("net_dump-minimal.txt",
      "1 switches, 0 CAs of which 0 aggregation; 1 links, 0 between switches, 1 one-sided; 4x53125 x 1; leaf01 1 - server01 "
      "mlx5_0 1 (4x53125); MTU 4096; lid 20; label sw1p1; 3: speed 200 is taken for the whole port: HDR",
      [](const FabricFacts& facts) {
        return absl::StrCat(whole(facts), "; ", absl::StrJoin(links(facts), "; "), "; MTU ", facts.ports[0].mtu_bytes.value_or(0),
                            "; lid ", facts.ports[1].lid.value_or(0), "; label ", facts.ports[0].label, "; ", remarks(facts, ""));
      });
  add("real-ndr-links-section.csv", "24 links of 40 nodes; port 33 of 8, port 36 of 8, port 42 of 8, 33 and 42 on the same leaves",
      [](const FabricFacts& facts) {
        return absl::StrCat(facts.links.size(), " links of ", facts.devices.size(), " nodes; ", rails_by_port(facts));
      });
  add("real-ndr-nodes-section.csv",
      "9 switches, 9 CAs of which 1 aggregation; 0 links, 0 between switches, 0 one-sided; spines 8 + 1 with 65 ports of 0xd2f2; "
      "hosts 1: 8; aggregation shares its system with Spine-ZONE2-1/8",
      [](const FabricFacts& facts) {
        size_t zone1 = 0, zone2 = 0;
        std::map<std::string, std::string> systems;
        std::string shares;
        for (const auto& device : facts.devices) {
          const bool is_spine = device.kind == DeviceKind::kSwitch && device.port_count == 65u && device.device_id == 0xd2f2u;
          zone1 += is_spine && device.name.starts_with("Spine-ZONE1-");
          zone2 += is_spine && device.name.starts_with("Spine-ZONE2-");
          if (device.kind == DeviceKind::kSwitch) systems[device.system_guid] = device.name;
        }
        for (const auto& device : facts.devices) {
          if (device.kind == DeviceKind::kAggregation) shares += systems[device.system_guid];
        }
        return absl::StrCat(counts(facts), "; spines ", zone1, " + ", zone2, " with 65 ports of 0xd2f2; hosts ",
                            nics_of_hosts(facts), "; aggregation shares its system with ", shares);
      });
}

}  // namespace

std::vector<Row> rows_of_maps() {
  std::vector<Row> all;
  add_ibdiagnet(all);
  add_iblinkinfo(all);
  add_ibnetdiscover(all);
  return all;
}

}  // namespace railwitness::fabric
