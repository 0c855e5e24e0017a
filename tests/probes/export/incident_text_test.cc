#include "probes/export/incident_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace railwitness::exporter {
namespace {

using model::Class;
using model::Component;
using model::ComponentKind;
using model::Incident;
using model::IncidentState;
using testing::HasSubstr;

constexpr int64_t kNow = 1'790'000'003'100'000'000;

Component edge(const char* node, int rail) {
  Component c;
  c.kind = ComponentKind::kEdge;
  c.node = node;
  c.rail = rail;
  c.device = std::string("rxe_") + node;
  c.port = 1;
  c.netdev = node + std::string("r") + std::to_string(rail);
  c.switch_name = "leaf-r" + std::to_string(rail);
  c.switch_port = "swp3";
  c.edge_source = "lldp";
  c.edge_age_ns = 4'250'000'000;
  return c;
}

Component rank(int32_t number, const char* node) {
  Component c;
  c.kind = ComponentKind::kRank;
  c.node = node;
  c.rank = number;
  c.pid = 1000 + number;
  return c;
}

Incident link() {
  Incident incident;
  incident.id = "20260921T131323-fleet-0001";
  incident.state = IncidentState::kConfirmed;
  incident.onset_wall_ns = kNow - 1'100'000'000;
  incident.detected_wall_ns = kNow - 100'000'000;
  incident.updated_wall_ns = kNow;
  incident.finding.cls = Class::kLink;
  incident.finding.subclass = "port_down";
  incident.finding.confidence = 0.97;
  incident.finding.culprit = {edge("h2", 1)};
  incident.finding.evidence_for = {{"port rxe_h2/1 of h2 is DOWN", "port", "h2"}};
  incident.finding.exonerated = {edge("h1", 1), rank(2, "h2")};
  incident.finding.job = "8812";
  incident.finding.comm_hash = 0xC0FFEE;
  incident.finding.ranks_blocked = {0, 1, 2, 3};
  return incident;
}

size_t characters(const std::string& text) {
  size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

TEST(OneLine, SaysEverythingWhereThereIsRoom) {
  EXPECT_EQ(one_line(link(), kNow),
            "LINK confirmed 0.97  h2 rail 1  rxe_h2/1 ► cable h2r1–swp3 ► leaf-r1:swp3  port down 1.1 s  "
            "job 8812 blocked 4 ranks  rank 2 exonerated");
}

TEST(OneLine, NamesTheCableByItsLabelWhereOneIsKnown) {
  Incident incident = link();
  incident.finding.culprit[0].cable = "C-0417";
  EXPECT_THAT(one_line(incident, kNow), HasSubstr("► cable C-0417 ►"));
}

TEST(OneLine, TellsWhenTheSwitchPortIsFromMemory) {
  Incident incident = link();
  incident.finding.culprit[0].edge_present = false;
  EXPECT_THAT(one_line(incident, kNow), HasSubstr("leaf-r1:swp3  (lldp 4 s ago)"));
}

TEST(OneLine, SeveralSuspectsAreOneOfThem) {
  Incident incident = link();
  incident.state = IncidentState::kSuspected;
  incident.finding.subclass = "silent_loss";
  incident.finding.confidence = 0.45;
  incident.finding.culprit = {edge("h1", 1), edge("h2", 1)};
  EXPECT_EQ(one_line(incident, kNow),
            "LINK suspected 0.45  one of: h1 rail 1, h2 rail 1  silent loss 1.1 s  job 8812 blocked 4 ranks  rank 2 "
            "exonerated");
}

TEST(OneLine, OfARank) {
  Incident incident = link();
  incident.finding.cls = Class::kRankHung;
  incident.finding.subclass = "stopped";
  incident.finding.culprit = {rank(2, "host2")};
  incident.finding.blind = {"host7", "host8"};
  EXPECT_EQ(
      one_line(incident, kNow),
      "RANK_HUNG confirmed 0.97  rank 2 on host2 pid 1002  stopped 1.1 s  job 8812 blocked 4 ranks  fabric exonerated  "
      "blind: host7 +1");
}

TEST(OneLine, IsNeverLongerThan160CharactersAndKeepsWhatMattersMost) {
  Incident incident = link();
  incident.finding.job = std::string(200, 'j');
  incident.finding.culprit[0].switch_name = std::string(60, 's');
  incident.finding.culprit[0].netdev = std::string(40, 'n');
  const std::string line = one_line(incident, kNow);
  EXPECT_LE(characters(line), 160u);
  EXPECT_THAT(line, HasSubstr("LINK confirmed 0.97  h2 rail 1"));
  EXPECT_THAT(line, HasSubstr("port down 1.1 s"));
  incident.finding.culprit[0].node = std::string(500, 'x');
  EXPECT_LE(characters(one_line(incident, kNow)), 160u);
}

TEST(OneLine, OfARecoveredIncidentSaysHowLongItLasted) {
  Incident incident = link();
  incident.state = IncidentState::kRecovered;
  incident.recovered_wall_ns = incident.onset_wall_ns + 6'000'000'000;
  EXPECT_THAT(one_line(incident, kNow + 60'000'000'000), HasSubstr("LINK recovered 0.97"));
  EXPECT_THAT(one_line(incident, kNow + 60'000'000'000), HasSubstr("port down 6.0 s"));
}

TEST(Json, OfAnIncident) {
  EXPECT_EQ(
      to_json(link(), kNow),
      R"({"type":"incident","id":"20260921T131323-fleet-0001","class":"LINK","subclass":"port_down","state":"confirmed",)"
      R"("confidence":0.97,"job":"8812","comm":"0000000000c0ffee","ranks_blocked":[0,1,2,3],)"
      R"("onset":"2026-09-21T14:13:22.000Z","detected":"2026-09-21T14:13:23.000Z","updated":"2026-09-21T14:13:23.100Z",)"
      R"("recovered":null,"culprit":[{"kind":"edge","node":"h2","rail":1,"device":"rxe_h2","port":1,"netdev":"h2r1",)"
      R"("cable":"h2r1–swp3","switch":"leaf-r1","switch_port":"swp3","edge_source":"lldp","edge_age_s":4.25,)"
      R"("edge_present":true}],"path":"rxe_h2/1 ► cable h2r1–swp3 ► leaf-r1:swp3",)"
      R"("evidence_for":[{"text":"port rxe_h2/1 of h2 is DOWN","kind":"port","node":"h2"}],"evidence_against":[],)"
      R"("alternatives":[],"exonerated":[{"kind":"edge","node":"h1","rail":1,"device":"rxe_h1","port":1,"netdev":"h1r1",)"
      R"("cable":"h1r1–swp3","switch":"leaf-r1","switch_port":"swp3","edge_source":"lldp","edge_age_s":4.25,)"
      R"("edge_present":true},{"kind":"rank","node":"h2","rank":2,"pid":1002}],"blind":[],)"
      R"("line":"LINK confirmed 0.97  h2 rail 1  rxe_h2/1 ► cable h2r1–swp3 ► leaf-r1:swp3  port down 1.1 s  )"
      R"(job 8812 blocked 4 ranks  rank 2 exonerated"})");
}

TEST(Json, SurvivesBytesThatAreNoText) {
  Incident incident = link();
  incident.finding.job = "\xff\xfe\"";
  EXPECT_FALSE(nlohmann::json::parse(to_json(incident, kNow), nullptr, false).is_discarded());
}

model::Finding wait() {
  model::Finding finding;
  finding.cls = Class::kWait;
  finding.subclass = "rank_busy";
  finding.culprit = {rank(2, "host2")};
  finding.evidence_for = {{"busy, 0.98 of a core", "process", "host2"}};
  finding.ranks_blocked = {0, 1, 3};
  finding.onset_wall_ns = kNow - 3'100'000'000;
  return finding;
}

TEST(Wait, LineAndJson) {
  EXPECT_EQ(wait_line(wait(), kNow), "waiting for rank 2 on host2 since 3.1 s (busy, 0.98 of a core)");
  const auto json = nlohmann::json::parse(wait_to_json(wait(), kNow));
  EXPECT_EQ(json["type"], "wait");
  EXPECT_EQ(json["class"], "WAIT");
  EXPECT_EQ(json["culprit"][0]["rank"], 2);
  EXPECT_EQ(json["onset"], "2026-09-21T14:13:20.000Z");
  EXPECT_EQ(json["line"], wait_line(wait(), kNow));
}

TEST(Wait, RoundInACircle) {
  model::Finding finding = wait();
  finding.subclass = "cycle";
  finding.culprit = {edge("h1", 1)};
  finding.evidence_for = {};
  EXPECT_EQ(wait_line(finding, kNow), "ranks 0, 1, 3 wait for each other since 3.1 s (their rails are being probed)");
}

}  // namespace
}  // namespace railwitness::exporter
