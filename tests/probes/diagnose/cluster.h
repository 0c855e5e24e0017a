// Facts of a cluster made by hand: N hosts of R rails, one leaf per rail, one process per host, a ring per rail.
// Healthy and idle until a test says otherwise. All times are ages in seconds; each node has its own clock.
#ifndef RAILWITNESS_TESTS_PROBES_DIAGNOSE_CLUSTER_H_
#define RAILWITNESS_TESTS_PROBES_DIAGNOSE_CLUSTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "probes/diagnose/diagnose.h"
#include "probes/model/facts.h"

namespace railwitness::diagnose {

inline constexpr int64_t kNow = 1'790'000'000'000'000'000;
inline constexpr int64_t kSecond = 1'000'000'000;
inline int64_t ns(double seconds) {
  return static_cast<int64_t>(seconds * 1e9);
}

class Cluster {
 public:
  Cluster(int hosts, int rails) : hosts_(hosts), rails_(rails) {
    nodes_.resize(static_cast<size_t>(hosts));
    for (int h = 0; h < hosts; ++h) {
      model::NodeFacts& facts = nodes_[h].facts;
      facts.node = fmt::format("host{}", h);
      facts.taken_mono_ns = (h + 1) * 3600 * kSecond;  // clocks an hour apart
      facts.processes.push_back(process(h));
      for (int r = 0; r < rails; ++r) add_rail(h, r);
    }
    for (int h = 0; h < hosts && hosts > 1; ++h) {
      for (int r = 0; r < rails; ++r) connect(h, (h + 1) % hosts, r);
    }
  }

  static std::string gid(int host, int rail) {
    return fmt::format("0000:0000:0000:0000:0000:ffff:0a{:02x}:00{:02x}", rail, host + 1);
  }
  static std::string device(int host, int rail) { return fmt::format("rxe_h{}r{}", host, rail); }

  model::Heard& heard(int host) { return nodes_[host]; }
  model::NodeFacts& facts(int host) { return nodes_[host].facts; }
  model::Process& process_of(int host) { return facts(host).processes[0]; }
  model::Rail& rail(int host, int r) { return facts(host).rails[r]; }
  int64_t ago(int host, double seconds) {  // wraps: a mangled clock may stand at either end
    return static_cast<int64_t>(static_cast<uint64_t>(facts(host).taken_mono_ns) - static_cast<uint64_t>(ns(seconds)));
  }

  // The sender's end of the connection from -> to on the rail, and the receiver's.
  model::Flow& data(int from, int to, int r) { return find(from, to, r, model::Role::kData); }
  model::Flow& cts(int to, int from, int r) { return find(to, from, r, model::Role::kCts); }

  // Data posted and never acknowledged; the receiver waits for it.
  Cluster& stick(int from, int to, int r, double age, uint64_t posts = 3) {
    model::Flow& flow = data(from, to, r);
    flow.posted = flow.completed + posts;
    flow.oldest_post_mono_ns = ago(from, age);
    return wait(to, from, r, age);
  }
  // `waiter` has a receive outstanding on the connection from `on`.
  Cluster& wait(int waiter, int on, int r, double age) {
    model::Flow& flow = cts(waiter, on, r);
    flow.receives_posted = flow.receives_completed + 2;
    flow.receive_wait_mono_ns = ago(waiter, age);
    return *this;
  }
  Cluster& everybody_waits(int r, double age) {
    for (int h = 0; h < hosts_; ++h) wait((h + 1) % hosts_, h, r, age);
    return *this;
  }
  Cluster& completed(int from, int to, int r, double age) {
    data(from, to, r).last_completion_mono_ns = ago(from, age);
    return *this;
  }
  Cluster& ping(int from, int to, int r, bool answered, double age = 0.2) {
    model::Ping ping;
    ping.device = device(from, r);
    ping.to_node = fmt::format("host{}", to);
    ping.to_gid = gid(to, r);
    ping.sent = 3;
    ping.received = answered ? 3 : 0;
    ping.mono_ns = ago(from, age);
    facts(from).pings.push_back(ping);
    return *this;
  }
  // A round of pings between all hosts on a rail where everything through `broken` (hosts) is lost.
  Cluster& ping_all(int r, const std::vector<int>& broken = {}, double age = 0.2) {
    for (int a = 0; a < hosts_; ++a) {
      for (int b = 0; b < hosts_; ++b) {
        bool lost = false;
        for (const int host : broken) lost |= host == a || host == b;
        if (a != b) ping(a, b, r, !lost, age);
      }
    }
    return *this;
  }
  Cluster& state(int host, model::ProcessState state, double age) {
    process_of(host).state = state;
    process_of(host).state_since_mono_ns = ago(host, age);
    return *this;
  }
  Cluster& port_down(int host, int r, double age) {
    rail(host, r).state = "DOWN";
    rail(host, r).phys_state = "Disabled";
    rail(host, r).state_since_mono_ns = ago(host, age);
    for (model::Edge& edge : facts(host).edges) {
      if (edge.device == device(host, r)) edge.present = false;
    }
    return *this;
  }

