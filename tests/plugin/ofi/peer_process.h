// The other end of a connection in a process of its own, which a test may kill: this program once more, with a task.
#ifndef RAILWITNESS_TESTS_PLUGIN_OFI_PEER_PROCESS_H_
#define RAILWITNESS_TESTS_PLUGIN_OFI_PEER_PROCESS_H_

#include "tests/plugin/ofi/driver.h"

#include <array>

#include <sys/types.h>

namespace railwitness::ofi_test {

using Handle = std::array<uint8_t, nccl::kHandleBytes>;

inline constexpr size_t kManyBytes = 64 << 20;  // more than what sockets hold, so that it sticks when one end stops
inline constexpr double kWorkS = 1;

enum class Task : char {
  kListen = 'l',   // and nothing more
  kAccept = 'a',   // and then nothing
  kReceive = 'r',  // kManyBytes, and stops soon after they have begun to come
  kConnect = 'c',  // and then nothing
  kSend = 's',     // as kReceive
  kWork = 'w',     // when told to: kWorkS of processor time, then one byte
};

class PeerProcess {
 public:
  explicit PeerProcess(Task task);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  pid_t pid() const { return pid_; }
  void kill();  // and waits for its end

  // For tasks that listen, or else connect.
  Handle take_handle();
  void give_handle(const Handle& handle);
  bool is_there();  // it has come as far as its task says, or has just said so
  void go();

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
  bool is_there_ = false;
};

// What a test does meanwhile. Null: not within 30 seconds, which fails the test.
void* accept_from(PeerProcess* peer, void* context);
void* connect_to(PeerProcess* peer, void* context);

}  // namespace railwitness::ofi_test

#endif  // RAILWITNESS_TESTS_PLUGIN_OFI_PEER_PROCESS_H_
