#include "probes/fabric/edge_memory.h"

#include "fmt/format.h"

namespace railwitness::fabric {
namespace {

std::string port_key(const model::Edge& edge) {
  return edge.netdev.empty() ? fmt::format("{}/{}", edge.device, edge.port) : edge.netdev;
}

bool same_switch(const model::Edge& a, const model::Edge& b) {
  if (!a.switch_id.empty() && !b.switch_id.empty()) return a.switch_id == b.switch_id;
  return a.switch_name == b.switch_name;
}

// What a source says less of than before, of the same neighbour, is filled from memory: a switch that boots announces
// its chassis before its name and port names.
model::Edge merged(model::Edge now, const model::Edge& before) {
  if (!same_switch(now, before)) return now;
  if (now.switch_name.empty() || now.switch_name == now.switch_id) now.switch_name = before.switch_name;
  if (now.switch_port.empty()) now.switch_port = before.switch_port;
  if (now.switch_id.empty()) now.switch_id = before.switch_id;
  if (now.cable.empty()) now.cable = before.cable;
  return now;
}

}  // namespace

void EdgeMemory::update(const std::vector<model::Edge>& seen, int64_t now_mono_ns) {
  for (auto& [key, edge] : by_port_) edge.present = false;
  for (const model::Edge& edge : seen) {
    const std::string key = port_key(edge);
    const auto known = by_port_.find(key);
    if (known == by_port_.end() && by_port_.size() >= kMaxEdges) continue;
    model::Edge next = known == by_port_.end() ? edge : merged(edge, known->second);
    next.present = true;
    next.seen_mono_ns = now_mono_ns;
    by_port_[key] = std::move(next);
  }
}

std::vector<model::Edge> EdgeMemory::edges() const {
  std::vector<model::Edge> out;
  out.reserve(by_port_.size());
  for (const auto& [key, edge] : by_port_) out.push_back(edge);
  return out;
}

void join_rails(std::vector<model::Edge>* edges, const std::vector<model::Rail>& rails) {
  for (model::Edge& edge : *edges) {
    if (edge.netdev.empty()) continue;
    for (const model::Rail& rail : rails) {
      if (rail.netdev != edge.netdev) continue;
      edge.device = rail.device;
      edge.port = rail.port;
      break;
    }
  }
}

}  // namespace railwitness::fabric
