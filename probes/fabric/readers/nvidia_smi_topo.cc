#include "probes/fabric/readers/nvidia_smi_topo.h"

#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "probes/fabric/readers/host_nearness.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

using model::Nearness;

constexpr std::array<std::pair<std::string_view, Nearness>, 5> kNearness{{{"PIX", Nearness::kOneBridge},
                                                                          {"PXB", Nearness::kBridges},
                                                                          {"PHB", Nearness::kHostBridge},
                                                                          {"NODE", Nearness::kNumaNode},
                                                                          {"SYS", Nearness::kSystem}}};

Nearness nearness_of(std::string_view cell) {
  for (const auto& [name, nearness] : kNearness) {
    if (cell == name) return nearness;
  }
  return Nearness::kUnknown;
}

// How many bytes of `text` are a known cell at its start; 0: none.
size_t known_cell(std::string_view text) {
  for (const auto& [name, nearness] : kNearness) {
    if (text.starts_with(name)) return name.size();
  }
  if (text.starts_with("NV")) {
    size_t length = 2;
    while (length < text.size() && std::isdigit(static_cast<unsigned char>(text[length])) != 0) ++length;
    if (length > 2) return length;
  }
  return text.starts_with('X') ? 1 : 0;
}

// "PIXNODE" to two; what is not made of known cells stays one.
void add_cells(std::string_view word, std::vector<std::string>& out) {
  std::vector<std::string> parts;
  for (std::string_view rest = word; !rest.empty();) {
    const size_t length = known_cell(rest);
    if (length == 0) {
      out.push_back(model::printable(word, 64));
      return;
    }
    parts.emplace_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  out.insert(out.end(), parts.begin(), parts.end());
}

std::string without_escapes(std::string_view line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      for (i += 2; i < line.size() && (line[i] < '@' || line[i] > '~'); ++i) {
      }
    } else {
      out += line[i];
    }
  }
  return out;
}

bool is_gpu(std::string_view word) {
  return take_prefix(word, "GPU") && number_of(word).has_value();
}

size_t cpus_in(std::string_view list) {
  size_t count = 0;
  while (!list.empty()) {
    std::string_view part = take_until(list, ",");
    const auto from = number_of(take_until(part, "-"));
    const auto to = part.empty() ? from : number_of(part);
    if (!from || !to || *to < *from || *to > 65535) return 0;
    count += static_cast<size_t>(*to - *from) + 1;
  }
  return count;
}

class Table {
 public:
  explicit Table(std::string_view file) : file_(file) {
    host_.source = {.kind = "nvidia_smi_topo", .file = file_, .wall_ns = std::nullopt};
  }

  absl::Status line(std::string_view raw, uint32_t number) {
    const std::string text = without_escapes(raw);
    const std::vector<std::string_view> words = words_of(text);
    if (words.empty()) return absl::OkStatus();
    if (columns_.empty()) {
      return is_gpu(words[0]) && (text[0] == ' ' || text[0] == '\t') ? head(words, number) : absl::OkStatus();
    }
    const auto column = column_of_.find(std::string(words[0]));
    if (column != column_of_.end()) return row(column->second, words, number);
    if (words.size() == 2) legend(words[0], words[1]);
    return absl::OkStatus();
  }

