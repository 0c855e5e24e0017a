#include "probes/fabric/map.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hand_fabric.h"
#include "probes/fabric/facts_text.h"
#include "probes/fabric/identity.h"
#include "probes/fabric/picture.h"

namespace railwitness::fabric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(Map, NamesLoseWhatTheSubnetManagerAndDnsAdd) {
  EXPECT_EQ(short_name("MF0;leaf-r8:MQM9700/U1"), "leaf-r8");
  EXPECT_EQ(short_name("MF0;r-mgr-sw226:SX6036/U1"), "r-mgr-sw226");
  EXPECT_EQ(short_name("leaf-r1.example.org"), "leaf-r1");
  EXPECT_EQ(short_name("switch.1.1"), "switch.1.1");
  EXPECT_EQ(short_name("ISR9024 Voltaire"), "ISR9024 Voltaire");
}

TEST(Map, SourcesWithAndWithoutGuidsMeetByName) {
  HandFabric with = whole_fabric(), without = whole_fabric();
  for (model::FabricDevice& device : without.facts.devices) device.guid.clear();
  const FabricMap map = build_map({with.facts, without.facts});
  EXPECT_THAT(map.devices, SizeIs(with.facts.devices.size()));
  EXPECT_THAT(map.links, SizeIs(with.facts.links.size()));
  EXPECT_THAT(map.links[0].sources, SizeIs(2));
}

TEST(Map, APortsGuidIsEnoughToMeet) {
  HandFabric with = whole_fabric(), without = whole_fabric();
  for (HandFabric* fabric : {&with, &without}) {
    fabric->at("node-01 mlx5_0", 1).guid = "a088c20300400001";
    fabric->facts.devices[fabric->device("node-01 mlx5_0")].host.clear();
  }
  without.facts.devices[without.device("node-01 mlx5_0")].guid.clear();
  without.facts.devices[without.device("node-01 mlx5_0")].name = "set anew";
  EXPECT_THAT(build_map({with.facts, without.facts}).devices, SizeIs(with.facts.devices.size()));
}

TEST(Map, ANicThatWasAskedByItsPortsGuidAloneIsThatNic) {
  HandFabric fabric = whole_fabric(), asked;
  fabric.at("node-02 mlx5_3", 1).guid = "0002c90300010201";
  asked.facts.source = {"perfquery", "0x0002c90300010201.out", 1, {}};  // the older one
  asked.at("", 1).counters["PortRcvErrors"] = {120, false};
  asked.facts.devices[0] = {};
  asked.facts.devices[0].guid = "0002c90300010201";
  const FabricMap map = build_map({fabric.facts, asked.facts});
  EXPECT_THAT(map.devices, SizeIs(fabric.facts.devices.size()));
  for (const MapDevice& device : map.devices) EXPECT_NE(device.guid, "0002c90300010201") << "a port's GUID for the device's";
  EXPECT_THAT(told(judge(map, find_rails(map))), ElementsAre("cable-errors: leaf-r2:2, node-02 mlx5_3"));
}

TEST(Map, FactoryNamesJoinNobody) {
  model::FabricFacts facts;
  for (int i = 0; i < 3; ++i) facts.devices.emplace_back().name = "MT4129 ConnectX7   Mellanox Technologies";
  EXPECT_THAT(build_map({facts, facts}).devices, SizeIs(6));
}

TEST(Map, AnInterfaceThatLldpTellsIsTheNicOfItsHost) {
  HandFabric lldp;
  lldp.facts.source.kind = "lldp";
  model::FabricDevice host;
  host.kind = model::DeviceKind::kNic, host.host = host.name = "node-03", host.chassis = "02:00:00:00:00:03";
  lldp.facts.devices.push_back(host);
  model::FabricPort port;
  port.label = "ens1np0";
  lldp.facts.ports.push_back(port);
  lldp.facts.links.push_back({0, lldp.port("leaf-r1", 3), true, {}, 0});
  const FabricMap map = build_map({lldp.facts});
  EXPECT_EQ(map.cable_name(map.links.at(0)), "node-03 ens1np0 - leaf-r1:3");
}

TEST(Map, TheLaterOfTwoSourcesIsTakenAndBothAreTold) {
  HandFabric before = whole_fabric(), after = whole_fabric();
  after.move("node-01 mlx5_0", "leaf-r1", 20);
  after.facts.source.wall_ns = *before.facts.source.wall_ns + 1;
  const FabricMap map = build_map({after.facts, before.facts});
  EXPECT_THAT(map.notes, ElementsAre(HasSubstr("leaf-r1:20")));
  EXPECT_THAT(map.links, SizeIs(before.facts.links.size()));
}

TEST(Memory, TheLastKnownEdgeSurvivesTheLossOfItsSourceAndARestart) {
  const HandFabric fabric = whole_fabric();
  const std::string state = state_text(remember(build_map({fabric.facts})));
  const auto remembered = parse_state(state);
  ASSERT_TRUE(remembered.ok()) << remembered.status();
  const FabricMap map = build_map({}, *remembered);
  ASSERT_THAT(map.links, SizeIs(fabric.facts.links.size()));
  EXPECT_EQ(map.links[0].state, LinkState::kSilent);
  EXPECT_EQ(map.sources[map.links[0].sources[0]].source.wall_ns, fabric.facts.source.wall_ns);
  EXPECT_EQ(state_text(remember(map)), state);
}

