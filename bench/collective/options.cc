#include "bench/collective/options.h"

#include "CLI/CLI.hpp"

namespace railwitness::bench {
namespace {

constexpr char kExamples[] = R"(
Examples:
  collective --plugin build/release/tests/cpugpu/libprobe_plugin.so
  RAILWITNESS_MODE=chain:$PWD/build/release/tests/cpugpu/libprobe_plugin.so \
    collective --plugin build/release/lib/libnccl-net-railwitness.so --schedule ring -n 4
  RAILWITNESS_MODE=ofi NCCL_SOCKET_IFNAME=lo \
    collective --plugin build/release/lib/libnccl-net-railwitness.so --min 1M --json
  NCCL_SOCKET_IFNAME=lo collective --plugin ofi     # mode ofi's transport alone, without the witness
  RAILWITNESS_MODE=ofi NCCL_SOCKET_IFNAME=lo \
    collective --plugin ofi --beside build/release/lib/libnccl-net-railwitness.so   # both, compared
)";

}  // namespace

int parse(int argc, char** argv, Options& options) {
  CLI::App app("Collective schedules in host memory over any NCCL net plugin, every element checked. Ranks are processes of\n"
               "this host. The first and the last run of a size are checked, those in between are timed. Prints a table, or\n"
               "JSON; exits 1 if anything is wrong.", "collective");
  app.footer(kExamples);
  const CLI::AsSizeValue bytes(false);
  options.schedules = {"ring", "tree", "alltoall"};
  app.add_option("--plugin", options.plugin, "library with a net plugin of v6 to v12, of which the newest is used; ofi: the\n"
                 "transport of mode ofi without the witness")->required();
  app.add_option("--beside", options.beside, "another plugin, run in the same processes in turns with the first, a few\n"
                 "milliseconds each: what the machine does otherwise hits both. What is told is of the first, and the median\n"
                 "ratio of bandwidths, this one by the first; --json has all pairs");
  app.add_option("--schedule", options.schedules, "ring (all-reduce), tree (all-reduce), alltoall; default: all")
      ->delimiter(',')->check(CLI::IsMember({"ring", "tree", "alltoall"}));
  app.add_option("-n,--ranks", options.ranks, "processes")->check(CLI::Range(2, 32))->capture_default_str();
  app.add_option("--min", options.min_bytes, "smallest buffer of a rank: bytes, or with K or M")->transform(bytes);
  app.add_option("--max", options.max_bytes, "largest one")->transform(bytes);
  app.add_option("--factor", options.factor, "from one size to the next")->check(CLI::Range(2, 1 << 20))->capture_default_str();
  app.add_option("--piece", options.piece_bytes, "most bytes of one transfer")->transform(bytes);
  app.add_option("--seconds", options.seconds, "how long a size is measured")->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--iterations", options.iterations, "how often, instead")->check(CLI::Range(1, 1 << 30));
  app.add_option("--timeout", options.timeout_s, "seconds without progress until a rank gives up")->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_flag("--json", options.json, "JSON instead of the table");
  CLI11_PARSE(app, argc, argv);
  options.min_bytes = std::max(options.min_bytes, sizeof(unsigned));
  options.piece_bytes = std::max(options.piece_bytes, sizeof(unsigned));
  return -1;
}

}  // namespace railwitness::bench
