// This node's rails: which devices there are, what sysfs says of them, and active probes along them. One thread.
//
// Rails are the ports of RDMA devices, and the network interfaces that are named to us or that a job's flows name. An
// interface that belongs to an RDMA device is that device's rail and no other.
//
// Numbers: first the ports in natural order, then the named interfaces by their place in the list, whether or not they
// are there, then those of jobs in natural order. So nodes whose interfaces have different names can number alike.
#ifndef RAILWITNESS_PROBES_SIDECAR_RAIL_WATCH_H_
#define RAILWITNESS_PROBES_SIDECAR_RAIL_WATCH_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "probes/counter/netdev_reader.h"
#include "probes/counter/rail_reader.h"
#include "probes/model/facts.h"
#include "probes/rail/ping_service.h"
#include "probes/sidecar/clock.h"

namespace railwitness::sidecar {

class RailWatch {
 public:
  struct Options {
    std::string node;
    std::string sysfs_root = "/sys";
    bool answer_pings = true;
    std::vector<std::string> interfaces;  // rails without RDMA, whether a job uses them or not; each once
  };
  explicit RailWatch(const Options& options);

  int poll_fd() const { return pings_ ? pings_->poll_fd() : -1; }
  void turn(int64_t now_mono_ns);
  void ask(const std::vector<model::PingRequest>& requests, int64_t now_mono_ns);
  // What the flows of jobs name. An interface of this node among them is a rail from now on.
  void notice(const std::vector<model::Process>& processes, int64_t now_mono_ns);

  // A port changed its state, or a probe ended, since the last call.
  bool take_changed() { return std::exchange(changed_, false); }
  const std::vector<model::Rail>& rails() const { return rails_; }
  std::vector<model::PingPort> ping_ports() const;
  std::vector<model::Ping> results() const { return {results_.begin(), results_.end()}; }
  std::vector<std::string> problems() const;  // a sentence each

  static constexpr int64_t kKeepResultsNs = 60 * kNsPerSecond;
  static constexpr size_t kMaxResults = 512;
  static constexpr size_t kMaxInterfaces = 64;  // a job may name any

 private:
  void find_devices(int64_t now_mono_ns);
  std::vector<std::string> free_interfaces() const;
  void read_rails(int64_t now_mono_ns);
  void number_interfaces(size_t ports, std::vector<model::Rail>& rails) const;
  void remember(const model::Ping& result);

  Options options_;
  counter::RailReader reader_;
  counter::NetdevReader netdev_reader_;
  std::unique_ptr<rail::PingService> pings_;  // none if pings are not to be answered
  Every find_{10 * kNsPerSecond};
  Every read_{kNsPerSecond};
  std::vector<std::string> devices_, openable_;
  std::vector<std::string> interfaces_;  // named to us or by a job
  std::string problem_;
  std::vector<model::Rail> rails_;
  std::deque<model::Ping> results_;
  bool changed_ = false;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_RAIL_WATCH_H_