TEST(Memory, ACableThatItsSourceNoLongerSaysIsLost) {
  const HandFabric before = whole_fabric({2, 1, 2, 1, {0, 1}});
  HandFabric after = before;
  after.facts.source.wall_ns = *before.facts.source.wall_ns + 1;
  after.cut("node-01 mlx5_0", 1);
  const auto remembered = remember(build_map({before.facts}));
  EXPECT_THAT(told(judged({after.facts}, remembered)), ElementsAre("lost-link: leaf-r1:1, node-01 mlx5_0"));
  HandFabric other = after;
  other.facts.source.kind = "lldp";  // another source never said it
  EXPECT_THAT(told(judged({other.facts}, remembered)), IsEmpty());
}

TEST(Memory, AFileThatIsNoneIsRefusedWithTheWayOut) {
  for (const char* text : {"", "{}", "[1]", "{\"type\":\"railwitness-fabric\",\"version\":2,\"facts\":[]}", "{\"type\":\"railwitness-fabric\",\"version\":1}",
                           "{\"type\":\"railwitness-fabric\",\"version\":1,\"facts\":[{\"devices\":[],\"ports\":[{\"device\":0}],\"links\":[]}]}",
                           "{\"type\":\"railwitness-fabric\",\"version\":1,\"facts\":[{\"devices\":[],\"ports\":[],\"links\":[[0,1]]}]}"}) {
    const auto parsed = parse_state(text);
    EXPECT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("remove the file")) << text;
  }
}

TEST(Picture, WhatSourcesSayIsEscaped) {
  HandFabric fabric = whole_fabric();
  fabric.cut("node-07 mlx5_5", 1);
  fabric.facts.source.file = "<script>alert(1)</script>";
  for (model::FabricDevice& device : fabric.facts.devices) {
    if (device.host == "node-07") device.host = "<img src=x onerror=alert(1)>\x1b[31m", device.name = device.host + " " + device.nic;
  }
  const FabricMap map = build_map({fabric.facts});
  const Rails rails = find_rails(map);
  const std::string page = picture_html(map, rails, judge(map, rails));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
}

// A viewer of SVG refuses the whole picture for one such byte. Names are what devices say of themselves.
TEST(Picture, BytesThatAreNoTextAreReplacedAndCharactersStayWhole) {
  const std::string put = "\xEF\xBF\xBD";
  for (const auto& [said, shown] : std::vector<std::pair<std::string, std::string>>{
           {"h\xC3\xA9st \xE2\x82\xAC \xF0\x9F\x98\x80", "h\xC3\xA9st \xE2\x82\xAC \xF0\x9F\x98\x80"},
           {"a\xFF" "b", "a" + put + "b"},
           {"\xE2\x82" "af", put + put + "af"},             // cut short
           {"\xC0\x80\xE0\x80\x80", put + put + put + put + put},  // longer than it need be
           {"\xED\xA0\x80", put + put + put},             // half of a pair
           {"\xEF\xBF\xBE\xEF\xBF\xBF", put + put + put + put + put + put},  // no XML may have these
           {"\xF4\x90\x80\x80", put + put + put + put},    // beyond the last
           {"end\xE2\x82", "end" + put + put}}) {
    EXPECT_EQ(escaped(said), shown);
  }
}

TEST(Picture, ALongNameIsNotCutInsideACharacter) {
  HandFabric fabric = whole_fabric();
  for (model::FabricDevice& device : fabric.facts.devices) {
    if (device.host == "node-07") device.host = "r\xC3\xA9gal-\xC3\xA9\xC3\xA9-123456789-abcde", device.name = device.host + " " + device.nic;
  }
  const FabricMap map = build_map({fabric.facts});
  const Rails rails = find_rails(map);
  const std::string svg = picture_svg(map, rails, judge(map, rails));
  EXPECT_THAT(svg, HasSubstr("...-123456789-abcde<"));
  EXPECT_THAT(svg, Not(HasSubstr("\xEF\xBF\xBD")));
}

TEST(Picture, ThePageHasTheRailOfEveryFindingAsTheRowsOfThePictureAreRails) {
  HandFabric fabric = whole_fabric();
  fabric.cut("node-07 mlx5_5", 1);
  const FabricMap map = build_map({fabric.facts});
  const Rails rails = find_rails(map);
  EXPECT_THAT(picture_html(map, rails, judge(map, rails)), HasSubstr("<td>missing-link<td>3<td>node-07 "));
}

TEST(Picture, ASmallFabricHasASmallPicture) {
  const auto width_of = [](const HandFabric& fabric) {
    const FabricMap map = build_map({fabric.facts});
    const Rails rails = find_rails(map);
    const std::string svg = picture_svg(map, rails, judge(map, rails));
    return std::stoi(svg.substr(svg.find("width=\"") + 7));
  };
  EXPECT_LT(width_of(whole_fabric()), 800);
  const int large = width_of(whole_fabric({36, 4, 4, 2, {0, 3, 4, 5}}));
  EXPECT_GT(large, 1200);
  EXPECT_LE(large, 1480);
}

