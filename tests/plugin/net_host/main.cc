// Plays NCCL's calling contract of any version against a net plugin, as two ranks, a process each.
//
//     net_host --version 8 --plugin PATH [--mode MODE] [--case NAME]... [--without NAME]... [--list] [--cycles N]
//              [--seconds N] [--verbose]
//
// --version: the newest net version that this NCCL knows (6 to 12). --mode: RAILWITNESS_MODE; without it the plugin is not
// ours. Ends with `net_host: N of M right`, exit 1 unless N = M; cases that do not apply or are left out
// (--without) are named and not counted.
#include "tests/plugin/net_host/cases.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <getopt.h>

namespace railwitness::net_host {
namespace {

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& some : {life_cases(), silent_cases(), connect_cases(), data_cases(), thread_cases(), abort_cases(),
                           forward_cases(), collnet_cases(), misuse_cases(), cycle_cases()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

int usage() {
  fprintf(stderr, "net_host --version 6..12 --plugin PATH [--mode MODE] [--case NAME]... [--without NAME]... [--list] "
                  "[--cycles N] [--seconds N] [--verbose]\n");
  return 2;
}

bool has(const std::vector<std::string>& names, const char* name) { return std::ranges::find(names, name) != names.end(); }

bool are_cases(const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (std::ranges::none_of(all_cases(), [&](const Case& c) { return name == c.name; })) {
      fprintf(stderr, "net_host: no case is called %s; --list names them\n", name.c_str());
      return false;
    }
  return true;
}

int run(const Options& options, const std::vector<std::string>& wanted, const std::vector<std::string>& unwanted, bool list) {
  if (!are_cases(wanted) || !are_cases(unwanted)) return 2;
  int right = 0, total = 0;
  for (const Case& c : all_cases()) {
    if (!c.applies(options)) continue;
    if (!wanted.empty() && !has(wanted, c.name)) continue;
    if (has(unwanted, c.name)) {
      printf("left out %s, as asked\n", c.name);
      continue;
    }
    if (list) {
      printf("%-45s %s\n", c.name, *c.trap ? (std::string("trap ") + c.trap).c_str() : "");
      continue;
    }
    const double start = now_s();
    const Outcome outcome = run_case(c, options);
    total += outcome.kind != Outcome::kSkipped;
    right += outcome.kind == Outcome::kRight;
    const char* words[] = {"right  ", "WRONG  ", "skipped"};
    printf("%s %-45s %5.1f s  %s\n", words[outcome.kind], c.name, now_s() - start, outcome.text.c_str());
    fflush(stdout);
  }
  if (list) return 0;
  printf("net_host: %d of %d right\n", right, total);
  return right == total ? 0 : 1;
}

}  // namespace
}  // namespace railwitness::net_host

int main(int argc, char** argv) {
  using namespace railwitness::net_host;
  Options options;
  std::vector<std::string> wanted, unwanted;
  bool list = false;
  const option names[] = {{"version", 1, nullptr, 'v'}, {"plugin", 1, nullptr, 'p'}, {"mode", 1, nullptr, 'm'},
                          {"case", 1, nullptr, 'c'},    {"list", 0, nullptr, 'l'},   {"cycles", 1, nullptr, 'n'},
                          {"seconds", 1, nullptr, 's'}, {"verbose", 0, nullptr, 'V'},
                          {"without", 1, nullptr, 'w'}, {}};
  for (int o; (o = getopt_long(argc, argv, "", names, nullptr)) >= 0;) switch (o) {
      case 'v': options.version = atoi(optarg); break;
      case 'p': options.plugin = optarg; break;
      case 'm': options.mode = optarg; break;
      case 'c': wanted.emplace_back(optarg); break;
      case 'w': unwanted.emplace_back(optarg); break;
      case 'l': list = true; break;
      case 'n': options.cycles = atoi(optarg); break;
      case 's': options.seconds = atoi(optarg); break;
      case 'V': options.verbose = true; break;
      default: return usage();
    }
  if (options.plugin.empty() || options.version < abi::kOldest || options.version > abi::kNewest) return usage();
  options.inner = options.mode.empty() ? options.plugin : options.is_chain() ? options.mode.substr(strlen("chain:")) : "";
  return run(options, wanted, unwanted, list);
}
