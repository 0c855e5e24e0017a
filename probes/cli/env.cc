#include "probes/cli/env.h"

#include <algorithm>

#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "probes/cli/arguments.h"
#include "probes/cli/table.h"
#include "probes/doctor/nccl_variables.h"
#include "probes/model/json_text.h"
#include "probes/model/printable.h"
#include "railwitness/base/knobs.h"
#include "railwitness/base/version.h"

namespace railwitness::cli {
namespace {

using nlohmann::ordered_json;

std::string readers_of(const knobs::Knob& knob) {
  std::string out;
  const auto add = [&](unsigned reader, const char* word) {
    if (knob.readers & reader) out += (out.empty() ? "" : ", ") + std::string(word);
  };
  add(knobs::kJob, "job");
  add(knobs::kSidecar, "sidecar");
  add(knobs::kCorrelate, "correlate");
  add(knobs::kLs, "ls");
  add(knobs::kDoctor, "doctor");
  add(knobs::kBuild, "build");
  add(knobs::kTests, "tests");
  return out;
}

std::string_view type_of(const knobs::Knob& knob) {
  switch (knob.type) {
    case knobs::Type::kText:
      return "text";
    case knobs::Type::kPath:
      return "path";
    case knobs::Type::kSocket:
      return "path of a socket";
    case knobs::Type::kUrl:
      return "URL";
    case knobs::Type::kCommand:
      return "command";
    case knobs::Type::kChoice:
      return "choice";
    case knobs::Type::kNumber:
      return "number";
  }
  return "";
}

std::string allowed_of(const knobs::Knob& knob) {
  if (knob.type == knobs::Type::kNumber) return fmt::format("{} to {} {}", knob.least, knob.most, knob.unit);
  std::string choices = knob.choices;
  for (size_t at = 0; (at = choices.find('|', at)) != std::string::npos; at += 2) choices.replace(at, 1, ", ");
  return choices;
}

std::string problem_of(const doctor::Setting& setting) {
  const std::string entry = setting.name + "=" + setting.value;
  char text[256];
  knobs::describe_problem(knobs::read_entry(entry), text, sizeof text);
  return text;
}

std::string shown(const std::string& value) {
  return value.empty() ? "-" : model::printable(value, 60);
}

std::string knob_table(const doctor::Environment& environment) {
  Table table({"VARIABLE", "VALUE", "SET BY", "READ BY", "MEANING"});
  for (const knobs::Knob& knob : knobs::kAll) {
    const doctor::Setting* setting = environment.find(knob.name);
    table.add({knob.name, shown(setting != nullptr ? setting->value : knob.standard),
               setting != nullptr ? setting->origin : "default", readers_of(knob), knob.text});
  }
  return table.text();
}

ordered_json knobs_json(const doctor::Environment& environment) {
  ordered_json out = ordered_json::array();
  for (const knobs::Knob& knob : knobs::kAll) {
    const doctor::Setting* setting = environment.find(knob.name);
    ordered_json row{{"name", knob.name},
                     {"value", setting != nullptr ? setting->value : knob.standard},
                     {"default", knob.standard},
                     {"set_by", setting != nullptr ? setting->origin : "default"},
                     {"read_by", readers_of(knob)},
                     {"type", type_of(knob)},
                     {"allowed", allowed_of(knob)},
                     {"since", knob.since},
                     {"text", knob.text}};
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

std::string knobs_markdown() {
  std::string out =
      "# Variables\n\n"
      "Made by `railwitness env --markdown` from `include/railwitness/base/knobs.h`; a test compares. `railwitness "
      "env` "
      "shows the\nvalues of the present environment, `railwitness env --pid PID` those of a running job, and flags "
      "what "
      "is misspelt.\n\n"
      "A job goes on with the default if a value is wrong, and says so and names what is misspelt in one line of NCCL's "
      "log; a\nprogram does not start with a wrong value, and warns of a name that is not known. An empty value is as "
      "good as none, except\nwhere the text says otherwise.\n\n"
      "| variable | read by | type | default | allowed | since | meaning |\n|---|---|---|---|---|---|---|\n";
  for (const knobs::Knob& knob : knobs::kAll) {
    const auto code = [](std::string text) {
      for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\|");
      return text.empty() ? text : "`" + text + "`";
    };
    const std::string allowed = allowed_of(knob);
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", knob.name, readers_of(knob), type_of(knob),
                       code(knob.standard), knob.type == knobs::Type::kChoice ? code(allowed) : allowed, knob.since,
                       knob.text);
  }
  return out;
}

Answer show_environment(const doctor::Environment& environment, const std::string& whose, bool json) {
  std::vector<std::string> problems;
  std::vector<std::pair<doctor::Setting, doctor::Check>> remarks;
  for (const doctor::Setting& setting : environment.settings) {
    if (std::string problem = problem_of(setting); !problem.empty()) problems.push_back(std::move(problem));
    if (auto remark = doctor::remark_on(setting, environment)) remarks.emplace_back(setting, *std::move(remark));
  }
  const bool is_bad = !problems.empty() || std::any_of(remarks.begin(), remarks.end(), [](const auto& remark) {
    return remark.second.state == doctor::State::kBad;
  });
  const int code = is_bad ? kExitFinding : kExitOk;
  if (json) {
    ordered_json out{{"type", "environment"}, {"of", whose}, {"problems", problems}};
    out["variables"] = knobs_json(environment);
    out["nccl"] = ordered_json::array();
    for (const auto& [setting, remark] : remarks) {
      out["nccl"].push_back({{"name", setting.name},
                             {"value", setting.value},
                             {"set_by", setting.origin},
                             {"state", doctor::word(remark.state)},
                             {"meaning", remark.evidence},
                             {"way_out", remark.way_out}});
    }
    return {code, model::dump(out) + "\n", ""};
  }
  std::string out =
      fmt::format("railwitness {}, environment of {}\n\n{}", kVersionText, whose, knob_table(environment));
  Table table({"NCCL'S VARIABLE", "VALUE", "SET BY", "", "MEANS FOR US"});
  for (const auto& [setting, remark] : remarks) {
    table.add({setting.name, shown(setting.value), setting.origin, std::string(doctor::word(remark.state)),
               remark.evidence + (remark.way_out.empty() ? "" : "; way out: " + remark.way_out)});
  }
  out += "\n" + (table.empty() ? "none of NCCL's variables that matter to us is set\n" : table.text());
  if (!problems.empty()) out += "\n";
  for (const std::string& problem : problems) out += "wrong: " + problem + "\n";
  return {code, out, ""};
}

Answer run_env(const EnvOptions& options) {
  if (options.markdown) return {kExitOk, knobs_markdown(), ""};
  if (!options.pid) return show_environment(doctor::own_environment(), "this process", options.json);
  const auto environment = doctor::environment_of(*options.pid);
  if (!environment.ok()) {
    return {kExitCannot, "", fmt::format("railwitness env: {}\n", std::string(environment.status().message()))};
  }
  return show_environment(*environment, fmt::format("process {}", *options.pid), options.json);
}

}  // namespace railwitness::cli
