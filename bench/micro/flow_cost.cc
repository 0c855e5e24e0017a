// What it costs a job to be witnessed, by the number of its flows. tests/plugin/cost.py runs it beside a real sidecar.
//
//     flow_cost hold SOCKET FLOWS   opens FLOWS queue pairs as NCCL does, says as JSON lines what that took, and holds them
//                                   until standard input ends
//     flow_cost open tapped|plain FLOWS   the same work for callgrind: `measured` is what is collected
//
// The provider does nothing, so all that is counted is ours. Memory is what the kernel says of this process
// (/proc/self/smaps), before and after; what the program itself needs for its queue pairs is taken before.
#include "plugin/tap/context.h"
#include "plugin/tap/real_verbs.h"
#include "plugin/witness/keeper.h"
#include "plugin/witness/recorder.h"
#include "railwitness/base/clock.h"
#include "tests/plugin/verbs_provider.h"

#include <infiniband/verbs.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using namespace railwitness;

using test::QuietProvider;

int answer_gid(ibv_context*, uint8_t, int, ibv_gid* gid) { return memset(gid, 7, sizeof *gid), 0; }

// One context, as a rank has one NIC near its GPU; its memory is all taken at the beginning.
struct Job : test::ContextOf<QuietProvider> {
  std::vector<ibv_qp> queue_pairs;

  explicit Job(size_t flows) : ContextOf("fake0"), queue_pairs(flows) {
    for (size_t i = 0; i < flows; i++) queue_pairs[i].context = &context, queue_pairs[i].qp_num = static_cast<uint32_t>(i + 2);
    tap::real_verbs.query_gid = answer_gid;
  }
};

[[gnu::noinline]] void connect_one(ibv_qp& qp, bool is_tapped) {
  ibv_qp_attr attributes{};
  attributes.port_num = 1;
  attributes.dest_qp_num = qp.qp_num + 1;
  test::connect_queue_pair(qp, attributes, is_tapped);
}

void post_and_complete(Job& job, ibv_qp& qp, uint64_t count) {
  ibv_sge sge{0, 4096, 0};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.send_flags = IBV_SEND_SIGNALED;
  for (uint64_t i = 0; i < count; i++) {
    QuietProvider::next_completion.wr_id = wr.wr_id = i;
    QuietProvider::next_completion.qp_num = qp.qp_num;
    QuietProvider::next_completion.opcode = IBV_WC_RDMA_WRITE;
    ibv_wc wc;
    ibv_post_send(&qp, &wr, &bad);
    ibv_poll_cq(&job.cq, 1, &wc);
  }
}

struct Memory {
  long private_kib = 0;  // written by this process alone
  long segment_kib = 0;  // of segments, which the sidecar reads
};

Memory read_memory() {
  Memory m;
  std::ifstream smaps("/proc/self/smaps");
  bool is_segment = false;
  for (std::string line; std::getline(smaps, line);) {
    long kib = 0;
    unsigned long begin = 0, end = 0;
    if (sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      is_segment = line.find("/memfd:railwitness") != std::string::npos;
    else if (sscanf(line.c_str(), "Rss: %ld kB", &kib) == 1 && is_segment)
      m.segment_kib += kib;
    else if (sscanf(line.c_str(), "Private_Dirty: %ld kB", &kib) == 1 && !is_segment)
      m.private_kib += kib;
  }
  return m;
}

long count_in(const char* folder) {
  long n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) n++;
  return n;
}

uint64_t cpu_ns() { return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

void say(const char* stage, const Memory& before, uint64_t cpu) {
  const Memory now = read_memory();
  const witness::Memory& m = *witness::base();
  uint64_t flows = 0;
  for (uint32_t p = 0; p < m.part_count; p++) flows += m.parts[p].writer->flows;
  printf("{\"stage\": \"%s\", \"private_kib\": %ld, \"segment_kib\": %ld, \"threads\": %ld, \"descriptors\": %ld, "
         "\"cpu_ns\": %llu, \"parts\": %u, \"flows\": %llu, \"unwitnessed\": %llu, \"sidecar\": %d}\n",
         stage, now.private_kib - before.private_kib, now.segment_kib - before.segment_kib, count_in("/proc/self/task"),
         count_in("/proc/self/fd"), static_cast<unsigned long long>(cpu), m.part_count,
         static_cast<unsigned long long>(flows), static_cast<unsigned long long>(m.writer->unwitnessed_flows),
         witness::has_sidecar());
  fflush(stdout);
}

int hold(const char* socket, size_t flows) {
  static char line[256];
  setvbuf(stdout, line, _IOLBF, sizeof line);
  Job job(flows);
  read_memory();  // once, so that what it needs itself is there
  const Memory before = read_memory();
  printf("{\"stage\": \"before\", \"threads\": %ld, \"descriptors\": %ld}\n", count_in("/proc/self/task"), count_in("/proc/self/fd"));
  witness::Knobs knobs{};
  snprintf(knobs.socket, sizeof knobs.socket, "%s", socket);
  uint64_t start = cpu_ns();
  if (!witness::begin(knobs).is_ok()) return 1;
  tap::tap_context(&job.context);
  say("begun", before, cpu_ns() - start);
  start = cpu_ns();
  for (ibv_qp& qp : job.queue_pairs) {
    connect_one(qp, true);
    // A real connection takes milliseconds of network; the sidecar gives a further segment meanwhile.
    if (witness::base()->part_count < witness::kParts && !witness::has_room()) usleep(1000);
  }
  const uint64_t connecting = cpu_ns() - start;
  sleep(1);
  say("connected", before, connecting);
  start = cpu_ns();
  for (ibv_qp& qp : job.queue_pairs) post_and_complete(job, qp, 1);
  const uint64_t first_posts = cpu_ns() - start;
  say("posted", before, first_posts);
  for (ibv_qp& qp : job.queue_pairs) post_and_complete(job, qp, 200);  // the ring of records is full, and gone round
  say("full", before, 0);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}

}  // namespace

extern "C" [[gnu::noinline]] void measured(Job& job, bool is_tapped) {
  for (ibv_qp& qp : job.queue_pairs) connect_one(qp, is_tapped), post_and_complete(job, qp, 1);
}

int main(int argc, char** argv) {
  if (argc != 4) return fprintf(stderr, "usage: flow_cost hold SOCKET FLOWS | open tapped|plain FLOWS\n"), 2;
  const auto flows = static_cast<size_t>(atol(argv[3]));
  if (!strcmp(argv[1], "hold")) return hold(argv[2], flows);
  Job job(flows);
  witness::start(witness::map_private());
  const bool is_tapped = !strcmp(argv[2], "tapped");
  if (is_tapped) tap::tap_context(&job.context);
  measured(job, is_tapped);
  return 0;
}
