#include "probes/fabric/readers/rdma_json.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "probes/fabric/readers/json_input.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/json_text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

using nlohmann::json;

constexpr size_t kMaxRecords = 1'000'000;

// One element of any answer, in either form.
struct Record {
  std::string device;
  uint32_t port = 0;  // 0: the answer is of devices
  std::map<std::string, std::string> members;
  uint32_t line = 0;

  std::string text(const char* name) const {
    const auto found = members.find(name);
    return found == members.end() ? std::string() : found->second;
  }
  std::optional<uint32_t> number(const char* name) const {
    const auto value = number_of(text(name));
    if (!value || *value > std::numeric_limits<uint32_t>::max()) return std::nullopt;
    return static_cast<uint32_t>(*value);
  }
};

model::PortState state_of(const std::string& state, const std::string& physical) {
  if (physical == "DISABLED") return model::PortState::kDisabled;
  if (state == "ACTIVE") return model::PortState::kUp;
  if (state == "INIT" || state == "ARMED") return model::PortState::kTraining;
  return state == "DOWN" ? model::PortState::kDown : model::PortState::kUnknown;
}

class Facts {
 public:
  explicit Facts(std::string_view file) {
    out_.fabric.source = {.kind = "rdma_json", .file = std::string(file), .wall_ns = std::nullopt};
  }

  void take(const Record& record) {
    const size_t device = device_of(record);
    if (record.members.contains("lqpn")) {
      add_queue_pair(record);
    } else if (record.members.contains("node_type") || record.members.contains("node_guid")) {
      out_.fabric.devices[device].guid = guid_of(record.text("node_guid"));
      out_.fabric.devices[device].system_guid = guid_of(record.text("sys_image_guid"));
    } else if (record.members.contains("state")) {
      add_link(record, device);
    } else if (record.port == 0) {
      for (const auto& [name, value] : record.members) {
        if (const auto count = number_of(value)) out_.resources[record.device][name] = *count;
      }
    } else {
      add_counters(record, device);
    }
  }

  model::RdmaFacts take_all() && { return std::move(out_); }

 private:
  size_t device_of(const Record& record) {
    const auto [known, is_new] = devices_.try_emplace(record.device, out_.fabric.devices.size());
    if (is_new) {
      model::FabricDevice device;
      device.kind = model::DeviceKind::kNic;
      device.name = device.nic = record.device;
      device.line = record.line;
      out_.fabric.devices.push_back(std::move(device));
    }
    return known->second;
  }

  model::FabricPort& port_of(const Record& record, size_t device) {
    const auto [known, is_new] = ports_.try_emplace({device, record.port}, out_.fabric.ports.size());
    if (is_new) {
      model::FabricPort& port = out_.fabric.ports.emplace_back();
      port.device = device;
      port.number = record.port;
      port.line = record.line;
    }
    return out_.fabric.ports[known->second];
  }

  void add_link(const Record& record, size_t device) {
    model::FabricPort& port = port_of(record, device);
    port.state = state_of(record.text("state"), record.text("physical_state"));
    port.label = record.text("netdev");
    if (!port.label.empty()) port.link_layer = "Ethernet";
    port.lid = record.number("lid");
    port.lmc = record.number("lmc");
  }

  void add_counters(const Record& record, size_t device) {
    model::FabricPort& port = port_of(record, device);
    for (const auto& [name, value] : record.members) {
      const auto count = number_of(value);
      if (count) port.counters[name] = {*count, *count == std::numeric_limits<uint64_t>::max()};
    }
  }

  void add_queue_pair(const Record& record) {
    model::QueuePair pair;
    pair.device = record.device;
    pair.port = record.port;
    pair.local_number = record.number("lqpn").value_or(0);
    pair.remote_number = record.number("rqpn");
    pair.type = record.text("type");
    pair.state = record.text("state");
    pair.owner = record.text("comm");
    pair.pid = record.number("pid");
    out_.queue_pairs.push_back(std::move(pair));
  }

