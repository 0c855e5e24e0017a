// The map's half of what is to be concluded of the handed fixtures: reads them with the readers, judges, and compares with the
// answer keys (ib_expected) and with what LOG.tsv says of each. Not run without RAILWITNESS_TEST_FIXTURES.
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

#include "nlohmann/json.hpp"
#include "probes/fabric/readers/ibdiagnet.h"
#include "probes/fabric/readers/iblinkinfo.h"
#include "probes/fabric/readers/ibnetdiscover.h"
#include "probes/fabric/readers/ibqueryerrors.h"
#include "probes/fabric/readers/lldp.h"
#include "../hand_fabric.h"

namespace railwitness::fabric {
namespace {

using Read = absl::StatusOr<model::FabricFacts> (*)(std::string_view, std::string_view);
std::string folder;
int right = 0, all = 0;

std::string bytes_of(const std::string& name) {
  std::ifstream file(folder + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

model::FabricFacts facts_of(Read read, const std::string& name) {
  const auto facts = read(name, bytes_of(name));
  if (facts.ok()) return *facts;
  std::cout << name << ": " << facts.status().message() << "\n";
  return {};
}

void row(const std::string& what, bool is_right, const std::string& seen) {
  ++all;
  right += is_right ? 1 : 0;
  std::cout << (is_right ? "right  " : "WRONG  ") << what << "\n";
  if (!is_right) std::cout << "       " << seen << "\n";
}

std::string joined(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line + "; ";
  return out;
}

size_t count(const Judgement& judgement, FindingKind kind) {
  return static_cast<size_t>(std::count_if(judgement.findings.begin(), judgement.findings.end(), [kind](const Finding& f) { return f.kind == kind; }));
}

size_t count(const Judgement& judgement, const std::string& part) {
  return static_cast<size_t>(std::count_if(judgement.findings.begin(), judgement.findings.end(), [&](const Finding& f) { return f.text.find(part) != std::string::npos; }));
}

size_t misplaced(const Judgement& judgement) {
  return count(judgement, FindingKind::kSwapped) + count(judgement, FindingKind::kWrongLeaf) + count(judgement, FindingKind::kOtherUnit) +
         count(judgement, FindingKind::kWrongPort);
}

// --- answer keys

std::string nic_name(std::string text) {
  std::replace(text.begin(), text.end(), '/', ' ');
  return text;
}

std::string place(std::string text) {
  std::replace(text.begin(), text.end(), '/', ':');
  return text;
}

model::FabricFacts plan_of(const nlohmann::json& key) {
  HandFabric plan;
  plan.has_guids = false;
  for (const auto& cable : key["plan"]) {
    const std::string a = cable["a"];
    plan.link(nic_name(a), cable.value("port_a", 1u), cable["b"].get<std::string>(), cable["port"].get<uint32_t>());
  }
  plan.facts.is_plan = true;
  plan.facts.source = {"plan", "key", {}, {}};
  return plan.facts;
}

// The key's findings as "KIND: COMPONENTS > WANTED".
std::vector<std::string> expected_of(const nlohmann::json& key) {
  std::vector<std::string> out;
  for (const auto& one : key["expected"]) {
    const std::string kind = one["kind"], host = one.value("host", "");
    const auto at = [&](const char* name) { return one[name].get<std::string>(); };
    const auto numbered = [&](const char* device, const char* port) { return at(device) + ":" + std::to_string(one[port].get<int>()); };
    if (kind == "rail-swapped") {
      out.push_back("swapped: " + host + " " + one["ports"][0].get<std::string>() + ", " + host + " " + one["ports"][1].get<std::string>() + " > " +
                    place(one["want"][0]) + ", " + place(one["want"][1]));
    } else if (kind == "wrong-rail") {
      out.push_back("wrong-leaf: " + host + " " + at("port") + ", " + place(at("found")) + " > " + place(at("want")));
    } else if (kind == "missing-host-link") {
      out.push_back("missing-link: " + host + " " + at("port") + " > " + place(at("want")));
    } else if (kind == "missing-uplink") {
      out.push_back("missing-switch-link: " + at("a") + ", " + at("b") + " > " + numbered("a", "port_a") + ", " + numbered("b", "port"));
    } else if (kind == "slow-link") {
      out.push_back("slow: " + place(at("at")) + ", " + host + " " + at("port"));
    } else if (kind == "narrow-link") {
      out.push_back("narrow: " + numbered("a", "port_a") + ", " + numbered("b", "port"));
    } else {
      out.push_back("the key has a kind that is not known here: " + kind);
    }
  }
  return out;
}

std::vector<std::string> found_of(const Judgement& judgement) {
  std::vector<std::string> out;
  for (const Finding& finding : judgement.findings) {
    if (finding.kind == FindingKind::kCableErrors || finding.kind == FindingKind::kCongestion) continue;
    std::string line(word(finding.kind));
    for (size_t i = 0; i < finding.components.size(); ++i) line += (i == 0 ? ": " : ", ") + finding.components[i];
    for (size_t i = 0; i < finding.wanted.size(); ++i) line += (i == 0 ? " > " : ", ") + finding.wanted[i];
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> counters_of(const Judgement& judgement) {
  std::vector<std::string> out;
  for (const std::string& line : told(judgement)) {
    if (line.starts_with("cable-errors") || line.starts_with("congestion")) out.push_back(line);
  }
  return out;
}

void check_keys() {
  const auto key = nlohmann::json::parse(bytes_of("ib_expected/gen-A.plan-and-expected.json"));
  const auto healthy = nlohmann::json::parse(bytes_of("ib_expected/gen-H0.plan-and-expected.json"));
  const std::vector<std::pair<std::string, model::FabricFacts>> forms{
      {"ibnetdiscover", facts_of(read_ibnetdiscover, "ibnetdiscover/gen-A-rail-faults.txt")},
      {"ibnetdiscover -p", facts_of(read_ibnetdiscover, "ibnetdiscover/gen-A-rail-faults.ports-p.txt")},
      {"iblinkinfo", facts_of(read_iblinkinfo, "iblinkinfo/gen-A-rail-faults.txt")},
      {"db_csv", facts_of(read_ibdiagnet, "ibdiagnet/gen-A-rail-faults.db_csv")}};
  const model::FabricFacts errors = facts_of(read_ibqueryerrors, "ibqueryerrors/gen-A-counters.txt");
  const model::FabricFacts details = facts_of(read_ibqueryerrors, "ibqueryerrors/gen-A-counters.details-data.txt");
  const std::string want = joined(expected_of(key));
  const std::string want_counters = joined({"cable-errors: leaf-r1:38, spine-3:2", "cable-errors: leaf-r4:3, node-03 mlx5_5",
                                            "cable-errors: leaf-r4:4, node-04 mlx5_5", "congestion: leaf-r3:33, spine-1:5"});
  std::vector<model::FabricFacts> every;
  for (const auto& [name, facts] : forms) {
    every.push_back(facts);
    const std::string alone = joined(found_of(judged({facts}))), planned = joined(found_of(judged({facts, plan_of(key)})));
    row("gen-A, " + name + ": the key's six findings without a plan", alone == want, alone);
    row("gen-A, " + name + ": the same with the plan", planned == want, planned);
    const std::string counters = joined(counters_of(judged({facts, errors}))), more = joined(counters_of(judged({details, facts})));
    row("gen-A, " + name + " and ibqueryerrors: four findings of counters, by cable", counters == want_counters, counters);
    row("gen-A, " + name + " and ibqueryerrors --details --data: the same", more == want_counters, more);
  }
  every.push_back(errors);
  every.push_back(plan_of(key));
  const std::string together = joined(found_of(judged(every)));
  row("gen-A, every form and the plan at once: the same six", together == want, together);
  const model::FabricFacts net = facts_of(read_ibnetdiscover, "ibnetdiscover/gen-H0-healthy.txt"), links = facts_of(read_iblinkinfo, "iblinkinfo/gen-H0-healthy.txt");
  const model::FabricFacts none = facts_of(read_ibqueryerrors, "ibqueryerrors/gen-H0-none.txt");
  for (const auto& [name, facts] : {std::pair{"ibnetdiscover", net}, std::pair{"iblinkinfo", links}}) {
    const Judgement alone = judged({facts, none}), planned = judged({facts, none, plan_of(healthy)});
    row(std::string("gen-H0, ") + name + ": no finding", alone.is_fabric_seen && alone.findings.empty(), joined(told(alone)));
    row(std::string("gen-H0, ") + name + ", with the plan: no finding", planned.is_fabric_seen && planned.findings.empty(), joined(told(planned)));
  }
}

// --- rows of LOG.tsv

void check_superpod() {
  const std::clock_t from = std::clock();  // of the processor: a busy machine is no verdict
  const model::FabricFacts facts = facts_of(read_ibnetdiscover, "ibnetdiscover/superpod-a100-8rail-hdr-5007nodes.txt");
  const FabricMap map = build_map({facts});
  const Rails rails = find_rails(map);
  const Judgement judgement = judge(map, rails);
  const double seconds = static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of_eight = std::count_if(rails.hosts.begin(), rails.hosts.end(), [](const HostPlace& host) { return host.nics.size() == 8; });
  std::cout << "       5007 nodes: " << seconds << " s of processor, " << usage.ru_maxrss / 1024 << " MiB\n";
  row("superpod: no NIC is in a wrong place", misplaced(judgement) == 0 && judgement.is_fabric_seen, joined(told(judgement)));
  row("superpod: 458 hosts of 8 rails lack none", of_eight == 458 && rails.rail_count == 8 && count(judgement, FindingKind::kMissingLink) == 0,
      std::to_string(of_eight));
  row("superpod: only pairs of switches with one cable where their twins have two are found",
      judgement.findings.size() == count(judgement, FindingKind::kMissingSwitchLink) && count(judgement, "have 1 of 2 cables") == judgement.findings.size(),
      joined(told(judgement)));
  row("superpod: read, joined and judged within 2 s of processor and 512 MiB", seconds <= 2 && usage.ru_maxrss / 1024 <= 512, std::to_string(seconds));
}

void check_others() {
  const auto net = [](const std::string& name) { return facts_of(read_ibnetdiscover, "ibnetdiscover/" + name + ".txt"); };
  const Judgement tray = judged({net("gb200-ndr-mqm9701-623nodes")});
  row("gb200: 6 pairs of switches have one cable of two", count(tray, "have 1 of 2 cables") == 6, joined(told(tray)));
  row("gb200: 11 hosts have 3 of 4 rails, those of a unit without a leaf of the fourth",
      count(tray, "the 11 hosts of unit 0 have no rail 2") == 1 && count(tray, FindingKind::kMissingLink) == 1, joined(told(tray)));
  const Judgement lab = judged({net("lab-mixed-fdr10-selfloop")});
  const auto loops = std::count_if(lab.notes.begin(), lab.notes.end(), [](const std::string& note) { return note.find("back into the same device") != std::string::npos; });
  row("lab: two cables looped back are noted and nothing is found", loops == 2 && lab.findings.empty(), joined(told(lab)));
  const Judgement old = judged({net("voltaire-lmc1-dualport-2007")});
  row("voltaire: the ends of two cables disagree on width", count(old, FindingKind::kEndsDisagree) == 2 && old.findings.size() == 2 &&
      count(old, "ISR9024 Voltaire:10") == 1, joined(told(old)));
  const Judgement split = judged({net("ndr200-split-129ports-redacted-guids")});
  row("split ports: two lanes are their whole width", split.findings.empty() && split.is_fabric_seen, joined(told(split)));
  const Judgement single = judged({net("single-ca-no-link")});
  row("single CA: no fabric seen", !single.is_fabric_seen && count(single, FindingKind::kNoFabric) == 1, joined(told(single)));
  const Judgement report = judged({net("ports-report-p-edr")});
  row("ports report: ports without a peer are no findings", report.findings.empty() && report.is_fabric_seen, joined(told(report)));
  const Judgement faked = judged({net("faked-mqm8700-mcs8500-small")});
  row("faked: a dangling peer breaks nothing", faked.is_fabric_seen && count(faked, FindingKind::kNoFabric) == 0, joined(told(faked)));
  const Judgement twins = judged({facts_of(read_lldp, "lldp/gen-duplicate-switch-name-breakout.json")});
  row("lldp: two switches of one name are two", count(twins, FindingKind::kDuplicateName) == 1, joined(told(twins)));
  const Judgement none = judged({facts_of(read_lldp, "lldp/gen-no-neighbours.json")});
  row("lldp: no neighbour is no information", none.findings.empty() && !none.is_fabric_seen && !none.notes.empty(), joined(told(none)));
}

}  // namespace

int run() {
  const char* named = std::getenv("RAILWITNESS_TEST_FIXTURES");
  if (named == nullptr) {
    std::cout << "not run: RAILWITNESS_TEST_FIXTURES names no folder\n";
    return 77;
  }
  folder = named;
  check_superpod();
  check_keys();
  check_others();
  std::cout << "fixtures_map: " << right << " of " << all << " right\n";
  return right == all ? 0 : 1;
}

}  // namespace railwitness::fabric

int main() {
  return railwitness::fabric::run();
}
