// Whether net calls ask the kernel for anything. They are made in a child that the kernel kills for any system call but
// exit. (Not by seccomp's strict mode, which takes the time stamp counter away too.)
#include "plugin/engine/engine.h"
#include "plugin/engine/witnessed.h"
#include "plugin/witness/recorder.h"
#include "tests/plugin/fake_transport.h"

#include <csignal>
#include <cstddef>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace railwitness {
namespace {

// As FakeTransport, with frequent calls that allocate nothing.
class BareTransport final : public FakeTransport {
 public:
  static inline bool takes = true;
  static inline int answer = 1;
  static inline Result error = nccl::kSuccess;

  engine::Calls calls() const override {
    return {[](void*, void*, size_t, int, void*, void*, void** request) { return give(request); },
            [](void*, int, void**, size_t*, int*, void**, void**, void** request) { return give(request); },
            [](void*, int* is_done, int* bytes) {
              *is_done = answer;
              if (answer && bytes) *bytes = 8;
              return error;
            }};
  }

 private:
  static Result give(void** request) {
    static char thing;
    *request = takes && error == nccl::kSuccess ? &thing : nullptr;
    return error;
  }
};

struct Ends {
  void *send = nullptr, *recv = nullptr;
};

// False: something was not as it should be.
bool make_calls(const Ends& ends) {
  for (int i = 0; i < 300; i++) {
    void *sent = nullptr, *received = nullptr;
    size_t size = 8;
    int tag = 0, done = 0, bytes[8] = {};
    BareTransport::takes = i % 3 != 0;
    if (engine::isend(ends.send, nullptr, 8, 0, nullptr, nullptr, &sent)) return false;
    if (engine::irecv(ends.recv, 1, nullptr, &size, &tag, nullptr, nullptr, &received)) return false;
    if (!sent != !BareTransport::takes || !received != !BareTransport::takes) return false;
    for (void* request : {sent, received}) {
      if (!request) continue;
      BareTransport::answer = 0;
      if (engine::test(request, &done, bytes) || done) return false;
      BareTransport::answer = 1;
      if (engine::test(request, &done, bytes) || !done) return false;
    }
  }
  return true;
}

// From here on the kernel kills for any system call but exit.
void forbid_system_calls() {
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  const sock_fprog filter{4, program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) _exit(2);
}

// How a child ended that made them so: 0, or the signal.
template <typename Calls>
int end_of(Calls calls) {
  const pid_t child = fork();
  if (child == 0) {
    forbid_system_calls();
    const bool good = calls();
    syscall(SYS_exit, good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

class SystemCalls : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer asks the kernel for things of its own";
#endif
    witness::forget_everything();
    engine::forget_transport();
    engine::choose_transport(&transport_);
  }
  void TearDown() override {
    engine::forget_transport();
    witness::forget_everything();
  }
  Ends connect() {
    Ends ends;
    void *context = nullptr, *listener = nullptr;
    char handle[nccl::kHandleBytes];
    EXPECT_EQ(engine::init(&context, 7, {nccl::kUndefined}, nullptr, nullptr), nccl::kSuccess);
    EXPECT_EQ(engine::listen(context, 0, handle, &listener), nccl::kSuccess);
    EXPECT_EQ(engine::connect(context, 0, handle, &ends.send, nullptr), nccl::kSuccess);
    EXPECT_EQ(engine::accept(listener, &ends.recv, nullptr), nccl::kSuccess);
    return ends;
  }

 private:
  BareTransport transport_;
};

TEST_F(SystemCalls, AreFoundByThisTest) {
  EXPECT_EQ(end_of([] { return getppid() > 0; }), SIGSYS);
  EXPECT_EQ(end_of([] { return true; }), 0);
}

TEST_F(SystemCalls, AreNotMadeWithoutAWitness) {
  const Ends ends = connect();
  EXPECT_EQ(end_of([&] { return make_calls(ends); }), 0);
}

TEST_F(SystemCalls, AreNotMadeByErrorsWithoutAWitness) {
  const Ends ends = connect();
  EXPECT_EQ(end_of([&] {
    void* request = nullptr;
    int done = 0;
    if (engine::isend(ends.send, nullptr, 8, 0, nullptr, nullptr, &request)) return false;
    BareTransport::error = nccl::kRemoteError;
    return engine::test(request, &done, nullptr) == nccl::kRemoteError &&
           engine::isend(ends.send, nullptr, 8, 0, nullptr, nullptr, &request) == nccl::kRemoteError;
  }), 0);
}

// The recorder belongs to the process that started it, and the child is another: it begins there.
TEST_F(SystemCalls, AreNotMadeOnceAConnectionHasItsLine) {
  const pid_t child = fork();
  if (child == 0) {
    witness::start(witness::map_private());
    const Ends ends = connect();
    const bool warm = make_calls(ends);
    forbid_system_calls();
    const bool good = warm && make_calls(ends) && static_cast<engine::Connection*>(ends.send)->state->posted == 400;
    syscall(SYS_exit, good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(SystemCalls, AreNotMadeByAConnectionThatFoundNoLine) {
  const pid_t child = fork();
  if (child == 0) {
    witness::start(witness::map_private());
    witness::set_growth([](const witness::Memory&, bool, witness::Part&) { return false; });
    while (witness::current()->writer->flows < RAILWITNESS_FLOW_CAPACITY) witness::open_flow(77, false);
    const Ends ends = connect();
    forbid_system_calls();
    const bool good = make_calls(ends) && witness::current()->writer->unwitnessed_events == 800;
    syscall(SYS_exit, good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace railwitness
