#include "probes/fabric/readers/slurm_topology_yaml.h"

#include <exception>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "probes/fabric/readers/grouping_builder.h"
#include "probes/fabric/readers/text.h"
#include "yaml-cpp/yaml.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

using Kind = model::NodeGrouping::Kind;

constexpr size_t kMaxYamlBytes = size_t{4} << 20;
constexpr size_t kMaxTopologies = 1024;  // aliases can repeat what is written once

uint32_t line_of(const YAML::Mark& mark) {
  return mark.is_null() || mark.line < 0 ? 0 : static_cast<uint32_t>(mark.line) + 1;
}

std::string text_of(const YAML::Node& node) {
  return node.IsDefined() && node.IsScalar() ? model::printable(node.Scalar(), 256) : std::string();
}

// Lists of hosts may be long; they are checked where they are expanded.
std::string list_of(const YAML::Node& node) {
  return node.IsDefined() && node.IsScalar() ? node.Scalar() : std::string();
}

struct Form {
  const char* key;  // of the topology
  Kind kind;
  const char* list;  // below it
  const char* name;  // of an element
};
constexpr Form kForms[] = {{"tree", Kind::kTree, "switches", "switch"},
                           {"block", Kind::kBlock, "blocks", "block"},
                           {"ring", Kind::kRing, "rings", "ring"},
                           {"torus3d", Kind::kTorus, "toruses", "name"},
                           {"flat", Kind::kFlat, nullptr, nullptr}};

absl::Status add_groups(const std::string& file, const YAML::Node& list, const Form& form, GroupingBuilder& builder) {
  for (const YAML::Node& element : list) {
    if (!element.IsMap())
      return refuse(file, line_of(element.Mark()), fmt::format("an element of {} that is no map", form.list));
    absl::Status added = builder.add(text_of(element[form.name]), list_of(element["nodes"]),
                                     list_of(element["children"]), line_of(element.Mark()));
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

absl::Status add_topology(const std::string& file, const YAML::Node& node, size_t& names, model::ClusterTopology& out) {
  const uint32_t line = line_of(node.Mark());
  if (!node.IsMap()) return refuse(file, line, "a topology that is no map");
  if (out.groupings.size() >= kMaxTopologies)
    return refuse(file, line, fmt::format("more than {} topologies", kMaxTopologies));
  for (const Form& form : kForms) {
    const YAML::Node of_kind = node[form.key];
    if (!of_kind.IsDefined()) continue;
    GroupingBuilder builder(file, form.kind, &names);
    builder.grouping().name = text_of(node["topology"]);
    builder.grouping().line = line;
    builder.grouping().is_default = text_of(node["cluster_default"]) == "true";
    if (form.list != nullptr && of_kind.IsMap()) {
      if (const YAML::Node list = of_kind[form.list]; list.IsDefined() && list.IsSequence()) {
        if (absl::Status added = add_groups(file, list, form, builder); !added.ok()) return added;
      }
      if (const YAML::Node sizes = of_kind["block_sizes"]; sizes.IsDefined() && sizes.IsSequence()) {
        for (const YAML::Node& size : sizes) {
          if (absl::Status added = builder.add_block_size(text_of(size), line_of(size.Mark())); !added.ok())
            return added;
        }
      }
    }
    if (form.list != nullptr && builder.empty())
      return refuse(file, line_of(of_kind.Mark()), fmt::format("{} without {}", form.key, form.list));
    return builder.finish(out);
  }
  return refuse(file, line, "a topology that is neither tree, block, ring, torus3d nor flat");
}

absl::StatusOr<model::ClusterTopology> read_root(const std::string& file, const YAML::Node& root) {
  model::ClusterTopology out;
  size_t names = 0;
  if (!root.IsSequence() && !root.IsMap()) {
    return refuse(file, line_of(root.Mark()), "the root is neither a list of topologies nor one topology");
  }
  if (root.IsMap()) {
    if (absl::Status added = add_topology(file, root, names, out); !added.ok()) return added;
    return out;
  }
  for (const YAML::Node& topology : root) {
    if (absl::Status added = add_topology(file, topology, names, out); !added.ok()) return added;
  }
  return out;
}

}  // namespace

absl::StatusOr<model::ClusterTopology> read_slurm_topology_yaml(std::string_view file_name, std::string_view bytes) {
  const std::string file(file_name);
  if (bytes.size() > kMaxYamlBytes)
    return refuse(file, 0, fmt::format("{} bytes; at most {} of YAML are read", bytes.size(), kMaxYamlBytes));
  try {
    return read_root(file, YAML::Load(std::string(bytes)));
  } catch (const YAML::Exception& error) {
    return refuse(file, line_of(error.mark), "no YAML: " + model::printable(error.msg, 128));
  } catch (const std::exception& error) {  // a library's own limits
    return refuse(file, 0, "no YAML: " + model::printable(error.what(), 128));
  }
}

}  // namespace railwitness::fabric
