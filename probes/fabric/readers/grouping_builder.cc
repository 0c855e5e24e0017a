#include "probes/fabric/readers/grouping_builder.h"

#include <limits>

#include "fmt/format.h"
#include "probes/fabric/readers/slurm_topology.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

constexpr size_t kMaxRemarks = 64;
constexpr size_t kMaxShown = 64;  // bytes of a name in a refusal

std::string shown(std::string_view text) {
  return model::printable(text, kMaxShown);
}

}  // namespace

absl::Status GroupingBuilder::add(const std::string& name, std::string_view nodes, std::string_view children,
                                  uint32_t line) {
  if (name.empty()) return refuse(file_, line, "a switch or block without name");
  if (!by_name_.try_emplace(name, grouping_.groups.size()).second)
    return refuse(file_, line, shown(name) + " is said twice");
  model::NodeGroup group;
  group.name = name;
  group.line = line;
  auto names = expand_host_list(nodes, kMaxNames - *names_);
  if (!names.ok()) return refuse(file_, line, std::string(names.status().message()));
  *names_ += names->size() + 1;
  auto below = expand_host_list(children, *names_ < kMaxNames ? kMaxNames - *names_ : 0);
  if (!below.ok()) return refuse(file_, line, std::string(below.status().message()));
  *names_ += below->size();
  if (*names_ >= kMaxNames) return refuse(file_, line, fmt::format("more than {} names", kMaxNames));
  for (const std::string& node : *names) {
    const auto [known, is_new] = grouping_.group_of_node.try_emplace(node, grouping_.groups.size());
    if (is_new || remarks_.size() >= kMaxRemarks) continue;
    remarks_.push_back(
        {line,
         fmt::format("{} is in {} and in {}; the first is taken", shown(node),
                     shown(grouping_.groups.size() == known->second ? name : grouping_.groups[known->second].name),
                     shown(name))});
  }
  group.nodes = *std::move(names);
  child_names_.push_back(*std::move(below));
  grouping_.groups.push_back(std::move(group));
  return absl::OkStatus();
}

absl::Status GroupingBuilder::add_block_size(std::string_view text, uint32_t line) {
  const auto size = number_of(trim(text));
  if (!size || *size == 0 || *size > std::numeric_limits<uint32_t>::max()) {
    return refuse(file_, line, "a block size that is no number of nodes: " + shown(text));
  }
  grouping_.block_sizes.push_back(static_cast<uint32_t>(*size));
  block_size_lines_.push_back(line);
  return absl::OkStatus();
}

absl::Status GroupingBuilder::resolve_children() {
  for (size_t i = 0; i < grouping_.groups.size(); ++i) {
    model::NodeGroup& group = grouping_.groups[i];
    for (const std::string& name : child_names_[i]) {
      const auto child = by_name_.find(name);
      if (child == by_name_.end())
        return refuse(file_, group.line,
                      fmt::format("{} under {} is no switch of this file", shown(name), shown(group.name)));
      model::NodeGroup& below = grouping_.groups[child->second];
      if (below.parent) {
        const std::string& first = grouping_.groups[*below.parent].name;
        if (remarks_.size() < kMaxRemarks) {
          remarks_.push_back({group.line, fmt::format("{} is under {} and under {}; the first is taken", shown(name),
                                                      shown(first), shown(group.name))});
        }
        continue;
      }
      below.parent = i;
      group.children.push_back(child->second);
    }
  }
  return absl::OkStatus();
}

// Each group has one parent at most, so that walking up either ends or goes round.
absl::Status GroupingBuilder::refuse_circles() const {
  std::vector<bool> ends(grouping_.groups.size(), false);
  for (size_t start = 0; start < grouping_.groups.size(); ++start) {
    std::vector<size_t> way;
    size_t at = start;
    while (!ends[at]) {
      way.push_back(at);
      if (way.size() > grouping_.groups.size()) {
        return refuse(file_, grouping_.groups[start].line,
                      shown(grouping_.groups[start].name) + " stands above itself");
      }
      if (!grouping_.groups[at].parent) break;
      at = *grouping_.groups[at].parent;
    }
    for (const size_t seen : way) ends[seen] = true;
  }
  return absl::OkStatus();
}

void GroupingBuilder::tell_roots() {
  if (grouping_.kind != model::NodeGrouping::Kind::kTree) return;
  std::string roots;
  size_t count = 0;
  uint32_t line = 0;
  for (const model::NodeGroup& group : grouping_.groups) {
    if (group.parent) continue;
    if (++count <= 8) roots += (count == 1 ? "" : ", ") + shown(group.name);
    line = group.line;
  }
  if (count > 1)
    remarks_.push_back({line, fmt::format("{} roots without a common switch above them: {}; hosts under different ones "
                                          "have no known way to each other",
                                          count, roots)});
}

void GroupingBuilder::tell_block_sizes() {
  for (size_t i = 1; i < grouping_.block_sizes.size(); ++i) {
    const uint32_t base = grouping_.block_sizes[0], size = grouping_.block_sizes[i];
    const uint32_t times = size / base;
    if (size % base == 0 && (times & (times - 1)) == 0 && times > 0) continue;
    remarks_.push_back({block_size_lines_[i],
                        fmt::format("block size {} is not {} times a power of two; Slurm refuses it", size, base)});
  }
}

absl::Status GroupingBuilder::finish(model::ClusterTopology& out) {
  if (absl::Status status = resolve_children(); !status.ok()) return status;
  if (absl::Status status = refuse_circles(); !status.ok()) return status;
  for (model::NodeGroup& group : grouping_.groups) {
    if (const auto alias = aliases_.find(group.name); alias != aliases_.end()) group.alias = alias->second;
  }
  tell_roots();
  tell_block_sizes();
  out.groupings.push_back(std::move(grouping_));
  out.remarks.insert(out.remarks.end(), remarks_.begin(), remarks_.end());
  return absl::OkStatus();
}

}  // namespace railwitness::fabric
