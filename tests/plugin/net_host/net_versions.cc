// One translation per version of the net table: what an NCCL of that version passes, and in which memory.
#include "tests/plugin/net_host/net.h"
#include "tests/plugin/net_host/properties.h"
#include "tests/plugin/net_host/rank.h"

#include <cstring>

namespace railwitness::net_host {
namespace {

// The caller's stack: dies with the call.
class Config {
 public:
  explicit Config(int traffic_class) : config_(new abi::CommConfig{traffic_class}) {}
  ~Config() {
    memset(config_, 0xEE, sizeof *config_);
    delete config_;
  }
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
  abi::CommConfig* get() { return config_; }

 private:
  abi::CommConfig* config_;
};

template <int V>
class Versioned : public Net {
 public:
  explicit Versioned(const abi::Net<V>* table) : Net(V), t_(table) {}

  const void* table() const override { return t_; }
  std::string name() const override { return t_->name; }
  bool has_dmabuf() const override { return t_->reg_mr_dma_buf; }

  bool has_device_mr() const override {
    if constexpr (V >= 7) return t_->get_device_mr;
    return false;
  }
  Result get_device_mr(void* comm, void* mr, void** pointer) override {
    if constexpr (V >= 7) return t_->get_device_mr(comm, mr, pointer);
    return abi::kInternalError;
  }
  bool has_virtual_devices() const override {
    if constexpr (V >= 9) return t_->make_v_device;
    return false;
  }
  Result make_virtual_device(const std::vector<int>& members, int* device) override {
    if constexpr (V >= 9) {
      abi::VirtualDeviceOf<V> props{};
      props.ndevs = static_cast<int>(members.size());
      for (size_t i = 0; i < members.size() && i < sizeof props.devs / sizeof(int); i++) props.devs[i] = members[i];
      return t_->make_v_device(device, &props);
    }
    return abi::kInternalError;
  }

 protected:
  Result raw_init(void** context, uint64_t comm_id, int traffic_class) override {
    Config config(traffic_class);
    if constexpr (V >= 11) return t_->init(context, comm_id, config.get(), logger, profiler);
    else if constexpr (V == 10) return t_->init(logger, profiler);
    else return t_->init(logger);
  }
  Result raw_devices(int* count) override { return t_->devices(count); }
  Result raw_properties(int device, Device* out) override { return read_properties<V>(t_->get_properties, device, out); }
  Result raw_listen(void* context, int device, void* handle, void** comm) override {
    if constexpr (V >= 11) return t_->listen(context, device, handle, comm);
    else return t_->listen(device, handle, comm);
  }
  Result raw_connect(void* context, int device, void* handle, void** comm, void** device_handle) override {
    if constexpr (V >= 11) return t_->connect(context, device, handle, comm, device_handle);
    Config config(traffic_class_);
    if constexpr (V == 10) return t_->connect(device, config.get(), handle, comm, device_handle);
    else if constexpr (V >= 7 && V < 10) return t_->connect(device, handle, comm, device_handle);
    else if constexpr (V == 6) return t_->connect(device, handle, comm);
  }
  Result raw_accept(void* listen_comm, void** comm, void** device_handle) override {
    if constexpr (V >= 7) return t_->accept(listen_comm, comm, device_handle);
    else return t_->accept(listen_comm, comm);
  }
  Result raw_close(Closing which, void* comm) override {
    return which == kListen ? t_->close_listen(comm) : which == kSend ? t_->close_send(comm) : t_->close_recv(comm);
  }
  Result raw_register(void* comm, void* data, size_t bytes, int type, void** mr) override {
    return t_->reg_mr(comm, data, static_cast<abi::RegisteredBytes<V>>(bytes), type, mr);
  }
  Result raw_register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr) override {
    return t_->reg_mr_dma_buf(comm, data, bytes, type, offset, fd, mr);
  }
  Result raw_deregister(void* comm, void* mr) override { return t_->dereg_mr(comm, mr); }
  Result raw_isend(void* comm, void* data, size_t bytes, int tag, void* mr, void* phandle, void** request) override {
    if constexpr (V >= 10) return t_->isend(comm, data, bytes, tag, mr, phandle, request);
    else return t_->isend(comm, data, static_cast<abi::Bytes<V>>(bytes), tag, mr, request);
  }
  Result raw_irecv(void* comm, const std::vector<Receive>& receives, void** request) override {
    const size_t n = receives.size();
    std::vector<void*> data(n), mrs(n), phandles(n);
    std::vector<abi::Bytes<V>> sizes(n);
    std::vector<int> tags(n);
    bool has_phandles = false;
    for (size_t i = 0; i < n; i++) {
      data[i] = receives[i].data, mrs[i] = receives[i].mr, phandles[i] = receives[i].phandle;
      sizes[i] = static_cast<abi::Bytes<V>>(receives[i].bytes), tags[i] = receives[i].tag;
      has_phandles |= phandles[i] != nullptr;
    }
    void** const phandles_or_null = has_phandles ? phandles.data() : nullptr;  // null: bootstrap over the net
    const auto call = [&] {
      if constexpr (V >= 10)
        return t_->irecv(comm, static_cast<int>(n), data.data(), sizes.data(), tags.data(), mrs.data(), phandles_or_null,
                         request);
      else
        return t_->irecv(comm, static_cast<int>(n), data.data(), sizes.data(), tags.data(), mrs.data(), request);
    };
    const Result result = call();
    memset(data.data(), 0xEE, n * sizeof data[0]), memset(mrs.data(), 0xEE, n * sizeof mrs[0]);
    memset(sizes.data(), 0xEE, n * sizeof sizes[0]), memset(tags.data(), 0xEE, n * sizeof tags[0]);
    memset(phandles.data(), 0xEE, n * sizeof phandles[0]);
    return result;
  }
  Result raw_iflush(void* comm, int n, void** data, int* sizes, void** mrs, void** request) override {
    return t_->iflush(comm, n, data, sizes, mrs, request);
  }
  Result raw_test(void* request, int* done, int* sizes) override { return t_->test(request, done, sizes); }
  Result raw_consumed(void* comm, int n, void* request) override {
    if constexpr (V >= 7)
      if (t_->irecv_consumed) return t_->irecv_consumed(comm, n, request);
    return abi::kSuccess;
  }
  Result raw_finalize(void* context) override {
    if constexpr (V >= 11) return t_->finalize(context);
    return abi::kSuccess;
  }
  Result raw_set_attributes(void* context, abi::Attributes* attributes) override {
    if constexpr (V >= 11) return t_->set_net_attr(context, attributes);
    return abi::kSuccess;
  }

 private:
  const abi::Net<V>* t_;
};

template <int V>
std::unique_ptr<Net> make(const void* table) {
  return std::make_unique<Versioned<V>>(static_cast<const abi::Net<V>*>(table));
}

}  // namespace

std::unique_ptr<Net> make_net(int version, const void* table) {
  switch (version) {
    case 6: return make<6>(table);
    case 7: return make<7>(table);
    case 8: return make<8>(table);
    case 9: return make<9>(table);
    case 10: return make<10>(table);
    case 11: return make<11>(table);
    case 12: return make<12>(table);
  }
  fail(__FILE__, __LINE__, "a version from 6 to 12", "%d", version);
}

}  // namespace railwitness::net_host
