#include "fmt/format.h"
#include "probes/fabric/readers/lldp.h"
#include "tests/probes/fabric/readers/ethernet_and_host.h"

namespace railwitness::fabric {
namespace {

// "NETDEV>SWITCH PORT", with the chassis id; then how many neighbours' agents were left and how many remarks there are.
std::string links(std::string_view name, std::string_view bytes) {
  const auto facts = read_lldp(name, bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  std::string out;
  for (const model::FabricLink& link : facts->links) {
    const model::FabricPort& far = facts->ports[link.b];
    const model::FabricDevice& device = facts->devices[far.device];
    out += fmt::format("{}>{}[{}] {}; ", facts->ports[link.a].label, device.name.empty() ? "?" : device.name,
                       device.chassis, far.label);
  }
  for (const model::Remark& remark : facts->remarks) out += fmt::format("({}) ", remark.text);
  return out;
}

// A whole leaf: how many ports have neighbours, and some of them.
std::string leaf(std::string_view name, std::string_view bytes) {
  const auto facts = read_lldp(name, bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  std::string out = fmt::format("{} has {} links;", facts->devices[0].name, facts->links.size());
  size_t unnamed = 0;
  for (const model::FabricLink& link : facts->links) {
    const model::FabricPort& far = facts->ports[link.b];
    if (facts->devices[far.device].name.empty() || far.label.empty()) ++unnamed;
    const std::string& near = facts->ports[link.a].label;
    if (near == "eth0" || near == "Ethernet0")
      out += fmt::format(" {}>{} {};", near, facts->devices[far.device].name, far.label);
  }
  return out + fmt::format(" {} without a name", unnamed);
}

const std::string kNode03 =
    "eno1>oob-sw1[a4:b4:39:00:20:63] Ethernet1/44; ens1np0>leaf-r1.example.net[94:8e:d3:00:10:01] Ethernet3/1; "
    "ens2np0>leaf-r2[a4:b4:39:00:20:02] Ethernet1/3; ens3np0>leaf-r3[1c:34:da:00:30:03] etp3; "
    "ens4np0>leaf-r5[50:6b:4b:00:50:05] Eth1/3; ens5np0>leaf-r4[9c:05:91:00:40:04] swp3s0; "
    "ens7np0>leaf-r7.example.net[94:8e:d3:00:10:07] Ethernet3/1; "
    "(ens7np0: hears node-03-bf7 too; leaf-r7.example.net is taken, which looks more like a switch) "
    "(ens8np0: hears only an agent without a name, its own NIC's: what it is cabled to is not known) ";

}  // namespace

std::vector<FixtureRow> rows_of_lldp() {
  const std::string nothing = "(no neighbour: LLDP says nothing here, which is not a missing cable) ";
  return {
      {"lldp/gen-duplicate-switch-name-breakout.json",
       "enp161s0f0np0>leaf-r11[1c:34:da:00:30:0c] etp2a; enp27s0f0np0>leaf-r11[1c:34:da:00:30:0b] etp2a; "
       "enp27s0f1np1>leaf-r11[1c:34:da:00:30:0b] etp2b; (2 switches are called leaf-r11: only the chassis id tells "
       "them apart) ",
       links},
      {"lldp/gen-no-neighbours.json", nothing, links},
      {"lldp/gen-node03-8rails.json", kNode03, links},
      {"lldp/gen-node03-8rails.json0", kNode03, links},
      {"lldp/gen-node03-8rails.keyvalue", kNode03, links},
      {"lldp/keyvalue-cumulus.txt",
       "eno1>toto-chassis.dc42[e4:f0:04:b6:47:32] swp46; eno2d1>?[e4:f0:04:b6:4e:32] swp46; "
       "(a line of another interface in the block of eno2d1: not taken, as it may belong to either) ",
       links},
      {"lldp/keyvalue-dedibox1.txt", "enp1s0f0>s120-f3-2.itx4[00:07:cb:0b:6c:d7] RJ-9; ", links},
      {"lldp/keyvalue-qfx.txt",
       "eth0>sw-filer-f06.dc42[40:a6:77:7a:72:00] xe-0/0/1; eth1>sw-filer-f05.dc42[40:a6:77:7c:fb:20] xe-0/0/1; ",
       links},
      {"lldp/sonic-interface_only.json",
       "Ethernet0>?[00:11:22:33:44:55] Ethernet1; Ethernet100>switch13[00:11:22:33:44:55] Ethernet26; ", links},
      {"lldp/sonic-lldpctl.json",
       "arc-switch1025 has 33 links; Ethernet0>switch13 Ethernet1; eth0>switch218ad08 ge-0/0/17; 1 without a name",
       leaf},
      {"lldp/sonic-lldpctl_no_neighbors_loc_mgmt_ip.json", nothing, links},
  };
}

}  // namespace railwitness::fabric
