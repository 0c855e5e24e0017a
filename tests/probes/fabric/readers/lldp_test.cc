#include "probes/fabric/readers/lldp.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace railwitness::fabric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

std::map<std::string, std::string> links(std::string_view json) {
  const auto edges = parse_lldp_json(json);
  EXPECT_TRUE(edges.ok()) << edges.status();
  std::map<std::string, std::string> out;
  for (const model::Edge& edge : edges.ok() ? *edges : std::vector<model::Edge>()) {
    out[edge.netdev] = edge.switch_name + ":" + edge.switch_port;
    EXPECT_EQ(edge.source, "lldp");
    EXPECT_TRUE(edge.present);
  }
  return out;
}

std::string own(const char* name) {
  return read(std::filesystem::path(RAILWITNESS_TEST_DATA) / "lldp" / name);
}

TEST(Lldp, NothingKnownIsNoEdgeAndNoError) {
  for (const char* text :
       {"", " \n", "{}", "{\"lldp\":{}}", "{ \"lldp\": { \n } }", "{\"lldp\":[]}", "{\"lldp\":[{}]}"}) {
    EXPECT_THAT(links(text), IsEmpty()) << text;
  }
}

TEST(Lldp, OneInterfaceIsAnObject) {
  EXPECT_THAT(links(R"({"lldp":{"interface":{"h1r1":{"chassis":{"leaf-r1":{"id":{"type":"mac","value":"aa:bb"}}},
                        "port":{"id":{"type":"ifname","value":"swp2"}}}}}})"),
              ElementsAre(Pair("h1r1", "leaf-r1:swp2")));
}

TEST(Lldp, SeveralInterfacesAreAnArrayAndSeveralNeighboursToo) {
  EXPECT_THAT(links(own("two_neighbours.json")),
              UnorderedElementsAre(Pair("h1r0", "leaf-r0:swp2"), Pair("h1r1", "leaf-r1:swp2")));
}

TEST(Lldp, Json0SaysTheSame) {
  EXPECT_EQ(links(own("two_interfaces.json0")), links(own("two_interfaces.json")));
}

TEST(Lldp, ChassisWithoutNameIsKnownByItsId) {
  const auto edges = parse_lldp_json(R"({"lldp":{"interface":{"e0":{"chassis":{"mgmt-ip":"10.0.0.1",
      "id":{"type":"mac","value":"00:11"}},"port":{"id":{"type":"ifname","value":"Ethernet1"}}}}}})");
  ASSERT_TRUE(edges.ok());
  EXPECT_EQ((*edges)[0].switch_name, "00:11");
  EXPECT_EQ((*edges)[0].switch_id, "00:11");
}

TEST(Lldp, PortIsNamedByItsIdOrWhereThatNamesNothingByItsDescription) {
  const auto port = [](const std::string& id, const std::string& descr) {
    return links(
        "{\"lldp\":{\"interface\":{\"e\":{\"chassis\":{\"s\":{\"id\":{\"type\":\"mac\",\"value\":\"m\"}}},"
        "\"port\":{\"id\":" +
        id + ",\"descr\":\"" + descr + "\"}}}}}")["e"];
  };
  EXPECT_EQ(port(R"({"type":"ifname","value":"Eth1/3"})", "node-03"), "s:Eth1/3");
  EXPECT_EQ(port(R"({"type":"local","value":"etp3"})", "Ethernet16"), "s:etp3");
  EXPECT_EQ(port(R"({"type":"local","value":"512"})", "xe-0/0/1"), "s:xe-0/0/1");
  EXPECT_EQ(port(R"({"type":"mac","value":"aa:bb:cc:dd:ee:ff"})", "swp3"), "s:swp3");
  EXPECT_EQ(port(R"({"type":"mac","value":"aa:bb:cc:dd:ee:ff"})", "free text of somebody"), "s:aa:bb:cc:dd:ee:ff");
}

TEST(Lldp, AgentOfTheNicItselfIsNoSwitch) {
  EXPECT_THAT(links(R"({"lldp":{"interface":{"e":{"chassis":{"id":{"type":"mac","value":"a0:88"}},
                        "port":{"id":{"type":"mac","value":"a0:88"}}}}}})"),
              IsEmpty());
}

