// One connection to a nats-server, kept alive by a thread of its own: it connects, sets up streams and a subscription,
// sends what is queued, collects what arrives, and starts over when anything of that fails. The owner's calls only
// touch queues under a mutex and never wait for the network.
//
// libnats' own reconnecting is off: after a restart of the server streams in memory and consumers are gone, so coming
// back is the same work as coming up, and there is one way to do it.
#ifndef RAILWITNESS_PROBES_BUS_LINK_H_
#define RAILWITNESS_PROBES_BUS_LINK_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "probes/bus/bus.h"

struct __natsConnection;
struct __jsCtx;
struct __natsSubscription;
struct __natsMsg;

namespace railwitness::bus {

class Link {
 public:
  struct Setup {
    std::string url, client_name;
    std::string instead;         // what else to do when there is no server
    bool incidents = false;      // the stream of incidents is wanted as well
    bool listen_facts = false;   // ordered consumer of all facts, the last of each node first
    std::string listen_subject;  // core subscription
  };

  struct Message {
    std::string subject, payload;
    bool replayed = false;  // was in the stream before we listened
  };

  explicit Link(Setup setup);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  State state() const;
  uint64_t lost() const;

  // Queued for the thread. `stored`: into a stream, with acknowledgement. A queued message of the same subject is
  // replaced (and lost) if `newest_only`.
  absl::Status send(std::string subject, std::string payload, bool stored, bool newest_only);
  // What arrived, oldest first. With listen_facts only the newest of each subject.
  std::vector<Message> take();

  static constexpr size_t kMaxQueued = 256;
  static constexpr int64_t kTimeoutMs = 1000;  // of connecting and of each request

 private:
  struct Outgoing {
    std::string subject, payload;
    bool stored = false;
  };
  struct Objects;  // of libnats; touched by the thread only

  void run();
  bool stopping() const;
  void pause(int64_t ms);
  void set_problem(std::string problem);
  absl::Status connect(Objects& objects);
  absl::Status ensure_streams(Objects& objects);
  absl::Status ensure_stream(Objects& objects, const char* name);
  absl::Status subscribe(Objects& objects);
  absl::Status check_facts_stream(Objects& objects);
  absl::Status serve(Objects& objects);
  absl::Status send_queued(Objects& objects);
  bool receive(Objects& objects);
  void store(__natsMsg* message, uint64_t replayed_up_to);

  const Setup setup_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  State state_;
  uint64_t lost_ = 0;
  uint64_t arrivals_ = 0;
  std::deque<Outgoing> outgoing_;
  std::map<uint64_t, Message> incoming_;    // by order of arrival
  std::map<std::string, uint64_t> newest_;  // of incoming_, by subject
  std::thread thread_;
};

}  // namespace railwitness::bus

#endif  // RAILWITNESS_PROBES_BUS_LINK_H_
