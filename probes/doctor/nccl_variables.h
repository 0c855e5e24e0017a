// Which of NCCL's variables matter to us, and what a value of them means for us. Pure.
#ifndef RAILWITNESS_PROBES_DOCTOR_NCCL_VARIABLES_H_
#define RAILWITNESS_PROBES_DOCTOR_NCCL_VARIABLES_H_

#include <optional>

#include "probes/doctor/check.h"
#include "probes/doctor/environment.h"

namespace railwitness::doctor {

// Of a setting; empty if the variable does not matter to us. The whole environment decides: NCCL_NET=railwitness is
// right in one mode and wrong in another.
std::optional<Check> remark_on(const Setting& setting, const Environment& environment);

// Mode ofi with a provider that needs no RDMA, such as the plugin chooses by itself.
bool is_ofi_over_sockets(const Environment& environment);

std::string mode_of(const Environment& environment);  // RAILWITNESS_MODE in lower case, "tap" if unset or wrong

}  // namespace railwitness::doctor

#endif  // RAILWITNESS_PROBES_DOCTOR_NCCL_VARIABLES_H_
