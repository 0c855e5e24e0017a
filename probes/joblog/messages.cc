#include "probes/joblog/messages.h"

namespace railwitness::joblog {
namespace {

struct Pattern {
  Event event;
  std::string_view begin;      // of the message
  std::string_view end;        // the value ends before it; empty: with the line
  std::string_view skip = "";  // the value begins behind it
};

constexpr std::string_view kAnyOfNets = "NET/Plugin: ";

// First that fits wins. Beside each the NCCL versions that have it.
constexpr Pattern kPatterns[] = {
    {Event::kKnobProblem, "railwitness: warning: ", ""},
    {Event::kNoTransport, "railwitness: RAILWITNESS_MODE can't be had: ", ". No devices"},
    {Event::kBanner, "railwitness ", ""},
    {Event::kVersion, "NCCL version ", " "},
    {Event::kPluginSetting, "NCCL_NET_PLUGIN set by environment to ", ""},  // 2.28-
    {Event::kPluginSetting, "NET/Plugin: Plugin name set by env to ", ""},  // 2.21-2.27
    {Event::kPluginSetting, "Plugin name set by env to ", ""},              // -2.20
    {Event::kNetSetting, "NCCL_NET set by environment to ", ""},
    {Event::kProfilerSetting, "NCCL_PROFILER_PLUGIN set by environment to ", ""},                  // 2.28-
    {Event::kProfilerSetting, "PROFILER/Plugin: Plugin name set by env to ", ""},                  // 2.23-2.27
    {Event::kNotFound, "NET/Plugin: Could not find:", ". Using internal"},                         // 2.22-
    {Event::kNotFound, "NET/Plugin: No plugin found (", ")"},                                      // 2.21
    {Event::kOpenError, "NET/Plugin: Plugin load returned ", " when loading", " : "},              // 2.21
    {Event::kNotFound, "NET/Plugin: Most recent plugin load returned ", ". All attempts", " : "},  // 2.21
    {Event::kNotFound, "NET/Plugin : dlerror=", " No plugin found"},                               // 2.19, 2.20
    {Event::kNotFound, "NET/Plugin : Plugin load (", "", " : "},                                   // -2.18
    {Event::kUnsupported, "External network plugin ", " is unsupported"},                          // 2.28-
    {Event::kNoSymbol, "NET/Plugin: Failed to find ncclNetPlugin", ""},                            // -2.27
    {Event::kNetLoaded, "NET/Plugin: Loaded net plugin ", " ("},
    {Event::kNetInitFailed, "Failed to initialize NET plugin ", ""},  // 2.28-
    {Event::kNoNetAtAll, "Failed to initialize any NET plugin", ""},  // 2.27-
    {Event::kNoNetAtAll, "Error: network ", " not found"},            // -2.26
    {Event::kNetwork, "Using network ", ""},
    {Event::kUnloaded, "Unloading plugin ", ""},  // 2.28-2.29
    {Event::kNoIbDevice, "NET/IB : No device found", ""},
    {Event::kIbDevices, "NET/IB : Using", "; OOB"},
    {Event::kProfilerLoaded, "PROFILER/Plugin: Loaded ", " ("},  // 2.28-
    {Event::kProfilerLoaded, "PROFILER/Plugin: loaded ", ""},    // 2.24-2.27
    {Event::kOpenError, kAnyOfNets, ""},                         // 2.22-: "libx.so: undefined symbol: y"
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && std::string_view(" .:\r").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

}  // namespace

Match match(std::string_view text) {
  for (const Pattern& pattern : kPatterns) {
    if (!text.starts_with(pattern.begin)) continue;
    std::string_view value = text.substr(pattern.begin.size());
    if (!pattern.end.empty()) value = value.substr(0, value.find(pattern.end));
    if (const size_t at = value.find(pattern.skip); !pattern.skip.empty() && at != value.npos) {
      value.remove_prefix(at + pattern.skip.size());
    }
    if (pattern.begin == kAnyOfNets && value.find(": ") == value.npos) return {};
    return {pattern.event, trimmed(value)};
  }
  return {};
}

}  // namespace railwitness::joblog
