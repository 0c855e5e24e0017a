// Active probes along rails: pings the ping ports of other nodes' sidecars and answers theirs, over verbs, or over
// UDP on an interface where there is no RDMA device.
//
// One thread calls; nothing here waits (opening a device takes some milliseconds). What cannot be opened is a problem
// in words, and the rest goes on. A ping that is answered proves the whole way: both ports, the cables, the fabric, and
// a living sidecar; a ping that is not answered names nobody by itself.
#ifndef RAILWITNESS_PROBES_RAIL_PING_SERVICE_H_
#define RAILWITNESS_PROBES_RAIL_PING_SERVICE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "probes/model/facts.h"
#include "probes/rail/endpoint.h"

namespace railwitness::rail {

// RDMA devices that this process may open, by name; those whose /dev/infiniband/uverbs* is not there are not listed.
absl::StatusOr<std::vector<std::string>> list_devices();

class PingService {
 public:
  static constexpr size_t kMaxOutstanding = 64;
  static constexpr uint32_t kPackets = 3;
  static constexpr int64_t kSpacingNs = 200'000'000;
  static constexpr int64_t kWaitNs = 1'000'000'000;  // after the last packet
  static constexpr uint32_t kAnswersPerSecond = 1000;

  explicit PingService(std::string node);
  ~PingService();

  // The RDMA devices and network interfaces to serve from now on: opens new ones, closes those not named. problems()
  // says what did not work.
  void open(const std::vector<std::string>& devices, const std::vector<std::string>& interfaces = {});
  const std::vector<std::string>& problems() const { return problems_; }

  std::vector<model::PingPort> ports() const;
  int poll_fd() const { return epoll_fd_; }  // readable when tick() has something to do

  // The result comes from tick(), also when it is a problem. At most kMaxOutstanding at a time.
  absl::Status start(const model::PingRequest& request, int64_t now_mono_ns);
  // Answers, sends what is due, and returns the probes that ended. To be called every 100 ms at least.
  std::vector<model::Ping> tick(int64_t now_mono_ns);

  uint64_t answered() const { return answered_; }
  uint64_t refused() const { return refused_; }  // pings beyond the rate, or meant for another node

 private:
  struct Outstanding {
    model::PingRequest request;
    uint64_t endpoint = 0;
    Route route;
    std::string problem;
    uint32_t sent = 0, received_mask = 0;
    std::array<int64_t, kPackets> sent_mono_ns{};
    std::optional<int64_t> rtt_ns;
    int64_t started_mono_ns = 0, next_send_mono_ns = 0;
  };
  struct Answer {
    uint64_t endpoint = 0;
    Route route;
    Message message;
    int64_t asked_mono_ns = 0;
  };

  bool is_open(const std::string& name, model::RailKind kind) const;
  void keep(absl::StatusOr<std::unique_ptr<Endpoint>> endpoint);
  void open_device_ports(const std::string& name);
  void watch(int fd);
  void reopen_broken(int64_t now_mono_ns);
  void take_handles(int64_t now_mono_ns);
  void receive(int64_t now_mono_ns);
  void on_ping(Endpoint& endpoint, const Arrival& arrival, int64_t now_mono_ns);
  void on_pong(const Endpoint& endpoint, const Message& message);
  void send_answers(int64_t now_mono_ns);
  void send_due(uint64_t nonce, Outstanding& probe, int64_t now_mono_ns);
  bool has_ended(const Outstanding& probe, int64_t now_mono_ns) const;
  model::Ping result(const Outstanding& probe, int64_t now_mono_ns) const;
  Endpoint* find(uint64_t id);

  std::string node_;
  std::vector<std::string> problems_;
  int epoll_fd_;
  std::mt19937_64 random_;
  std::unique_ptr<AddressWorker> worker_;
  std::map<uint64_t, std::unique_ptr<Endpoint>> endpoints_;  // by id
  uint64_t next_endpoint_ = 1;
  int64_t reopened_mono_ns_ = 0;
  std::map<uint64_t, Outstanding> outstanding_;  // by nonce
  std::deque<Answer> answers_;                   // waiting for an address handle
  int64_t rate_begin_mono_ns_ = 0;
  uint32_t rate_count_ = 0;
  uint64_t answered_ = 0, refused_ = 0;
};

}  // namespace railwitness::rail

#endif  // RAILWITNESS_PROBES_RAIL_PING_SERVICE_H_
