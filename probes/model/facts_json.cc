// One list of members per struct serves writer and reader, so that they cannot drift apart. A member that equals its
// default is not written, unless it is a list: facts of 2000 flows then stay below the megabyte that a NATS message may have.
#include "probes/model/facts_json.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "fmt/format.h"
#include "probes/model/json_text.h"
#include "probes/model/printable.h"
#include "probes/model/words.h"

// An empty stack of rapidjson 1.1 adds its first size to a null pointer before it allocates.
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"
#ifdef __clang__
#pragma clang attribute pop
#endif

namespace railwitness::model {
namespace {

using nlohmann::json;

constexpr size_t kMaxFlows = 4096;
constexpr size_t kMaxItems = 1024;
constexpr size_t kMaxString = 512;

// 64-bit hashes are written as text: many JSON readers round numbers to 53 bits.
struct HexTag {};

template <class A>
void members(A& a, const FlowError*) {
  a("status", &FlowError::status);
  a("vendor", &FlowError::vendor);
  a("mono_ns", &FlowError::mono_ns);
}

template <class A>
void members(A& a, const Flow*) {
  a("index", &Flow::index);
  a("device", &Flow::device);
  a("port", &Flow::port);
  a("qpn", &Flow::qpn);
  a("peer_qpn", &Flow::peer_qpn);
  a("local_gid", &Flow::local_gid);
  a("peer_gid", &Flow::peer_gid);
  a("lid", &Flow::lid);
  a("peer_lid", &Flow::peer_lid);
  a("direction", &Flow::direction);
  a("role", &Flow::role);
  a("connection", &Flow::connection);
  a("destroyed", &Flow::destroyed);
  a("posted", &Flow::posted);
  a("completed", &Flow::completed);
  a("posted_bytes", &Flow::posted_bytes);
  a("completed_bytes", &Flow::completed_bytes);
  a("receives_posted", &Flow::receives_posted);
  a("receives_completed", &Flow::receives_completed);
  a("received_bytes", &Flow::received_bytes);
  a("first_post_mono_ns", &Flow::first_post_mono_ns);
  a("last_post_mono_ns", &Flow::last_post_mono_ns);
  a("last_completion_mono_ns", &Flow::last_completion_mono_ns);
  a("last_receive_mono_ns", &Flow::last_receive_mono_ns);
  a("oldest_post_mono_ns", &Flow::oldest_post_mono_ns);
  a("receive_wait_mono_ns", &Flow::receive_wait_mono_ns);
  a("first_error", &Flow::first_error);
  a("errors", &Flow::errors);
}

template <class A>
void members(A& a, const Comm*) {
  a("hash", &Comm::hash, HexTag{});
  a("rank", &Comm::rank);
  a("nranks", &Comm::nranks);
  a("nnodes", &Comm::nnodes);
  a("open", &Comm::open);
  a("name", &Comm::name);
}

template <class A>
void members(A& a, const CallThread*) {
  a("tid", &CallThread::tid);
  a("posts", &CallThread::posts);
  a("polls", &CallThread::polls);
  a("completions", &CallThread::completions);
  a("last_change_mono_ns", &CallThread::last_change_mono_ns);
}

template <class A>
void members(A& a, const WitnessCost*) {
  a("events", &WitnessCost::events);
  a("event_ns", &WitnessCost::event_ns);
  a("ppm", &WitnessCost::ppm);
  a("max_permille", &WitnessCost::max_permille);
  a("counters_only", &WitnessCost::counters_only);
  a("since_mono_ns", &WitnessCost::since_mono_ns);
  a("since_ppm", &WitnessCost::since_ppm);
  a("reductions", &WitnessCost::reductions);
}

template <class A>
void members(A& a, const Process*) {
  a("pid", &Process::pid);
  a("start_time", &Process::start_time);
  a("uid", &Process::uid);
  a("job", &Process::job);
  a("state", &Process::state);
  a("state_since_mono_ns", &Process::state_since_mono_ns);
  a("cpu_ns", &Process::cpu_ns);
  a("cpu_share", &Process::cpu_share);
  a("attach", &Process::attach);
  a("contexts", &Process::contexts);
  a("unwitnessed_flows", &Process::unwitnessed_flows);
  a("unwitnessed_events", &Process::unwitnessed_events);
  a("alone_begin_mono_ns", &Process::alone_begin_mono_ns);
  a("alone_end_mono_ns", &Process::alone_end_mono_ns);
  a("witness_cost", &Process::witness_cost);
  a("segment_problem", &Process::segment_problem);
  a("comms", &Process::comms);
  a("threads", &Process::threads);
  a("flows", &Process::flows);
}

template <class A>
void members(A& a, const Rail*) {
  a("index", &Rail::index);
  a("kind", &Rail::kind);
  a("device", &Rail::device);
  a("port", &Rail::port);
  a("netdev", &Rail::netdev);
  a("link_layer", &Rail::link_layer);
  a("state", &Rail::state);
  a("phys_state", &Rail::phys_state);
  a("state_since_mono_ns", &Rail::state_since_mono_ns);
  a("gids", &Rail::gids);
  a("lid", &Rail::lid);
  a("speed_mbps", &Rail::speed_mbps);
  a("counters", &Rail::counters);
}

template <class A>
void members(A& a, const Edge*) {
  a("device", &Edge::device);
  a("port", &Edge::port);
  a("netdev", &Edge::netdev);
  a("switch_name", &Edge::switch_name);
  a("switch_port", &Edge::switch_port);
  a("switch_id", &Edge::switch_id);
  a("cable", &Edge::cable);
  a("source", &Edge::source);
  a("present", &Edge::present);
  a("seen_mono_ns", &Edge::seen_mono_ns);
}

template <class A>
void members(A& a, const Ping*) {
  a("id", &Ping::id);
  a("device", &Ping::device);
  a("to_node", &Ping::to_node);
  a("to_gid", &Ping::to_gid);
  a("sent", &Ping::sent);
  a("received", &Ping::received);
  a("rtt_ns", &Ping::rtt_ns);
  a("mono_ns", &Ping::mono_ns);
  a("problem", &Ping::problem);
}

template <class A>
void members(A& a, const PingPort*) {
  a("device", &PingPort::device);
  a("port", &PingPort::port);
  a("gid", &PingPort::gid);
  a("lid", &PingPort::lid);
  a("qpn", &PingPort::qpn);
  a("udp_port", &PingPort::udp_port);
}

template <class A>
void members(A& a, const PingRequest*) {
  a("id", &PingRequest::id);
  a("from_node", &PingRequest::from_node);
  a("device", &PingRequest::device);
  a("to_node", &PingRequest::to_node);
  a("to", &PingRequest::to);
}

template <class A>
void members(A& a, const Self*) {
  a("cpu_ns", &Self::cpu_ns);
  a("rss_bytes", &Self::rss_bytes);
  a("descriptors", &Self::descriptors);
  a("longest_turn_ns", &Self::longest_turn_ns);
  a("longest_turn_cpu_ns", &Self::longest_turn_cpu_ns);
  a("longest_unread_ns", &Self::longest_unread_ns);
}

template <class A>
void members(A& a, const NodeFacts*) {
  a("node", &NodeFacts::node);
  a("boot_id", &NodeFacts::boot_id);
  a("sequence", &NodeFacts::sequence);
  a("sidecar_start_mono_ns", &NodeFacts::sidecar_start_mono_ns);
  a("taken_mono_ns", &NodeFacts::taken_mono_ns);
  a("taken_wall_ns", &NodeFacts::taken_wall_ns);
  a("late_ns", &NodeFacts::late_ns);
  a("self", &NodeFacts::self);
  a("rails", &NodeFacts::rails);
  a("edges", &NodeFacts::edges);
  a("processes", &NodeFacts::processes);
  a("ping_ports", &NodeFacts::ping_ports);
  a("pings", &NodeFacts::pings);
  a("notes", &NodeFacts::notes);
}

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

// --- writing: straight to text, several times a second in each sidecar. Facts of 768 flows take rapidjson 0.23 ms, and
// nlohmann 1.7 ms, which needs a tree of values first.

using Output = rapidjson::Writer<rapidjson::StringBuffer>;

void write_raw(Output& out, const std::string& value, rapidjson::Type type) {
  out.RawValue(value.data(), value.size(), type);
}

// dump() escapes as everywhere else here, and replaces what is no UTF-8, which rapidjson would pass on.
void write_string(Output& out, const std::string& text) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F; };
  if (std::all_of(text.begin(), text.end(), is_plain)) {
    out.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  } else {
    write_raw(out, dump(json(text)), rapidjson::kStringType);
  }
}

