#include "probes/fabric/readers/iblinkinfo.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "probes/fabric/readers/graph.h"
#include "probes/fabric/readers/link_line.h"
#include "probes/fabric/readers/pattern.h"
#include "probes/fabric/readers/text.h"

namespace railwitness::fabric {
namespace {

using model::DeviceKind;

constexpr uint32_t kMaxLid = 65535;

// "CA: NAME:" or "Switch: GUID NAME:", over the lines of its ports.
struct Header {
  DeviceKind kind = DeviceKind::kUnknown;
  std::string guid, name;
  uint32_t line = 0;
};

struct PortLine {
  LinkLine said;
  std::shared_ptr<const Header> header;  // may be empty
  uint32_t line = 0;
};

std::string key_of_lid(uint32_t lid) { return absl::StrCat("lid ", lid); }

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file), graph_("iblinkinfo", file) {}

  absl::Status read(uint32_t number, std::string_view line) {
    if (trim(line).empty()) return absl::OkStatus();
    if (read_header(number, line)) return absl::OkStatus();
    std::optional<LinkLine> said = link_line_of(line);
    if (!said) {
      if (line.find("==(") != std::string_view::npos) {
        return refuse(file_, number, "the line of a port that cannot be read: cut or edited");
      }
      graph_.left_out(number, line);
      return absl::OkStatus();
    }
    if (said->port > kMaxPortNumber || said->far_port > kMaxPortNumber || said->lid > kMaxLid || said->far_lid > kMaxLid) {
      return refuse(file_, number, absl::StrCat("a port beyond ", kMaxPortNumber, " or a LID beyond ", kMaxLid));
    }
    if (!said->guid.empty()) ports_of_guid_[said->guid].insert(said->port);
    if (header_ && (header_->kind == DeviceKind::kSwitch) != said->guid.empty()) header_.reset();  // its own was filtered out
    if (lines_.size() == kMaxPorts) return refuse(file_, number, absl::StrCat("more than ", kMaxPorts, " ports"));
    lines_.push_back({*std::move(said), header_, number});
    return absl::OkStatus();
  }

  absl::StatusOr<model::FabricFacts> finish() && {
    if (lines_.empty()) return refuse(file_, 0, "no line of a port as iblinkinfo prints one");
    std::vector<size_t> ports;
    for (const PortLine& line : lines_) ports.push_back(near_port(line));
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].said.has_far) graph_.connect(ports[i], far_port(lines_[i].said), lines_[i].line);
    }
    return std::move(graph_).finish();
  }

 private:
  bool read_header(uint32_t number, std::string_view line) {
    static const Pattern ca(R"re((?:CA|Ca): (.*):\s*)re"), router(R"re((?:RT|Router|Rt): (.*):\s*)re");
    static const Pattern of_switch(R"re((?:Switch|SW):?\s+(?:0[xX]([0-9a-fA-F]+)\s+)?(.*):\s*)re");
    Header header;
    header.line = number;
    if (ca.matches(line, &header.name)) {
      header.kind = DeviceKind::kNic;
    } else if (router.matches(line, &header.name)) {
      header.kind = DeviceKind::kRouter;
    } else if (of_switch.matches(line, &header.guid, &header.name)) {
      header.kind = DeviceKind::kSwitch;
      header.guid = guid_of(header.guid);
    } else {
      return false;
    }
    header_ = std::make_shared<const Header>(std::move(header));
    return true;
  }

  // A GUID with several ports is a switch's; a line without GUID and header is one too, as those of CAs have a GUID.
  DeviceKind kind_of(const PortLine& line) const {
    if (line.header) return line.header->kind;
    if (line.said.guid.empty()) return DeviceKind::kSwitch;
    if (ports_of_guid_.at(line.said.guid).size() > 1 || line.said.port > 2) return DeviceKind::kSwitch;
    // Without header and name in its line it is of the block form, where GUIDs stand in lines of CAs.
    return line.said.name.empty() ? DeviceKind::kNic : kind_of_name(line.said.name);
  }

  size_t near_device(const PortLine& line) {
    if (line.header) {
      const Header& header = *line.header;
      return graph_.device(header.guid.empty() ? absl::StrCat("block ", header.line) : header.guid);
    }
    return graph_.device(line.said.guid.empty() ? key_of_lid(line.said.lid) : line.said.guid);
  }

  size_t near_port(const PortLine& line) {
    const LinkLine& said = line.said;
    const size_t index = near_device(line);
    model::FabricDevice& device = graph_.at_device(index);
    const DeviceKind kind = kind_of(line);
    if (device.line == 0) {
      device.line = line.header ? line.header->line : line.line;
      device.kind = kind;
      name_device(device, line.header ? line.header->name : said.name);
      if (kind == DeviceKind::kSwitch) device.guid = line.header ? line.header->guid : said.guid;
    }
    if (kind == DeviceKind::kSwitch) device.lid = said.lid;
    const size_t port = graph_.port(index, said.port);
    describe_port(said, line.line, graph_.at_port(port));
    if (kind != DeviceKind::kSwitch) {
      graph_.at_port(port).guid = said.guid;
      graph_.at_port(port).lid = said.lid;
    }
    claim_lid(said.lid, index, line.line);
    return port;
  }

  void claim_lid(uint32_t lid, size_t device, uint32_t line) {
    if (lid == 0 || lid == kMaxLid) return;  // of a port that no subnet manager has reached
    const auto [known, is_new] = device_of_lid_.try_emplace(lid, device);
    if (is_new || known->second == device || !known->second) return;
    known->second.reset();
    graph_.remark(line, absl::StrCat("LID ", lid, " is claimed by two nodes: far ends with this LID are not joined with them"));
  }

  size_t far_device(const LinkLine& said) {
    if (!said.far_guid.empty()) return graph_.device(said.far_guid);
    const auto known = device_of_lid_.find(said.far_lid);
    if (known == device_of_lid_.end()) return graph_.device(key_of_lid(said.far_lid));
    return known->second ? *known->second : graph_.device();
  }

  size_t far_port(const LinkLine& said) {
    const size_t index = far_device(said);
    model::FabricDevice& device = graph_.at_device(index);
    if (device.name.empty()) name_device(device, said.far_name);
    if (device.kind == DeviceKind::kUnknown && said.far_port > 2) device.kind = DeviceKind::kSwitch;
    const size_t port = graph_.port(index, said.far_port);
    if (graph_.at_device(index).line != 0) return port;
    if (graph_.at_device(index).kind == DeviceKind::kSwitch) {
      graph_.at_device(index).guid = said.far_guid;
      graph_.at_device(index).lid = said.far_lid;
    } else {
      graph_.at_port(port).guid = said.far_guid;
      graph_.at_port(port).lid = said.far_lid;
    }
    return port;
  }

  std::string_view file_;
  Graph graph_;
  std::shared_ptr<const Header> header_;
  std::vector<PortLine> lines_;
  std::map<std::string, std::set<uint32_t>> ports_of_guid_;
  std::map<uint32_t, std::optional<size_t>> device_of_lid_;  // empty: claimed by several
};

}  // namespace

absl::StatusOr<model::FabricFacts> read_iblinkinfo(std::string_view file_name, std::string_view bytes) {
  return read_lines<Reader>(file_name, bytes);
}

}  // namespace railwitness::fabric