TEST(Lldp, MalformedInputNamesMemberAndPosition) {
  const auto error = [](std::string_view text) { return std::string(parse_lldp_json(text).status().message()); };
  EXPECT_THAT(error("{\"lldp\":\n {"), HasSubstr("line 2"));
  EXPECT_THAT(error("7"), HasSubstr("member (top): not an object"));
  EXPECT_THAT(error(R"({"lldp":3})"), HasSubstr("member lldp: not an object"));
  EXPECT_THAT(error(R"({"lldp":{"interface":3}})"), HasSubstr("lldp.interface: neither"));
  EXPECT_THAT(error(R"({"lldp":{"interface":[{"a":{}},{"b":3}]}})"), HasSubstr("lldp.interface[1].b: not an object"));
  EXPECT_THAT(error(R"({"lldp":{"interface":{"a":{"port":7}}}})"), HasSubstr("lldp.interface.a.port"));
  EXPECT_THAT(error(R"({"lldp":{"interface":{"a":{"chassis":{"s":7}}}}})"), HasSubstr("lldp.interface.a.chassis"));
  EXPECT_FALSE(parse_lldp_json(std::string((1 << 20) + 1, ' ') + "{}").ok());
}

// "netdev>switch/port" of each link.
std::string facts_of(std::string_view bytes) {
  const auto facts = read_lldp("lldp.txt", bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  std::string out;
  for (const model::FabricLink& link : facts->links) {
    const model::FabricPort& far = facts->ports[link.b];
    const model::FabricDevice& device = facts->devices[far.device];
    out += facts->ports[link.a].label + ">" + (device.name.empty() ? device.chassis : device.name) + "/" + far.label + " ";
  }
  return out;
}

TEST(LldpFacts, KeyvalueJsonAndJson0SayTheSame) {
  const std::string expected = facts_of(own("two_interfaces.json"));
  EXPECT_EQ(facts_of(own("two_interfaces.json0")), expected);
  EXPECT_EQ(facts_of(own("two_interfaces.keyvalue")), expected);
}

TEST(LldpFacts, OfSeveralNeighboursOfAPortTheSwitchIsTakenAndTheOtherTold) {
  const auto facts = read_lldp("l", own("dpu_in_the_cage.keyvalue"));
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts_of(own("dpu_in_the_cage.keyvalue")), "ens7>leaf-7/swp7 ");
  ASSERT_EQ(facts->remarks.size(), 1u);
  EXPECT_EQ(facts->remarks[0].text, "ens7: hears node-1-bf7 too; leaf-7 is taken, which looks more like a switch");
}

TEST(LldpFacts, ALineOfAnotherInterfaceInABlockNamesNobody) {
  const auto facts = read_lldp("l", own("line_of_another.keyvalue"));
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts_of(own("line_of_another.keyvalue")), "eno1>leaf-1/swp4 eno2.5>aa:00:00:00:00:02/swp5 ");
  ASSERT_EQ(facts->remarks.size(), 1u);
  EXPECT_EQ(facts->remarks[0].line, 8u);
}

TEST(LldpFacts, TwoSwitchesOfOneNameAreTwoDevices) {
  const char* text =
      "lldp.e1.via=LLDP\nlldp.e1.chassis.mac=aa:01\nlldp.e1.chassis.name=leaf\nlldp.e1.port.ifname=swp1\n"
      "lldp.e2.via=LLDP\nlldp.e2.chassis.mac=aa:02\nlldp.e2.chassis.name=leaf\nlldp.e2.port.ifname=swp1\n";
  const auto facts = read_lldp("l", text);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->devices.size(), 3u);
  EXPECT_EQ(facts->remarks.back().text, "2 switches are called leaf: only the chassis id tells them apart");
}

TEST(LldpFacts, NothingHeardIsToldAndNoError) {
  for (const char* text : {"", "{}", "{\"lldp\": {\n\n}}"}) {
    const auto facts = read_lldp("l", text);
    ASSERT_TRUE(facts.ok()) << text;
    EXPECT_EQ(facts->remarks.back().text, "no neighbour: LLDP says nothing here, which is not a missing cable");
  }
}