template <class T>
void write(Output& out, const T& value);

template <class T>
class MemberWriter {
 public:
  MemberWriter(Output& out, const T& value) : out_(out), value_(value) {}

  template <class M>
  void operator()(const char* name, M T::*member) {
    const M& value = value_.*member;
    if (is_default(value, default_.*member)) return;
    out_.Key(name);
    write(out_, value);
  }
  void operator()(const char* name, uint64_t T::*member, HexTag) {
    if (value_.*member == 0) return;
    out_.Key(name);
    write(out_, fmt::format("{:016x}", value_.*member));
  }

 private:
  template <class M>
  static bool is_default(const M& value, const M& other) {
    if constexpr (IsVector<M>::value) {
      return false;  // an empty list is written: who goes through it with jq must find one
    } else if constexpr (IsOptional<M>::value) {
      return !value.has_value();
    } else if constexpr (std::is_class_v<M> && !std::is_same_v<M, std::string> &&
                         !std::is_same_v<M, std::map<std::string, uint64_t>>) {
      return false;
    } else {
      return value == other;
    }
  }

  static inline const T default_{};
  Output& out_;
  const T& value_;
};

template <class T>
void write(Output& out, const T& value) {
  if constexpr (IsOptional<T>::value) {
    write(out, *value);
  } else if constexpr (IsVector<T>::value) {
    out.StartArray();
    for (const auto& item : value) write(out, item);
    out.EndArray();
  } else if constexpr (std::is_enum_v<T>) {
    write_string(out, std::string(word(value)));
  } else if constexpr (std::is_same_v<T, bool>) {
    out.Bool(value);
  } else if constexpr (std::is_floating_point_v<T>) {  // the shortest text; rapidjson appends ".0" to whole numbers
    write_raw(out, std::isfinite(value) ? fmt::format("{}", value) : "null", rapidjson::kNumberType);
  } else if constexpr (std::is_signed_v<T>) {
    out.Int64(value);
  } else if constexpr (std::is_unsigned_v<T>) {
    out.Uint64(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    write_string(out, value);
  } else if constexpr (std::is_same_v<T, std::map<std::string, uint64_t>>) {
    out.StartObject();
    for (const auto& [name, count] : value) {
      write_string(out, name);
      out.Uint64(count);
    }
    out.EndObject();
  } else {
    out.StartObject();
    MemberWriter<T> writer(out, value);
    members(writer, static_cast<const T*>(nullptr));
    out.EndObject();
  }
}

template <class T>
std::string text_of(const T& value, size_t expected_bytes) {
  rapidjson::StringBuffer buffer(nullptr, expected_bytes);
  Output out(buffer);
  write(out, value);
  return std::string(buffer.GetString(), buffer.GetSize());
}

// --- reading

// Carries the first error and the way to it ("processes[2].flows[7].qpn").
class Problem {
 public:
  bool ok() const { return text_.empty(); }
  const std::string& text() const { return text_; }
  void set(const std::string& path, std::string_view what) {
    if (ok()) text_ = fmt::format("facts: member {}: {}", path.empty() ? "(top)" : path, what);
  }
  size_t flows = 0;

 private:
  std::string text_;
};

template <class T>
void decode(const json& in, const std::string& path, Problem& problem, T& out);

template <class T>
class Reader {
 public:
  Reader(const json& in, const std::string& path, Problem& problem, T& out)
      : in_(in), path_(path), problem_(problem), out_(out) {}

  template <class M>
  void operator()(const char* name, M T::*member) {
    if (!problem_.ok()) return;
    const auto found = in_.find(name);
    if (found == in_.end() || found->is_null()) return;
    decode(*found, below(name), problem_, out_.*member);
  }
  void operator()(const char* name, uint64_t T::*member, HexTag) {
    if (!problem_.ok()) return;
    const auto found = in_.find(name);
    if (found == in_.end() || found->is_null()) return;
    const auto* text = found->template get_ptr<const std::string*>();
    if (text == nullptr || text->size() > 16 || !absl::SimpleHexAtoi(*text, &(out_.*member))) {
      problem_.set(below(name), "not 1 to 16 hexadecimal digits in a string");
    }
  }

 private:
  std::string below(const char* name) const { return path_.empty() ? name : fmt::format("{}.{}", path_, name); }

  const json& in_;
  const std::string& path_;
  Problem& problem_;
  T& out_;
};

template <std::integral T>
void decode_integer(const json& in, const std::string& path, Problem& problem, T& out) {
  if (in.is_number_unsigned()) {
    const auto value = in.get<uint64_t>();
    if (std::in_range<T>(value))
      out = static_cast<T>(value);
    else
      problem.set(path, "number out of range");
  } else if (in.is_number_integer()) {
    const auto value = in.get<int64_t>();
    if (std::in_range<T>(value))
      out = static_cast<T>(value);
    else
      problem.set(path, "number out of range");
  } else {
    problem.set(path, "not an integer");
  }
}

void decode_string(const json& in, const std::string& path, Problem& problem, std::string& out) {
  const auto* text = in.get_ptr<const std::string*>();
  if (text == nullptr)
    problem.set(path, "not a string");
  else
    out = printable(*text, kMaxString);
}

void decode_counters(const json& in, const std::string& path, Problem& problem, std::map<std::string, uint64_t>& out) {
  if (!in.is_object()) return problem.set(path, "not an object");
  if (in.size() > kMaxItems) return problem.set(path, "too many members");
  for (const auto& [name, value] : in.items()) {
    if (!problem.ok()) return;
    decode_integer(value, fmt::format("{}.{}", path, printable(name, 64)), problem, out[printable(name, kMaxString)]);
  }
}

template <class T>
void decode_vector(const json& in, const std::string& path, Problem& problem, std::vector<T>& out) {
  if (!in.is_array()) return problem.set(path, "not an array");
  if constexpr (std::is_same_v<T, Flow>) {
    problem.flows += in.size();
    if (problem.flows > kMaxFlows) return problem.set(path, fmt::format("more than {} flows in all", kMaxFlows));
  } else if (in.size() > kMaxItems) {
    return problem.set(path, fmt::format("more than {} entries", kMaxItems));
  }
  out.resize(in.size());
  for (size_t i = 0; i < in.size() && problem.ok(); ++i) {
    decode(in[i], fmt::format("{}[{}]", path, i), problem, out[i]);
  }
}

template <class T>
void decode(const json& in, const std::string& path, Problem& problem, T& out) {
  if constexpr (IsOptional<T>::value) {
    decode(in, path, problem, out.emplace());
  } else if constexpr (IsVector<T>::value) {
    decode_vector(in, path, problem, out);
  } else if constexpr (std::is_same_v<T, std::map<std::string, uint64_t>>) {
    decode_counters(in, path, problem, out);
  } else if constexpr (std::is_same_v<T, std::string>) {
    decode_string(in, path, problem, out);
  } else if constexpr (std::is_enum_v<T>) {
    std::string text;
    decode_string(in, path, problem, text);
    from_word(text, out);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (in.is_boolean())
      out = in.get<bool>();
    else
      problem.set(path, "not true or false");
  } else if constexpr (std::is_floating_point_v<T>) {
    if (in.is_number())
      out = in.get<T>();
    else
      problem.set(path, "not a number");
  } else if constexpr (std::is_integral_v<T>) {
    decode_integer(in, path, problem, out);
  } else {
    if (!in.is_object()) return problem.set(path, "not an object");
    Reader<T> reader(in, path, problem, out);
    members(reader, static_cast<const T*>(nullptr));
  }
}

template <class T>
absl::StatusOr<T> parse(std::string_view text) {
  const absl::StatusOr<json> value = parse_bounded_json(text, JsonBounds{});
  if (!value.ok()) return value.status();
  T out;
  Problem problem;
  decode(*value, std::string(), problem, out);
  if (!problem.ok()) return absl::InvalidArgumentError(problem.text());
  return out;
}

}  // namespace

std::string to_json(const NodeFacts& facts) {
  size_t flows = 0;
  for (const Process& process : facts.processes) flows += process.flows.size();
  return text_of(facts, 4096 + 640 * flows);
}

absl::StatusOr<NodeFacts> parse_node_facts(std::string_view text) {
  absl::StatusOr<NodeFacts> facts = parse<NodeFacts>(text);
  if (facts.ok() && facts->node.empty()) return absl::InvalidArgumentError("facts: member node: missing");
  return facts;
}

std::string to_json(const std::vector<PingRequest>& requests) {
  return text_of(requests, 256 * requests.size());
}

absl::StatusOr<std::vector<PingRequest>> parse_ping_requests(std::string_view text) {
  return parse<std::vector<PingRequest>>(text);
}

}  // namespace railwitness::model
