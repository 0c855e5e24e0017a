// A chained plugin's CollNet table as ours: what the versions have in common. Each collnet_vN.cc adds what differs.
#ifndef RAILWITNESS_PLUGIN_CHAIN_COLLNET_DOWNSTREAM_H_
#define RAILWITNESS_PLUGIN_CHAIN_COLLNET_DOWNSTREAM_H_

#include "plugin/chain/context.h"
#include "plugin/chain/properties.h"
#include "plugin/chain/table.h"
#include "plugin/engine/collnet.h"
#include "railwitness/nccl/collnet_v9.h"

#include <cstddef>
#include <cstdio>

namespace railwitness::chain {

using engine::Part;
using engine::Result;

// The calls that are the same in every version.
template <typename Table>
class CollDownstream : public engine::CollNet {
 public:
  CollDownstream(const Table* plugin, const char* library, int version) : plugin_(plugin) {
    snprintf(description_, sizeof description_, "CollNet of %s (v%d)", library, version);
  }

  const char* description() const final { return description_; }

  Result devices(int* count) final {
    if (is_taken_) return calls_.devices(count);
    *count = 0;  // no init has succeeded
    return nccl::kSuccess;
  }
  Result properties(int device, engine::DeviceProperties* properties) final {
    const Result result = read_properties(calls_.get_properties, device, properties);
    if (result != nccl::kSuccess) return result;
    if (!has_dmabuf_) properties->ptr_support &= ~nccl::kPtrDmabuf;
    if constexpr (!requires { calls_.make_v_device; }) {  // before v9 NCCL's shims don't believe what the table says
      properties->net_device_type = nccl::kNetDeviceHost;
      properties->net_device_version = 0;
    }
    return nccl::kSuccess;
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

  Result connect(void* handles[], int ranks, int rank, void* listen_comm, void** coll_comm) final {
    return calls_.connect(handles, ranks, rank, listen_comm, coll_comm);
  }
  Result close_coll(void* coll_comm) final { return calls_.close_coll(coll_comm); }
  Result close_listen(void* listen_comm) final { return calls_.close_listen(listen_comm); }
  Result reduce_support(int data_type, int operation, int* supported) final {
    return calls_.reduce_support(data_type, operation, supported);
  }
  Result register_dmabuf(void* coll_comm, void* data, size_t bytes, int type, uint64_t offset, int fd,
                         void** mr) final {
    return calls_.reg_mr_dma_buf(coll_comm, data, bytes, type, offset, fd, mr);
  }
  Result deregister(void* coll_comm, void* mr) final { return calls_.dereg_mr(coll_comm, mr); }
  Result iflush(void* coll_comm, void* data, int bytes, void* mr, void** request) final {
    return calls_.iflush(coll_comm, data, bytes, mr, request);
  }
  Result test(void* request, int* done, int* bytes) final { return calls_.test(request, done, bytes); }

  bool has_gather_and_scatter() const final {
    if constexpr (requires { calls_.iallgather; }) {
      const Table* table = is_taken_ ? &calls_ : plugin_;
      return table->iallgather && table->ireducescatter;
    }
    return false;
  }

 protected:
  ~CollDownstream() = default;

  // After the first init that succeeded: see table.h.
  Result take_table(nccl::Logger log) {
    if (is_taken_) return nccl::kSuccess;
    Table coll = *plugin_;
    const char* absent = first_absent({{"devices", coll.devices}, {"getProperties", coll.get_properties},
        {"listen", coll.listen}, {"connect", coll.connect}, {"reduceSupport", coll.reduce_support},
        {"regMr", coll.reg_mr}, {"deregMr", coll.dereg_mr}, {"iallreduce", coll.iallreduce}, {"test", coll.test},
        {"closeColl", coll.close_coll}, {"closeListen", coll.close_listen}});
    if (absent) {
      if (log) log(nccl::kLogWarn, nccl::kLogInit | nccl::kLogNet, "railwitness", 0, kAbsent, description_, absent);
      return nccl::kInternalError;
    }
    has_dmabuf_ = coll.reg_mr_dma_buf;
    if_absent_refuse(coll.reg_mr_dma_buf);
    if_absent_refuse(coll.iflush);
    if constexpr (requires { coll.finalize; }) if_absent_do_nothing(coll.finalize);
    calls_ = coll;
    is_taken_ = true;
    return nccl::kSuccess;
  }

  const Table* const plugin_;
  Table calls_{};  // complete once is_taken_

 private:
  bool is_taken_ = false;
  bool has_dmabuf_ = false;
  char description_[192];
};

// v6 to v10: one init for all communicators, no context, no finalize.
template <typename Table>
class CollOnceForAll : public CollDownstream<Table> {
 public:
  using CollDownstream<Table>::CollDownstream;