  std::vector<model::Heard> heard_from(const std::vector<int>& hosts) const {
    std::vector<model::Heard> out;
    for (const int host : hosts) out.push_back(nodes_[host]);
    return out;
  }
  const std::vector<model::Heard>& all() const { return nodes_; }
  std::vector<model::Finding> diagnose() const { return diagnose::diagnose(nodes_, Thresholds{}, kNow); }

 private:
  model::Process process(int h) {
    model::Process out;
    out.pid = 1000 + h;
    out.start_time = 77;
    out.job = "train";
    out.state = model::ProcessState::kSleeping;
    out.cpu_share = 0.02;
    model::Comm comm;
    comm.hash = 0xC0FFEE;
    comm.rank = h;
    comm.nranks = hosts_;
    comm.nnodes = hosts_;
    out.comms.push_back(comm);
    return out;
  }

  void add_rail(int h, int r) {
    model::NodeFacts& facts = nodes_[h].facts;
    model::Rail rail;
    rail.index = r;
    rail.device = device(h, r);
    rail.netdev = fmt::format("h{}r{}", h, r);
    rail.link_layer = "Ethernet";
    rail.state = "ACTIVE";
    rail.phys_state = "LinkUp";
    rail.gids = {gid(h, r)};
    facts.rails.push_back(rail);
    model::Edge edge;
    edge.device = rail.device;
    edge.netdev = rail.netdev;
    edge.switch_name = fmt::format("leaf-r{}", r);
    edge.switch_port = fmt::format("swp{}", h + 1);
    edge.source = "lldp";
    edge.seen_mono_ns = facts.taken_mono_ns - 4 * kSecond;
    facts.edges.push_back(edge);
    model::PingPort answering;
    answering.device = rail.device;
    answering.gid = gid(h, r);
    answering.qpn = 17;
    facts.ping_ports.push_back(answering);
  }

  // A connection that has carried 100 messages and finished 30 s ago.
  void connect(int from, int to, int r) {
    const uint32_t sender = ++last_qpn_, receiver = ++last_qpn_;
    const auto add = [&](int at, int other, uint32_t mine, uint32_t theirs, bool sends) {
      model::Flow flow;
      flow.index = static_cast<uint32_t>(process_of(at).flows.size());
      flow.device = device(at, r);
      flow.port = 1;
      flow.qpn = mine;
      flow.peer_qpn = theirs;
      flow.local_gid = gid(at, r);
      flow.peer_gid = gid(other, r);
      flow.direction = sends ? model::Direction::kSend : model::Direction::kRecv;
      flow.role = sends ? model::Role::kData : model::Role::kCts;
      flow.posted = flow.completed = 100;
      if (!sends) flow.receives_posted = flow.receives_completed = 100;
      flow.last_post_mono_ns = ago(at, 30.1);
      flow.last_completion_mono_ns = ago(at, 30);
      process_of(at).flows.push_back(flow);
    };
    add(from, to, sender, receiver, true);
    add(to, from, receiver, sender, false);
  }

  model::Flow& find(int at, int other, int r, model::Role role) {
    for (model::Flow& flow : process_of(at).flows) {
      if (flow.role == role && flow.device == device(at, r) && flow.peer_gid == gid(other, r)) return flow;
    }
    throw std::runtime_error("no such flow");
  }

  int hosts_, rails_;
  uint32_t last_qpn_ = 16;
  std::vector<model::Heard> nodes_;
};

}  // namespace railwitness::diagnose

#endif  // RAILWITNESS_TESTS_PROBES_DIAGNOSE_CLUSTER_H_
