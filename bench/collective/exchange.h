// Moving several buffers at once: each is cut into pieces, of which some are under way at a time, as NCCL's proxy does it.
#ifndef RAILWITNESS_BENCH_COLLECTIVE_EXCHANGE_H_
#define RAILWITNESS_BENCH_COLLECTIVE_EXCHANGE_H_

#include "bench/collective/network.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstdint>

namespace railwitness::bench {

inline constexpr size_t kAtOnce = 8;  // pieces of a buffer under way: NCCL_STEPS

struct Move {
  bool is_send;
  void* comm;
  void* mr;
  char* data;
  size_t bytes;
  // Below: how far it has come.
  uint64_t posted = 0, done = 0;
  void* requests[kAtOnce] = {};
};

class Exchange {
 public:
  Exchange(Network& network, const Shared& shared, size_t piece_bytes, absl::Duration timeout)
      : network_(network), shared_(shared), piece_(piece_bytes), timeout_(timeout) {}

  // Returns when all have arrived and left.
  absl::Status run(absl::Span<Move> moves);

  uint64_t transfers() const { return transfers_; }  // sends, ever

 private:
  absl::Status step(Move& move, bool& moved);
  uint64_t pieces(const Move& move) const { return move.bytes ? (move.bytes + piece_ - 1) / piece_ : 1; }
  size_t size_of(const Move& move, uint64_t piece) const { return std::min(piece_, move.bytes - piece * piece_); }
  bool is_over(const Move& move) const { return move.done == pieces(move); }

  Network& network_;
  const Shared& shared_;
  const size_t piece_;
  const absl::Duration timeout_;
  uint64_t transfers_ = 0;
};

}  // namespace railwitness::bench

#endif  // RAILWITNESS_BENCH_COLLECTIVE_EXCHANGE_H_
