// A chained net plugin as our transport: what the versions have in common. Each net_vN.cc adds what its version says
// differently. Nothing is interpreted: results, comms, requests, handles and device handles pass as they are.
#ifndef RAILWITNESS_PLUGIN_CHAIN_DOWNSTREAM_H_
#define RAILWITNESS_PLUGIN_CHAIN_DOWNSTREAM_H_

#include "plugin/chain/context.h"
#include "plugin/chain/properties.h"
#include "plugin/chain/table.h"
#include "plugin/engine/transport.h"

#include <cstdio>
#include <type_traits>

namespace railwitness::chain {

using engine::Result;

// The calls that are the same in every version.
template <typename Net>
class Downstream : public engine::Transport {
 public:
  Downstream(const Net* plugin, const char* library, int version) : plugin_(plugin) {
    snprintf(description_, sizeof description_, "chain of %s (v%d)", library, version);
  }

  const char* description() const final { return description_; }

  Result devices(int* count) final {
    if (is_taken_) return calls_.devices(count);
    *count = 0;  // no init has succeeded
    return nccl::kSuccess;
  }

  Result properties(int device, engine::DeviceProperties* properties) final {
    const Result result = read_properties(calls_.get_properties, device, properties);
    // NCCL takes DMA-BUF for impossible if the function is absent; of ours it sees that it is there.
    if (result == nccl::kSuccess && !has_dmabuf_) properties->ptr_support &= ~nccl::kPtrDmabuf;
    return result;
  }

  bool has_virtual_devices() const final {
    if constexpr (requires { calls_.make_v_device; }) return (is_taken_ ? &calls_ : plugin_)->make_v_device;
    return false;
  }
  Result make_virtual_device(int* device, const engine::VirtualDevice& members) final {
    if constexpr (requires { calls_.make_v_device; })
      if (calls_.make_v_device) return chain::make_virtual_device(calls_.make_v_device, device, members);
    return nccl::kInternalError;
  }

  Result close_listen(void* listen_comm) final { return calls_.close_listen(listen_comm); }
  Result close_send(void* send_comm) final { return calls_.close_send(send_comm); }
  Result close_recv(void* recv_comm) final { return calls_.close_recv(recv_comm); }
  void describe(void*, bool, engine::Ends*) final {}  // the plugin's handles and comms are opaque

  Result register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr) final {
    if constexpr (requires { calls_.reg_mr_dma_buf; })
      return calls_.reg_mr_dma_buf(comm, data, bytes, type, offset, fd, mr);
    return nccl::kInternalError;
  }
  Result deregister(void* comm, void* mr) final { return calls_.dereg_mr(comm, mr); }
  Result get_device_mr(void* comm, void* mr, void** device_pointer) final {
    if constexpr (requires { calls_.get_device_mr; }) return calls_.get_device_mr(comm, mr, device_pointer);
    return nccl::kSuccess;
  }

  Result iflush(void* recv_comm, int n, void** data, int* bytes, void** mrs, void** request) final {
    return calls_.iflush(recv_comm, n, data, bytes, mrs, request);
  }
  Result test(void* request, int* done, int* bytes) final { return calls_.test(request, done, bytes); }
  engine::Calls calls() const final {
    engine::Calls direct{nullptr, nullptr, calls_.test};
    if constexpr (std::is_same_v<decltype(calls_.isend), decltype(direct.isend)>) {  // v10 and later
      direct.isend = calls_.isend;
      direct.irecv = calls_.irecv;
    }
    return direct;
  }
  Result irecv_consumed(void* recv_comm, int n, void* request) final {
    if constexpr (requires { calls_.irecv_consumed; }) return calls_.irecv_consumed(recv_comm, n, request);
    return nccl::kSuccess;
  }

 protected:
  ~Downstream() = default;

  // After the first init that succeeded.
  Result take_table(nccl::Logger log) {
    if (is_taken_) return nccl::kSuccess;
    Net net = *plugin_;
    const char* absent = first_absent({{"devices", net.devices}, {"getProperties", net.get_properties},
        {"listen", net.listen}, {"connect", net.connect}, {"accept", net.accept}, {"regMr", net.reg_mr},
        {"deregMr", net.dereg_mr}, {"isend", net.isend}, {"irecv", net.irecv}, {"test", net.test},
        {"closeSend", net.close_send}, {"closeRecv", net.close_recv}, {"closeListen", net.close_listen}});
    if (absent) {
      if (log) log(nccl::kLogWarn, nccl::kLogInit | nccl::kLogNet, "railwitness", 0, kAbsent, description_, absent);
      return nccl::kInternalError;
    }
    if_absent_refuse(net.iflush);  // a plugin without GPUDirect is never asked to
    if constexpr (requires { net.reg_mr_dma_buf; }) {
      has_dmabuf_ = net.reg_mr_dma_buf;
      if_absent_refuse(net.reg_mr_dma_buf);
    }
    if constexpr (requires { net.get_device_mr; }) {
      if_absent_do_nothing(net.get_device_mr);
      if_absent_do_nothing(net.irecv_consumed);
    }
    if constexpr (requires { net.set_net_attr; }) {
      if_absent_do_nothing(net.finalize);
      if_absent_do_nothing(net.set_net_attr);
    }
    calls_ = net;
    is_taken_ = true;
    return nccl::kSuccess;
  }

  const Net* const plugin_;  // of the library; its init may change it
  Net calls_{};              // complete once is_taken_

 private:
  bool is_taken_ = false;
  bool has_dmabuf_ = false;
  char description_[192];
};

