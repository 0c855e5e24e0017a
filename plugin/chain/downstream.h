// A chained net plugin as our transport: what the versions have in common. Each net_vN.cc adds what its version says
// differently.
#ifndef RAILWITNESS_PLUGIN_CHAIN_DOWNSTREAM_H_
#define RAILWITNESS_PLUGIN_CHAIN_DOWNSTREAM_H_

#include "plugin/chain/plugin_table.h"
#include "plugin/engine/transport.h"

#include <type_traits>

namespace railwitness::chain {

// The calls that are the same in every version.
template <typename Net>
class Downstream : public PluginTable<Net, engine::Transport> {
 public:
  Downstream(const Net* plugin, const char* library, int version)
      : PluginTable<Net, engine::Transport>("chain", plugin, library, version) {}

  Result properties(int device, engine::DeviceProperties* properties) final {
    return this->read_device(device, properties);
  }

  Result close_send(void* send_comm) final { return calls_.close_send(send_comm); }
  Result close_recv(void* recv_comm) final { return calls_.close_recv(recv_comm); }
  void describe(void*, bool, engine::Ends*) final {}  // the plugin's handles and comms are opaque

  Result get_device_mr(void* comm, void* mr, void** device_pointer) final {
    if constexpr (requires { calls_.get_device_mr; }) return calls_.get_device_mr(comm, mr, device_pointer);
    return nccl::kSuccess;
  }

  Result iflush(void* recv_comm, int n, void** data, int* bytes, void** mrs, void** request) final {
    return calls_.iflush(recv_comm, n, data, bytes, mrs, request);
  }
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

  Result take_table(nccl::Logger log) {
    if (this->is_taken_) return nccl::kSuccess;
    const Net& net = *this->plugin_;
    return this->take({{"devices", net.devices}, {"getProperties", net.get_properties}, {"listen", net.listen},
                       {"connect", net.connect}, {"accept", net.accept}, {"regMr", net.reg_mr}, {"deregMr", net.dereg_mr},
                       {"isend", net.isend}, {"irecv", net.irecv}, {"test", net.test}, {"closeSend", net.close_send},
                       {"closeRecv", net.close_recv}, {"closeListen", net.close_listen}}, log);
  }

  using PluginTable<Net, engine::Transport>::calls_;
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
    return this->init_once([&] {
      const Result result = begin(log, profiler);
      return result == nccl::kSuccess ? this->take_table(log) : result;
    });
  }
  Result finalize(void* context) final {
    delete_context(static_cast<Context*>(context));
    return nccl::kSuccess;
  }
  Result listen(void*, int device, void* handle, void** listen_comm) final {
    return this->calls_.listen(device, handle, listen_comm);
  }
  Result connect(void*, int device, void* handle, void** send_comm, void** device_handle) override {
    if constexpr (requires { this->calls_.connect(device, handle, send_comm, device_handle); })
      return this->calls_.connect(device, handle, send_comm, device_handle);
    return nccl::kInternalError;  // v5, v6 and v10 say it otherwise
  }
  Result accept(void* listen_comm, void** recv_comm, void** device_handle) override {
    if constexpr (requires { this->calls_.accept(listen_comm, recv_comm, device_handle); })
      return this->calls_.accept(listen_comm, recv_comm, device_handle);
    return nccl::kInternalError;  // v5 and v6 say it otherwise
  }
  Result set_attributes(void*, const void*) final { return nccl::kSuccess; }

 protected:
  ~OnceForAll() = default;
  virtual Result begin(nccl::Logger log, nccl::ProfilerCallback) {
    if constexpr (requires { this->plugin_->init(log); }) return this->plugin_->init(log);
    return nccl::kInternalError;  // v10 says it otherwise
  }
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
    return this->open_context(context, config.traffic_class, [&](Context& ours) {
      const Result result =
          this->plugin_->init(&ours.inner, comm_id, &ours.config, log, profiler ? profiler : no_profiler);
      return result == nccl::kSuccess ? this->take_table(log) : result;
    });
  }
  Result finalize(void* context) override { return this->close_context(context); }
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
