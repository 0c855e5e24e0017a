// v8: counts are ints, parts have 32-bit sizes.
#include "railwitness/nccl/collnet_v8.h"

#include "plugin/chain/collnet_downstream.h"
#include "plugin/chain/versions.h"

#include <new>

namespace railwitness::chain {
namespace {

// NCCL's own translation to v8 refuses more than one part; one that speaks v8 itself may pass more.
constexpr int kMaxParts = 64;

struct PartsV8 {
  nccl::NetSgeV8 part[kMaxParts];
};

bool convert_parts(int n, const Part* from, PartsV8* to) {
  if (n < 0 || n > kMaxParts) return false;
  for (int i = 0; i < n; i++) {
    if (from[i].bytes > kMaxCollectiveBytes) return false;
    to->part[i] = {from[i].mr, from[i].address, static_cast<uint32_t>(from[i].bytes)};
  }
  return true;
}

class V8 final : public CollOnceForAll<nccl::CollNetV8> {
 public:
  using CollOnceForAll::CollOnceForAll;

  Result register_memory(void* coll_comm, void* data, size_t bytes, int type, void** mr) override {
    return calls_.reg_mr(coll_comm, data, bytes, type, mr);
  }
  Result iallreduce(void* coll_comm, void* send_data, void* recv_data, size_t count, int data_type, int operation,
                    void* send_mr, void* recv_mr, void** request) override {
    if (count > kMaxTransferBytes) return nccl::kInternalError;
    return calls_.iallreduce(coll_comm, send_data, recv_data, static_cast<int>(count), data_type, operation, send_mr,
                             recv_mr, request);
  }
  Result iallgather(void* coll_comm, void* send_data, int n, Part* recv_parts, size_t bytes_per_rank,
                    size_t window_offset, size_t window_bytes, void* send_mr, void** request) override {
    PartsV8 parts;
    if (!calls_.iallgather || !convert_parts(n, recv_parts, &parts)) return nccl::kInternalError;
    return calls_.iallgather(coll_comm, send_data, n, parts.part, bytes_per_rank, window_offset, window_bytes, send_mr,
                             request);
  }
  Result ireducescatter(void* coll_comm, int n, Part* send_parts, void* recv_data, size_t bytes_per_rank,
                        size_t window_offset, size_t window_bytes, int data_type, int operation, void* recv_mr,
                        void** request) override {
    PartsV8 parts;
    if (!calls_.ireducescatter || !convert_parts(n, send_parts, &parts)) return nccl::kInternalError;
    return calls_.ireducescatter(coll_comm, n, parts.part, recv_data, bytes_per_rank, window_offset, window_bytes, data_type,
                                 operation, recv_mr, request);
  }
};

}  // namespace

engine::CollNet* collnet_v8(const void* table, const char* library) {
  return new (std::nothrow) V8(static_cast<const nccl::CollNetV8*>(table), library, 8);
}

}  // namespace railwitness::chain
