#include "probes/fabric/readers/nccl_topo_xml.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "probes/fabric/readers/host_nearness.h"
#include "probes/fabric/readers/text.h"
#include "tinyxml2.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

using model::Nearness;
using tinyxml2::XMLElement;

std::string attribute(const XMLElement& element, const char* name) {
  const char* value = element.Attribute(name);
  return value == nullptr ? std::string() : model::printable(trim(value), 128);
}

std::optional<uint32_t> number(const XMLElement& element, const char* name) {
  return narrowed(number_of(attribute(element, name)));
}

uint32_t line_of(const XMLElement& element) {
  return element.GetLineNum() < 0 ? 0 : static_cast<uint32_t>(element.GetLineNum());
}

// "0x9a70500003ae6d94" is 946dae030050709a; empty for 0 and for what is no GUID.
std::string turned_round(const std::string& said) {
  const std::string digits = guid_of(said);
  if (digits.empty() || digits == "0000000000000000") return {};
  std::string out;
  for (size_t i = 16; i > 0; i -= 2) out += digits.substr(i - 2, 2);
  return out;
}

bool is_line_rate(uint32_t mbps) {
  static constexpr std::array<uint32_t, 14> kRates{1000,  10000,  20000,  25000,  40000,  50000,  54000,
                                                   56000, 100000, 200000, 300000, 400000, 800000, 1600000};
  return std::find(kRates.begin(), kRates.end(), mbps) != kRates.end();
}

// Where a device hangs: a CPU, and bridges below it from the top down.
struct Place {
  size_t cpu = 0;
  std::vector<size_t> bridges;
};

Nearness nearness_of(const Place& a, const Place& b) {
  if (a.cpu != b.cpu) return Nearness::kSystem;
  if (a.bridges.empty() || b.bridges.empty() || a.bridges[0] != b.bridges[0]) return Nearness::kHostBridge;
  return a.bridges == b.bridges ? Nearness::kOneBridge : Nearness::kBridges;
}

class Walk {
 public:
  explicit Walk(std::string_view file) : file_(file) {
    host_.source = {.kind = "nccl_topo_xml", .file = file_, .wall_ns = std::nullopt};
  }

