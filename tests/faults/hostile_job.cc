// A job that gets a segment and then does to it what a job can. tests/faults/hostile_jobs.py runs it beside a sidecar.
//
//     hostile_job honest SOCKET          counts in one flow every millisecond, with the time; until standard input ends
//     hostile_job ATTACK SOCKET SECONDS  see `attacks` below; prints what the kernel let it do
//     hostile_job ATTACK SOCKET SECONDS PROCESSES
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "probes/ring/segment.h"
#include "railwitness/abi/handover.h"
#include "railwitness/base/clock.h"
#include "tests/probes/ring/mapped_segment.h"
#include "tests/probes/sidecar/fake_plugin.h"

namespace {

using namespace railwitness;

constexpr const char* kBombs[] = {"\x1b[2J\x1b]0;owned\x07", "<script>alert(1)</script>", "'; DROP TABLE incidents; --",
                                  "two\nlines\r\n\tand more", "../../../../etc/passwd", "\xff\xfe\xc2\x9b%s%n{}"};

struct Job {
  std::string job_name = "hostile";
  ring::Geometry g = ring::geometry();
  ring::UniqueFd socket, segment;
  ring::MappedSegment mapped;

  // Floods that went before have used up what this user may ask.
  bool begin_patiently(const std::string& path) {
    for (int i = 0; i < 100; ++i) {
      if (begin(path)) return true;
      const timespec pause{0, 50'000'000};
      nanosleep(&pause, nullptr);
    }
    return false;
  }
  bool begin(const std::string& path) {
    socket = sidecar::connect_to(path);
    if (!socket.is_open() || !sidecar::send_message(socket, sidecar::honest_hello(job_name))) return false;
    auto welcomed = sidecar::receive_welcome(socket, 5000);
    if (!welcomed || !welcomed->segment.is_open()) return false;
    segment = std::move(welcomed->segment);
    mapped = ring::MappedSegment(segment.get(), g);
    return mapped.is_mapped();
  }
  railwitness_writer& writer() { return mapped.writer(); }
  railwitness_state& state(uint64_t i) { return mapped.state(i); }