  absl::StatusOr<model::HostTopology> finish() && {
    if (columns_.empty()) return refuse(file_, 0, "no head of columns with GPU0: no output of nvidia-smi topo -m");
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!cells_.contains(i)) host_.remarks.push_back({head_line_, "no row of " + columns_[i].name});
    }
    for (size_t a = 0; a < columns_.size(); ++a) {
      for (size_t b = 0; b < columns_.size(); ++b) pair(a, b);
    }
    tell_numa_off();
    tell_ambiguous_nics(host_);
    return std::move(host_);
  }

 private:
  struct Column {
    std::string name;
    bool gpu = false;
    size_t index = 0;  // of gpus or nics
  };

  absl::Status head(const std::vector<std::string_view>& words, uint32_t number) {
    head_line_ = number;
    size_t i = 0;
    for (; i < words.size() && words[i] != "CPU" && words[i] != "NUMA" && words[i] != "Node" && words[i] != "GPU";
         ++i) {
      Column column;
      column.name = model::printable(words[i], 64);
      column.gpu = is_gpu(words[i]);
      column.index = column.gpu ? host_.gpus.size() : host_.nics.size();
      if (!column_of_.try_emplace(column.name, columns_.size()).second)
        return refuse(file_, number, column.name + " is there twice");
      if (column.gpu) {
        add_gpu(column.name);
      } else {
        add_nic(column.name);
      }
      if (host_.gpus.size() > kMaxGpus || host_.nics.size() > kMaxNics) {
        return refuse(file_, number, fmt::format("more than {} GPUs or {} NICs", kMaxGpus, kMaxNics));
      }
      columns_.push_back(std::move(column));
    }
    for (; i + 1 < words.size(); ++i) {
      if (words[i + 1] == "Affinity") affinities_.push_back(words[i] == "CPU");
    }
    return absl::OkStatus();
  }

  void add_gpu(const std::string& name) {
    model::HostGpu gpu;
    gpu.name = name;
    gpu.index = static_cast<uint32_t>(number_of(std::string_view(name).substr(3)).value_or(0) & 0xFFFFFFFF);
    host_.gpus.push_back(std::move(gpu));
  }

  void add_nic(const std::string& name) {
    model::HostNic nic;
    nic.label = name;
    if (!name.starts_with("NIC")) nic.name = name;  // older drivers
    host_.nics.push_back(std::move(nic));
  }

  absl::Status row(size_t of, const std::vector<std::string_view>& words, uint32_t number) {
    if (cells_.contains(of)) return absl::OkStatus();  // the table once more
    std::vector<std::string> cells;
    size_t used = 1;
    for (; used < words.size() && cells.size() < columns_.size(); ++used) add_cells(words[used], cells);
    if (cells.size() != columns_.size()) {
      return refuse(file_, number,
                    fmt::format("{} cells in the row of {}, where {} columns are", cells.size(), columns_[of].name,
                                columns_.size()));
    }
    cells_.emplace(of, std::move(cells));
    if (!columns_[of].gpu) {
      host_.nics[columns_[of].index].line = number;
      return absl::OkStatus();
    }
    model::HostGpu& gpu = host_.gpus[columns_[of].index];
    gpu.line = number;
    for (const bool is_cpu : affinities_) {
      if (used >= words.size()) break;
      const std::string_view word = words[used++];
      if (is_cpu) gpu.cpus = model::printable(word, 256);
      const auto node = number_of(word);
      if (!is_cpu && node && *node < 65536) gpu.numa = static_cast<uint32_t>(*node);
    }
    return absl::OkStatus();
  }

  void legend(std::string_view label, std::string_view name) {
    if (!take_suffix(label, ":")) return;
    const auto column = column_of_.find(std::string(label));
    if (column != column_of_.end() && !columns_[column->second].gpu) {
      host_.nics[columns_[column->second].index].name = model::printable(name, 64);
    }
  }

  // What the row of `a` says of `b`, and its mirror image where that row is missing.
  std::string cell(size_t a, size_t b) const {
    const auto row = cells_.find(a);
    return row == cells_.end() ? std::string() : row->second[b];
  }

  void pair(size_t a, size_t b) {
    const std::string here = cell(a, b), mirror = cell(b, a);
    const std::string& said = here.empty() ? mirror : here;
    if (a < b && !here.empty() && !mirror.empty() && here != mirror && host_.remarks.size() < 64) {
      host_.remarks.push_back({head_line_, fmt::format("{} to {} is {} in one row and {} in the other",
                                                       columns_[a].name, columns_[b].name, here, mirror)});
    }
    if (said == "SYS") any_system_ = true;
    if (said.empty() || a == b) return;
    if (columns_[a].gpu && !columns_[b].gpu)
      host_.paths.push_back({columns_[a].index, columns_[b].index, nearness_of(said), said});
    if (a < b && columns_[a].gpu && columns_[b].gpu)
      host_.gpu_pairs.push_back({columns_[a].index, columns_[b].index, said});
  }

  void tell_numa_off() {
    if (any_system_ || host_.gpus.size() < 4 || host_.nics.empty()) return;
    const size_t cpus = cpus_in(host_.gpus[0].cpus);
    for (const model::HostGpu& gpu : host_.gpus) {
      if (gpu.cpus != host_.gpus[0].cpus || gpu.numa != host_.gpus[0].numa) return;
    }
    if (cpus < 64) return;
    host_.remarks.push_back(
        {host_.gpus[0].line,
         fmt::format(
             "all {} GPUs are in one NUMA node of {} CPUs and nothing is SYS: the machine may be booted with numa=off",
             host_.gpus.size(), cpus)});
  }

  std::string file_;
  model::HostTopology host_;
  uint32_t head_line_ = 0;
  std::vector<Column> columns_;
  std::map<std::string, size_t> column_of_;
  std::vector<bool> affinities_;  // in their order: true is the CPUs', false the NUMA node's
  std::map<size_t, std::vector<std::string>> cells_;
  bool any_system_ = false;
};

}  // namespace

absl::StatusOr<model::HostTopology> read_nvidia_smi_topo(std::string_view file, std::string_view bytes) {
  if (absl::Status fits = check_size(file, bytes); !fits.ok()) return fits;
  Table table(file);
  Lines lines(bytes);
  for (std::string_view line; lines.next(line);) {
    if (absl::Status status = table.line(line, lines.number()); !status.ok()) return status;
  }
  return std::move(table).finish();
}

}  // namespace railwitness::fabric
