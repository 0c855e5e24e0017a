#include "plugin/witness/knobs.h"

#include "railwitness/abi/handover.h"

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

}  // namespace

Knobs read_knobs() {
  Knobs k{};
  const char* mode = value_of("RAILWITNESS_MODE");
  k.off = mode && !strcasecmp(mode, "off");
  k.mode_unknown = mode && !k.off && strcasecmp(mode, "tap");
  const char* socket = value_of("RAILWITNESS_SOCKET");
  snprintf(k.socket, sizeof k.socket, "%s", socket ? socket : RAILWITNESS_DEFAULT_SOCKET);
  const char* job = value_of("RAILWITNESS_JOB");
  if (!job) job = value_of("SLURM_JOB_ID");
  snprintf(k.job, sizeof k.job, "%s", job ? job : "");
  for (char* c = k.job; *c; c++)
    if (!is_plain(*c)) *c = '_';
  if (const char* file = value_of("RAILWITNESS_SEGMENT_FILE"))
    snprintf(k.segment_file, sizeof k.segment_file, "%s.%d", file, static_cast<int>(getpid()));
  return k;
}

}  // namespace railwitness::witness
