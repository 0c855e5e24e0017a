// `railwitness probe rail A B`: asks the sidecars of two nodes to probe the rails between them, both ways, and says which
// rail is bad.
#ifndef RAILWITNESS_PROBES_CLI_PROBE_H_
#define RAILWITNESS_PROBES_CLI_PROBE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "probes/bus/bus.h"
#include "probes/cli/correlate.h"

namespace railwitness::cli {

struct ProbeOptions {
  std::string nats_url = "nats://127.0.0.1:4222";
  std::string a, b;        // names of the nodes
  std::vector<int> rails;  // their numbers; empty: all
  int rounds = 5;
  bool json = false;
};

// Time and chance, which tests make themselves.
struct Pace {
  std::function<int64_t()> now_mono_ns;
  std::function<void(int64_t ns)> sleep;
  std::function<uint64_t()> random;
};
Pace real_pace();

// Blocks for 5 s at most until the bus is there, as long again until both nodes have spoken, 0.7 s a round, and 3 s for what is
// still to come. Returns the exit code: 1 if a rail is bad, else 4 if one is unknown.
int run_probe(const ProbeOptions& options, const Streams& streams, const std::function<bool()>& should_stop);
// The same over a bus that is open already.
int run_probe(bus::FleetBus& bus, const ProbeOptions& options, const Streams& streams,
              const std::function<bool()>& should_stop, const Pace& pace);

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_PROBE_H_
