#include "probes/fabric/counter_kind.h"

#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace railwitness::fabric {
namespace {

using Of = CounterKind::Of;

// Lower-case letters without what sources add or leave out: "PortXmitDiscards", "port_xmit_discard" are "xmitdiscard".
std::string stem(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c))) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const std::string_view word : {"port", "counter", "extended", "ext"}) {
    if (const size_t at = out.find(word); at != std::string::npos) out.erase(at, word.size());
  }
  if (out.ends_with('s')) out.pop_back();
  return out;
}

constexpr std::array<std::pair<std::string_view, CounterKind>, 14> kKinds{{
    {"symbolerror", {Of::kCable, 10}},
    {"linkerrorrecovery", {Of::kCable, 10}},
    {"linkrecovery", {Of::kCable, 10}},
    {"linkdowned", {Of::kCable, 10}},
    {"linkdown", {Of::kCable, 10}},
    {"rcverror", {Of::kCable, 10}},
    {"locallinkintegrityerror", {Of::kCable, 10}},
    {"locallinkintegrity", {Of::kCable, 10}},
    {"phyrawerror", {Of::kOther, 0}},  // corrected
    {"uncorrectablefecerror", {Of::kCable, 10}},
    {"fecuncorrectableblock", {Of::kCable, 10}},
    {"xmitdiscard", {Of::kCongestion, 100}},
    {"excessivebufferoverrunerror", {Of::kCongestion, 10}},
    {"excessivebufferoverrun", {Of::kCongestion, 10}},
}};

}  // namespace

CounterKind kind_of_counter(std::string_view name) {
  const std::string text = stem(name);
  for (const auto& [known, kind] : kKinds) {
    if (text == known) return kind;
  }
  return {};
}

}  // namespace railwitness::fabric
