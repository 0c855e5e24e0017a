// What the loop plugin keeps of comms, registrations and requests.
#ifndef RAILWITNESS_TESTS_PLUGIN_NET_HOST_LOOP_STATE_H_
#define RAILWITNESS_TESTS_PLUGIN_NET_HOST_LOOP_STATE_H_

#include "tests/plugin/net_host/loop/loop.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace railwitness::net_host::loop {

struct Counters {
  std::atomic<int64_t> inits, finalizes, contexts, listens, sends, receives, keys, requests, registrations, dmabufs, posts,
      flushes, consumed, attributes, optional, traffic_class{-2}, last_op, device_handle, null_sizes;
  std::atomic<uint64_t> last_comm_id;
};
extern Counters counters;

struct Context {
  uint64_t comm_id;
  int traffic_class;
  abi::ProfilerCallback profiler;
};

enum class Kind { kListen, kSend, kReceive };

struct Comm;

struct Registration {
  Comm* comm;
  const char* data;
  size_t bytes;
};

struct Header {  // before each message
  uint64_t bytes;
  int32_t tag, zero;
};

struct Part {  // of a request: one message
  char* data = nullptr;
  size_t bytes = 0;  // of a send; room of a receive
  int tag = 0;
  size_t moved = 0;
  bool is_filled = false;
  void *phandle = nullptr, *event = nullptr;
};

struct Request {
  Comm* comm = nullptr;  // null: free
  std::vector<Part> parts;
  size_t sent = 0;  // of a send, with its header
  bool is_complete = false, is_flush = false, is_optional = false;
  int late = 0;
};

struct Message {  // arrived before its receive was posted
  int tag;
  std::vector<char> data;
};

struct Comm {
  Kind kind;
  int fd = -1, tries = 0;
  int device = 0;
  Context* context = nullptr;
  std::vector<std::unique_ptr<Request>> pool;
  std::deque<Request*> queue;  // posted, in order
  std::deque<Message> early;
  Header header{};  // of the message that is arriving
  size_t header_got = 0, body_got = 0;
  Message arriving{0, {}};
  Request* target = nullptr;  // where it goes to; null: `arriving`
  size_t target_part = 0;
  unsigned calls = 0;
  std::mutex mutex;  // the service thread registers while the progress thread moves data
  std::set<Registration*> registrations;

  Request* take_request();
  bool owns(void* mr, const void* data, size_t bytes);
};

Result move(Comm&);  // whatever can be moved without waiting

}  // namespace railwitness::net_host::loop

#endif  // RAILWITNESS_TESTS_PLUGIN_NET_HOST_LOOP_STATE_H_