  Result init(void** context, uint64_t, nccl::Logger log) final {
    *context = this;  // never looked at
    if (!was_asked_) {
      was_asked_ = true;
      first_ = this->plugin_->init(log);
      if (first_ == nccl::kSuccess) first_ = this->take_table(log);
    }
    return first_;
  }
  Result finalize(void*) final { return nccl::kSuccess; }
  Result listen(void*, int device, void* handle, void** listen_comm) final {
    return this->calls_.listen(device, handle, listen_comm);
  }

 protected:
  ~CollOnceForAll() = default;

 private:
  bool was_asked_ = false;
  Result first_ = nccl::kSuccess;
};

// v11 and later: a context per communicator.
template <typename Table>
class CollPerComm : public CollDownstream<Table> {
 public:
  using CollDownstream<Table>::CollDownstream;

  Result init(void** context, uint64_t comm_id, nccl::Logger log) final {
    Context* ours = new_context(nccl::kUndefined);
    *context = ours;
    if (ours == &no_context) return nccl::kSystemError;
    Result result = this->plugin_->init(&ours->inner, comm_id, log);
    if (result == nccl::kSuccess) result = this->take_table(log);
    ours->is_open = result == nccl::kSuccess;
    return result;
  }
  Result finalize(void* context) final {
    Context* ours = static_cast<Context*>(context);
    const Result result = ours->is_open ? this->calls_.finalize(ours->inner) : nccl::kSuccess;
    delete_context(ours);
    return result;
  }
  Result listen(void* context, int device, void* handle, void** listen_comm) final {
    return this->calls_.listen(static_cast<Context*>(context)->inner, device, handle, listen_comm);
  }

 protected:
  ~CollPerComm() = default;
};

// v6 and v7: int sizes, nothing but all-reduce. `Base` is one of the above over the version's table.
template <typename Base>
class AllReduceOnly final : public Base {
 public:
  using Base::Base;

  Result register_memory(void* coll_comm, void* data, size_t bytes, int type, void** mr) override {
    if (bytes >= size_t{1} << 31) return nccl::kInternalError;
    return this->calls_.reg_mr(coll_comm, data, static_cast<int>(bytes), type, mr);
  }
  Result iallreduce(void* coll_comm, void* send_data, void* recv_data, size_t count, int data_type, int operation,
                    void* send_mr, void* recv_mr, void** request) override {
    if (count > kMaxTransferBytes) return nccl::kInternalError;
    return this->calls_.iallreduce(coll_comm, send_data, recv_data, static_cast<int>(count), data_type, operation,
                                   send_mr, recv_mr, request);
  }
  Result iallgather(void*, void*, int, Part*, size_t, size_t, size_t, void*, void**) override {
    return nccl::kInternalError;
  }
  Result ireducescatter(void*, int, Part*, void*, size_t, size_t, size_t, int, int, void*, void**) override {
    return nccl::kInternalError;
  }
};

// v9 and later: as our interface has it.
template <typename Base>
class Whole final : public Base {
 public:
  using Base::Base;

  Result register_memory(void* coll_comm, void* data, size_t bytes, int type, void** mr) override {
    return this->calls_.reg_mr(coll_comm, data, bytes, type, mr);
  }
  Result iallreduce(void* coll_comm, void* send_data, void* recv_data, size_t count, int data_type, int operation,
                    void* send_mr, void* recv_mr, void** request) override {
    return this->calls_.iallreduce(coll_comm, send_data, recv_data, count, data_type, operation, send_mr, recv_mr,
                                   request);
  }
  Result iallgather(void* coll_comm, void* send_data, int n, Part* recv_parts, size_t bytes_per_rank,
                    size_t window_offset, size_t window_bytes, void* send_mr, void** request) override {
    if (!this->calls_.iallgather) return nccl::kInternalError;
    return this->calls_.iallgather(coll_comm, send_data, n, as_sge(recv_parts), bytes_per_rank, window_offset,
                                   window_bytes, send_mr, request);
  }
  Result ireducescatter(void* coll_comm, int n, Part* send_parts, void* recv_data, size_t bytes_per_rank,
                        size_t window_offset, size_t window_bytes, int data_type, int operation, void* recv_mr,
                        void** request) override {
    if (!this->calls_.ireducescatter) return nccl::kInternalError;
    return this->calls_.ireducescatter(coll_comm, n, as_sge(send_parts), recv_data, bytes_per_rank, window_offset,
                                       window_bytes, data_type, operation, recv_mr, request);
  }

 private:
  static nccl::NetSgeV9* as_sge(Part* parts) {
    static_assert(sizeof(Part) == sizeof(nccl::NetSgeV9) && offsetof(Part, mr) == offsetof(nccl::NetSgeV9, mr) &&
                  offsetof(Part, address) == offsetof(nccl::NetSgeV9, address) &&
                  offsetof(Part, bytes) == offsetof(nccl::NetSgeV9, bytes));
    return reinterpret_cast<nccl::NetSgeV9*>(parts);
  }
};

}  // namespace railwitness::chain

#endif  // RAILWITNESS_PLUGIN_CHAIN_COLLNET_DOWNSTREAM_H_
