#include "probes/bus/bus.h"

#include <map>
#include <utility>

#include "fmt/format.h"
#include "probes/bus/link.h"
#include "probes/bus/subjects.h"
#include "probes/model/facts_json.h"

namespace railwitness::bus {
namespace {

constexpr size_t kMaxRequests = 64;  // taken at a time

class NatsNodeBus final : public NodeBus {
 public:
  NatsNodeBus(const std::string& url, const std::string& node)
      : node_(node),
        link_({.url = url,
               .client_name = fmt::format("railwitness sidecar {}", node),
               .instead = "run without --nats",
               .incidents = false,
               .listen_facts = false,
               .listen_subject = probe_subject(node)}) {}

  State state() const override { return link_.state(); }
  uint64_t lost() const override { return link_.lost(); }

  absl::Status publish(const model::NodeFacts& facts) override {
    return link_.send(facts_subject(node_), model::to_json(facts), /*stored=*/true, /*newest_only=*/true);
  }

  std::vector<model::PingRequest> take_ping_requests() override {
    std::vector<model::PingRequest> out;
    for (const Link::Message& message : link_.take()) {
      absl::StatusOr<std::vector<model::PingRequest>> requests = model::parse_ping_requests(message.payload);
      if (!requests.ok()) continue;
      for (model::PingRequest& request : *requests) {
        if (request.from_node == node_ && out.size() < kMaxRequests) out.push_back(std::move(request));
      }
    }
    return out;
  }

 private:
  const std::string node_;
  Link link_;
};

class NatsFleetBus final : public FleetBus {
 public:
  explicit NatsFleetBus(const std::string& url)
      : link_({.url = url,
               .client_name = "railwitness correlate",
               .instead = "name another with --nats",
               .incidents = true,
               .listen_facts = true,
               .listen_subject = ""}) {}

  State state() const override { return link_.state(); }
  uint64_t malformed() const override { return malformed_; }

  std::vector<model::Heard> take_facts() override {
    std::vector<model::Heard> out;
    for (const Link::Message& message : link_.take()) {
      absl::StatusOr<model::NodeFacts> facts = model::parse_node_facts(message.payload);
      if (!facts.ok() || facts_subject(facts->node) != message.subject) {
        ++malformed_;
        continue;
      }
      if (!is_news(*facts)) continue;
      out.push_back({*std::move(facts), message.replayed ? kBeforeListeningNs : 0});
    }
    return out;
  }

  absl::Status request_pings(const std::vector<model::PingRequest>& requests) override {
    std::map<std::string, std::vector<model::PingRequest>> by_node;
    for (const model::PingRequest& request : requests) by_node[request.from_node].push_back(request);
    for (const auto& [node, of_node] : by_node) {
      absl::Status sent = link_.send(probe_subject(node), model::to_json(of_node), false, false);
      if (!sent.ok()) return sent;
    }
    return absl::OkStatus();
  }

  absl::Status publish_incident(const std::string& json) override {
    return link_.send(kIncidentSubject, json, /*stored=*/true, /*newest_only=*/false);
  }

 private:
  struct Said {
    std::string boot_id;
    int64_t start_mono_ns = 0;
    uint64_t sequence = 0;
  };

  // After a reconnect the stream says again what it had said.
  bool is_news(const model::NodeFacts& facts) {
    Said& last = said_[facts.node];
    const bool again = last.boot_id == facts.boot_id && last.start_mono_ns == facts.sidecar_start_mono_ns &&
                       facts.sequence <= last.sequence && facts.sequence != 0;
    last = {facts.boot_id, facts.sidecar_start_mono_ns, facts.sequence};
    return !again;
  }

  Link link_;
  uint64_t malformed_ = 0;
  std::map<std::string, Said> said_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<NodeBus>> open_node_bus(const std::string& url, const std::string& node) {
  if (absl::Status status = check_url(url); !status.ok()) return status;
  return std::make_unique<NatsNodeBus>(url, node);
}

absl::StatusOr<std::unique_ptr<FleetBus>> open_fleet_bus(const std::string& url) {
  if (absl::Status status = check_url(url); !status.ok()) return status;
  return std::make_unique<NatsFleetBus>(url);
}

}  // namespace railwitness::bus
