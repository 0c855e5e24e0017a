// Two nodes and what one asks of their sidecars: which ports make a rail, the requests of each round, and which results
// belong to them. No bus and no clock of its own: facts and the present come in. One thread.
#ifndef RAILWITNESS_PROBES_CLI_PAIR_PROBE_H_
#define RAILWITNESS_PROBES_CLI_PAIR_PROBE_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/model/facts.h"
#include "probes/rail/pair_verdict.h"

namespace railwitness::cli {

class PairProbe {
 public:
  using Nodes = std::array<std::string, 2>;

  // `id_base`: the requests are numbered from here on, so that results of others' rounds are told apart. `rails`: their
  // numbers; empty: all that either node has.
  PairProbe(Nodes nodes, std::vector<int> rails, uint64_t id_base);

  void hear(const std::vector<model::Heard>& heard, int64_t now_mono_ns);
  const Nodes& nodes() const { return nodes_; }
  bool hears(size_t node) const { return sides_[node].facts.has_value(); }
  bool hears_both() const { return hears(0) && hears(1); }
  std::vector<std::string> speaking() const;  // names of all nodes that were heard
  // It spoke before we listened, whether or not it does now.
  bool is_remembered(const std::string& name) const { return names_.contains(name); }

  // From here on hears_both() is needed.
  void pair_ports();
  size_t rail_count() const { return rails_.size(); }
  std::vector<model::PingRequest> next_round(int64_t now_mono_ns);
  size_t asked() const { return asked_; }
  size_t answered() const { return results_.size(); }
  // Every result is in, and both nodes have spoken since the last round: more waiting tells nothing.
  bool is_settled() const;

  std::vector<rail::RailWays> ways() const;
  // The port of a node on a rail, "rxe_h1r0" or "mlx5_0/2"; empty: it has none.
  std::string port_name(size_t rail, size_t node) const;
  const model::Rail* port(size_t rail, size_t node) const;  // null: it has none
  const model::NodeFacts& facts(size_t node) const { return *sides_[node].facts; }

  static constexpr size_t kMaxRails = 64;

 private:
  struct Side {
    std::optional<model::NodeFacts> facts;  // the newest that arrived while we listened
    int64_t heard_mono_ns = 0;
    bool voice_changed = false;             // another sidecar process spoke, after the ports were paired
    int64_t late_ns = 0;                    // the longest that it was
  };
  struct Direction {
    std::vector<uint64_t> ids;          // that were asked
    std::string cannot;                 // why a round could not be
    std::optional<model::PingPort> to;  // of the first round
    bool port_changed = false;
  };
  struct PairedRail {
    int32_t index = 0;
    std::array<Direction, 2> directions;  // 0: from the first node
  };

  void hear_node(size_t node, const model::NodeFacts& facts, int64_t now_mono_ns);
  const model::PingPort* ping_port(size_t node, const model::Rail& rail) const;
  std::string why_not(int32_t rail, size_t from) const;
  std::string no_port(int32_t rail, size_t node) const;
  std::string doubt(const Direction& direction) const;
  std::string late() const;
  std::string port_down(int32_t rail) const;
  const model::Rail* find_rail(size_t node, int32_t index) const;
  std::string numbers_of(size_t node) const;

  const Nodes nodes_;
  std::vector<int> wanted_;
  std::array<Side, 2> sides_;
  std::map<std::string, bool> names_;  // known; true: it speaks
  std::vector<PairedRail> rails_;
  std::map<uint64_t, model::Ping> results_;
  std::map<uint64_t, model::PingRequest> requests_;
  uint64_t next_id_;
  size_t asked_ = 0;
  int64_t asked_mono_ns_ = 0;  // the last round
};

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_PAIR_PROBE_H_
