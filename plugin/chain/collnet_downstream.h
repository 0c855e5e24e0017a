// A chained plugin's CollNet table as ours: what the versions have in common. Each collnet_vN.cc adds what differs.
#ifndef RAILWITNESS_PLUGIN_CHAIN_COLLNET_DOWNSTREAM_H_
#define RAILWITNESS_PLUGIN_CHAIN_COLLNET_DOWNSTREAM_H_

#include "plugin/chain/plugin_table.h"
#include "plugin/engine/collnet.h"
#include "railwitness/nccl/collnet_v9.h"

#include <cstddef>

namespace railwitness::chain {

using engine::Part;

// The calls that are the same in every version.
template <typename Table>
class CollDownstream : public PluginTable<Table, engine::CollNet> {
 public:
  CollDownstream(const Table* plugin, const char* library, int version)
      : PluginTable<Table, engine::CollNet>("CollNet", plugin, library, version) {}

  Result properties(int device, engine::DeviceProperties* properties) final {
    const Result result = this->read_device(device, properties);
    if constexpr (!requires { calls_.make_v_device; }) {  // before v9 NCCL's shims don't believe what the table says
      if (result == nccl::kSuccess) {
        properties->net_device_type = nccl::kNetDeviceHost;
        properties->net_device_version = 0;
      }
    }
    return result;
  }

  Result connect(void* handles[], int ranks, int rank, void* listen_comm, void** coll_comm) final {
    return calls_.connect(handles, ranks, rank, listen_comm, coll_comm);
  }
  Result close_coll(void* coll_comm) final { return calls_.close_coll(coll_comm); }
  Result reduce_support(int data_type, int operation, int* supported) final {
    return calls_.reduce_support(data_type, operation, supported);
  }
  Result iflush(void* coll_comm, void* data, int bytes, void* mr, void** request) final {
    return calls_.iflush(coll_comm, data, bytes, mr, request);
  }

  bool has_gather_and_scatter() const final {
    if constexpr (requires { calls_.iallgather; }) return this->newest().iallgather && this->newest().ireducescatter;
    return false;
  }

 protected:
  ~CollDownstream() = default;

  Result take_table(nccl::Logger log) {
    if (this->is_taken_) return nccl::kSuccess;
    const Table& coll = *this->plugin_;
    return this->take({{"devices", coll.devices}, {"getProperties", coll.get_properties}, {"listen", coll.listen},
                       {"connect", coll.connect}, {"reduceSupport", coll.reduce_support}, {"regMr", coll.reg_mr},
                       {"deregMr", coll.dereg_mr}, {"iallreduce", coll.iallreduce}, {"test", coll.test},
                       {"closeColl", coll.close_coll}, {"closeListen", coll.close_listen}}, log);
  }

  using PluginTable<Table, engine::CollNet>::calls_;
};

// v6 to v10: one init for all communicators, no context, no finalize.
template <typename Table>
class CollOnceForAll : public CollDownstream<Table> {
 public:
  using CollDownstream<Table>::CollDownstream;

  Result init(void** context, uint64_t, nccl::Logger log) final {
    *context = this;  // never looked at
    return this->init_once([&] {
      const Result result = this->plugin_->init(log);
      return result == nccl::kSuccess ? this->take_table(log) : result;
    });
  }
  Result finalize(void*) final { return nccl::kSuccess; }
  Result listen(void*, int device, void* handle, void** listen_comm) final {
    return this->calls_.listen(device, handle, listen_comm);
  }

 protected:
  ~CollOnceForAll() = default;
};

// v11 and later: a context per communicator.
template <typename Table>
class CollPerComm : public CollDownstream<Table> {
 public:
  using CollDownstream<Table>::CollDownstream;

  Result init(void** context, uint64_t comm_id, nccl::Logger log) final {
    return this->open_context(context, nccl::kUndefined, [&](Context& ours) {
      const Result result = this->plugin_->init(&ours.inner, comm_id, log);
      return result == nccl::kSuccess ? this->take_table(log) : result;
    });
  }
  Result finalize(void* context) final { return this->close_context(context); }
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
