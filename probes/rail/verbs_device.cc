#include "probes/rail/verbs_device.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "probes/rail/ping_service.h"

namespace railwitness::rail {
namespace {

// Null where verbs is not there at all, which libibverbs says with ENOSYS.
class DeviceList {
 public:
  DeviceList() : devices_(ibv_get_device_list(&count_)), error_(errno) {}
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ~DeviceList() {
    if (devices_ != nullptr) ibv_free_device_list(devices_);
  }
  bool ok() const { return devices_ != nullptr; }
  int error() const { return error_; }
  int size() const { return count_; }
  ibv_device* at(int i) const { return devices_[i]; }

 private:
  int count_ = 0;
  ibv_device** devices_;
  int error_;
};

}  // namespace

absl::Status verbs_error(const char* what, const std::string& device, int error) {
  std::string text = std::string("cannot ") + what + " on " + device + ": " + std::strerror(error);
  if (error == ENOMEM) text += " (raise the limit of locked memory, ulimit -l or LimitMEMLOCK=)";
  if (error == EACCES || error == EPERM) text += " (permission on /dev/infiniband/uverbs*)";
  return absl::UnavailableError(text);
}

absl::StatusOr<std::vector<std::string>> list_devices() {
  const DeviceList devices;
  if (!devices.ok()) {
    return absl::UnavailableError(std::string("RDMA devices cannot be listed: ") + std::strerror(devices.error()));
  }
  std::vector<std::string> names;
  for (int i = 0; i < devices.size(); ++i) names.emplace_back(ibv_get_device_name(devices.at(i)));
  return names;
}

absl::StatusOr<std::shared_ptr<VerbsDevice>> open_device(const std::string& name) {
  const DeviceList devices;
  for (int i = 0; i < devices.size(); ++i) {
    if (name != ibv_get_device_name(devices.at(i))) continue;
    auto device = std::make_shared<VerbsDevice>();
    device->name = name;
    device->context = ibv_open_device(devices.at(i));
    if (device->context == nullptr) return verbs_error("open the device", name, errno);
    device->domain = ibv_alloc_pd(device->context);
    if (device->domain == nullptr) return verbs_error("make a protection domain", name, errno);
    const int flags = fcntl(device->context->async_fd, F_GETFL);
    fcntl(device->context->async_fd, F_SETFL, flags | O_NONBLOCK);
    return device;
  }
  return absl::NotFoundError("no RDMA device " + name);
}

}  // namespace railwitness::rail
