// Makes a NodeGrouping from lines in any order: names first, children by name at the end.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_GROUPING_BUILDER_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_GROUPING_BUILDER_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "probes/model/cluster_topology.h"

namespace railwitness::fabric {

class GroupingBuilder {
 public:
  static constexpr size_t kMaxNames = 1'000'000;  // of all groupings of a file

  // `names` counts over all groupings of the file.
  GroupingBuilder(std::string_view file, model::NodeGrouping::Kind kind, size_t* names) : file_(file), names_(names) {
    grouping_.kind = kind;
  }

  absl::Status add(const std::string& name, std::string_view nodes, std::string_view children, uint32_t line);
  absl::Status add_block_size(std::string_view text, uint32_t line);
  void add_alias(const std::string& name, std::string alias) { aliases_[name] = std::move(alias); }
  bool empty() const { return grouping_.groups.empty() && grouping_.block_sizes.empty(); }
  model::NodeGrouping& grouping() { return grouping_; }

  // Puts the finished grouping into `out`.
  absl::Status finish(model::ClusterTopology& out);

 private:
  absl::Status resolve_children();
  absl::Status refuse_circles() const;
  void tell_roots();
  void tell_block_sizes();

  std::string file_;
  model::NodeGrouping grouping_;
  std::map<std::string, size_t> by_name_;
  std::map<std::string, std::string> aliases_;
  std::vector<std::vector<std::string>> child_names_;
  std::vector<model::Remark> remarks_;
  std::vector<uint32_t> block_size_lines_;
  size_t* names_;
};

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_GROUPING_BUILDER_H_
