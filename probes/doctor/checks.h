// The single checks behind examine_host.
#ifndef RAILWITNESS_PROBES_DOCTOR_CHECKS_H_
#define RAILWITNESS_PROBES_DOCTOR_CHECKS_H_

#include <string>
#include <vector>

#include "probes/doctor/check.h"
#include "probes/doctor/environment.h"
#include "probes/doctor/host.h"

namespace railwitness::doctor {

// Libraries (libraries.cc).
struct Plugin {
  Check check;
  std::string path;               // empty: not found
  std::vector<int> net_versions;  // exported ncclNetPlugin_vN
};
Plugin check_plugin(const std::string& path, const Environment& environment);
Check check_stub(const Plugin& plugin);
Check check_nccl(const std::string& path, const Plugin& plugin);
Check check_verbs_library();
Check check_libfabric(const Environment& environment);

// The host (machine.cc).
Check check_glibc();
Check check_rdma_devices(const std::string& sysfs_root);
Check check_device_files();
Check check_memlock(const Environment& environment);  // a warning for whoever uses RDMA
Check check_clock();
Check check_lldp(const std::string& command);

// The sidecar's hand-over socket (handover.cc). Takes no segment: its hello only asks.
Check check_handover(const std::string& socket);

}  // namespace railwitness::doctor

#endif  // RAILWITNESS_PROBES_DOCTOR_CHECKS_H_