// v5 to v10: one init for all communicators, no context, no finalize. NCCL calls init from one thread at a time.
template <typename Net>
class OnceForAll : public Downstream<Net> {
 public:
  using Downstream<Net>::Downstream;

  Result init(void** context, uint64_t, const engine::CommConfig& config, nccl::Logger log,
              nccl::ProfilerCallback profiler) final {
    Context* ours = new_context(config.traffic_class);
    *context = ours;
    if (ours == &no_context) return nccl::kSystemError;
    if (!was_asked_) {
      was_asked_ = true;
      first_ = begin(log, profiler);
      if (first_ == nccl::kSuccess) first_ = this->take_table(log);
    }
    return first_;
  }
  Result finalize(void* context) final {
    delete_context(static_cast<Context*>(context));
    return nccl::kSuccess;
  }
  Result listen(void*, int device, void* handle, void** listen_comm) final {
    return this->calls_.listen(device, handle, listen_comm);
  }
  Result set_attributes(void*, const void*) final { return nccl::kSuccess; }

 protected:
  ~OnceForAll() = default;
  virtual Result begin(nccl::Logger log, nccl::ProfilerCallback) {
    if constexpr (requires { this->plugin_->init(log); }) return this->plugin_->init(log);
    return nccl::kInternalError;  // v10 says it otherwise
  }

 private:
  bool was_asked_ = false;
  Result first_ = nccl::kSuccess;
};

// v5 to v8: sizes are ints and receives are always told of.
template <typename Net>
class SmallTransfers : public OnceForAll<Net> {
 public:
  using OnceForAll<Net>::OnceForAll;

  Result isend(void* send_comm, void* data, size_t bytes, int tag, void* mr, void*, void** request) final {
    if (bytes > kMaxTransferBytes) [[unlikely]]
      return nccl::kInternalError;
    return this->calls_.isend(send_comm, data, static_cast<int>(bytes), tag, mr, request);
  }
  Result irecv(void* recv_comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void**,
               void** request) final {
    if (*request == reinterpret_cast<void*>(nccl::kOptionalCompletion)) *request = nullptr;
    int small[engine::kMaxGroup];
    if (n > engine::kMaxGroup) [[unlikely]]
      return nccl::kInternalError;
    for (int i = 0; i < n; i++) {
      if (bytes[i] > kMaxTransferBytes) [[unlikely]]
        return nccl::kInternalError;
      small[i] = static_cast<int>(bytes[i]);
    }
    return this->calls_.irecv(recv_comm, n, data, small, tags, mrs, request);
  }

 protected:
  ~SmallTransfers() = default;
};

// v5 to v7: registrations' sizes are ints as well.
inline Result register_small(Result (*reg_mr)(void*, void*, int, int, void**), void* comm, void* data, size_t bytes,
                             int type, void** mr) {
  if (bytes >= size_t{1} << 31) return nccl::kInternalError;
  return reg_mr(comm, data, static_cast<int>(bytes), type, mr);
}

// v11 and later: a context per communicator, and everything as our interface has it.
template <typename Net>
class PerComm final : public Downstream<Net> {
 public:
  using Downstream<Net>::Downstream;

  Result init(void** context, uint64_t comm_id, const engine::CommConfig& config, nccl::Logger log,
              nccl::ProfilerCallback profiler) override {
    Context* ours = new_context(config.traffic_class);
    *context = ours;
    if (ours == &no_context) return nccl::kSystemError;
    if (!profiler) profiler = no_profiler;
    Result result = this->plugin_->init(&ours->inner, comm_id, &ours->config, log, profiler);
    if (result == nccl::kSuccess) result = this->take_table(log);
    ours->is_open = result == nccl::kSuccess;
    return result;
  }
  Result finalize(void* context) override {
    Context* ours = static_cast<Context*>(context);
    const Result result = ours->is_open ? this->calls_.finalize(ours->inner) : nccl::kSuccess;
    delete_context(ours);
    return result;
  }
  Result listen(void* context, int device, void* handle, void** listen_comm) override {
    return this->calls_.listen(static_cast<Context*>(context)->inner, device, handle, listen_comm);
  }
  Result connect(void* context, int device, void* handle, void** send_comm, void** device_handle) override {
    return this->calls_.connect(static_cast<Context*>(context)->inner, device, handle, send_comm, device_handle);
  }
  Result accept(void* listen_comm, void** recv_comm, void** device_handle) override {
    return this->calls_.accept(listen_comm, recv_comm, device_handle);
  }
  Result register_memory(void* comm, void* data, size_t bytes, int type, void** mr) override {
    return this->calls_.reg_mr(comm, data, bytes, type, mr);
  }
  Result isend(void* send_comm, void* data, size_t bytes, int tag, void* mr, void* profiler, void** request) override {
    return this->calls_.isend(send_comm, data, bytes, tag, mr, profiler, request);
  }
  Result irecv(void* recv_comm, int n, void** data, size_t* bytes, int* tags, void** mrs, void** profilers,
               void** request) override {
    return this->calls_.irecv(recv_comm, n, data, bytes, tags, mrs, profilers, request);
  }
  Result set_attributes(void* context, const void* attributes) override {
    return set(this->calls_.set_net_attr, static_cast<Context*>(context)->inner, attributes);
  }

 private:
  template <typename Attributes>
  static Result set(Result (*set_net_attr)(void*, Attributes*), void* inner, const void* attributes) {
    return set_net_attr(inner, static_cast<Attributes*>(const_cast<void*>(attributes)));
  }
};

}  // namespace railwitness::chain

#endif  // RAILWITNESS_PLUGIN_CHAIN_DOWNSTREAM_H_
