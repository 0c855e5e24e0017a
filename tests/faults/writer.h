// The writing process of tests/faults, after fork: through the plugin's own code, from ibv_post_send on a provider that does
// nothing down to the segment.
#ifndef RAILWITNESS_TESTS_FAULTS_WRITER_H_
#define RAILWITNESS_TESTS_FAULTS_WRITER_H_

#include "tests/faults/truth.h"
#include "tests/plugin/verbs_provider.h"

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

namespace railwitness::witness {
struct Flow;
}

namespace railwitness::faults {

struct Descriptor {  // of a segment: the parent made it, the writer has inherited it
  int fd = -1;
  uint64_t bytes = 0;
};

class Writer {
 public:
  // Ends the process if it cannot begin. `further`: of part 1; without one, there are 256 lines and no more. `alone`: begins
  // in private memory, and comes into `first` by adopt().
  Writer(const Descriptor& first, const Descriptor& further, Journal& journal, bool alone = false);
  void adopt();

  void add_rails(uint32_t count = RAILWITNESS_RAIL_CAPACITY);
  void connect_all();  // queue pairs and connections that live long

  // One call of each structure's writer; the caller's thread is the one that owns the queue pairs.
  void post(uint32_t q);
  void complete(uint32_t q);
  void receive(uint32_t q);  // post one, and its completion
  void net_post(uint32_t connection);
  void net_complete(uint32_t connection);
  // Create, three times modify, posts and their completions, destroy.
  void live_shortly(uint64_t posts = 1);
  void connect_one();  // the same, but the queue pair stays
  void open_comm();
  void close_comm();
  void push_event();

  [[noreturn]] void write_everything();  // two threads, at full speed
  Journal& journal() { return journal_; }
  witness::Flow* connection(uint32_t c) { return connections_[c]; }

 private:
  ibv_qp& queue_pair(uint32_t q) { return queue_pairs_[q - kFirstQueuePair]; }
  void begin_life(ibv_qp& qp, uint64_t posts);
  void connect(ibv_qp& qp);
  void post_on(ibv_qp& qp, uint64_t i);
  void complete_on(ibv_qp& qp, uint64_t i);

  const Descriptor first_;
  Journal& journal_;
  test::ContextOf<test::QuietProvider> nic_;
  std::vector<ibv_qp> queue_pairs_;
  std::vector<witness::Flow*> connections_;
  uint64_t posted_[kQueuePairs] = {}, completed_[kQueuePairs] = {};
  uint64_t net_posted_[kConnections] = {}, net_completed_[kConnections] = {};
  uint64_t lives_ = 0, comms_ = 0, events_ = 0;
  std::vector<uint64_t> open_comms_;  // tokens
};

}  // namespace railwitness::faults

#endif  // RAILWITNESS_TESTS_FAULTS_WRITER_H_
