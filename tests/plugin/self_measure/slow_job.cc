// A job whose recorder can be slowed: the rooms of the plugin compiled once more, with a clock that takes as long as it is
// told. self_measure.py runs it beside a real sidecar.
//
//     slow_job SOCKET TRANSFERS_A_SECOND
//
// One queue pair on a provider that does nothing, one thread that posts, polls in vain, and polls the completion. Lines of
// standard input: `slow NS` (each reading of the clock), `hold` (post one request and do not finish it), `go on`. After
// each line, and a second of it, a line of JSON: what a transfer took of its thread's processor time, and how many there were. Ends with standard input.
#include "plugin/tap/context.h"
#include "plugin/tap/flows.h"
#include "plugin/tap/real_verbs.h"
#include "plugin/witness/keeper.h"
#include "plugin/witness/recorder.h"
#include "railwitness/base/clock.h"

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <unistd.h>

namespace railwitness {

std::atomic<uint64_t> slow_ns{0};
void be_slow_for_a_test() {
  const uint64_t ns = slow_ns.load(std::memory_order_relaxed);
  if (!ns) return;
  const uint64_t until = read_clock_ns(CLOCK_MONOTONIC) + ns;
  while (read_clock_ns(CLOCK_MONOTONIC) < until) {
  }
}

namespace {

std::atomic<bool> may_end{false}, may_finish{true};
std::atomic<uint64_t> transfers{0}, busy_ns{0};

int accept_send(ibv_qp*, ibv_send_wr*, ibv_send_wr**) { return 0; }
int accept_recv(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) { return 0; }
bool is_finished = false;
ibv_wc next_completion{};
int poll_one(ibv_cq*, int, ibv_wc* wc) { return is_finished ? (*wc = next_completion, 1) : 0; }
int answer_gid(ibv_context*, uint8_t, int, ibv_gid* gid) { return memset(gid, 7, sizeof *gid), 0; }

struct Nic {
  ibv_device device{};
  ibv_context context{};
  ibv_cq cq{};
  ibv_qp qp{};

  Nic() {
    strcpy(device.name, "fake0");
    context.device = &device;
    context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context.ops = {};
    context.ops.post_send = accept_send;
    context.ops.post_recv = accept_recv;
    context.ops.poll_cq = poll_one;
    cq.context = qp.context = &context;
    qp.qp_num = 17;
    tap::real_verbs.query_gid = answer_gid;
  }
};

void transfer(Nic& nic, uint64_t id) {
  ibv_sge sge{0, 4096, 0};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.send_flags = IBV_SEND_SIGNALED;
  next_completion.wr_id = id;
  next_completion.qp_num = nic.qp.qp_num;
  next_completion.opcode = IBV_WC_RDMA_WRITE;
  ibv_wc wc;
  const uint64_t began = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);  // neighbours do not count
  ibv_post_send(&nic.qp, &wr, &bad);
  is_finished = false;
  ibv_poll_cq(&nic.cq, 1, &wc);
  while (!may_finish && !may_end) {
    ibv_poll_cq(&nic.cq, 1, &wc);
    usleep(1000);
  }
  is_finished = true;
  ibv_poll_cq(&nic.cq, 1, &wc);
  busy_ns += read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
  transfers++;
}

void work(Nic& nic, uint64_t a_second) {
  uint64_t due_ns = read_clock_ns(CLOCK_MONOTONIC);
  for (uint64_t id = 0; !may_end; id++) {
    transfer(nic, id);
    due_ns += 1'000'000'000 / a_second;
    const uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
    if (due_ns > now_ns + 200'000) usleep(static_cast<unsigned>((due_ns - now_ns) / 1000));  // in bundles: nobody else starves
    if (due_ns + 100'000'000 < now_ns) due_ns = now_ns;
  }
}

void obey(const char* line) {
  if (!strncmp(line, "slow ", 5)) slow_ns = strtoull(line + 5, nullptr, 10);
  if (!strncmp(line, "hold", 4)) may_finish = false;
  if (!strncmp(line, "go on", 5)) may_finish = true;
  const uint64_t before = transfers, busy_before = busy_ns;
  sleep(1);
  const uint64_t n = transfers - before;
  printf("{\"transfers\": %llu, \"transfer_ns\": %llu}\n", static_cast<unsigned long long>(n),
         static_cast<unsigned long long>(n ? (busy_ns - busy_before) / n : 0));
  fflush(stdout);
}

}  // namespace
}  // namespace railwitness

int main(int argc, char** argv) {
  using namespace railwitness;
  if (argc != 3) return fprintf(stderr, "usage: slow_job SOCKET TRANSFERS_A_SECOND\n"), 2;
  Nic nic;
  witness::Knobs knobs = witness::read_knobs();
  snprintf(knobs.socket, sizeof knobs.socket, "%s", argv[1]);
  if (!witness::begin(knobs).is_ok() || !tap::tap_context(&nic.context)) return 1;
  ibv_qp_init_attr init{};
  tap::flow_created(&nic.qp, &init);
  std::thread worker([&] { work(nic, strtoull(argv[2], nullptr, 10)); });
  char line[64];
  while (fgets(line, sizeof line, stdin)) obey(line);
  may_end = true;
  worker.join();
  return 0;
}
