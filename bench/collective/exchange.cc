#include "bench/collective/exchange.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

#include <sched.h>

namespace railwitness::bench {
namespace {

absl::Status failed(const char* what, engine::Result result) {
  return absl::InternalError(absl::StrCat(what, " fails: ncclResult_t ", static_cast<int>(result)));
}

}  // namespace

// Posts one piece if there is room, asks for the oldest one.
absl::Status Exchange::step(Move& move, bool& moved) {
  if (move.posted < pieces(move) && move.posted - move.done < kAtOnce) {
    char* data = move.data + move.posted * piece_;
    const size_t bytes = size_of(move, move.posted);
    void*& request = move.requests[move.posted % kAtOnce];
    request = nullptr;
    const auto result = move.is_send ? network_.isend(move.comm, data, bytes, move.mr, &request)
                                     : network_.irecv(move.comm, data, bytes, move.mr, &request);
    if (result != nccl::kSuccess) return failed(move.is_send ? "isend" : "irecv", result);
    if (request) move.posted++, moved = true;
  }
  if (move.done == move.posted) return absl::OkStatus();
  int done = 0, bytes = -1;
  const auto result = network_.test(move.requests[move.done % kAtOnce], &done, &bytes);
  if (result != nccl::kSuccess) return failed("test", result);
  if (!done) return absl::OkStatus();
  const size_t expected = size_of(move, move.done);
  if (!move.is_send && static_cast<size_t>(bytes) != expected)
    return absl::DataLossError(absl::StrCat("a receive of ", expected, " bytes got ", bytes));
  move.done++;
  moved = true;
  if (move.is_send) transfers_++;
  return absl::OkStatus();
}

absl::Status Exchange::run(absl::Span<Move> moves) {
  constexpr int kIdleLooks = 4096;  // between looks at the clock
  absl::Time deadline = absl::InfiniteFuture();
  for (int idle = 0;;) {
    bool moved = false, is_complete = true;
    for (Move& move : moves) {
      if (is_over(move)) continue;
      if (absl::Status s = step(move, moved); !s.ok()) return s;
      is_complete &= is_over(move);
    }
    if (is_complete) return absl::OkStatus();
    if (moved) {
      idle = 0;
      deadline = absl::InfiniteFuture();
      continue;
    }
    sched_yield();  // as NCCL's proxy does when nothing has moved
    if (++idle % kIdleLooks) continue;
    if (shared_.has_failed) return absl::CancelledError("another rank has failed");
    if (deadline == absl::InfiniteFuture()) deadline = absl::Now() + timeout_;
    if (absl::Now() > deadline) return absl::DeadlineExceededError(absl::StrCat("nothing moved for ", absl::FormatDuration(timeout_)));
  }
}

}  // namespace railwitness::bench
