#include "plugin/ofi/devices.h"

#include "plugin/ofi/kept_signals.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <rdma/fi_endpoint.h>

namespace railwitness::ofi {
namespace {

// In this order, if the knob names none. On 1.18 and later `tcp` carries FI_EP_RDM itself. On 1.17 `net` is the same code
// before it was merged into `tcp`; `tcp;ofi_rxm` works there too, but takes 69 MB and 60 ms of CPU for an endpoint, and
// its sends are "done" although nobody has them (docs/decisions).
constexpr const char* kProviders[] = {"tcp", "net", "tcp;ofi_rxm"};
constexpr int kUnknownSpeedMbps = 10000;  // as NCCL's own socket transport assumes

bool is_over_ip(const char* provider) { return !strncmp(provider, "tcp", 3) || !strncmp(provider, "net", 3); }

fi_info* ask(const Library& library, const char* provider, uint64_t completion) {
  fi_info* hints = library.dupinfo(nullptr);
  if (!hints) return nullptr;
  hints->fabric_attr->prov_name = strdup(provider);
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_TAGGED | FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->tx_attr->op_flags = completion;
  fi_info* found = nullptr;
  const int result = library.getinfo(library.api, nullptr, nullptr, 0, hints, &found);
  library.freeinfo(hints);
  if (result != 0) return nullptr;
  // "tcp" is answered with "tcp;ofi_rxm" where tcp itself has no FI_EP_RDM: another wire format, so the name must match.
  for (const fi_info* i = found; i; i = i->next)
    if (!strcmp(i->fabric_attr->prov_name, provider)) return found;
  library.freeinfo(found);
  return nullptr;
}

// The strongest meaning of "sent" that the provider offers.
fi_info* ask_for_best(const Library& library, const char* provider, uint64_t* completion) {
  for (const uint64_t wanted : {FI_DELIVERY_COMPLETE, FI_TRANSMIT_COMPLETE, 0ull}) {
    *completion = wanted;
    if (fi_info* found = ask(library, provider, wanted)) return found;
  }
  return nullptr;
}

bool read_line(const char* path, char* text, size_t bytes) {
  FILE* file = fopen(path, "re");
  if (!file) return false;
  const bool good = fgets(text, static_cast<int>(bytes), file) != nullptr;
  fclose(file);
  return good;
}

int speed_of(const char* interface) {
  char path[128], text[32];
  snprintf(path, sizeof path, "/sys/class/net/%s/speed", interface);
  if (!read_line(path, text, sizeof text)) return kUnknownSpeedMbps;
  const long speed = strtol(text, nullptr, 10);
  return speed > 0 && speed < INT_MAX ? static_cast<int>(speed) : kUnknownSpeedMbps;
}

// The PCI function that a device of sysfs is or lies below; NCCL builds its topology from that path.
void find_pci_path(const char* link, char (&path)[512]) {
  path[0] = 0;
  char real[PATH_MAX], subsystem[PATH_MAX + 16], target[PATH_MAX];
  if (!realpath(link, real)) return;
  for (;;) {
    snprintf(subsystem, sizeof subsystem, "%s/subsystem", real);
    const char* name = realpath(subsystem, target) ? strrchr(target, '/') : nullptr;
    if (name && !strcmp(name, "/pci")) break;
    char* slash = strrchr(real, '/');
    if (!slash || slash == real) return;
    *slash = 0;
  }
  if (strlen(real) < sizeof path) memcpy(path, real, strlen(real) + 1);
}

bool is_global_v6(const sockaddr* address) {
  const auto& a = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return !IN6_IS_ADDR_LINKLOCAL(&a);
}

bool is_usable(const ifaddrs* i, sa_family_t family) {
  if (!i->ifa_addr || i->ifa_addr->sa_family != family || !(i->ifa_flags & IFF_UP)) return false;
  return family == AF_INET || is_global_v6(i->ifa_addr);
}

struct Interface {
  char name[IF_NAMESIZE];
  sockaddr_storage address;
};

// Without a list, what NCCL skips is skipped: containers' and virtual machines' bridges, and the loopback unless there is
// nothing else. An interface is taken with one address.
int find_interfaces(const Settings& settings, Interface* list, int max) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return 0;
  int count = 0;
  const char* filters[] = {*settings.interfaces ? settings.interfaces : "^docker,lo,virbr",
                           *settings.interfaces ? nullptr : "=lo"};
  const sa_family_t families[] = {static_cast<sa_family_t>(settings.prefers_ipv6 ? AF_INET6 : AF_INET),
                                  static_cast<sa_family_t>(settings.prefers_ipv6 ? AF_INET : AF_INET6)};
  for (const char* filter : filters) {
    if (!filter || count > 0) continue;
    for (const sa_family_t family : families) {
      for (const ifaddrs* i = all; i && count < max; i = i->ifa_next) {
        if (!is_usable(i, family) || !is_wanted(filter, i->ifa_name)) continue;
        bool is_known = false;
        for (int k = 0; k < count; k++) is_known |= !strcmp(list[k].name, i->ifa_name);
        if (is_known) continue;
        Interface& entry = list[count++];
        entry = {};
        snprintf(entry.name, sizeof entry.name, "%s", i->ifa_name);
        memcpy(&entry.address, i->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
      }
    }
  }
  freeifaddrs(all);
  return count;
}

bool has_address(const fi_info& info, const sockaddr_storage& address) {
  if (!info.src_addr) return false;
  const auto* source = static_cast<const sockaddr*>(info.src_addr);
  if (source->sa_family != address.ss_family) return false;
  if (source->sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in*>(source)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr;
  return !memcmp(&reinterpret_cast<const sockaddr_in6*>(source)->sin6_addr,
                 &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, sizeof(in6_addr));
}

Device* add(Devices* devices, const char* name, const sockaddr_storage& address, const fi_info* info, uint64_t completion) {
  if (devices->count == kMaxDevices) return nullptr;
  Device& device = devices->list[devices->count];
  device.info = devices->library.dupinfo(info);
  if (!device.info) return nullptr;
  device.index = devices->count++;
  snprintf(device.name, sizeof device.name, "%s", name);
  device.address = address;
  device.completion = completion;
  // shm of 1.17 never completes an empty message with FI_DELIVERY_COMPLETE.
  device.empty_completion = is_over_ip(devices->provider) ? completion : 0;
  device.info->tx_attr->op_flags = 0;  // said with every operation instead
  device.guid = devices->host_id * 31 + static_cast<uint64_t>(device.index) + 1;
  device.speed_mbps = kUnknownSpeedMbps;
  return &device;
}

void add_interfaces(Devices* devices, const fi_info* infos, uint64_t completion, const Interface* list, int count) {
  for (int k = 0; k < count; k++) {
    for (const fi_info* i = infos; i; i = i->next) {
      if (strcmp(i->fabric_attr->prov_name, devices->provider) || !has_address(*i, list[k].address)) continue;
      Device* device = add(devices, list[k].name, list[k].address, i, completion);
      if (!device) break;
      char link[96];
      snprintf(link, sizeof link, "/sys/class/net/%s/device", device->name);
      find_pci_path(link, device->pci_path);
      device->speed_mbps = speed_of(device->name);
      break;
    }
  }
}

// Providers with names of their own: one device a domain. The side channel takes the first interface.
void add_domains(Devices* devices, const fi_info* infos, uint64_t completion, const Interface& side) {
  for (const fi_info* i = infos; i; i = i->next) {
    const char* name = i->domain_attr->name;
    if (!name || strcmp(i->fabric_attr->prov_name, devices->provider)) continue;
    bool is_known = false;
    for (int k = 0; k < devices->count; k++) is_known |= !strcmp(devices->list[k].name, name);
    if (is_known) continue;
    Device* device = add(devices, name, side.address, i, completion);
    if (!device) return;
    if (!i->nic) continue;
    if (i->nic->link_attr && i->nic->link_attr->speed > 0)
      device->speed_mbps = static_cast<int>(i->nic->link_attr->speed / 1000000);
    if (!i->nic->bus_attr || i->nic->bus_attr->bus_type != FI_BUS_PCI) continue;
    const fi_pci_attr& pci = i->nic->bus_attr->attr.pci;
    char link[64];
    snprintf(link, sizeof link, "/sys/bus/pci/devices/%04x:%02x:%02x.%x", pci.domain_id, pci.bus_id, pci.device_id,
             pci.function_id);
    find_pci_path(link, device->pci_path);
  }
}

}  // namespace

Status find_devices(Devices* devices) {
  const KeptSignals kept;  // until the last provider is loaded, which getinfo does
  if (const Status status = open_library(&devices->library); !status.is_ok()) return status;
  devices->settings = read_settings();
  devices->host_id = host_id();
  Interface interfaces[kMaxDevices];
  const int interface_count = find_interfaces(devices->settings, interfaces, kMaxDevices);
  if (interface_count == 0)
    return Status::failed("no network interface is up and wanted; look at RAILWITNESS_OFI_IFNAME and NCCL_SOCKET_IFNAME");
  fi_info* infos = nullptr;
  uint64_t completion = 0;
  const char* wanted = devices->settings.provider;
  if (*wanted) {
    infos = ask_for_best(devices->library, wanted, &completion);
    // A job script says "tcp" whatever libfabric a host has.
    if (!infos && !strcmp(wanted, "tcp")) infos = ask_for_best(devices->library, wanted = kProviders[2], &completion);
  } else {
    for (const char* provider : kProviders)
      if (!infos) infos = ask_for_best(devices->library, wanted = provider, &completion);
  }
  if (!infos)
    return Status::failed("libfabric has no such provider with FI_EP_RDM and FI_TAGGED; `fi_info -t FI_EP_RDM` lists them, "
                          "RAILWITNESS_OFI_PROVIDER takes one");
  snprintf(devices->provider, sizeof devices->provider, "%s", wanted);
  if (is_over_ip(wanted))
    add_interfaces(devices, infos, completion, interfaces, interface_count);
  else
    add_domains(devices, infos, completion, interfaces[0]);
  devices->library.freeinfo(infos);
  if (devices->count == 0)
    return Status::failed("libfabric knows none of the network interfaces that are wanted; compare `fi_info -t FI_EP_RDM` "
                          "with RAILWITNESS_OFI_IFNAME and NCCL_SOCKET_IFNAME");
  return Status::ok();
}

bool needs_registration(const Device& device) {
  return (device.info->domain_attr->mr_mode & FI_MR_LOCAL) || (device.info->mode & FI_LOCAL_MR);
}

}  // namespace railwitness::ofi
