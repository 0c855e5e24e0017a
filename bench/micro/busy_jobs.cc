// Jobs as busy as a fast fabric makes them, as seen by the reader of their segments, at the cost of almost nothing.
//
//     busy_jobs SOCKET PROCESSES FLOWS PER_SECOND      until standard input ends; says "ready" when all are there
//
// A real job of 95 000 transfers a second and flow changes each line of its states 190 000 times a second; the reader comes
// ten to fifteen times a second and sees all counts, stamps and thread lines changed. So it does here: a hundred times a
// second every flow's counts go on by a hundredth of PER_SECOND, sends and receives, and every stamp is now.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "probes/ring/segment.h"
#include "railwitness/abi/handover.h"
#include "railwitness/base/clock.h"
#include "tests/probes/ring/mapped_segment.h"
#include "tests/probes/sidecar/fake_plugin.h"

namespace {

using namespace railwitness;

constexpr uint64_t kSteps = 100;  // a second

struct Part {
  ring::MappedSegment segment;
  uint32_t flows = 0;
};

bool map_part(const ring::UniqueFd& socket, uint32_t number, uint32_t flows, Part& part) {
  if (number > 0) {
    railwitness_request request{};
    request.magic = RAILWITNESS_REQUEST_MAGIC;
    request.request_bytes = sizeof request;
    request.part = number;
    if (!sidecar::send_message(socket, request)) return false;
  }
  const auto welcomed = sidecar::receive_welcome(socket, 10'000);
  if (!welcomed || !welcomed->segment.is_open()) return false;
  part.segment = ring::MappedSegment(welcomed->segment.get(), ring::geometry(ring::capacities_of(number)));
  part.flows = flows;
  return part.segment.is_mapped();
}

void fill(Part& part, uint32_t first) {
  railwitness_writer& writer = part.segment.writer();
  writer.clock = RAILWITNESS_CLOCK_MONO_NS;
  writer.attach = RAILWITNESS_ATTACH_STUB;
  for (uint32_t i = 0; i < part.flows; ++i) {
    railwitness_identity& identity = part.segment.identity(i);
    identity.qpn = first + i + 2;
    identity.peer_qpn = first + i + 100'000;
    identity.port = 1;
    identity.direction = RAILWITNESS_DIRECTION_SEND;
    identity.role = RAILWITNESS_ROLE_DATA;
    memset(identity.local_gid, 1, 16);
    memcpy(identity.peer_gid, &identity.peer_qpn, 4);
    identity.sequence = 2;
  }
  writer.flows = part.flows;
}

void step(Part& part, uint64_t transfers) {
  const uint64_t now = read_clock_ns(CLOCK_MONOTONIC);
  for (uint32_t i = 0; i < part.flows; ++i) {
    railwitness_state& state = part.segment.state(i);
    state.posted += transfers;
    state.posted_bytes += transfers * 524'288;
    state.completed = state.posted - 1;
    state.completed_bytes = state.posted_bytes - 524'288;
    state.records += transfers;
    state.receives_posted += transfers;
    state.receives_completed += transfers;
    state.received_bytes += transfers * 524'288;
    state.last_post_ticks = state.last_completion_ticks = state.oldest_post_ticks = state.last_receive_ticks = now;
  }
}

[[noreturn]] void live(const char* path, uint32_t flows, uint64_t per_second, int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const ring::UniqueFd socket = sidecar::connect_to(path);
  std::vector<Part> parts;
  bool ok = socket.is_open() && sidecar::send_message(socket, sidecar::honest_hello("busy"));
  for (uint32_t number = 0, left = flows; ok && left > 0; ++number) {
    Part& part = parts.emplace_back();
    const uint32_t here = std::min<uint32_t>(left, RAILWITNESS_PART_FLOWS(number));
    ok = map_part(socket, number, here, part);
    if (ok) fill(part, flows - left);
    left -= here;
  }
  const char byte = ok ? '1' : '0';
  if (write(ready, &byte, 1) != 1 || !ok) _exit(1);
  for (uint64_t next = read_clock_ns(CLOCK_MONOTONIC);; next += 1'000'000'000 / kSteps) {
    for (Part& part : parts) step(part, per_second / kSteps);
    railwitness_thread& thread = parts[0].segment.thread(0);
    thread.tid = 1;
    thread.polls += 1000;
    parts[0].segment.writer().threads = 1;
    const uint64_t now = read_clock_ns(CLOCK_MONOTONIC);
    if (now >= next) continue;
    const timespec pause{0, static_cast<long>(next - now)};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return fprintf(stderr, "usage: busy_jobs SOCKET PROCESSES FLOWS PER_SECOND\n"), 2;
  const int processes = atoi(argv[2]);
  std::vector<pid_t> children;
  int ready[2];
  if (pipe(ready) != 0) return 1;
  int there = 0;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child == 0) live(argv[1], static_cast<uint32_t>(atoi(argv[3])), strtoull(argv[4], nullptr, 10), ready[1]);
    children.push_back(child);
    char byte = '0';
    there += read(ready[0], &byte, 1) == 1 && byte == '1';
  }
  printf("ready: %d of %d\n", there, processes);
  fflush(stdout);
  for (char byte; read(STDIN_FILENO, &byte, 1) > 0;) {
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  return there == processes ? 0 : 1;
}
