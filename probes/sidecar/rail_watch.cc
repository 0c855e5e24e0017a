#include "probes/sidecar/rail_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace railwitness::sidecar {

RailWatch::RailWatch(const Options& options)
    : options_(options),
      reader_(options.sysfs_root),
      netdev_reader_(options.sysfs_root),
      interfaces_(options.interfaces.begin(),
                  options.interfaces.begin() +
                      static_cast<std::ptrdiff_t>(std::min(options.interfaces.size(), kMaxInterfaces))) {
  if (options_.answer_pings) pings_ = std::make_unique<rail::PingService>(options_.node);
}

void RailWatch::turn(int64_t now_mono_ns) {
  if (find_.due(now_mono_ns)) find_devices(now_mono_ns);
  if (read_.due(now_mono_ns)) read_rails(now_mono_ns);
  if (pings_) {
    for (const model::Ping& result : pings_->tick(now_mono_ns)) remember(result);
  }
  while (!results_.empty() && now_mono_ns - results_.front().mono_ns > kKeepResultsNs) results_.pop_front();
}

// sysfs may show more devices than this node owns (containers, network namespaces); those that verbs lets us open are
// its rails. Where verbs lists none, what sysfs shows can still be read, though not probed.
void RailWatch::find_devices(int64_t now_mono_ns) {
  devices_ = reader_.devices();
  problem_.clear();
  const absl::StatusOr<std::vector<std::string>> openable = rail::list_devices();
  openable_ = openable.ok() ? *openable : std::vector<std::string>();
  const bool any = !openable_.empty();
  if (any && options_.sysfs_root == "/sys") devices_ = openable_;
  if (devices_.empty() && interfaces_.empty()) {
    problem_ = "no RDMA device is in sight, and no job and no --rail names an interface: rails are not watched";
  } else if (!devices_.empty() && !any && pings_) {
    problem_ = "no RDMA device can be opened (/dev/infiniband): rails are read but cannot be probed actively";
  }
  read_rails(now_mono_ns);  // first, to know which interfaces belong to RDMA devices
  if (pings_) pings_->open(openable_, free_interfaces());
}

// Those that can be rails and are not the interface of an RDMA device, as far as rails have been read.
std::vector<std::string> RailWatch::free_interfaces() const {
  std::vector<std::string> out;
  std::copy_if(interfaces_.begin(), interfaces_.end(), std::back_inserter(out), [this](const std::string& name) {
    return !netdev_reader_.is_loopback(name) && std::none_of(rails_.begin(), rails_.end(), [&name](const model::Rail& rail) {
      return rail.kind == model::RailKind::kVerbs && rail.netdev == name;
    });
  });
  return out;
}

void RailWatch::notice(const std::vector<model::Process>& processes, int64_t now_mono_ns) {
  const size_t before = interfaces_.size();
  for (const model::Process& process : processes) {
    for (const model::Flow& flow : process.flows) {
      const auto is_known = [&flow](const std::string& name) { return name == flow.device; };
      if (flow.device.empty() || interfaces_.size() >= kMaxInterfaces) continue;
      if (std::any_of(devices_.begin(), devices_.end(), is_known)) continue;
      if (std::any_of(interfaces_.begin(), interfaces_.end(), is_known)) continue;
      if (netdev_reader_.can_be_rail(flow.device)) interfaces_.push_back(flow.device);
    }
  }
  if (interfaces_.size() == before) return;
  find_devices(now_mono_ns);
}

void RailWatch::read_rails(int64_t now_mono_ns) {
  std::vector<model::Rail> rails = reader_.read(devices_, now_mono_ns);
  const size_t ports = rails.size();
  for (model::Rail& rail : netdev_reader_.read(free_interfaces(), now_mono_ns)) rails.push_back(std::move(rail));
  number_interfaces(ports, rails);
  changed_ |= !std::equal(rails.begin(), rails.end(), rails_.begin(), rails_.end(),
                          [](const model::Rail& a, const model::Rail& b) {
                            return a.device == b.device && a.port == b.port && a.state == b.state;
                          });
  rails_ = std::move(rails);
}

void RailWatch::number_interfaces(size_t ports, std::vector<model::Rail>& rails) const {
  const std::vector<std::string>& named = options_.interfaces;
  size_t next = ports + named.size();
  for (size_t i = ports; i < rails.size(); ++i) {
    const auto place = std::find(named.begin(), named.end(), rails[i].device);
    const size_t number = place == named.end() ? next++ : ports + static_cast<size_t>(place - named.begin());
    rails[i].index = static_cast<int32_t>(number);
  }
  std::sort(rails.begin() + static_cast<std::ptrdiff_t>(ports), rails.end(),
            [](const model::Rail& a, const model::Rail& b) { return a.index < b.index; });
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
  for (const std::string& name : options_.interfaces) {
    if (netdev_reader_.is_loopback(name)) {
      problems.push_back(name + " is the loopback interface and cannot be a rail");
    } else if (!netdev_reader_.can_be_rail(name)) {
      problems.push_back("rail " + name + " is not an interface of this node");
    }
  }
  if (pings_) {
    for (const std::string& problem : pings_->problems()) problems.push_back("active probes: " + problem);
  }
  return problems;
}

}  // namespace railwitness::sidecar
