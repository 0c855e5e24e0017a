#include "probes/fabric/readers/inventory_csv.h"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "probes/fabric/readers/csv_rows.h"
#include "probes/fabric/readers/text.h"

namespace railwitness::fabric {
namespace {

constexpr size_t kMaxRemarks = 64;
constexpr size_t kNone = static_cast<size_t>(-1);

struct Columns {
  size_t start_device = kNone, start_port = kNone, end_device = kNone, end_port = kNone, rack = kNone;
};

std::string_view without_mark(std::string_view head) {
  if (take_prefix(head, "\xEF\xBB\xBF")) head = trim(head);  // a spreadsheet's byte order mark
  if (take_prefix(head, "#Fields:")) return trim(head);
  take_prefix(head, "#");
  return trim(head);
}

absl::StatusOr<Columns> columns_of(std::string_view file, const CsvRow& head) {
  Columns out;
  const std::array<std::pair<std::string_view, size_t*>, 4> wanted{{{"StartDevice", &out.start_device},
                                                                    {"StartPort", &out.start_port},
                                                                    {"EndDevice", &out.end_device},
                                                                    {"EndPort", &out.end_port}}};
  for (size_t i = head.fields.size(); i-- > 0;) {  // the first of one name stays
    const std::string_view name = without_mark(head.fields[i]);
    for (const auto& [want, column] : wanted) {
      if (name == want) *column = i;
    }
    if (name == "rack" && out.rack == kNone) out.rack = i;
    if (head.fields[i] == "rack #") out.rack = i;
  }
  for (const auto& [want, column] : wanted) {
    if (*column == kNone)
      return refuse(file, head.line,
                    fmt::format("no column {}; StartDevice, StartPort, EndDevice and EndPort are needed", want));
  }
  return out;
}

std::string field(const CsvRow& row, size_t column) {
  return column < row.fields.size() ? row.fields[column] : std::string();
}

char separator_of(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, bytes.find('\n'));
  for (const char c : {',', ';', '\t'}) {
    if (head.find(c) != std::string_view::npos) return c;
  }
  return ',';
}

class Plan {
 public:
  Plan(std::string_view file, const Columns& columns) : columns_(columns) {
    out_.source = {.kind = "inventory_csv", .file = std::string(file), .wall_ns = std::nullopt};
    out_.is_plan = true;
  }

  void row(const CsvRow& row) {
    std::string from = field(row, columns_.start_device), from_port = field(row, columns_.start_port);
    const std::string to = field(row, columns_.end_device), to_port = field(row, columns_.end_port);
    const int said = !from.empty() + !from_port.empty() + !to.empty() + !to_port.empty();
    if (said == 0) return;
    if (said < 4) {
      remark(row.line, "a row without StartDevice, StartPort, EndDevice or EndPort: left out");
      return;
    }
    // "Server 1 IB Port 1" with port "IB Port 1": a place in a rack, not a device's name.
    bool by_place = false;
    if (std::string_view place = from; take_suffix(place, " " + from_port)) {
      by_place = true;
      by_place_ += 1;
      from = std::string(trim(field(row, columns_.rack) + " " + std::string(trim(place))));
    }
    const size_t a = end(by_place ? End{from, from_port, {}} : end_of(from, from_port),
                         by_place ? model::DeviceKind::kNic : model::DeviceKind::kUnknown, row.line);
    const size_t b = end(end_of(to, to_port), model::DeviceKind::kSwitch, row.line);
    for (const size_t end : {a, b}) {
      if (!planned_.insert(end).second)
        remark(row.line,
               fmt::format("{} {} is planned twice", out_.devices[out_.ports[end].device].name, out_.ports[end].label));
    }
    out_.links.push_back({.a = a, .b = b, .one_sided = false, .cable = {}, .line = row.line});
  }

  absl::StatusOr<model::FabricFacts> finish(std::string_view file) && {
    if (out_.links.empty()) return refuse(file, 0, "no cable in it");
    if (by_place_ > 0) {
      out_.remarks.push_back({0, fmt::format("{} cables begin at devices that are named by rack and place ({}): no "
                                             "host name is in this plan, give a list of places and host names",
                                             by_place_, out_.devices[out_.ports[out_.links[0].a].device].name)});
    }
    return std::move(out_);
  }

 private:
  void remark(uint32_t line, std::string text) {
    if (out_.remarks.size() < kMaxRemarks) out_.remarks.push_back({line, std::move(text)});
  }

  // A host's NIC is "node-05 mlx5_4" with port "1", or "node-05" with port "mlx5_4" or "mlx5_4/1".
  struct End {
    std::string device, port;
    HostAndNic nic;
  };

  static End end_of(const std::string& device, const std::string& port) {
    if (HostAndNic said = host_and_nic_of(device); !said.nic.empty()) return {device, port, std::move(said)};
    const size_t slash = port.find('/');
    HostAndNic said = host_and_nic_of(fmt::format("{} {}", device, port.substr(0, slash)));
    if (said.nic.empty()) return {device, port, {}};
    return {fmt::format("{} {}", said.host, said.nic), slash == std::string::npos ? "1" : port.substr(slash + 1), std::move(said)};
  }

  size_t end(const End& of, model::DeviceKind kind, uint32_t line) {
    const size_t at = device(of.device, of.nic.nic.empty() ? kind : model::DeviceKind::kNic, line);
    out_.devices[at].host = of.nic.host;
    out_.devices[at].nic = of.nic.nic;
    return port(at, of.port, line);
  }

  size_t device(const std::string& name, model::DeviceKind kind, uint32_t line) {
    const auto [known, is_new] = devices_.try_emplace(name, out_.devices.size());
    if (is_new) {
      model::FabricDevice& added = out_.devices.emplace_back();
      added.name = name;
      added.line = line;
    }
    if (out_.devices[known->second].kind == model::DeviceKind::kUnknown) out_.devices[known->second].kind = kind;
    return known->second;
  }

  size_t port(size_t of, const std::string& label, uint32_t line) {
    const auto [known, is_new] = ports_.try_emplace({of, label}, out_.ports.size());
    if (is_new) {
      model::FabricPort& added = out_.ports.emplace_back();
      added.device = of;
      added.label = label;
      added.line = line;
      std::string_view number = label;
      take_prefix(number, "Port ");
      added.number = static_cast<uint32_t>(number_of(number).value_or(0) & 0xFFFF);
    }
    return known->second;
  }

  Columns columns_;
  model::FabricFacts out_;
  std::map<std::string, size_t> devices_;
  std::map<std::pair<size_t, std::string>, size_t> ports_;
  std::set<size_t> planned_;
  size_t by_place_ = 0;
};

}  // namespace

absl::StatusOr<model::FabricFacts> read_inventory_csv(std::string_view file, std::string_view bytes) {
  const absl::StatusOr<std::vector<CsvRow>> rows = csv_rows(file, bytes, separator_of(bytes));
  if (!rows.ok()) return rows.status();
  if (rows->empty()) return refuse(file, 0, "empty");
  const absl::StatusOr<Columns> columns = columns_of(file, rows->front());
  if (!columns.ok()) return columns.status();
  Plan plan(file, *columns);
  for (size_t i = 1; i < rows->size(); ++i) plan.row((*rows)[i]);
  return std::move(plan).finish(file);
}

}  // namespace railwitness::fabric
