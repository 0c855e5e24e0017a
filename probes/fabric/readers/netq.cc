#include "probes/fabric/readers/netq.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "probes/fabric/readers/json_input.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/json_text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

using nlohmann::json;

constexpr size_t kMaxGpusOfNode = 256;

model::ClusterNode node_of(const json& element) {
  model::ClusterNode node;
  node.id = text_member(element, "ID");
  node.name = text_member(element, "Name");
  if (node.name.empty()) node.name = node.id;
  node.health = text_member(element, "Health");
  if (const json* place = member_of(element, "LocationInfo")) {
    node.chassis_serial = text_member(*place, "ChassisSerialNumber");
    node.chassis = small_number_member(*place, "ChassisID");
    node.slot = small_number_member(*place, "SlotID");
    node.tray = small_number_member(*place, "TrayIndex");
    node.host = small_number_member(*place, "HostID");
  }
  const json* gpus = member_of(element, "GpuIDList");
  for (size_t i = 0; gpus != nullptr && gpus->is_array() && i < gpus->size() && i < kMaxGpusOfNode; ++i) {
    if (const auto* id = (*gpus)[i].get_ptr<const std::string*>())
      node.gpu_ids.push_back(model::printable(*id, kMaxNameBytes));
  }
  return node;
}

}  // namespace

absl::StatusOr<model::ClusterTopology> read_netq(std::string_view file, std::string_view bytes) {
  const absl::StatusOr<json> top = read_json(file, bytes);
  if (!top.ok()) return top.status();
  if (!top->is_array()) return refuse(file, 0, "not a list of compute nodes");
  model::ClusterTopology out;
  out.source = {.kind = "netq", .file = std::string(file), .wall_ns = std::nullopt};
  model::NodeGrouping domains;
  domains.kind = model::NodeGrouping::Kind::kBlock;
  domains.name = "NVLink domains";
  std::map<std::string, size_t> by_domain;
  std::set<std::string> names;
  for (size_t i = 0; i < top->size(); ++i) {
    const json& element = (*top)[i];
    if (!element.is_object()) return refuse(file, 0, fmt::format("element [{}] is no object", i));
    model::ClusterNode node = node_of(element);
    if (node.name.empty())
      return refuse(file, 0, fmt::format("element [{}] has neither Name nor ID: no compute node", i));
    if (!names.insert(node.name).second)
      return refuse(file, 0, fmt::format("element [{}]: {} is there twice", i, node.name));
    const std::string domain = text_member(element, "DomainUUID");
    if (domain.empty()) {
      out.remarks.push_back({0, node.name + " has no DomainUUID: its NVLink domain is not known"});
    } else {
      const auto [known, is_new] = by_domain.try_emplace(domain, domains.groups.size());
      if (is_new) domains.groups.emplace_back().name = domain;
      domains.groups[known->second].nodes.push_back(node.name);
      domains.group_of_node[node.name] = known->second;
    }
    out.nodes.push_back(std::move(node));
  }
  out.groupings.push_back(std::move(domains));
  return out;
}

}  // namespace railwitness::fabric
