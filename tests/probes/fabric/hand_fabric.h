// A small fabric written by hand: hosts, leaves and spines, whole until a test breaks it.
#ifndef RAILWITNESS_TESTS_PROBES_FABRIC_HAND_FABRIC_H_
#define RAILWITNESS_TESTS_PROBES_FABRIC_HAND_FABRIC_H_

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "probes/fabric/findings.h"
#include "probes/fabric/map.h"
#include "probes/fabric/rails.h"
#include "railwitness/base/fnv1a.h"

namespace railwitness::fabric {

struct HandFabric {
  model::FabricFacts facts;
  std::map<std::string, size_t> devices;
  std::map<std::pair<std::string, uint32_t>, size_t> ports;
  bool has_guids = true;

  HandFabric() { facts.source = {"ibnetdiscover", "net.txt", int64_t{1'000'000'000'000'000'000}, {}}; }

  size_t device(const std::string& name) {
    const auto [at, is_new] = devices.try_emplace(name, facts.devices.size());
    if (!is_new) return at->second;
    model::FabricDevice made;
    const size_t space = name.find(' ');
    made.kind = space == std::string::npos ? model::DeviceKind::kSwitch : model::DeviceKind::kNic;
    made.name = name;
    if (space != std::string::npos) made.host = name.substr(0, space), made.nic = name.substr(space + 1);
    if (has_guids) made.guid = guid_of(name);
    facts.devices.push_back(made);
    return at->second;
  }

  // Of the name alone, so that two fabrics written by hand agree.
  static std::string guid_of(const std::string& name) {
    return fmt::format("{:016x}", fnv1a_64(name.data(), name.size()));
  }

  size_t port(const std::string& name, uint32_t number) {
    const auto [at, is_new] = ports.try_emplace({name, number}, facts.ports.size());
    if (!is_new) return at->second;
    model::FabricPort made;
    made.device = device(name), made.number = number, made.state = model::PortState::kUp;
    made.lanes = 4, made.lane_mbps = 106'250;
    facts.ports.push_back(made);
    return at->second;
  }

  void link(const std::string& a, uint32_t a_port, const std::string& b, uint32_t b_port) {
    const size_t from = port(a, a_port), to = port(b, b_port);
    facts.links.push_back({from, to, false, {}, 0});
  }

  // Takes the cable of a port away; the port stays.
  void cut(const std::string& name, uint32_t number) {
    const size_t at = port(name, number);
    std::erase_if(facts.links, [at](const model::FabricLink& link) { return link.a == at || link.b == at; });
  }

  void move(const std::string& nic, const std::string& leaf, uint32_t leaf_port) {
    cut(nic, 1);
    link(nic, 1, leaf, leaf_port);
  }

  model::FabricPort& at(const std::string& name, uint32_t number) { return facts.ports[port(name, number)]; }
};

struct Shape {
  int hosts = 8, units = 1, spines = 4, parallel = 2;
  std::vector<int> nics{0, 3, 4, 5};  // numbers skip, as they do
};

inline std::string leaf_name(const Shape& shape, int unit, size_t rail) {
  return shape.units == 1 ? fmt::format("leaf-r{}", rail + 1) : fmt::format("leaf-u{}-r{}", unit + 1, rail + 1);
}

// Host h of a unit is in port h of each leaf; leaf l and spine s are joined by ports 33 + s * parallel and 1 + l * parallel.
inline HandFabric whole_fabric(const Shape& shape = {}) {
  HandFabric out;
  for (int u = 0; u < shape.units; ++u) {
    for (int h = 1; h <= shape.hosts; ++h) {
      for (size_t r = 0; r < shape.nics.size(); ++r) {
        out.link(fmt::format("node-{:02}{} mlx5_{}", h, shape.units == 1 ? "" : fmt::format("u{}", u + 1), shape.nics[r]), 1, leaf_name(shape, u, r),
                 static_cast<uint32_t>(h));
      }
    }
    for (size_t r = 0; r < shape.nics.size(); ++r) {
      const auto leaf = static_cast<uint32_t>(static_cast<size_t>(u) * shape.nics.size() + r);
      for (uint32_t s = 0; s < static_cast<uint32_t>(shape.spines); ++s) {
        for (uint32_t k = 0; k < static_cast<uint32_t>(shape.parallel); ++k) {
          const auto parallel = static_cast<uint32_t>(shape.parallel);
          out.link(leaf_name(shape, u, r), 33 + s * parallel + k, fmt::format("spine-{}", s + 1), 1 + leaf * parallel + k);
        }
      }
    }
  }
  return out;
}

inline Judgement judged(std::vector<model::FabricFacts> facts, std::vector<model::FabricFacts> remembered = {}) {
  const FabricMap map = build_map(std::move(facts), std::move(remembered));
  return judge(map, find_rails(map));
}

// "swapped: node-03 mlx5_3, node-03 mlx5_4".
inline std::vector<std::string> told(const Judgement& judgement) {
  std::vector<std::string> out;
  for (const Finding& finding : judgement.findings) {
    std::string line = std::string(word(finding.kind)) + ":";
    for (const std::string& component : finding.components) line += (line.ends_with(':') ? " " : ", ") + component;
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_TESTS_PROBES_FABRIC_HAND_FABRIC_H_
