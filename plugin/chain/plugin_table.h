// What a chained plugin's net and its CollNet have in common: the copy of the table, and the calls that are the same in
// both and in every version. Nothing is interpreted: results, comms, requests and handles pass as they are.
#ifndef RAILWITNESS_PLUGIN_CHAIN_PLUGIN_TABLE_H_
#define RAILWITNESS_PLUGIN_CHAIN_PLUGIN_TABLE_H_

#include "plugin/chain/context.h"
#include "plugin/chain/properties.h"
#include "plugin/chain/table.h"
#include "plugin/engine/transport.h"

#include <cstdio>

namespace railwitness::chain {

using engine::Result;

// `Table` is NCCL's of one version, `Interface` ours: engine::Transport or engine::CollNet.
template <typename Table, typename Interface>
class PluginTable : public Interface {
 public:
  const char* description() const final { return description_; }

  Result devices(int* count) final {
    if (is_taken_) return calls_.devices(count);
    *count = 0;  // no init has succeeded
    return nccl::kSuccess;
  }

  bool has_virtual_devices() const final {
    if constexpr (requires { calls_.make_v_device; }) return newest().make_v_device;
    return false;
  }
  Result make_virtual_device(int* device, const engine::VirtualDevice& members) final {
    if constexpr (requires { calls_.make_v_device; })
      if (calls_.make_v_device) return chain::make_virtual_device(calls_.make_v_device, device, members);
    return nccl::kInternalError;
  }

  Result close_listen(void* listen_comm) final { return calls_.close_listen(listen_comm); }
  Result register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr) final {
    if constexpr (requires { calls_.reg_mr_dma_buf; })
      return calls_.reg_mr_dma_buf(comm, data, bytes, type, offset, fd, mr);
    return nccl::kInternalError;
  }
  Result deregister(void* comm, void* mr) final { return calls_.dereg_mr(comm, mr); }
  Result test(void* request, int* done, int* bytes) final { return calls_.test(request, done, bytes); }

 protected:
  // `kind`: "chain" or "CollNet".
  PluginTable(const char* kind, const Table* plugin, const char* library, int version) : plugin_(plugin) {
    snprintf(description_, sizeof description_, "%s of %s (v%d)", kind, library, version);
  }
  ~PluginTable() = default;

  // The library's own until a copy was taken.
  const Table& newest() const { return is_taken_ ? calls_ : *plugin_; }

  Result read_device(int device, engine::DeviceProperties* properties) {
    const Result result = read_properties(calls_.get_properties, device, properties);
    // NCCL takes DMA-BUF for impossible if the function is absent; of ours it sees that it is there.
    if (result == nccl::kSuccess && !has_dmabuf_) properties->ptr_support &= ~nccl::kPtrDmabuf;
    return result;
  }

  // After the first init that succeeded. `needed`: what NCCL can't do without.
  template <int n>
  Result take(const Needed (&needed)[n], nccl::Logger log) {
    if (const char* absent = first_absent(needed)) {
      if (log) log(nccl::kLogWarn, nccl::kLogInit | nccl::kLogNet, "railwitness", 0, kAbsent, description_, absent);
      return nccl::kInternalError;
    }
    Table table = *plugin_;
    if_absent_refuse(table.iflush);  // a plugin without GPUDirect is never asked to
    if constexpr (requires { table.reg_mr_dma_buf; }) {
      has_dmabuf_ = table.reg_mr_dma_buf;
      if_absent_refuse(table.reg_mr_dma_buf);
    }
    if constexpr (requires { table.get_device_mr; }) {
      if_absent_do_nothing(table.get_device_mr);
      if_absent_do_nothing(table.irecv_consumed);
    }
    if constexpr (requires { table.finalize; }) if_absent_do_nothing(table.finalize);
    if constexpr (requires { table.set_net_attr; }) if_absent_do_nothing(table.set_net_attr);
    calls_ = table;
    is_taken_ = true;
    return nccl::kSuccess;
  }

  // Up to v10: one init for all communicators. NCCL calls init from one thread at a time.
  template <typename Init>
  Result init_once(Init init) {
    if (!was_asked_) first_ = init();
    was_asked_ = true;
    return first_;
  }

  // v11 and later: a context per communicator, which init fills.
  template <typename Init>
  Result open_context(void** context, int traffic_class, Init init) {
    Context* ours = new_context(traffic_class);
    *context = ours;
    if (ours == &no_context) return nccl::kSystemError;
    const Result result = init(*ours);
    ours->is_open = result == nccl::kSuccess;
    return result;
  }
  Result close_context(void* context) {
    Context* ours = static_cast<Context*>(context);
    const Result result = ours->is_open ? calls_.finalize(ours->inner) : nccl::kSuccess;
    delete_context(ours);
    return result;
  }

  const Table* const plugin_;  // of the library; its init may change it
  Table calls_{};              // complete once is_taken_
  bool is_taken_ = false;

 private:
  bool has_dmabuf_ = false;
  bool was_asked_ = false;
  Result first_ = nccl::kSuccess;
  char description_[192];
};

}  // namespace railwitness::chain

#endif  // RAILWITNESS_PLUGIN_CHAIN_PLUGIN_TABLE_H_
