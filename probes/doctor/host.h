// What works on this host and what does not, each with what was seen and the way out. Libraries are loaded in a child
// process: what they do at load cannot hurt us.
#ifndef RAILWITNESS_PROBES_DOCTOR_HOST_H_
#define RAILWITNESS_PROBES_DOCTOR_HOST_H_

#include <string>
#include <vector>

#include "probes/doctor/check.h"
#include "probes/doctor/environment.h"

namespace railwitness::doctor {

struct HostQuestions {
  std::string nccl, plugin;  // paths; empty: where NCCL and the loader would look
  std::string socket;        // of the hand-over
  std::string lldp_command;  // empty: LLDP is not used
  std::string sysfs_root = "/sys";
};

// Without RDMA a host is as good as any for mode ofi, unless its provider is one of RDMA: what only RDMA needs is all right
// there whatever it is like.
Check unless_ofi(Check check, const Environment& environment);

// Takes seconds at most: a child that hangs is given up after 10 s.
std::vector<Check> examine_host(const HostQuestions& questions);

}  // namespace railwitness::doctor

#endif  // RAILWITNESS_PROBES_DOCTOR_HOST_H_
