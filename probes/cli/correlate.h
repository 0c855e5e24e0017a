// `railwitness correlate`: the correlator between the bus and standard output.
#ifndef RAILWITNESS_PROBES_CLI_CORRELATE_H_
#define RAILWITNESS_PROBES_CLI_CORRELATE_H_

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "probes/bus/bus.h"

namespace railwitness::cli {

struct CorrelateOptions {
  std::string nats_url = "nats://127.0.0.1:4222";
  bool json = false;
  int64_t interval_ms = 500;
  std::optional<double> once_s;
  std::optional<int> nodes;
};

struct Streams {
  std::FILE* out = stdout;  // incidents and waits, flushed line by line
  std::FILE* err = stderr;  // where it listens, whom it hears
};

// Runs until `should_stop` says so or the time of --once is over; returns the exit code. With --once nothing found is
// kExitOk only if every node was heard, to the end.
int run_correlate(const CorrelateOptions& options, const Streams& streams, const std::function<bool()>& should_stop);
// The same over a bus that is open already.
int run_correlate(bus::FleetBus& bus, const CorrelateOptions& options, const Streams& streams,
                  const std::function<bool()>& should_stop);

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_CORRELATE_H_
