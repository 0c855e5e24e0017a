#include "probes/bus/inbox.h"

#include <utility>

#include "absl/status/statusor.h"
#include "probes/bus/bus.h"
#include "probes/bus/subjects.h"
#include "probes/model/facts_json.h"

namespace railwitness::bus {

std::optional<model::Heard> FactsInbox::take(const std::string& subject, std::string_view payload, bool replayed) {
  absl::StatusOr<model::NodeFacts> facts = model::parse_node_facts(payload);
  if (!facts.ok() || facts_subject(facts->node) != subject) {
    ++malformed_;
    return std::nullopt;
  }
  if (!is_news(*facts)) return std::nullopt;
  return model::Heard{*std::move(facts), replayed ? FleetBus::kBeforeListeningNs : 0};
}

bool FactsInbox::is_news(const model::NodeFacts& facts) {
  if (said_.size() >= kMaxNames && !said_.contains(facts.node)) said_.clear();
  Said& last = said_[facts.node];
  const bool again = last.boot_id == facts.boot_id && last.start_mono_ns == facts.sidecar_start_mono_ns &&
                     facts.sequence <= last.sequence && facts.sequence != 0;
  last = {facts.boot_id, facts.sidecar_start_mono_ns, facts.sequence};
  return !again;
}

void take_ping_requests(const std::string& node, std::string_view payload, std::vector<model::PingRequest>& out) {
  absl::StatusOr<std::vector<model::PingRequest>> requests = model::parse_ping_requests(payload);
  if (!requests.ok()) return;
  for (model::PingRequest& request : *requests) {
    if (request.from_node == node && out.size() < kMaxPingRequests) out.push_back(std::move(request));
  }
}

}  // namespace railwitness::bus