  absl::Status system(const XMLElement& root) {
    for (const XMLElement* cpu = root.FirstChildElement("cpu"); cpu != nullptr; cpu = cpu->NextSiblingElement("cpu")) {
      numa_ = number(*cpu, "numaid");
      ++place_.cpu;
      if (absl::Status status = children(*cpu); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<model::HostTopology> finish() && {
    if (host_.gpus.empty() && host_.nics.empty()) host_.remarks.push_back({0, "no GPU and no NIC in it"});
    for (size_t gpu = 0; gpu < host_.gpus.size(); ++gpu) {
      for (size_t nic = 0; nic < host_.nics.size(); ++nic) {
        host_.paths.push_back({gpu, nic, nearness_of(gpu_places_[gpu], nic_places_[nic]), ""});
      }
    }
    tell_lost_links();
    tell_speeds();
    tell_ambiguous_nics(host_);
    return std::move(host_);
  }

 private:
  // tinyxml2 refuses nesting deeper than 100.
  absl::Status children(const XMLElement& above) {
    for (const XMLElement* child = above.FirstChildElement(); child != nullptr; child = child->NextSiblingElement()) {
      const std::string_view name = child->Name();
      absl::Status status;
      if (name == "pci") status = pci(*child);
      if (name == "nic") status = nets(*child, nullptr);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status pci(const XMLElement& element) {
    const std::string kind = attribute(element, "class");
    const XMLElement* gpu_element = element.FirstChildElement("gpu");
    const bool is_display = kind.starts_with("0x03") && !kind.starts_with("0x0300");
    if (gpu_element != nullptr || is_display || kind.starts_with("0x12")) return gpu(element, gpu_element);
    if (const XMLElement* nic = element.FirstChildElement("nic");
        nic != nullptr && nic->FirstChildElement("net") != nullptr) {
      return nets(*nic, &element);
    }
    if (kind.starts_with("0x02")) return add_nic(element, nullptr);
    place_.bridges.push_back(++bridges_);
    absl::Status status = children(element);
    place_.bridges.pop_back();
    return status;
  }

  absl::Status gpu(const XMLElement& element, const XMLElement* inner) {
    if (host_.gpus.size() >= kMaxGpus)
      return refuse(file_, line_of(element), fmt::format("more than {} GPUs", kMaxGpus));
    model::HostGpu out;
    out.bus_id = attribute(element, "busid");
    out.numa = numa_;
    out.pcie_speed = attribute(element, "link_speed");
    if (const auto lanes = number(element, "link_width"); lanes && *lanes > 0) out.pcie_lanes = lanes;
    out.line = line_of(element);
    if (inner != nullptr) {
      out.index = number(*inner, "dev");
      out.rank = number(*inner, "rank");
      if (out.index) out.name = fmt::format("GPU{}", *out.index);
      for (const XMLElement* link = inner->FirstChildElement(); link != nullptr; link = link->NextSiblingElement()) {
        const std::string_view kind = link->Name();
        if (kind != "nvlink" && kind != "xgmi") continue;
        if (out.links.size() >= 1024) return refuse(file_, line_of(*link), "more than 1024 links of one GPU");
        out.links.push_back({std::string(kind), attribute(*link, "target"), number(*link, "count").value_or(0)});
      }
    }
    host_.gpus.push_back(std::move(out));
    gpu_places_.push_back(place_);
    return absl::OkStatus();
  }

  absl::Status nets(const XMLElement& nic, const XMLElement* pci) {
    for (const XMLElement* net = nic.FirstChildElement("net"); net != nullptr; net = net->NextSiblingElement("net")) {
      if (absl::Status status = add_nic(pci == nullptr ? *net : *pci, net); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status add_nic(const XMLElement& pci, const XMLElement* net) {
    if (host_.nics.size() >= kMaxNics) return refuse(file_, line_of(pci), fmt::format("more than {} NICs", kMaxNics));
    model::HostNic out;
    out.bus_id = attribute(pci, "busid");
    const std::string kind = attribute(pci, "class");
    if (kind.starts_with("0x0207")) out.link_layer = "InfiniBand";
    if (kind.starts_with("0x0200")) out.link_layer = "Ethernet";
    out.numa = numa_;
    out.line = line_of(pci);
    if (net != nullptr) {
      out.name = attribute(*net, "name");
      out.port = number(*net, "port");
      if (const auto speed = number(*net, "speed"); speed && *speed > 0) out.speed_mbps = speed;
      out.system_guid = turned_round(attribute(*net, "guid"));
      out.collnet = attribute(*net, "coll") == "1";
      out.line = line_of(*net);
    }
    host_.nics.push_back(std::move(out));
    nic_places_.push_back(place_);
    return absl::OkStatus();
  }

  void tell_lost_links() {
    std::vector<uint64_t> counts;
    for (const model::HostGpu& gpu : host_.gpus) {
      uint64_t count = 0;
      for (const model::GpuLink& link : gpu.links) count += link.count;
      counts.push_back(count);
    }
    const uint64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == most) continue;
      const model::HostGpu& gpu = host_.gpus[i];
      host_.remarks.push_back(
          {gpu.line, fmt::format("{} ({}) has {} NVLinks where others have {}: {}", called(gpu), gpu.bus_id, counts[i],
                                 most, counts[i] == 0 ? "it lost its edge to the others" : "some are lost")});
    }
  }

  void tell_speeds() {
    for (const model::HostNic& nic : host_.nics) {
      if (!nic.speed_mbps || is_line_rate(*nic.speed_mbps)) continue;
      host_.remarks.push_back(
          {nic.line, fmt::format("{} has speed {}, which is no line rate: set by hand", called(nic), *nic.speed_mbps)});
      return;  // it is set for all alike
    }
  }

  std::string file_;
  model::HostTopology host_;
  std::vector<Place> gpu_places_, nic_places_;
  Place place_;
  size_t bridges_ = 0;
  std::optional<uint32_t> numa_;
};

}  // namespace

absl::StatusOr<model::HostTopology> read_nccl_topo_xml(std::string_view file, std::string_view bytes) {
  if (absl::Status fits = check_size(file, bytes); !fits.ok()) return fits;
  bytes = trim(bytes).empty() ? std::string_view() : bytes;
  if (bytes.empty()) return refuse(file, 0, "empty");
  tinyxml2::XMLDocument document;
  if (document.Parse(bytes.data(), bytes.size()) != tinyxml2::XML_SUCCESS) {
    const int line = document.ErrorLineNum();
    return refuse(file, line < 0 ? 0 : static_cast<uint32_t>(line), fmt::format("no XML: {}", document.ErrorName()));
  }
  const XMLElement* root = document.RootElement();
  if (root == nullptr) return refuse(file, 0, "no element in it");
  if (std::string_view(root->Name()) != "system") {
    return refuse(
        file, line_of(*root),
        fmt::format("<{}> is not <system>; give the file of NCCL_TOPO_DUMP_FILE", model::printable(root->Name(), 64)));
  }
  Walk walk(file);
  if (absl::Status status = walk.system(*root); !status.ok()) return status;
  return std::move(walk).finish();
}

}  // namespace railwitness::fabric
