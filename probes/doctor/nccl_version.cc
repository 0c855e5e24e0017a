#include "probes/doctor/nccl_version.h"

#include <algorithm>

#include "fmt/format.h"

namespace railwitness::doctor {
namespace {

struct Lookup {
  int since, newest, oldest;
};

// Which ncclNetPlugin_vN is looked for, the newest first; the first one found is taken.
constexpr Lookup kLookups[] = {
    {23003, 12, 6}, {22803, 11, 6}, {22600, 10, 6}, {22400, 9, 5},
    {22000, 8, 5},  {21900, 7, 5},  {21300, 6, 4},  {21200, 5, 4},
};

std::string traps_of(int code) {
  std::string out;
  if (code < 22100 || code == 22703) out += "; it takes no path in NCCL_NET_PLUGIN, only a name";
  if (code < 22300) out += "; it has no profilers: communicators are not named";
  if (code >= 22300 && code < 22700) out += "; its profilers are not told of communicators: they are not named";
  if (code >= 22700 && code < 22803)
    out += "; it looks for profilers elsewhere: set NCCL_PROFILER_PLUGIN=libnccl-profiler-railwitness.so as well";
  if (code >= 22803 && code <= 22907) {
    out +=
        "; it forgets the plugin's name with its last communicator: in modes chain and ofi a later one runs without "
        "us unless NCCL_NET_PLUGIN_REF_COUNT=1, or a link libnccl-net.so to the plugin is in its folder (the tap "
        "stays)";
    if (code == 22803) out += "; in mode tap a later one is not named, for the same reason";
  }
  if (code > 23299) out += "; it is newer than what railwitness was tried with";
  return out;
}

}  // namespace

std::string nccl_version_text(int code) {
  return code < 10'000 ? fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100)
                       : fmt::format("{}.{}.{}", code / 10'000, code / 100 % 100, code % 100);
}

Check explain_nccl(int code, const std::vector<int>& net_versions) {
  const std::string name = "NCCL " + nccl_version_text(code);
  const auto lookup =
      std::find_if(std::begin(kLookups), std::end(kLookups), [&](const Lookup& l) { return code >= l.since; });
  if (lookup == std::end(kLookups)) {
    return {name, State::kBad, "it is older than NCCL 2.12", "a newer NCCL; frameworks since 2022 bring one"};
  }
  const std::string looks = fmt::format("looks for ncclNetPlugin_v{} down to v{}", lookup->newest, lookup->oldest);
  if (net_versions.empty()) return {name, State::kUnknown, looks + traps_of(code), ""};
  int taken = 0;
  for (const int version : net_versions) {
    if (version <= lookup->newest && version >= lookup->oldest) taken = std::max(taken, version);
  }
  if (taken == 0) {
    return {name, State::kBad, looks + ", and the plugin has none of them; NCCL goes on without it",
            "take a railwitness that speaks this NCCL"};
  }
  const std::string traps = traps_of(code);
  return {name, traps.empty() ? State::kOk : State::kWarn, fmt::format("{} and takes our v{}{}", looks, taken, traps),
          ""};
}

}  // namespace railwitness::doctor