TEST(LldpFacts, RefusalsNameFileAndLine) {
  EXPECT_THAT(facts_of("LLDP neighbors:\nInterface: eth0"), HasSubstr("lldp.txt:1: neither JSON nor"));
  EXPECT_THAT(facts_of("lldp.e0.via=LLDP\nnonsense"), HasSubstr("lldp.txt:2: not \"lldp."));
  EXPECT_THAT(facts_of("lldp.e0.rid=1\n"), HasSubstr("lldp.txt:1: stands before the first"));
  EXPECT_THAT(facts_of("{\"lldp\":\n3}"), HasSubstr("lldp.txt: lldpctl: member lldp: not an object"));
  EXPECT_THAT(facts_of("{\"lldp\":\n3"), HasSubstr("lldp.txt: no JSON at line 2"));
}

// The captured and generated outputs of the fixture folder, where it is given.
class Fixtures : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("RAILWITNESS_TEST_FIXTURES");
    if (folder == nullptr) GTEST_SKIP() << "RAILWITNESS_TEST_FIXTURES names no folder";
    folder_ = std::filesystem::path(folder) / "lldp";
  }
  std::filesystem::path folder_;
};

TEST_F(Fixtures, NodeWithEightRails) {
  const auto expected = UnorderedElementsAre(
      Pair("ens1np0", "leaf-r1.example.net:Ethernet3/1"), Pair("ens2np0", "leaf-r2:Ethernet1/3"),
      Pair("ens3np0", "leaf-r3:etp3"), Pair("ens4np0", "leaf-r5:Eth1/3"), Pair("ens5np0", "leaf-r4:swp3s0"),
      Pair("ens7np0", "leaf-r7.example.net:Ethernet3/1"), Pair("eno1", "oob-sw1:Ethernet1/44"));
  EXPECT_THAT(links(read(folder_ / "gen-node03-8rails.json")), expected);
  EXPECT_THAT(links(read(folder_ / "gen-node03-8rails.json0")), expected);
}

TEST_F(Fixtures, TwoSwitchesOfOneNameDifferInTheirId) {
  const auto edges = parse_lldp_json(read(folder_ / "gen-duplicate-switch-name-breakout.json"));
  ASSERT_TRUE(edges.ok());
  std::map<std::string, std::string> ids;
  for (const model::Edge& edge : *edges) ids[edge.netdev] = edge.switch_id + " " + edge.switch_port;
  EXPECT_THAT(ids, UnorderedElementsAre(Pair("enp27s0f0np0", "1c:34:da:00:30:0b etp2a"),
                                        Pair("enp27s0f1np1", "1c:34:da:00:30:0b etp2b"),
                                        Pair("enp161s0f0np0", "1c:34:da:00:30:0c etp2a")));
}

TEST_F(Fixtures, SonicOutputs) {
  EXPECT_THAT(links(read(folder_ / "sonic-interface_only.json")),
              UnorderedElementsAre(Pair("Ethernet0", "00:11:22:33:44:55:Ethernet1"),
                                   Pair("Ethernet100", "switch13:Ethernet26")));
  EXPECT_THAT(links(read(folder_ / "sonic-lldpctl_no_neighbors_loc_mgmt_ip.json")), IsEmpty());
  EXPECT_THAT(links(read(folder_ / "gen-no-neighbours.json")), IsEmpty());
  const auto whole = links(read(folder_ / "sonic-lldpctl.json"));
  EXPECT_EQ(whole.at("eth0"), "switch218ad08:ge-0/0/17");
  EXPECT_GT(whole.size(), 5u);
}

TEST_F(Fixtures, EveryPrefixOfAFixtureIsEdgesOrAnError) {
  const std::string text = read(folder_ / "gen-node03-8rails.json");
  for (size_t length = 1; length < text.size(); length += 7) (void)parse_lldp_json(text.substr(0, length));
}

}  // namespace
}  // namespace railwitness::fabric
