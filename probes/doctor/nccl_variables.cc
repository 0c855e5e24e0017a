#include "probes/doctor/nccl_variables.h"

#include <algorithm>
#include <cstring>

#include "fmt/format.h"
#include "railwitness/base/edit_distance.h"
#include "railwitness/base/knobs.h"

namespace railwitness::doctor {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

Check ok(const Setting& s, std::string evidence) {
  return {s.name, State::kOk, std::move(evidence), ""};
}

// railwitness, misspelt: NCCL would look for a plugin that there is not. `value` is a name, a file's name or a path, or a
// list of them, of which the first counts.
bool is_slip(const std::string& value) {
  std::string name = value.substr(0, value.find(','));
  name.erase(0, name.rfind('/') + 1);
  if (name.ends_with(".so")) name.resize(name.size() - 3);
  for (const char* prefix : {"libnccl-net-", "libnccl-profiler-"}) {
    if (name.starts_with(prefix)) name.erase(0, strlen(prefix));
  }
  const size_t slips = edit_distance(name, "railwitness");
  return slips > 0 && (slips <= 2 || knobs::equals_ignoring_case(name, "railwitness"));
}

// Modes tap and off have none of their own.
bool has_devices(const Environment& environment) {
  const std::string mode = mode_of(environment);
  return mode == "ofi" || mode.starts_with("chain:");
}

Check net_plugin(const Setting& s, const Environment& environment) {
  const bool is_none = knobs::equals_ignoring_case(s.value, "none");
  if (s.value.empty() || is_none) {
    return {s.name, State::kBad, is_none ? "NCCL 2.28 and later load no plugin" : "NCCL 2.27 and later load no plugin",
            "NCCL_NET_PLUGIN=railwitness"};
  }
  if (is_slip(s.value)) {
    return {s.name, State::kBad, fmt::format("there is no plugin {}; railwitness is meant?", s.value),
            "NCCL_NET_PLUGIN=railwitness"};
  }
  if (!has(s.value, "railwitness")) {
    const bool is_wrapped = mode_of(environment).starts_with("chain:");
    return {s.name, State::kBad, "another plugin is loaded instead of railwitness",
            is_wrapped ? "NCCL_NET_PLUGIN=railwitness; RAILWITNESS_MODE names the plugin to wrap already"
                       : fmt::format("NCCL_NET_PLUGIN=railwitness RAILWITNESS_MODE=chain:{} wraps it", s.value)};
  }
  if (has(s.value, ",")) {
    return {
        s.name, State::kWarn,
        "NCCL 2.27 and later go through the list: in mode tap railwitness has no devices, so the next plugin is used",
        "name railwitness alone, or RAILWITNESS_MODE=chain:PLUGIN"};
  }
  const std::string found =
      has(s.value, "/")
          ? "a full path, which NCCL 2.21 and later take; earlier ones and 2.27.3 want NCCL_NET_PLUGIN=railwitness"
          : "NCCL looks for libnccl-net-railwitness.so where the loader does";
  const bool is_kept = environment.value("NCCL_NET_PLUGIN_REF_COUNT") == "1";
  return ok(s, found + (has_devices(environment) && !is_kept
                            ? "; NCCL 2.28.3 to 2.29.7 lose it after a process' first communicator unless "
                              "NCCL_NET_PLUGIN_REF_COUNT=1"
                            : ""));
}

Check net(const Setting& s, const Environment& environment) {
  const bool has_own = has_devices(environment);
  if (knobs::equals_ignoring_case(s.value, "railwitness")) {
    if (has_own)
      return ok(s, "forbids NCCL to fall back silently on its own transport: a rank without us fails at once");
    return {s.name, State::kBad,
            fmt::format("in mode {} railwitness has no devices of its own, so the communicator fails: \"Failed to "
                        "initialize any NET plugin\"",
                        mode_of(environment)),
            "unset NCCL_NET; it is for the modes ofi and chain"};
  }
  if (is_slip(s.value)) {
    return {s.name, State::kBad, fmt::format("NCCL has no net {}; railwitness is meant?", s.value),
            has_own ? "NCCL_NET=railwitness, or unset it" : "unset NCCL_NET; it is for the modes ofi and chain"};
  }
  if (knobs::equals_ignoring_case(s.value, "IB")) {
    return {
        s.name, has_own ? State::kBad : State::kWarn,
        has_own ? "NCCL uses its own InfiniBand transport and no plugin"
                : "NCCL does not initialise our net slot; NCCL 2.28.3 and later still load us as profiler, "
                  "earlier ones not",
        has_own ? "NCCL_NET=railwitness, or unset it" : "unset NCCL_NET: NCCL takes its InfiniBand transport anyway"};
  }
  return {s.name, State::kBad, fmt::format("NCCL uses {} only; nothing of it passes railwitness", s.value),
          "unset NCCL_NET"};
}

Check profiler(const Setting& s) {
  if (is_slip(s.value)) {
    return {s.name, State::kWarn, fmt::format("there is no profiler {}; railwitness is meant?", s.value),
            "NCCL_PROFILER_PLUGIN=libnccl-profiler-railwitness.so"};
  }
  if (has(s.value, "railwitness")) return ok(s, "needed for NCCL 2.23 to 2.27 only; from 2.27 on communicators are named");
  if (s.value.empty()) return ok(s, "empty: NCCL 2.28.3 and later look into the net plugin's library");
  return {s.name, State::kWarn,
          "another profiler has NCCL's one slot: communicators are not named in verdicts, late attach is not possible",
          "unset NCCL_PROFILER_PLUGIN if that profiler can be done without"};
}

}  // namespace

