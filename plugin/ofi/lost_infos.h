// What libfabric's provider `net` loses: a description of the endpoint (fi_info) with every endpoint that it opens, and
// another with every connection that it accepts (1.17: xnet_init_rdm and xnet_process_connreq never free them). 0.6 KB of
// requests each, 2.4 KB and 12 KiB of pages that they pin for each cycle of a connection at both ends.
//
// Both pass through tables that libfabric shows its users, fi_ops_fabric.passive_ep and fi_ops_domain.endpoint, so a
// connection's fabric and domain get copies of their tables with those two watched. What passes is marked by a `nic` of
// ours, whose close is called by whoever frees the description. So a libfabric that frees it itself is noticed, whatever its
// version, and nothing is freed twice.
#ifndef RAILWITNESS_PLUGIN_OFI_LOST_INFOS_H_
#define RAILWITNESS_PLUGIN_OFI_LOST_INFOS_H_

#include "plugin/ofi/library.h"

#include <cstdint>
#include <mutex>

#include <rdma/fi_domain.h>

namespace railwitness::ofi {

struct MarkedInfo;

// Of one connection, which has a fabric and a domain to itself. Threads: its progress and its service thread.
class LostInfos {
 public:
  LostInfos() = default;
  LostInfos(const LostInfos&) = delete;
  LostInfos& operator=(const LostInfos&) = delete;

  // Right after they were opened. Does nothing where the provider's table is of a newer libfabric than we know.
  void watch(fid_fabric* fabric);
  void watch(fid_domain* domain);

  // When the endpoint is closed, before the other two are, which may fail and leave them behind. Either may be null.
  void stop(fid_fabric* fabric, fid_domain* domain);

  // After all of it, if all could be closed: nothing refers to what is left any more. How many there were.
  int give_back(const Library& library);

 private:
  friend struct MarkedInfo;
  struct FabricTable {
    fi_ops_fabric copy;  // first: the fabric shows its address
    fi_ops_fabric* original;
    LostInfos* owner;
  };
  struct DomainTable {
    fi_ops_domain copy;
    fi_ops_domain* original;
    LostInfos* owner;
  };
  static int passive_endpoint(fid_fabric* fabric, fi_info* info, fid_pep** endpoint, void* context);
  static int endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context);
  static int was_freed(fid* nic);
  void mark(fi_info* info);

  std::mutex lock_;
  MarkedInfo* first_ = nullptr;
  FabricTable fabric_{};
  DomainTable domain_{};
};

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_LOST_INFOS_H_
