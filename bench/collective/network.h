// A net plugin of any version, and the connections of one rank over it: one each way to every other rank.
#ifndef RAILWITNESS_BENCH_COLLECTIVE_NETWORK_H_
#define RAILWITNESS_BENCH_COLLECTIVE_NETWORK_H_

#include "bench/collective/shared.h"
#include "plugin/engine/transport.h"

#include "absl/status/status.h"
#include "absl/time/clock.h"

#include <string>
#include <vector>

namespace railwitness::bench {

// All ranks meet. An error if one of them has failed, or has not come in time.
class Barrier {
 public:
  Barrier(Shared& shared, int ranks, absl::Duration timeout) : shared_(shared), ranks_(ranks), timeout_(timeout) {}
  absl::Status wait();

 private:
  Shared& shared_;
  const int ranks_;
  const absl::Duration timeout_;
  int goal_ = 0;
};

struct Peer {
  void* send_comm = nullptr;
  void* recv_comm = nullptr;
};

class Network {
 public:
  // `plugin`: see Options.
  absl::Status open(const std::string& plugin);
  absl::Status connect(Shared& shared, Barrier& barrier, int rank, int ranks, absl::Duration timeout);
  absl::Status register_for_all(void* data, size_t bytes, std::vector<void*>& send_mrs, std::vector<void*>& recv_mrs);
  absl::Status close();

  const char* description() const { return transport_->description(); }
  const Peer& peer(int rank) const { return peers_[static_cast<size_t>(rank)]; }

  // Called as the engine calls: straight, where the version has these arguments.
  engine::Result isend(void* comm, void* data, size_t bytes, void* mr, void** request) {
    return calls_.isend ? calls_.isend(comm, data, bytes, kTag, mr, nullptr, request)
                        : transport_->isend(comm, data, bytes, kTag, mr, nullptr, request);
  }
  engine::Result irecv(void* comm, void* data, size_t bytes, void* mr, void** request) {
    int tag = kTag;
    *request = nullptr;
    return calls_.irecv ? calls_.irecv(comm, 1, &data, &bytes, &tag, &mr, &no_profiler_, request)
                        : transport_->irecv(comm, 1, &data, &bytes, &tag, &mr, &no_profiler_, request);
  }
  engine::Result test(void* request, int* done, int* bytes) { return calls_.test(request, done, bytes); }

 private:
  static constexpr int kTag = 0;

  engine::Transport* transport_ = nullptr;
  engine::Calls calls_{};
  void* context_ = nullptr;
  void* no_profiler_ = nullptr;
  std::vector<Peer> peers_;
  std::vector<std::pair<void*, void*>> registrations_;  // comm, mr
};

}  // namespace railwitness::bench

#endif  // RAILWITNESS_BENCH_COLLECTIVE_NETWORK_H_
