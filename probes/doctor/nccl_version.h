// What a version of NCCL means for a plugin: which net tables it looks for, and its known traps. Pure.
// Measured from 2.18 on (docs/nccl-versions.md); before from NCCL's source src/net.cc.
#ifndef RAILWITNESS_PROBES_DOCTOR_NCCL_VERSION_H_
#define RAILWITNESS_PROBES_DOCTOR_NCCL_VERSION_H_

#include <string>
#include <vector>

#include "probes/doctor/check.h"

namespace railwitness::doctor {

std::string nccl_version_text(int code);  // of ncclGetVersion: 22809 is 2.28.9

// `net_versions`: the tables that our library exports, ncclNetPlugin_vN; empty if it could not be asked.
Check explain_nccl(int code, const std::vector<int>& net_versions);

}  // namespace railwitness::doctor

#endif  // RAILWITNESS_PROBES_DOCTOR_NCCL_VERSION_H_
