// Owners of verbs objects, so that they end in the right order. Internal to probes/rail.
#ifndef RAILWITNESS_PROBES_RAIL_VERBS_DEVICE_H_
#define RAILWITNESS_PROBES_RAIL_VERBS_DEVICE_H_

#include <infiniband/verbs.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace railwitness::rail {

template <auto Close>
struct VerbsDelete {
  template <typename Object>
  void operator()(Object* object) const {
    Close(object);
  }
};
using CompletionChannel = std::unique_ptr<ibv_comp_channel, VerbsDelete<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, VerbsDelete<ibv_destroy_cq>>;
using MemoryRegion = std::unique_ptr<ibv_mr, VerbsDelete<ibv_dereg_mr>>;
using QueuePair = std::unique_ptr<ibv_qp, VerbsDelete<ibv_destroy_qp>>;

// An open device and its protection domain. Shared by all that was made from it, the address handles included, which
// another thread makes.
struct VerbsDevice {
  std::string name;
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ~VerbsDevice() {
    if (domain != nullptr) ibv_dealloc_pd(domain);
    if (context != nullptr) ibv_close_device(context);
  }
};

absl::StatusOr<std::shared_ptr<VerbsDevice>> open_device(const std::string& name);

// "cannot make a queue pair on mlx5_0: Cannot allocate memory", with the way out where there is one.
absl::Status verbs_error(const char* what, const std::string& device, int error);

class AddressHandle {
 public:
  AddressHandle(std::shared_ptr<VerbsDevice> device, ibv_ah* handle) : device_(std::move(device)), handle_(handle) {}
  AddressHandle(const AddressHandle&) = delete;
  AddressHandle& operator=(const AddressHandle&) = delete;
  ~AddressHandle() { ibv_destroy_ah(handle_); }
  ibv_ah* get() const { return handle_; }

 private:
  std::shared_ptr<VerbsDevice> device_;
  ibv_ah* handle_;
};

}  // namespace railwitness::rail

#endif  // RAILWITNESS_PROBES_RAIL_VERBS_DEVICE_H_
