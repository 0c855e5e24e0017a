#include "probes/bus/bus.h"

#include <map>
#include <utility>

#include "fmt/format.h"
#include "probes/bus/inbox.h"
#include "probes/bus/link.h"
#include "probes/bus/subjects.h"
#include "probes/model/facts_json.h"

namespace railwitness::bus {
namespace {

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
    for (const Link::Message& message : link_.take()) bus::take_ping_requests(node_, message.payload, out);
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
  uint64_t malformed() const override { return inbox_.malformed(); }

  std::vector<model::Heard> take_facts() override {
    std::vector<model::Heard> out;
    for (const Link::Message& message : link_.take()) {
      if (auto heard = inbox_.take(message.subject, message.payload, message.replayed)) out.push_back(*std::move(heard));
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
  Link link_;
  FactsInbox inbox_;
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
