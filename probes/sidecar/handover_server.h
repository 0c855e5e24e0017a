// Hands witness segments to the processes of jobs. include/railwitness/abi/handover.h, docs/segment-abi.md "Hand-over".
//
// One thread; serve() never waits. Whoever connects is hostile: a connection has a second for its one message, which is
// taken with plain recv() (a descriptor pushed at us would be received by recvmsg(), and closing one of a stopped FUSE
// server can hang this process beyond SIGKILL); connections that say nothing, and users, have caps.
//
//   accepted --hello--> handed over --request--> a further segment, or a refusal
//      \--1 s, bad hello, no seat--> closed   \--end of file, any other message, too many requests--> lost
#ifndef RAILWITNESS_PROBES_SIDECAR_HANDOVER_SERVER_H_
#define RAILWITNESS_PROBES_SIDECAR_HANDOVER_SERVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "probes/ring/segment.h"
#include "probes/ring/unique_fd.h"
#include "probes/sidecar/hello.h"
#include "probes/sidecar/seats.h"
#include "probes/sidecar/unix_listener.h"

namespace railwitness::sidecar {

struct HandOver {
  uint64_t connection = 0;
  int32_t pid = 0;  // by SO_PEERCRED; 0: in a pid namespace that cannot be seen from here
  uint32_t uid = 0;
  std::string job;
  ring::Segment segment;
  int64_t connected_mono_ns = INT64_MAX;  // `pid` named it then: a process that started later is another
};

struct FurtherSegment {
  uint64_t connection = 0;
  uint32_t uid = 0;
  ring::Segment segment;
};

class HandoverServer {
 public:
  struct Served {
    std::vector<HandOver> arrived;  // each holds a seat of its uid, which its keeper gives back
    std::vector<FurtherSegment> further;  // of arrivals, in the order of parts; each holds its blocks, likewise
    std::vector<uint64_t> lost;           // connections of earlier arrivals that ended
  };
  struct Counters {
    uint64_t handed_over = 0, bad_hellos = 0, other_versions = 0, refused = 0, silent = 0, crowded_out = 0;
    uint64_t further = 0, further_refused = 0;
    // When it happened last; 0: never.
    int64_t other_version_mono_ns = 0, refused_mono_ns = 0, further_refused_mono_ns = 0;
  };

  static absl::StatusOr<std::unique_ptr<HandoverServer>> open(const std::string& path, const std::string& boot_id,
                                                              Seats& seats);

  int poll_fd() const { return epoll_.get(); }
  Served serve(int64_t now_mono_ns);
  void close(uint64_t connection) { connections_.erase(connection); }
  const Counters& counters() const { return counters_; }
  // Makes the socket again if its file is gone. True: it was, and jobs can connect again.
  absl::StatusOr<bool> mend();

  static constexpr int64_t kHelloWithinNs = 1'000'000'000;
  static constexpr size_t kMaxSilent = 256, kMaxSilentPerUser = 64;
  static constexpr double kRequestsAtOnce = 16, kRequestsPerSecond = 1;  // of one connection

 private:
  struct Budget {
    double tokens = 0;
    int64_t filled_mono_ns = 0;
    bool spend(double most, double per_second, int64_t now_mono_ns);
  };
  struct Connection {
    ring::UniqueFd fd;
    int32_t pid = 0;
    uint32_t uid = 0;
    int64_t connected_mono_ns = 0, deadline_mono_ns = 0;
    bool handed_over = false;
    uint32_t parts = 0;  // given
    Budget requests;
  };

  HandoverServer(std::unique_ptr<UnixListener> listener, std::string boot_id, Seats& seats);
  void accept_all(int64_t now_mono_ns);
  bool within_budget(uint32_t uid, int64_t now_mono_ns);
  void make_room(uint32_t uid);
  void close_silent(int64_t now_mono_ns);
  void receive(uint64_t id, int64_t now_mono_ns, Served& served);
  void answer(uint64_t id, const CheckedHello& hello, int64_t now_mono_ns, Served& served);
  bool answer_request(uint64_t id, uint32_t part, int64_t now_mono_ns, Served& served);
  void pause_accepting(int64_t now_mono_ns);

  std::unique_ptr<UnixListener> listener_;
  ring::UniqueFd epoll_;
  std::string boot_id_;
  Seats& seats_;
  std::map<uint64_t, Connection> connections_;  // by id, which grows: the oldest first
  std::map<uint32_t, Budget> budgets_;          // by uid
  uint64_t next_connection_ = 1;                // 0 is the listener
  uint32_t generation_ = 0;
  int64_t accept_again_mono_ns_ = 0;  // not 0: out of descriptors until then
  Counters counters_;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_HANDOVER_SERVER_H_
