#include "probes/sidecar/rail_watch.h"

#include <algorithm>
#include <utility>

namespace railwitness::sidecar {

RailWatch::RailWatch(const Options& options) : options_(options), reader_(options.sysfs_root) {
  if (options_.answer_pings) pings_ = std::make_unique<rail::PingService>(options_.node);
}

void RailWatch::turn(int64_t now_mono_ns) {
  if (find_.due(now_mono_ns)) find_devices();
  if (read_.due(now_mono_ns)) read_rails(now_mono_ns);
  if (pings_) {
    for (const model::Ping& result : pings_->tick(now_mono_ns)) remember(result);
  }
  while (!results_.empty() && now_mono_ns - results_.front().mono_ns > kKeepResultsNs) results_.pop_front();
}

// sysfs may show more devices than this node owns (containers, network namespaces); those that verbs lets us open are
// its rails. Where verbs lists none, what sysfs shows can still be read, though not probed.
void RailWatch::find_devices() {
  devices_ = reader_.devices();
  problem_.clear();
  const absl::StatusOr<std::vector<std::string>> openable = rail::list_devices();
  const bool any = openable.ok() && !openable->empty();
  if (any && options_.sysfs_root == "/sys") devices_ = *openable;
  if (devices_.empty()) {
    problem_ = "no RDMA device is in sight: rails are not watched";
  } else if (!any && pings_) {
    problem_ = "no RDMA device can be opened (/dev/infiniband): rails are read but cannot be probed actively";
  }
  if (pings_) pings_->open(any ? *openable : std::vector<std::string>());
}

void RailWatch::read_rails(int64_t now_mono_ns) {
  std::vector<model::Rail> rails = reader_.read(devices_, now_mono_ns);
  changed_ |= !std::equal(rails.begin(), rails.end(), rails_.begin(), rails_.end(),
                          [](const model::Rail& a, const model::Rail& b) {
                            return a.device == b.device && a.port == b.port && a.state == b.state;
                          });
  rails_ = std::move(rails);
}

void RailWatch::remember(const model::Ping& result) {
  changed_ = true;
  if (results_.size() >= kMaxResults) results_.pop_front();
  results_.push_back(result);
}

void RailWatch::ask(const std::vector<model::PingRequest>& requests, int64_t now_mono_ns) {
  for (const model::PingRequest& request : requests) {
    if (request.from_node != options_.node) continue;
    absl::Status status = absl::FailedPreconditionError("active probes are switched off here");
    if (pings_) status = pings_->start(request, now_mono_ns);
    if (status.ok()) continue;
    model::Ping refused;
    refused.id = request.id;
    refused.device = request.device;
    refused.to_node = request.to_node;
    refused.to_gid = request.to.gid;
    refused.mono_ns = now_mono_ns;
    refused.problem = std::string(status.message());
    remember(refused);
  }
}

std::vector<model::PingPort> RailWatch::ping_ports() const {
  return pings_ ? pings_->ports() : std::vector<model::PingPort>();
}

std::vector<std::string> RailWatch::problems() const {
  std::vector<std::string> problems;
  if (!problem_.empty()) problems.push_back(problem_);
  if (pings_) {
    for (const std::string& problem : pings_->problems()) problems.push_back("active probes: " + problem);
  }
  return problems;
}

}  // namespace railwitness::sidecar
