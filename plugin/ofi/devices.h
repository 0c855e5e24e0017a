// Rails as devices: one network interface of a software provider, one domain of another.
#ifndef RAILWITNESS_PLUGIN_OFI_DEVICES_H_
#define RAILWITNESS_PLUGIN_OFI_DEVICES_H_

#include "plugin/ofi/library.h"
#include "plugin/ofi/settings.h"

#include <sys/socket.h>

#include <rdma/fi_domain.h>

namespace railwitness::ofi {

inline constexpr int kMaxDevices = 32;

struct Device {
  int index;
  char name[64];       // of the interface or domain; unique
  char pci_path[512];  // empty: none
  sockaddr_storage address;  // of the side channel and, for providers over IP, of the data
  uint64_t guid;
  int speed_mbps;
  fi_info* info;
  // What a finished send means, with and without bytes: FI_DELIVERY_COMPLETE, FI_TRANSMIT_COMPLETE or 0.
  uint64_t completion, empty_completion;
};

struct Devices {
  Library library;
  Settings settings;
  uint64_t host_id;
  char provider[33];
  int count;
  Device list[kMaxDevices];
};

// Fills `devices` once. A status that is not ok says why there is none.
Status find_devices(Devices* devices);

bool needs_registration(const Device& device);  // FI_MR_LOCAL

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_DEVICES_H_