  // `count` flows of a peer that nobody has, all with something outstanding.
  void fill_flows(uint32_t count, const char* device = "") {
    writer().clock = RAILWITNESS_CLOCK_MONO_NS;
    writer().attach = RAILWITNESS_ATTACH_STUB;
    snprintf(mapped.rail(0).device, 64, "%s", device);
    writer().rails = 1;
    for (uint32_t i = 0; i < count; ++i) {
      railwitness_identity& identity = mapped.identity(i);
      identity.qpn = i + 1;
      identity.peer_qpn = i + 2;
      identity.port = 1;
      identity.direction = RAILWITNESS_DIRECTION_SEND;
      identity.role = RAILWITNESS_ROLE_DATA;
      memset(identity.local_gid, 1, 16);
      memset(identity.peer_gid, static_cast<int>(2 + i % 200), 16);
      identity.sequence = 2;
      state(i).posted = 8;
      state(i).completed = 4;
      state(i).oldest_post_ticks = state(i).last_post_ticks = read_clock_ns(CLOCK_MONOTONIC);
    }
    writer().flows = count;
  }
  void fill_comms(const char* name) {
    for (uint32_t i = 0; i < g.comm_capacity; ++i) {
      railwitness_comm& comm = mapped.comm(i);
      comm.comm_hash = i;
      comm.rank = static_cast<int>(i);
      comm.nranks = comm.nnodes = 1 << 20;
      comm.open = 1;
      memset(comm.name, '#', sizeof comm.name);
      memcpy(comm.name, name, std::min(strlen(name), sizeof comm.name));
    }
    writer().comms = g.comm_capacity;
  }
};

const char* word_of(bool refused) { return refused ? "refused" : "ALLOWED"; }

std::string errno_word(int result) { return result == 0 ? "ALLOWED" : errno == EPERM ? "refused" : strerror(errno); }

struct Context {
  std::string socket;
  uint64_t until_ns = 0;
  int processes = 1;
  bool goes_on() const { return read_clock_ns(CLOCK_MONOTONIC) < until_ns; }
};

void pause_us(long us) {
  const timespec pause{us / 1'000'000, us % 1'000'000 * 1000};
  nanosleep(&pause, nullptr);
}

// --- attacks on one segment -----------------------------------------------------------------------------------------------

std::string truncate_it(Job& job, const Context& c) {
  std::string shrink, grow;
  do {
    shrink = errno_word(ftruncate(job.segment.get(), 0));
    grow = errno_word(ftruncate(job.segment.get(), off_t{1} << 40));
    pause_us(1000);
  } while (c.goes_on());
  return "shrinking " + shrink + ", growing " + grow;
}

std::string punch_holes(Job& job, const Context& c) {
  job.fill_flows(256);
  int holes = 0;
  while (c.goes_on()) {
    holes += fallocate(job.segment.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(job.g.segment_bytes)) == 0;
    madvise(job.mapped.bytes(), job.g.segment_bytes, MADV_REMOVE);
    job.fill_flows(256);
  }
  return "holes " + std::string(holes > 0 ? "punched" : "refused");
}

std::string add_seals(Job& job, const Context&) {
  std::string said;
  for (const int seal : {F_SEAL_SEAL, F_SEAL_WRITE, 0x10 /* FUTURE_WRITE */}) {
    said += word_of(fcntl(job.segment.get(), F_ADD_SEALS, seal) != 0);
    said += ' ';
  }
  return "seals " + said;
}

std::string write_garbage(Job& job, const Context& c) {
  std::mt19937_64 random(7);
  while (c.goes_on()) {
    for (uint64_t at = 0; at < job.g.segment_bytes; at += 8) {
      const uint64_t word = random();
      memcpy(job.mapped.bytes() + at, &word, 8);
    }
  }
  return "noise, header too";
}

std::string write_ones(Job& job, const Context& c) {
  while (c.goes_on()) memset(job.mapped.bytes(), 0xFF, job.g.segment_bytes), pause_us(1000);
  return "all counts 2^64-1";
}

std::string count_backwards(Job& job, const Context& c) {
  job.fill_flows(256);
  for (uint64_t k = 1'000'000'000; c.goes_on(); k -= 1000) {
    for (uint32_t i = 0; i < 256; ++i) {
      job.state(i).posted = job.state(i).posted_bytes = job.state(i).records = k;
      job.state(i).completed = k - 4;
    }
    job.writer().control_reserved = k;
  }
  return "posted, records and events falling";
}

std::string lie_about_time(Job& job, const Context& c) {
  job.fill_flows(256);
  for (uint64_t k = 0; c.goes_on(); ++k) {
    job.writer().clock = static_cast<uint32_t>(k % 4);
    for (uint32_t i = 0; i < 256; ++i) {
      const uint64_t stamps[] = {1, ~0ull, 1ull << 63, read_clock_ns(CLOCK_MONOTONIC) + 3'600'000'000'000, (1ull << 63) - 1};
      job.state(i).oldest_post_ticks = stamps[(k + i) % 5];
      job.state(i).receive_wait_ticks = stamps[(k + i + 1) % 5];
      job.state(i).first_error_ticks = stamps[(k + i + 2) % 5];
    }
    pause_us(500);
  }
  return "stamps of the future and the past";
}

std::string flip_values(Job& job, const Context& c) {
  job.fill_flows(256);
  const auto flip = [&](uint32_t salt) {
    for (uint32_t k = salt; c.goes_on();) {
      for (int n = 0; n < 1000; ++n, ++k) {
        __atomic_store_n(&job.writer().flows, k % 2 ? 256 : ~0u, __ATOMIC_RELAXED);
        __atomic_store_n(&job.writer().comms, k % 3 ? 1 : ~0u, __ATOMIC_RELAXED);
        __atomic_store_n(&job.mapped.header().segment_bytes, k % 2 ? 64 : ~0ull, __ATOMIC_RELAXED);
        __atomic_store_n(&job.mapped.header().states_offset, k % 2 ? 64 : ~0ull, __ATOMIC_RELAXED);
        railwitness_identity& identity = job.mapped.identity(k % 256);
        __atomic_store_n(&identity.sequence, k, __ATOMIC_RELAXED);
        __atomic_store_n(&identity.rail, k % 2 ? 0 : k, __ATOMIC_RELAXED);
      }
    }
  };
  std::thread other(flip, 1);
  flip(2);
  other.join();
  return "counts, offsets and sequences changing";
}

std::string claim_others(Job& job, const Context& c) {
  job.fill_flows(256, "mlx5_0");
  static constexpr const char* kDevices[] = {"mlx5_0", "eth0", "lo", "not_there_0", "../../../etc", "mlx5_0"};
  for (uint32_t i = 0; i < job.g.rail_capacity; ++i) {
    snprintf(job.mapped.rail(i).device, 64, "%s", kDevices[i % 6]);
  }
  job.writer().rails = job.g.rail_capacity;
  for (uint32_t i = 0; i < 256; ++i) {
    railwitness_identity& identity = job.mapped.identity(i);
    identity.rail = i % job.g.rail_capacity;
    identity.port = static_cast<uint8_t>(i);
    job.state(i).first_error_status = 12;
    job.state(i).errors = 9;
    job.state(i).first_error_ticks = read_clock_ns(CLOCK_MONOTONIC);
  }
  job.fill_comms("train");
  while (c.goes_on()) pause_us(10'000);
  return "stuck flows on devices, ports and peers of others";
}

std::string bomb_names(Job& job, const Context& c) {
  job.fill_flows(64);
  for (uint32_t i = 0; i < job.g.rail_capacity; ++i) {
    memset(job.mapped.rail(i).device, 'A', 64);
    memcpy(job.mapped.rail(i).device, kBombs[i % 6], strlen(kBombs[i % 6]));
  }
  job.writer().rails = job.g.rail_capacity;
  for (uint32_t i = 0; i < 64; ++i) job.mapped.identity(i).rail = i % 32;
  job.fill_comms(kBombs[0]);
  while (c.goes_on()) pause_us(10'000);
  return "escapes, HTML, SQL, new lines, no end";
}

std::string ask_for_parts(Job& job, const Context& c) {
  uint64_t asked = 0, given = 0, ended = 0;
  for (uint32_t part = 1; c.goes_on(); ++asked) {
    railwitness_request request{};
    request.magic = RAILWITNESS_REQUEST_MAGIC;
    request.request_bytes = sizeof request;
    request.part = part;
    const bool sent = sidecar::send_message(job.socket, request);
    auto welcomed = sent ? sidecar::receive_welcome(job.socket, 200) : std::nullopt;
    if (welcomed && welcomed->segment.is_open()) {
      ++given, ++part;
    } else if (!welcomed) {
      ++ended, part = 1;
      if (!job.begin(c.socket)) pause_us(20'000);
    }
  }
  return std::to_string(asked) + " asked, " + std::to_string(given) + " given, hung up on " + std::to_string(ended > 0 ? 1 : 0);
}

// The memory and the socket stay with a child.
std::string keep_memory(Job& job, const Context& c) {
  job.fill_flows(256);
  if (fork() == 0) {
    while (c.goes_on()) job.state(0).posted++, pause_us(1000);
    _exit(0);
  }
  return "a child keeps segment and socket";
}

using Attack = std::string (*)(Job&, const Context&);
const std::map<std::string, Attack> attacks{
    {"truncate", truncate_it}, {"holes", punch_holes},   {"seals", add_seals},     {"garbage", write_garbage},
    {"ones", write_ones},      {"backwards", count_backwards}, {"times", lie_about_time}, {"flip", flip_values},
    {"claims", claim_others},  {"names", bomb_names},    {"parts", ask_for_parts}, {"keep", keep_memory},
};

// --- many processes -------------------------------------------------------------------------------------------------------

// Each with full tables; they hold them to the end, or leave one after the other as soon as they were read.
int run_many(const Context& c, bool leave) {
  int seated = 0;
  std::vector<pid_t> children;
  for (int i = 0; i < c.processes; ++i) {
    int ready[2];
    if (pipe(ready) != 0) break;
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      Job job;
      const bool begun = job.begin_patiently(c.socket);
      if (begun) job.fill_flows(256), job.fill_comms("many");
      const char byte = begun ? '1' : '0';
      if (write(ready[1], &byte, 1) != 1) _exit(1);
      if (leave) pause_us(250'000);
      while (!leave && c.goes_on()) pause_us(10'000);
      _exit(0);
    }
    close(ready[1]);
    char byte = '0';
    seated += read(ready[0], &byte, 1) == 1 && byte == '1';
    close(ready[0]);
    children.push_back(child);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  while (leave && c.goes_on()) pause_us(10'000);
  printf("%d of %d processes got a segment\n", seated, c.processes);
  return 0;
}

int be_honest(const std::string& socket) {
  Job job;
  job.job_name = "honest";
  if (!job.begin(socket)) return fprintf(stderr, "honest: no segment\n"), 1;
  job.fill_flows(1);
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  printf("ready\n");
  fflush(stdout);
  for (char byte; read(STDIN_FILENO, &byte, 1) < 0;) {
    job.state(0).completed++;
    job.state(0).posted++;
    __atomic_store_n(&job.state(0).last_post_ticks, read_clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
    pause_us(1000);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 3 && !strcmp(argv[1], "honest")) return be_honest(argv[2]);
  if (argc < 4) return fprintf(stderr, "usage: hostile_job ATTACK SOCKET SECONDS [PROCESSES]\n"), 2;
  const std::string what = argv[1];
  Context context{argv[2], read_clock_ns(CLOCK_MONOTONIC) + static_cast<uint64_t>(atof(argv[3]) * 1e9), argc > 4 ? atoi(argv[4]) : 1};
  if (what == "many" || what == "gone") return run_many(context, what == "gone");
  const auto attack = attacks.find(what);
  if (attack == attacks.end()) return fprintf(stderr, "hostile_job: no attack '%s'\n", what.c_str()), 2;
  Job job;
  if (what == "names") job.job_name = std::string(kBombs[0]) + kBombs[1] + std::string(40, 'x');
  if (!job.begin_patiently(context.socket)) return fprintf(stderr, "hostile_job: no segment\n"), 1;
  printf("%s\n", attack->second(job, context).c_str());
  return 0;
}
