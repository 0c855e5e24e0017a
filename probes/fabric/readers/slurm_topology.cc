// topology.conf, and what both forms share.
#include "probes/fabric/readers/slurm_topology.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "probes/fabric/readers/grouping_builder.h"
#include "probes/fabric/readers/slurm_topology_yaml.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

using Kind = model::NodeGrouping::Kind;

absl::Status bad_list(std::string_view list) {
  return absl::InvalidArgumentError("not a list of names: " + model::printable(list, 64));
}

// Commas outside brackets separate.
absl::StatusOr<std::vector<std::string_view>> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  bool inside = false;
  for (size_t i = 0; i <= list.size(); ++i) {
    const char c = i == list.size() ? ',' : list[i];
    if ((c == '[' && inside) || (c == ']' && !inside)) return bad_list(list);
    if (c == '[') inside = true;
    if (c == ']') inside = false;
    if (c != ',' || (inside && i < list.size())) continue;
    if (const auto part = trim(list.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  if (inside) return bad_list(list);
  return parts;
}

// "3", "08-11" to numbers as text, with the width of the first one where it begins with a zero.
absl::Status expand_range(std::string_view range, size_t max, std::vector<std::string>& out) {
  const std::string_view whole = range;
  const std::string_view from_text = trim(take_until(range, "-"));
  const bool one = whole.find('-') == std::string_view::npos;
  const auto from = number_of(from_text), to = one ? from : number_of(trim(range));
  if (!from || !to || *to < *from || from_text.size() > 18) return bad_list(whole);
  const size_t width = from_text.starts_with('0') ? from_text.size() : 0;
  if (*to - *from >= max)
    return absl::InvalidArgumentError(fmt::format("{} names and more: {}", max, model::printable(whole, 64)));
  for (uint64_t n = *from; n <= *to; ++n) out.push_back(fmt::format("{:0{}}", n, width));
  return absl::OkStatus();
}

// All that "a[1-2]b[3]" stands for, one bracket after the other.
absl::Status expand_part(std::string_view part, size_t max, std::vector<std::string>& out) {
  std::vector<std::string> names{""};
  while (!part.empty()) {
    const size_t open = part.find('[');
    for (std::string& name : names) name += part.substr(0, open);
    if (names.front().size() > kMaxNameBytes) return bad_list(names.front());
    if (open == std::string_view::npos) break;
    const size_t close = part.find(']', open);
    std::string_view ranges = part.substr(open + 1, close - open - 1);
    part.remove_prefix(close + 1);
    std::vector<std::string> numbers;
    while (!ranges.empty()) {
      if (absl::Status status = expand_range(trim(take_until(ranges, ",")), max, numbers); !status.ok()) return status;
      if (numbers.size() > max) return absl::InvalidArgumentError(fmt::format("more than {} names", max));
    }
    if (numbers.empty()) return bad_list("[]");
    if (names.size() > max / numbers.size()) return absl::InvalidArgumentError(fmt::format("more than {} names", max));
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& number : numbers) longer.push_back(name + number);
    }
    names = std::move(longer);
  }
  out.insert(out.end(), std::make_move_iterator(names.begin()), std::make_move_iterator(names.end()));
  return absl::OkStatus();
}

// "# switch.1.1=leaf-1-1": what generators leave of the names that the fabric knows.
struct Alias {
  std::string name, alias;
};
Alias alias_in(std::string_view comment) {
  comment.remove_prefix(1);
  comment = trim(comment);
  if (comment.find_first_of(" \t") != std::string_view::npos || comment.find('=') == std::string_view::npos) return {};
  const std::string_view name = take_until(comment, "=");
  return {model::printable(name, kMaxNameBytes), model::printable(comment, kMaxNameBytes)};
}

class Conf {
 public:
  explicit Conf(std::string_view file)
      : file_(file), tree_(file, Kind::kTree, &names_), blocks_(file, Kind::kBlock, &names_) {}

