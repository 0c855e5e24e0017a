// Begins the witness of this process and keeps it connected: memory first, then a helper thread that looks for the
// sidecar. docs/segment-abi.md says what a restart of the sidecar does.
#ifndef RAILWITNESS_PLUGIN_WITNESS_KEEPER_H_
#define RAILWITNESS_PLUGIN_WITNESS_KEEPER_H_

#include "plugin/witness/knobs.h"
#include "railwitness/base/status.h"

namespace railwitness::witness {

// Idempotent; from any thread. Returns within 50 ms plus the copying of nothing. Fails only without memory.
Status begin(const Knobs& knobs);

bool has_sidecar();

// For the banner: "sidecar connected", or what is missing. Valid for ever.
const char* describe_sidecar();

}  // namespace railwitness::witness

#endif  // RAILWITNESS_PLUGIN_WITNESS_KEEPER_H_