  model::RdmaFacts out_;
  std::map<std::string, size_t> devices_;
  std::map<std::pair<size_t, uint32_t>, size_t> ports_;
};

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file), facts_(file) {}

  absl::StatusOr<model::RdmaFacts> read(std::string_view bytes) && {
    while (!bytes.empty()) {
      const char first = bytes.front();
      absl::Status status;
      if (first == '[' || first == '{') {
        status = answer(bytes);
      } else {
        const std::string_view text = take_until(bytes, "\n");
        ++line_;
        status = text_line(text);
      }
      if (!status.ok()) return status;
    }
    flush();
    if (records_ == 0) return refuse(file_, 0, "no answer of rdma in it");
    return std::move(facts_).take_all();
  }

 private:
  absl::Status answer(std::string_view& bytes) {
    flush();
    const size_t end = json_value_end(bytes);
    const std::string_view text = bytes.substr(0, end);
    const absl::StatusOr<json> value = read_json(file_, text);
    if (!value.ok())
      return line_ == 0 ? value.status() : refuse(file_, line_ + 1, "JSON that begins here does not parse");
    std::vector<const json*> elements;
    if (value->is_array()) {
      for (const json& element : *value) elements.push_back(&element);
    } else {
      elements.push_back(&*value);
    }
    for (const json* element : elements) {
      if (absl::Status status = take(*element); !status.ok()) return status;
    }
    line_ += static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n'));
    bytes = bytes.substr(end == std::string_view::npos ? bytes.size() : end);
    if (trim(bytes.substr(0, bytes.find('\n'))).empty()) {
      take_until(bytes, "\n");
      ++line_;
    }
    return absl::OkStatus();
  }

  absl::Status take(const json& element) {
    if (element.is_object() && element.empty()) return absl::OkStatus();  // `rdma -j` of nothing: [{}]
    Record record;
    record.device = text_member(element, "ifname");
    record.port = small_number_member(element, "port").value_or(0);
    record.line = line_ + 1;
    if (record.device.empty()) return refuse(file_, line_ + 1, "an element without ifname");
    if (++records_ > kMaxRecords) return refuse(file_, line_ + 1, "too many elements");
    for (const auto& [name, value] : element.items()) {
      if (name == "ifname" || name == "port" || name == "ifindex") continue;
      record.members[model::printable(name, 128)] = text_member(element, name.c_str());
    }
    facts_.take(record);
    return absl::OkStatus();
  }

  // "link mlx5_0/1 NAME VALUE ...", "0: mlx5_0: NAME VALUE ...", "    NAME VALUE" of the link above.
  absl::Status text_line(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) {
      flush();
      return absl::OkStatus();
    }
    size_t used = 0;
    if (words[0] == "link" && words.size() >= 2) {
      flush();
      std::string_view name = words[1];
      pending_.device = model::printable(take_until(name, "/"), kMaxNameBytes);
      const auto port = number_of(name);
      if (!port || *port == 0 || *port > 65535 || pending_.device.empty())
        return refuse(file_, line_, "not \"link DEVICE/PORT\"");
      pending_.port = static_cast<uint32_t>(*port);
      used = 2;
    } else if (words.size() >= 2 && number_of(words[0].substr(0, words[0].size() - 1)) && words[0].ends_with(':') &&
               words[1].ends_with(':')) {
      flush();
      pending_.device = model::printable(words[1].substr(0, words[1].size() - 1), kMaxNameBytes);
      used = 2;
    } else if (pending_.device.empty() || (line[0] != ' ' && line[0] != '\t')) {
      return refuse(file_, line_, "neither JSON nor \"link DEVICE/PORT\" nor \"INDEX: DEVICE:\"");
    }
    if (pending_.line == 0) pending_.line = line_;
    if ((words.size() - used) % 2 != 0) return refuse(file_, line_, "a name without value");
    for (; used + 1 < words.size(); used += 2) {
      pending_.members[model::printable(words[used], 128)] = model::printable(words[used + 1], kMaxNameBytes);
    }
    return absl::OkStatus();
  }

  void flush() {
    if (!pending_.device.empty()) {
      ++records_;
      facts_.take(pending_);
    }
    pending_ = Record();
  }

  std::string file_;
  Facts facts_;
  Record pending_;
  uint32_t line_ = 0;  // lines done
  size_t records_ = 0;
};

}  // namespace

absl::StatusOr<model::RdmaFacts> read_rdma_json(std::string_view file, std::string_view bytes) {
  if (absl::Status fits = check_size(file, bytes); !fits.ok()) return fits;
  return Reader(file).read(bytes);
}

}  // namespace railwitness::fabric