  absl::Status line(std::string_view text, uint32_t number) {
    text = trim(text);
    if (text.starts_with('#')) {
      if (const Alias found = alias_in(text); !found.name.empty()) {
        tree_.add_alias(found.name, found.alias);
        blocks_.add_alias(found.name, found.alias);
      }
      return absl::OkStatus();
    }
    text = trim(text.substr(0, text.find('#')));
    if (text.empty()) return absl::OkStatus();
    std::map<std::string, std::string> values;
    for (const std::string_view word : words_of(text)) {
      if (word.find('=') == std::string_view::npos)
        return refuse(file_, number, "not NAME=VALUE: " + model::printable(word, 64));
      std::string_view value = word;
      const std::string key = absl::AsciiStrToLower(std::string(take_until(value, "=")));
      if (!values.try_emplace(key, value).second) return refuse(file_, number, model::printable(key, 64) + " is said twice");
    }
    return take(values, number);
  }

  absl::StatusOr<model::ClusterTopology> finish() {
    if (tree_.empty() && blocks_.empty())
      return refuse(file_, 0, "neither SwitchName= nor BlockName= in it: no topology.conf");
    for (GroupingBuilder* builder : {&tree_, &blocks_}) {
      if (builder->empty()) continue;
      builder->grouping().is_default = true;
      if (absl::Status status = builder->finish(out_); !status.ok()) return status;
    }
    return std::move(out_);
  }

 private:
  absl::Status take(const std::map<std::string, std::string>& values, uint32_t number) {
    const auto value = [&](const char* key) {
      const auto found = values.find(key);
      return found == values.end() ? std::string() : found->second;
    };
    for (const auto& [key, text] : values) {
      const bool known = key == "switchname" || key == "switches" || key == "nodes" || key == "linkspeed" ||
                         key == "blockname" || key == "blocksizes";
      if (!known && out_.remarks.size() < 64)
        out_.remarks.push_back({number, model::printable(key, 64) + " is not used here"});
    }
    if (values.contains("switchname"))
      return tree_.add(model::printable(value("switchname"), kMaxNameBytes), value("nodes"), value("switches"), number);
    if (values.contains("blockname"))
      return blocks_.add(model::printable(value("blockname"), kMaxNameBytes), value("nodes"), "", number);
    const std::string sizes = value("blocksizes");
    for (std::string_view rest = sizes; !rest.empty();) {
      if (absl::Status status = blocks_.add_block_size(take_until(rest, ","), number); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  std::string file_;
  size_t names_ = 0;
  GroupingBuilder tree_, blocks_;
  model::ClusterTopology out_;
};

bool is_yaml(std::string_view file, std::string_view bytes) {
  if (file.ends_with(".yaml") || file.ends_with(".yml")) return true;
  if (file.ends_with(".conf")) return false;
  Lines lines(bytes);
  for (std::string_view line; lines.next(line);) {
    line = trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    return line.starts_with("---") || line.starts_with("- ") || line.starts_with("topology:");
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> expand_host_list(std::string_view list, size_t max_names) {
  const auto parts = parts_of(list);
  if (!parts.ok()) return parts.status();
  std::vector<std::string> out;
  for (const std::string_view part : *parts) {
    if (out.size() >= max_names) return absl::InvalidArgumentError(fmt::format("more than {} names", max_names));
    if (absl::Status status = expand_part(part, max_names - out.size(), out); !status.ok()) return status;
  }
  return out;
}

std::vector<std::string> groups_above(const model::NodeGrouping& grouping, const std::string& node) {
  std::vector<std::string> out;
  const auto found = grouping.group_of_node.find(node);
  if (found == grouping.group_of_node.end()) return out;
  for (std::optional<size_t> at = found->second; at && out.size() <= grouping.groups.size();
       at = grouping.groups[*at].parent) {
    out.push_back(grouping.groups[*at].name);
  }
  return out;
}

absl::StatusOr<model::ClusterTopology> read_slurm_topology(std::string_view file, std::string_view bytes) {
  if (absl::Status fits = check_size(file, bytes); !fits.ok()) return fits;
  absl::StatusOr<model::ClusterTopology> out;
  if (is_yaml(file, bytes)) {
    out = read_slurm_topology_yaml(file, bytes);
  } else {
    Conf conf(file);
    Lines lines(bytes);
    for (std::string_view line; lines.next(line);) {
      if (absl::Status status = conf.line(line, lines.number()); !status.ok()) return status;
    }
    out = conf.finish();
  }
  if (out.ok()) out->source = {.kind = "slurm_topology", .file = std::string(file), .wall_ns = std::nullopt};
  return out;
}

}  // namespace railwitness::fabric
