#include "plugin/witness/knobs.h"

#include "railwitness/abi/handover.h"
#include "railwitness/base/knobs.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <strings.h>
#include <unistd.h>

namespace railwitness::witness {
namespace {

const char* value_of(const char* name) {
  const char* value = getenv(name);
  return value && *value ? value : nullptr;
}

bool is_plain(char c) { return isalnum(static_cast<unsigned char>(c)) || (c && strchr("_.:/-", c)); }

// The job may change its folder before the next sidecar is looked for, or a further file made.
void copy_path(const char* path, char* to, size_t bytes) {
  char folder[kSegmentPathBytes];
  if (*path == '/' || !getcwd(folder, sizeof folder) || static_cast<size_t>(snprintf(to, bytes, "%s/%s", folder, path)) >= bytes)
    snprintf(to, bytes, "%s", path);
}

void read_mode(Knobs& k) {
  static constexpr char kChain[] = "chain";
  constexpr size_t kLength = sizeof kChain - 1;
  const char* mode = value_of("RAILWITNESS_MODE");
  if (!mode || !strcasecmp(mode, "tap")) {
    k.mode = Mode::kTap;
  } else if (!strcasecmp(mode, "off")) {
    k.mode = Mode::kOff;
  } else if (!strcasecmp(mode, "ofi")) {
    k.mode = Mode::kOfi;
  } else if (!strncasecmp(mode, kChain, kLength) && (!mode[kLength] || mode[kLength] == ':')) {
    k.mode = Mode::kChain;
    snprintf(k.plugin, sizeof k.plugin, "%s", mode[kLength] ? mode + kLength + 1 : "");
  }
}

// What is wrong is said elsewhere (describe_problems); here the default is taken.
unsigned read_number(const char* name) {
  const knobs::Knob& knob = *knobs::find(name);
  int64_t number = 0;
  const char* value = value_of(name);
  if (!value || !knobs::parse_number(knob, value, number)) knobs::parse_number(knob, knob.standard, number);
  return static_cast<unsigned>(number);
}

}  // namespace

Knobs read_knobs() {
  Knobs k{};
  k.cost_max_permille = read_number("RAILWITNESS_COST_MAX_PERMILLE");
  read_mode(k);
  const char* socket = value_of("RAILWITNESS_SOCKET");
  copy_path(socket ? socket : RAILWITNESS_DEFAULT_SOCKET, k.socket, sizeof k.socket);
  const char* job = value_of("RAILWITNESS_JOB");
  if (!job) job = value_of("SLURM_JOB_ID");
  snprintf(k.job, sizeof k.job, "%s", job ? job : "");
  for (char* c = k.job; *c; c++)
    if (!is_plain(*c)) *c = '_';
  if (const char* file = value_of("RAILWITNESS_SEGMENT_FILE")) {
    char name[kSegmentPathBytes];
    snprintf(name, sizeof name, "%s.%d", file, static_cast<int>(getpid()));
    copy_path(name, k.segment_file, sizeof k.segment_file);
  }
  return k;
}

}  // namespace railwitness::witness