std::string mode_of(const Environment& environment) {
  std::string mode = environment.value("RAILWITNESS_MODE");
  const knobs::Knob* knob = knobs::find("RAILWITNESS_MODE");
  if (mode.empty() || (knob != nullptr && !knobs::is_valid(*knob, mode))) return "tap";
  const size_t end = std::min(mode.find(':'), mode.size());
  std::transform(mode.begin(), mode.begin() + static_cast<std::ptrdiff_t>(end), mode.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return mode;
}

bool is_ofi_over_sockets(const Environment& environment) {
  const std::string provider = environment.value("RAILWITNESS_OFI_PROVIDER");
  const std::string core = provider.substr(0, provider.find(';'));
  return mode_of(environment) == "ofi" &&
         (core.empty() || core == "tcp" || core == "net" || core == "sockets" || core == "udp");
}

std::optional<Check> remark_on(const Setting& s, const Environment& environment) {
  const bool is_tap = mode_of(environment) == "tap";
  if (s.name == "NCCL_NET_PLUGIN") return net_plugin(s, environment);
  if (s.name == "NCCL_NET") return net(s, environment);
  if (s.name == "NCCL_PROFILER_PLUGIN") return profiler(s);
  if (s.name == "NCCL_NET_PLUGIN_REF_COUNT") {
    return ok(s, s.value == "0"
                     ? "NCCL closes the library with the last communicator; ours stays in memory all the same"
                     : "NCCL keeps the library open");
  }
  if (s.name == "NCCL_IBVERBS_LIB") {
    return Check{s.name, is_tap ? State::kWarn : State::kOk,
                 "NCCL 2.30.3 and later open libibverbs by this path, so the tap cannot stand before it by name and "
                 "attaches late, if at all",
                 is_tap ? "unset NCCL_IBVERBS_LIB if libibverbs.so.1 is found without it" : ""};
  }
  if (s.name == "NCCL_IB_DISABLE" && s.value != "0" && is_tap) {
    return Check{s.name, State::kBad, "NCCL's InfiniBand transport is off; the tap sees nothing",
                 "unset NCCL_IB_DISABLE"};
  }
  if (s.name == "NCCL_CONF_FILE") return ok(s, "read instead of ~/.nccl.conf");
  if (s.name == "NCCL_ENV_PLUGIN") {
    return Check{s.name, State::kUnknown,
                 "this plugin may give NCCL other values than the environment's (NCCL 2.28.7 and later)", ""};
  }
  if (s.name == "NCCL_DEBUG") {
    const bool tells = knobs::equals_ignoring_case(s.value, "INFO") || knobs::equals_ignoring_case(s.value, "TRACE");
    return ok(s,
              tells ? "NCCL's log tells whether railwitness is used" : "INFO would tell whether railwitness is used");
  }
  if (s.name.starts_with("NCCL_IB_"))
    return ok(s, is_tap ? "NCCL's own InfiniBand transport obeys it, as without us"
                        : "only NCCL's own InfiniBand transport obeys it");
  return std::nullopt;
}

}  // namespace railwitness::doctor