// librsvg and Inkscape know no variables and drew all in black.
TEST(Picture, EveryColourIsToldWithoutVariablesToo) {
  const FabricMap map = build_map({whole_fabric().facts});
  const Rails rails = find_rails(map);
  const std::string svg = picture_svg(map, rails, judge(map, rails));
  size_t seen = 0;
  for (const std::string property : {"fill:", "stroke:"}) {
    for (size_t at = svg.find(property + "var("); at != std::string::npos; at = svg.find(property + "var(", at + 1)) {
      EXPECT_EQ(svg.substr(at - property.size() - 8, property.size() + 1), property + "#") << svg.substr(at - 20, 50);
      ++seen;
    }
  }
  EXPECT_GE(seen, 10u);
  EXPECT_NE(svg.find("8 hosts, 32 NICs, 8 switches"), std::string::npos) << "no heading";
}

TEST(Picture, AMissingNicHasALetterAndAColour) {
  HandFabric fabric = whole_fabric();
  fabric.cut("node-07 mlx5_5", 1);
  const FabricMap map = build_map({fabric.facts});
  const Rails rails = find_rails(map);
  const std::string svg = picture_svg(map, rails, judge(map, rails));
  EXPECT_THAT(svg, HasSubstr("class=\"miss\""));
  EXPECT_THAT(svg, HasSubstr(">M</text>"));
  EXPECT_THAT(svg, HasSubstr("missing (1)"));
}

// --- any facts at all

class Chance {
 public:
  explicit Chance(uint32_t seed) : random_(seed) {}
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  model::FabricFacts facts() {
    static const std::vector<std::string> kKinds{"ibnetdiscover", "iblinkinfo", "lldp", "ufm", ""};
    model::FabricFacts out;
    out.source = {kKinds[below(5)], below(2) ? "a" : "b", {}, {}};
    if (below(3) > 0) out.source.wall_ns = below(4);
    out.is_plan = below(6) == 0;
    for (uint32_t i = below(14); i > 0; --i) out.devices.push_back(device());
    for (uint32_t i = below(40); i > 0; --i) out.ports.push_back(port());
    for (uint32_t i = below(40); i > 0; --i) out.links.push_back({below(44), below(44), false, {}, 0});
    return out;
  }

 private:
  model::FabricDevice device() {
    model::FabricDevice out;
    out.kind = static_cast<model::DeviceKind>(below(6));
    if (below(2)) out.guid = fmt::format("{:016x}", below(6));
    if (below(4) == 0) out.chassis = fmt::format("02:{:02x}", below(4));
    if (below(2)) out.host = fmt::format("n{}", below(3)), out.nic = below(3) ? fmt::format("mlx5_{}", below(4)) : "";
    out.name = below(2) ? fmt::format("sw-{}", below(4)) : out.host + " " + out.nic;
    return out;
  }

  model::FabricPort port() {
    model::FabricPort out;
    out.device = below(16);
    out.number = below(4);
    if (below(3) == 0) out.label = fmt::format("swp{}", below(4));
    if (below(3) == 0) out.guid = fmt::format("{:016x}", below(8));
    out.state = static_cast<model::PortState>(below(5));
    if (below(2)) out.lanes = below(5), out.lane_mbps = below(3) * 50'000;
    if (below(5) == 0) out.could_be_lanes = below(5);
    if (below(3) == 0) out.counters["SymbolErrorCounter"] = {below(30), below(9) == 0};
    return out;
  }

  std::mt19937 random_;
};

std::string answer(std::vector<model::FabricFacts> facts, std::vector<model::FabricFacts> remembered) {
  const FabricMap map = build_map(std::move(facts), std::move(remembered));
  const Rails rails = find_rails(map);
  const Judgement judgement = judge(map, rails);
  std::string out = state_text(remember(map)) + picture_html(map, rails, judgement);
  for (const Finding& finding : judgement.findings) out += finding.id;
  EXPECT_LE(map.notes.size(), kMaxNotes + 100);
  EXPECT_LE(judgement.findings.size(), kMaxFindings);
  return out;
}

TEST(AnyFacts, GiveAnAnswerThatTheOrderOfTheSourcesDoesNotChange) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    Chance chance(seed);
    std::vector<model::FabricFacts> facts, remembered;
    for (uint32_t i = 1 + chance.below(4); i > 0; --i) facts.push_back(chance.facts());
    if (chance.below(2)) {
      auto before = parse_state(state_text(remember(build_map({chance.facts()}))));
      ASSERT_TRUE(before.ok()) << "seed " << seed << ": " << before.status();
      remembered = *std::move(before);
    }
    const std::string one = answer(facts, remembered);
    std::reverse(facts.begin(), facts.end());
    ASSERT_EQ(one, answer(facts, remembered)) << "seed " << seed;
    std::rotate(facts.begin(), facts.begin() + 1, facts.end());
    ASSERT_EQ(one, answer(facts, remembered)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace railwitness::fabric
