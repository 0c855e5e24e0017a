#include "probes/fabric/identity.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <unordered_map>

#include "fmt/format.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;
using model::FabricDevice;
using model::FabricFacts;

class Unions {
 public:
  explicit Unions(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t root(size_t at) {
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  void join(size_t a, size_t b) {
    a = root(a), b = root(b);
    if (a != b) parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parent_;
};

bool is_zero(std::string_view guid) {
  return guid.find_first_not_of("0:") == std::string_view::npos;
}

// What is unique by itself. The port's GUID stands for the device where a tool prints no other; an identity of the
// ports of one device, it never joins two devices of one source.
bool is_strong(const FabricDevice& device, const std::vector<std::string>& port_guids) {
  return !is_zero(device.guid) || !is_zero(device.chassis) || !port_guids.empty();
}

std::string name_key(const FabricDevice& device) {
  if (!device.host.empty()) return device.host + "\n" + device.nic;
  if (device.kind == DeviceKind::kAggregation || is_factory_name(device.name)) return {};
  if (device.kind == DeviceKind::kNic) return {};  // a NIC whose description names no host
  return short_name(device.name);
}

class Joiner {
 public:
  explicit Joiner(const std::vector<FabricFacts>& facts) : facts_(facts), first_(facts.size() + 1, 0) {
    for (size_t i = 0; i < facts.size(); ++i) first_[i + 1] = first_[i] + facts[i].devices.size();
  }

  Identities join() {
    Unions unions(first_.back());
    join_strong(unions);
    join_by_name(unions);
    Identities out;
    std::unordered_map<size_t, size_t> number;
    for (size_t f = 0; f < facts_.size(); ++f) {
      out.of.emplace_back();
      for (size_t d = 0; d < facts_[f].devices.size(); ++d) {
        const auto [at, is_new] = number.try_emplace(unions.root(first_[f] + d), number.size());
        out.of.back().push_back(at->second);
      }
    }
    out.count = number.size();
    out.notes = std::move(notes_);
    return out;
  }

 private:
  std::vector<std::vector<std::string>> port_guids(const FabricFacts& facts) const {
    std::vector<std::vector<std::string>> out(facts.devices.size());
    for (const model::FabricPort& port : facts.ports) {
      if (port.device < out.size() && !is_zero(port.guid)) out[port.device].push_back(port.guid);
    }
    return out;
  }

  void join_strong(Unions& unions) {
    std::unordered_map<std::string, size_t> known;
    const auto meet = [&](const std::string& key, size_t at) {
      const auto [found, is_new] = known.try_emplace(key, at);
      if (!is_new) unions.join(found->second, at);
    };
    for (size_t f = 0; f < facts_.size(); ++f) {
      const auto guids = port_guids(facts_[f]);
      for (size_t d = 0; d < facts_[f].devices.size(); ++d) {
        const FabricDevice& device = facts_[f].devices[d];
        strong_.push_back(is_strong(device, guids[d]));
        if (!is_zero(device.guid)) meet("g" + device.guid, first_[f] + d);
        if (!is_zero(device.chassis)) meet("c" + device.chassis, first_[f] + d);
        for (const std::string& guid : guids[d]) meet("p" + guid, first_[f] + d);
      }
    }
    join_asked_by_port(unions, known);
  }

  // perfquery is asked of a NIC by its port's GUID and says nothing else of it.
  void join_asked_by_port(Unions& unions, const std::unordered_map<std::string, size_t>& known) {
    for (size_t f = 0; f < facts_.size(); ++f) {
      for (size_t d = 0; d < facts_[f].devices.size(); ++d) {
        const FabricDevice& device = facts_[f].devices[d];
        if (device.kind != model::DeviceKind::kUnknown || !device.name.empty() || is_zero(device.guid)) continue;
        if (const auto found = known.find("p" + device.guid); found != known.end()) unions.join(found->second, first_[f] + d);
      }
    }
  }

  // A device with a name alone: the one of that name, or what other sources call so; never two of one source.
  void join_by_name(Unions& unions) {
    std::unordered_map<std::string, std::vector<size_t>> strong;  // roots by name
    for (size_t f = 0; f < facts_.size(); ++f) {
      for (size_t d = 0; d < facts_[f].devices.size(); ++d) {
        const size_t at = first_[f] + d;
        if (!strong_[at]) continue;
        const std::string key = name_key(facts_[f].devices[d]);
        if (key.empty()) continue;
        std::vector<size_t>& roots = strong[key];
        if (std::find(roots.begin(), roots.end(), unions.root(at)) == roots.end()) roots.push_back(unions.root(at));
      }
    }
    std::unordered_map<std::string, std::vector<size_t>> weak;  // by name: the first, second, ... of a source
    for (size_t f = 0; f < facts_.size(); ++f) {
      std::unordered_map<std::string, size_t> nth;
      for (size_t d = 0; d < facts_[f].devices.size(); ++d) {
        const size_t at = first_[f] + d;
        const std::string key = name_key(facts_[f].devices[d]);
        if (strong_[at] || key.empty()) continue;
        const size_t n = nth[key]++;
        const auto found = strong.find(key);
        if (found != strong.end() && found->second.size() == 1 && n == 0) {
          unions.join(found->second[0], at);
          continue;
        }
        if (found != strong.end() && n == 0) tell_ambiguous(facts_[f], d, found->second.size());
        std::vector<size_t>& same = weak[key];
        if (n < same.size()) {
          unions.join(same[n], at);
        } else {
          same.push_back(at);
        }
      }
    }
  }

  void tell_ambiguous(const FabricFacts& facts, size_t device, size_t count) {
    if (notes_.size() >= 100) return;
    notes_.push_back(fmt::format("{} names {} without a GUID or chassis id, and {} devices have that name: not joined",
                                 facts.source.kind, facts.devices[device].name, count));
  }

  const std::vector<FabricFacts>& facts_;
  std::vector<size_t> first_;
  std::vector<bool> strong_;
  std::vector<std::string> notes_;
};

}  // namespace

std::string short_name(std::string_view name) {
  if (const size_t semicolon = name.find(';'); semicolon != std::string_view::npos && semicolon < 8) {
    name.remove_prefix(semicolon + 1);  // "MF0;"
  }
  if (const size_t unit = name.rfind(":M"); unit != std::string_view::npos && name.find('/', unit) != std::string_view::npos) {
    name = name.substr(0, unit);  // ":MQM9700/U1"
  } else if (const size_t model = name.rfind(':'); model != std::string_view::npos && name.ends_with("/U1")) {
    name = name.substr(0, model);  // ":SX6036/U1"
  }
  const size_t dot = name.find('.');
  const bool is_domain = dot != std::string_view::npos && dot > 0 && dot + 1 < name.size() &&
                         name.find(' ') == std::string_view::npos &&
                         std::any_of(name.begin() + static_cast<std::ptrdiff_t>(dot), name.end(), [](char c) { return std::isalpha(static_cast<unsigned char>(c)); }) &&
                         std::isalpha(static_cast<unsigned char>(name[0]));
  if (is_domain) name = name.substr(0, dot);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return std::string(name);
}

bool is_factory_name(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kMakers{"Mellanox Tech", "Voltaire", "Infiniscale", "InfiniScale",
                                                           "QLogic",        "SilverStorm", "ConnectX",  "Quantum Mell"};
  if (name.empty()) return true;
  return std::any_of(kMakers.begin(), kMakers.end(), [name](std::string_view maker) { return name.find(maker) != std::string_view::npos; });
}

std::string nic_of_nameless(std::string_view name) {
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  const size_t space = name.rfind(' ');
  if (space == std::string_view::npos || is_factory_name(name)) return {};
  const std::string_view nic = name.substr(space + 1);
  const bool has_digit = !nic.empty() && std::isdigit(static_cast<unsigned char>(nic.back()));
  return has_digit && name.find(' ') == space ? std::string(nic) : std::string();
}

Identities identify(const std::vector<FabricFacts>& facts) {
  return Joiner(facts).join();
}

}  // namespace railwitness::fabric
