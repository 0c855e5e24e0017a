#include "probes/cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "probes/cli/fabric_files.h"
#include "probes/cli/variables.h"
#include "railwitness/base/edit_distance.h"
#include "railwitness/base/knobs.h"

namespace railwitness::cli {
namespace {

constexpr char kAbout[] =
    "railwitness: a witness on every rail of a GPU training fabric.\n"
    "Says which rank, cable, NIC or switch a stalled collective waits for, and on which evidence.";
constexpr char kExits[] =
    "Exit status: 0 done and nothing found, 1 something was found (incident, bad check, misspelt variable, rank without\n"
    "us, bad rail), 2 wrong usage, 3 cannot start or reach, 4 nothing found, but too little heard (correlate --once, probe).";

std::string footer(const std::string& about, const std::string& lines) {
  return about + (about.empty() ? "" : "\n\n") + "Examples:\n" + lines + "\n" + kExits;
}

const knobs::Knob& knob_of(const char* name) {
  const knobs::Knob* knob = knobs::find(name);
  if (knob == nullptr) throw std::logic_error(std::string(name) + " has no row in include/railwitness/base/knobs.h");
  return *knob;
}

// CLI11's own range check says "not in range" of what is no number at all. `allowed` is "a whole number of ...".
template <class Number>
CLI::Validator number(Number least, Number most, const std::string& allowed, const std::string& in_help) {
  const auto problem = [least, most, allowed](const std::string& text) -> std::string {
    Number parsed{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    const bool is_whole = error == std::errc() && end == text.data() + text.size();
    return is_whole && parsed >= least && parsed <= most  // nan is neither
               ? std::string()
               : fmt::format("'{}' is given; {} is meant", text, allowed);
  };
  return CLI::Validator([problem](std::string& text) { return problem(text); }, in_help);
}

// An option that a variable may set as well; its text, default and range are those of the variable's row.
template <class Value>
CLI::Option* add_knob(CLI::App& app, const char* option, Value& value, const char* name) {
  const knobs::Knob& knob = knob_of(name);
  CLI::Option* added = app.add_option(option, value, knob.text)->envname(name);
  if (knob.type == knobs::Type::kNumber) {
    char allowed[128];
    knobs::describe_allowed(knob, allowed, sizeof allowed);
    added->check(number<int64_t>(knob.least, knob.most, allowed,
                                 fmt::format("{} to {} {}", knob.least, knob.most, knob.unit)));
  }
  return added;
}

void add_sidecar(CLI::App& app, sidecar::Options& options, bool& no_pings) {
  add_knob(app, "--socket", options.socket, "RAILWITNESS_SOCKET")->capture_default_str();
  add_knob(app, "--control-socket", options.control_socket, "RAILWITNESS_CONTROL_SOCKET")->capture_default_str();
  add_knob(app, "--nats", options.nats_url, "RAILWITNESS_NATS");
  add_knob(app, "--node", options.node, "RAILWITNESS_NODE");
  add_knob(app, "--lldp-command", options.lldp_command, "RAILWITNESS_LLDP_COMMAND")->capture_default_str();
  add_knob(app, "--lldp-interval-ms", options.lldp_interval_ms, "RAILWITNESS_LLDP_INTERVAL_MS")->capture_default_str();
  add_knob(app, "--read-interval-ms", options.read_interval_ms, "RAILWITNESS_READ_INTERVAL_MS")->capture_default_str();
  add_knob(app, "--max-processes", options.max_processes, "RAILWITNESS_MAX_PROCESSES")->capture_default_str();
  add_knob(app, "--rail", options.rails, "RAILWITNESS_RAILS")->delimiter(',');
  app.add_flag("--no-pings", no_pings, "open no queue pair and no UDP port for active probes of the rails");
  app.add_flag("--json", options.json, "JSON lines instead of lines for people");
  app.add_option("--sysfs-root", options.sysfs_root)->group("");  // for tests
  app.add_option("--proc-root", options.proc_root)->group("");
  app.footer(
      footer("The daemon of a node: hands witness segments to jobs, reads them, says what this node alone can tell, "
             "and passes\n"
             "the facts on to the bus. Rails that --rail names are numbered in the order given, after the ports of RDMA\n"
             "devices; one that is missing keeps its number, the loopback is none.",
             "  railwitness sidecar                                  this node alone\n"
             "  railwitness sidecar --nats nats://10.0.0.1:4222      part of a fleet\n"
             "  railwitness sidecar --rail eth1 --rail eth2          rails 0 and 1 without RDMA\n"
             "  railwitness sidecar --socket /tmp/s --control-socket /tmp/c --lldp-command ''\n"));
}

void add_correlate(CLI::App& app, CorrelateOptions& options) {
  add_knob(app, "--nats", options.nats_url, "RAILWITNESS_NATS")->capture_default_str();
  add_knob(app, "--interval-ms", options.interval_ms, "RAILWITNESS_INTERVAL_MS")->capture_default_str();
  app.add_option("--once", options.once_s, "stop after so many seconds; exit status 1 if there was an incident, 4 if there was none but a node was "
                 "not heard (fewer than --nodes, or none), or two share a name")
      ->check(number(0.1, 86'400.0, "a number of seconds from 0.1 to 86400", "0.1 to 86400 s"));
  app.add_option("--nodes", options.nodes, "how many nodes there are: tell when fewer or all are heard")
      ->check(number(1, 100'000, "a whole number of nodes from 1 to 100000", "1 to 100000"));
  app.add_flag("--json", options.json, "JSON lines instead of lines for people");
  app.footer(footer(
      "Gathers the facts of all nodes from the bus and says the cluster's word: one line for each incident and each\n"
      "change of it. Asks nodes to probe rails when the facts alone cannot tell which component it is.",
      "  railwitness correlate --nats nats://10.0.0.1:4222\n"
      "  railwitness correlate --json | jq -r .line\n"
      "  railwitness correlate --once 10 --nodes 4 && echo nothing found in 10 s on 4 nodes\n"));
}

void add_ls(CLI::App& app, LsOptions& options) {
  add_knob(app, "--control-socket", options.control_socket, "RAILWITNESS_CONTROL_SOCKET")->capture_default_str();
  app.add_flag("--all", options.all, "destroyed flows as well");
  app.add_flag("--json", options.json, "the facts as JSON");
  app.footer(footer("What the sidecar of this node sees: rails with their switch ports, processes with ranks, flows. In JSON\n"
                    "lists are always there, empty if need be; another member that has nothing to say is left out.",
                    "  railwitness ls\n"
                    "  railwitness ls --json | jq '.rails[] | {device, state}'\n"));
}

void add_env(CLI::App& app, EnvOptions& options) {
  CLI::Option* pid = app.add_option("--pid", options.pid, "environment of this process instead of ours")
                         ->check(number(1, 1 << 22, "the number of a process, 1 to 4194304,", "1 to 4194304"));
  app.add_flag("--markdown", options.markdown, "the page docs/knobs.md")->excludes(pid);
  app.add_flag("--json", options.json, "as JSON");
  app.footer(footer(
      "Every RAILWITNESS_* variable with its value, what is misspelt or wrong, and what NCCL's variables mean for us,\n"
      "from the environment and NCCL's files (/etc/nccl.conf, ~/.nccl.conf, NCCL_CONF_FILE). Exit status 1 if "
      "something\n"
      "is misspelt, wrong, or keeps NCCL from railwitness.",
      "  railwitness env\n"
      "  railwitness env --pid $(pgrep -n python)\n"
      "  RAILWITNESS_SOKET=/run/x railwitness env\n"));
}

void add_doctor(CLI::App& app, DoctorOptions& options) {
  app.add_option("log", options.logs, "logs of one job, written with NCCL_DEBUG=INFO; - is standard input");
  app.add_option("--nccl", options.nccl, "path of libnccl.so.2 (default: where the loader finds it)");
  app.add_option("--plugin", options.plugin, "path of libnccl-net-railwitness.so (default: where NCCL would look)");
  add_knob(app, "--socket", options.socket, "RAILWITNESS_SOCKET")->capture_default_str();
  add_knob(app, "--control-socket", options.control_socket, "RAILWITNESS_CONTROL_SOCKET")->capture_default_str();
  add_knob(app, "--lldp-command", options.lldp_command, "RAILWITNESS_LLDP_COMMAND")->capture_default_str();
  app.add_flag("--json", options.json, "as JSON");
  app.footer(footer(
      "What works on this host and what does not, each with what was seen and the way out. With logs: was the plugin\n"
      "used, how, by which ranks, and if not why. Exit status 1 if something is bad, or a rank does not use it.",
      "  railwitness doctor\n"
      "  railwitness doctor --nccl .venv/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2\n"
      "  railwitness doctor slurm-4242.out\n"
      "  zcat logs/rank*.gz | railwitness doctor - --json\n"));
}

CLI::Option* add_kind(CLI::App& app, std::string& kind) {
  return app.add_option("--kind", kind, "kind of all the files, instead of what each looks like")->check(CLI::IsMember(fabric_kinds()));
}

void add_fabric(CLI::App& app, FabricOptions& options) {
  app.add_option("file", options.files, "output of ibnetdiscover, iblinkinfo, ibdiagnet, ibqueryerrors or lldpctl (HOST=FILE), UFM's JSON; - is standard input")
      ->required();
  app.add_option("--plan", options.plan, "how it should be: a cable plan as CSV (StartDevice, StartPort, EndDevice, EndPort)");
  app.add_option("--state", options.state, "file that keeps what was seen over runs: cables with their age, counters to tell growth");
  app.add_option("--svg", options.svg, "draw rails and hosts into this file");
  app.add_option("--html", options.html, "the same with all findings as a page that stands alone");
  add_kind(app, options.kind);
  app.add_flag("--json", options.json, "as JSON");
  app.footer(footer(
      "Joins what tools say of a fabric into one map and says what is wrong with it: NICs in the wrong leaf, missing and slow\n"
      "links, errors by cable, duplicate names. Without a plan hosts and switches are compared with their twins. Exit status 1 if\n"
      "something is found, 2 if a file cannot be used.",
      "  ibnetdiscover > net.txt; railwitness fabric net.txt\n"
      "  railwitness fabric net.txt errors.txt --plan cables.csv --state /var/lib/railwitness/fabric.json\n"
      "  railwitness fabric net.txt --html fabric.html\n"
      "  ssh node-03 lldpctl -f json > n3.json; railwitness fabric node-03=n3.json --json | jq -r '.findings[].text'\n"));
}

void add_ports(CLI::App& app, PortsOptions& options) {
  app.add_option("words", options.words, "a host (else all), then files as for `railwitness fabric`")->required();
  app.add_option("--state", options.state, "file of `railwitness fabric --state`: ports that are only remembered are shown with their age");
  add_kind(app, options.kind);
  app.add_flag("--json", options.json, "as JSON");
  app.footer(footer("Which NIC is plugged into which switch port: rail, plane, speed, who says so and how old that is.",
                    "  railwitness ports net.txt\n"
                    "  railwitness ports node-03 net.txt\n"
                    "  railwitness ports node-03 --state /var/lib/railwitness/fabric.json\n"));
}

CLI::App* add_probe(CLI::App& app, ProbeOptions& options) {
  app.require_subcommand(1);
  app.footer(footer("Asks for active probes now, instead of waiting for a fault.",
                    "  railwitness probe rail node-03 node-07 --nats nats://10.0.0.1:4222\n"
                    "  railwitness probe rail --help\n"));
  CLI::App* rail = app.add_subcommand("rail", "each rail between two nodes, both ways");
  rail->add_option("A", options.a, "name of a node, as its sidecar has it")->required();
  rail->add_option("B", options.b, "name of another")->required();
  rail->add_option("--rail", options.rails, "this rail alone, by its number (RAIL of `railwitness ls`); may be given several times")
      ->check(number(0, 1023, "the number of a rail from 0 to 1023", "0 to 1023"))
      ->delimiter(',')
      ->allow_extra_args(false);  // else `--rail 4 A B` takes the nodes for rails
  rail->add_option("--rounds", options.rounds, "how often each rail is asked")
      ->check(number(1, 100, "a whole number of rounds from 1 to 100", "1 to 100"))
      ->capture_default_str();
  add_knob(*rail, "--nats", options.nats_url, "RAILWITNESS_NATS")->capture_default_str();
  rail->add_flag("--json", options.json, "one JSON object instead of a table");
  rail->footer(footer(
      "Asks the sidecars of two nodes over the bus to ping each other along every rail that both have, over verbs, or UDP\n"
      "where a rail is an interface, and says which rail is bad: `no answer`, `lossy`, or `slow` (5 times the round trip of\n"
      "the other rails and 20 us more; of 3 rails and more). `unknown` is neither good nor bad.\n"
      "Traffic: a round is 3 messages of 160 bytes and their answers for each rail and direction, 0.7 s apart from the next\n"
      "(more than 16 rails: further apart); with --rounds 5 that is 10 kB a rail. 64 rails at most.",
      "  railwitness probe rail node-03 node-07 --nats nats://10.0.0.1:4222\n"
      "  railwitness probe rail node-03 node-07 --rail 4 --rounds 50\n"
      "  railwitness probe rail node-03 node-07 --json | jq -r '.rails[] | select(.verdict != \"good\") | .rail'\n"));
  return rail;
}

// Empty if the word is a subcommand or an option of `app`, which goes by `name`.
std::string unknown_word(const CLI::App& app, const std::string& whole_name, const std::string& word) {
  if (word.empty() || word == "-h" || word == "--help" || word == "--version") return {};
  if (word[0] == '-') {
    return fmt::format("{0}: there is no option '{1}' before a command; see {0} --help\n", whole_name, word);
  }
  std::string nearest;
  size_t least = 3;  // more than two wrong letters are another word
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string& name = sub->get_name();
    if (name == word) return {};
    const size_t distance = name.compare(0, word.size(), word) == 0 ? 1 : edit_distance(word, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return fmt::format("{0}: there is no command '{1}'{2}; see {0} --help\n", whole_name, word,
                     nearest.empty() ? "" : fmt::format(" (maybe: {}?)", nearest));
}

// What is wrong with the word after `probe`, if that is the command; empty: nothing.
std::string wrong_probe(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments[0] != app.get_name()) return {};
  if (arguments.size() == 1) return "railwitness probe: what to probe is missing: rail; see railwitness probe --help\n";
  return unknown_word(app, "railwitness probe", arguments[1]);
}

std::string whole_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : whole_name(*app.get_parent()) + " " + app.get_name();
}

// Which command, what is wrong with its words, and where its help is.
Answer wrong_usage(const CLI::App& app, const CLI::ParseError& error) {
  const std::string command = whole_name(app);
  std::string text = error.what();
  if (error.get_name() == "ArgumentMismatch" && text.find("required") != std::string::npos) {
    text = text.substr(0, text.find(": ")) + ": a value is missing";  // CLI11 counts: "--pid: 1 required INT missing"
  }
  return {kExitUsage, "", fmt::format("{}: {}; see {} --help\n", command, text, command)};
}

Command checked(ProbeOptions probe) {
  if (probe.a != probe.b) return probe;
  return Answer{kExitUsage, "", fmt::format("railwitness probe rail: {} is given twice; two nodes are meant\n", probe.a)};
}

struct WrongVariable {
  CLI::Option* option;
  std::string problem;
};

// Variables of `sub` whose value means nothing; taken from CLI11, which would blame the option that nobody typed.
std::vector<WrongVariable> take_wrong_variables(CLI::App& sub) {
  std::vector<WrongVariable> out;
  for (CLI::Option* option : sub.get_options()) {
    if (option->get_envname().empty()) continue;
    std::string problem = wrong_value(option->get_envname());
    if (problem.empty()) continue;
    out.push_back({option, std::move(problem)});
    option->envname("");
  }
  return out;
}

}  // namespace

Command parse_arguments(const std::vector<std::string>& arguments) {
  CLI::App app(kAbout, "railwitness");
  sidecar::Options sidecar;
  sidecar.socket = knob_of("RAILWITNESS_SOCKET").standard;
  sidecar.control_socket = kDefaultControlSocket;
  bool no_pings = false;
  CorrelateOptions correlate;
  LsOptions ls;
  EnvOptions env;
  DoctorOptions doctor;
  doctor.socket = sidecar.socket;
  doctor.lldp_command = sidecar.lldp_command;
  FabricOptions fabric;
  PortsOptions ports;
  ProbeOptions probe;
  VersionOptions version;
  CLI::App* sidecar_app = app.add_subcommand("sidecar", "the daemon of a node");
  CLI::App* correlate_app = app.add_subcommand("correlate", "the word of the whole cluster");
  CLI::App* ls_app = app.add_subcommand("ls", "what the sidecar of this node sees");
  CLI::App* env_app = app.add_subcommand("env", "variables: values, meanings, what is misspelt");
  CLI::App* doctor_app = app.add_subcommand("doctor", "what works on this host; what a job's log says of the plugin");
  CLI::App* fabric_app = app.add_subcommand("fabric", "what is wrong with the fabric, from files of tools and a plan");
  CLI::App* ports_app = app.add_subcommand("ports", "which NIC is plugged into which switch port");
  CLI::App* probe_app = app.add_subcommand("probe", "whether the rails between two nodes carry anything");
  CLI::App* version_app = app.add_subcommand("version", "which version this is");
  app.footer(footer("",
                    "  railwitness sidecar --nats nats://10.0.0.1:4222\n"
                    "  railwitness correlate --nats nats://10.0.0.1:4222\n"
                    "  railwitness ls\n"
                    "  railwitness doctor\n"
                    "  railwitness COMMAND --help\n"));
  app.set_version_flag("--version", fmt::format("railwitness {}", RAILWITNESS_VERSION));
  app.require_subcommand(1);
  if (arguments.empty()) {
    return Answer{kExitUsage, "",
                  "railwitness: a command is missing: sidecar, correlate, ls, env, doctor, fabric, ports, probe or version; see railwitness "
                  "--help\n"};
  }
  if (std::string error = unknown_word(app, "railwitness", arguments[0]); !error.empty()) return Answer{kExitUsage, "", error};
  CLI::App* rail_app = add_probe(*probe_app, probe);
  if (std::string error = wrong_probe(*probe_app, arguments); !error.empty()) return Answer{kExitUsage, "", error};
  add_sidecar(*sidecar_app, sidecar, no_pings);
  add_correlate(*correlate_app, correlate);
  add_ls(*ls_app, ls);
  add_env(*env_app, env);
  add_doctor(*doctor_app, doctor);
  add_fabric(*fabric_app, fabric);
  add_ports(*ports_app, ports);
  version_app->add_flag("--json", version.json, "as JSON");
  version_app->footer(footer("", "  railwitness version\n  railwitness version --json\n"));

  // CLI11 reads and checks the variables of every subcommand. A wrong one is the matter of who reads it, and of `env`.
  CLI::App* asked = nullptr;
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    const bool is_asked = sub->get_name() == arguments[0];
    if (is_asked) asked = sub == probe_app ? rail_app : sub;
    CLI::App* reads_variables = sub == probe_app ? rail_app : sub;
    if (is_asked) continue;
    for (CLI::Option* option : reads_variables->get_options()) option->envname("");
  }
  std::vector<WrongVariable> wrong;
  if (asked != nullptr && asked != doctor_app) wrong = take_wrong_variables(*asked);  // the doctor has rows for them
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    if (app.exit(error, out, err) != 0) return wrong_usage(asked == nullptr ? app : *asked, error);
    return Answer{kExitOk, out.str(), ""};
  }
  for (const WrongVariable& variable : wrong) {
    if (variable.option->count() > 0) continue;  // what is typed wins
    return Answer{kExitUsage, "", fmt::format("{}: {}\n", whole_name(*asked), variable.problem)};
  }
  if (sidecar_app->parsed()) {
    // CLI11 takes an empty variable for none; here empty has a meaning.
    const char* lldp = std::getenv("RAILWITNESS_LLDP_COMMAND");
    if (lldp != nullptr && *lldp == 0 && sidecar_app->count("--lldp-command") == 0) sidecar.lldp_command.clear();
    sidecar.answer_pings = !no_pings;
    return sidecar;
  }
  if (correlate_app->parsed()) return correlate;
  if (ls_app->parsed()) return ls;
  if (env_app->parsed()) return env;
  if (doctor_app->parsed()) return doctor;
  if (fabric_app->parsed()) return fabric;
  if (ports_app->parsed()) return ports;
  if (rail_app->parsed()) return checked(std::move(probe));
  return version;
}

}  // namespace railwitness::cli
