// Writers of a witness segment, killed by SIGKILL at every moment there is, and what the sidecar's reader makes of it.
//
//     killed_writers [--kills N] [--seed S] [--stride K] [--results FILE]
//     killed_writers --self-test
//
// First each scene of scenes.h is killed before its first instruction, after its first, after its second, and so on to the
// end (with --stride K after each K-th), by ptrace, on x86-64. What is left of N are writers at full speed in two threads, killed after a random
// number of nanoseconds. After each the reader must take no line that is not of one piece, miss none that was whole, and
// answer within a second. --results keeps what is done; the same command goes on from there.
#include "railwitness/base/clock.h"
#include "tests/faults/autopsy.h"
#include "tests/faults/scenes.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "fmt/format.h"

namespace railwitness::faults {
namespace {

constexpr double kMostReadMs = 1000;
constexpr uint64_t kBlock = 500;  // random kills between two lines of the results

struct Row {  // of the table and of the results file
  uint64_t kills = 0, right = 0;
  double longest_read_ms = 0;
  std::array<Tally, kStructures> tally{};

  void add(const Finding& finding) {
    ++kills;
    if (finding.torn() == 0 && finding.longest_read_ms < kMostReadMs) ++right;
    longest_read_ms = std::max(longest_read_ms, finding.longest_read_ms);
    for (size_t s = 0; s < kStructures; ++s) tally[s].add(finding.tally[s]);
    for (const std::string& wrong : finding.wrong) {
      if (++told_ <= 3) fmt::print("wrong: {}\n", wrong);
    }
  }
  void add(const Row& other) {
    kills += other.kills;
    right += other.right;
    longest_read_ms = std::max(longest_read_ms, other.longest_read_ms);
    for (size_t s = 0; s < kStructures; ++s) tally[s].add(other.tally[s]);
  }

 private:
  uint64_t told_ = 0;
};

// A writer and its segment. One life.
class Life {
 public:
  explicit Life(bool with_further) : autopsy_(make(0, first_)) {
    if (with_further) autopsy_.add_part(make(1, further_));
    void* page = mmap(nullptr, sizeof(Journal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) _exit(3);
    journal_ = static_cast<Journal*>(page);
  }
  ~Life() {
    kill();
    munmap(journal_, sizeof(Journal));
  }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  void start(const std::function<void(Writer&)>& live, bool alone = false) {
    pid_ = fork();
    if (pid_ != 0) return;
    Writer writer(first_, further_, *journal_, alone);
    live(writer);
    _exit(0);
  }
  bool is_ready() const { return __atomic_load_n(&journal_->ready, __ATOMIC_ACQUIRE) != 0; }
  pid_t pid() const { return pid_; }

  // False: it was not there to be killed.
  bool kill() {
    if (pid_ <= 0) return false;
    ::kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  Finding read(ring::TickClock& clock, bool dead) { return autopsy_.open(*journal_, clock, dead); }

 private:
  static ring::Segment make(uint32_t part, Descriptor& descriptor) {
    absl::StatusOr<ring::Segment> segment = ring::make_segment(1, "", part);
    if (!segment.ok()) fmt::print(stderr, "{}\n", std::string(segment.status().message())), std::exit(3);
    descriptor = {segment->fd.get(), segment->geometry.segment_bytes};
    return *std::move(segment);
  }

  Descriptor first_, further_;
  Autopsy autopsy_;
  Journal* journal_ = nullptr;
  pid_t pid_ = -1;
};

// Prepared, and stopped before its first instruction.
void begin_traced(Life& life, const Scene& scene) {
  life.start([&scene](Writer& writer) {
    scene.prepare(writer);
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(4);
    raise(SIGSTOP);
    scene.act(writer);
    raise(SIGSTOP);
  }, scene.alone);
  int status = 0;
  waitpid(life.pid(), &status, 0);
  if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP) return;
  fmt::print(stderr, "'{}' does not begin (status {:#x}); ptrace must be allowed\n", scene.name, status);
  std::exit(3);
}

// One more instruction, or as far as the next breakpoint. False: the scene is over.
bool go_on(const Life& life, __ptrace_request how) {
  int status = 0;
  ptrace(how, life.pid(), nullptr, nullptr);
  waitpid(life.pid(), &status, 0);
  return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
}

uint64_t place_of(const Life& life) {
  return static_cast<uint64_t>(ptrace(PTRACE_PEEKUSER, life.pid(), offsetof(user, regs.rip), nullptr));
}

// Where the scene is before each of its instructions, one that repeats itself (rep) counted once. Each writer is forked
// from this process: the addresses are the same.
std::vector<uint64_t> trace(const Scene& scene) {
  Life life(false);
  begin_traced(life, scene);
  std::vector<uint64_t> places;
  do {
    const uint64_t place = place_of(life);
    if (places.empty() || places.back() != place) places.push_back(place);
  } while (go_on(life, PTRACE_SINGLESTEP));
  return places;
}

// Runs it for `steps` instructions: to the right pass over the place that comes then, by a breakpoint of the processor,
// which takes a stop a pass instead of one an instruction.
bool run_to(const Life& life, const std::vector<uint64_t>& places, size_t steps) {
  const auto first = places.begin() + 1, here = places.begin() + static_cast<std::ptrdiff_t>(steps);
  const auto set_register = [&life](size_t n, uint64_t value) {
    return ptrace(PTRACE_POKEUSER, life.pid(), offsetof(user, u_debugreg) + n * sizeof(uint64_t), value) == 0;
  };
  if (steps == 0) return true;
  if (!set_register(0, *here) || !set_register(7, 1)) return false;
  for (auto passes = std::count(first, here + 1, *here); passes > 0; --passes) {
    if (!go_on(life, PTRACE_CONT)) return false;
  }
  return place_of(life) == *here;
}

Row kill_at_each_instruction(const Scene& scene, uint64_t stride, ring::TickClock& clock) {
  const std::vector<uint64_t> places = trace(scene);
  Row row;
  for (size_t steps = 0; steps < places.size(); steps += stride) {
    Life life(false);
    begin_traced(life, scene);
    const bool there = run_to(life, places, steps);
    const bool killed = life.kill();
    Finding finding = life.read(clock, true);
    if (!there || !killed) {
      ++finding.tally[kStates].torn;
      finding.wrong.push_back(fmt::format("'{}' was not to be killed after {} instructions", scene.name, steps));
    }
    row.add(finding);
  }
  return row;
}

void wait_ns(int64_t ns) {
  const int64_t until = now_mono_ns() + ns;
  if (ns > 200'000) {
    const timespec pause{0, static_cast<long>(ns - 150'000)};
    nanosleep(&pause, nullptr);
  }
  while (now_mono_ns() < until) {
  }
}

Row kill_at_random(uint64_t seed, uint64_t kills, ring::TickClock& clock) {
  std::mt19937_64 random(seed);
  Row row;
  for (uint64_t i = 0; i < kills; ++i) {
    Life life(random() % 4 == 0);
    life.start([](Writer& writer) { writer.write_everything(); });
    if (random() % 8 != 0) {  // the others may die before they have begun
      while (!life.is_ready() && waitpid(life.pid(), nullptr, WNOHANG) == 0) usleep(20);
    }
    wait_ns(static_cast<int64_t>(random() % 2'500'000));
    Finding alive;
    if (random() % 8 == 0) alive = life.read(clock, false);
    const bool killed = life.kill();
    Finding finding = life.read(clock, true);
    for (size_t s = 0; s < kStructures; ++s) finding.tally[s].add(alive.tally[s]);
    finding.wrong.insert(finding.wrong.end(), alive.wrong.begin(), alive.wrong.end());
    if (!killed) finding.tally[kStates].torn++, finding.wrong.push_back("a writer ended by itself");
    row.add(finding);
  }
  return row;
}

// --- results, table -------------------------------------------------------------------------------------------------

class Results {
 public:
  explicit Results(const std::string& path) : path_(path) {
    std::ifstream in(path_);
    for (std::string name; std::getline(in, name);) {
      Row row;
      in >> row.kills >> row.right >> row.longest_read_ms;
      for (Tally& t : row.tally) in >> t.accepted >> t.torn >> t.refused;
      in.ignore();
      if (in) rows_[name] = row;
    }
  }
  void run(const std::string& name, const std::function<Row()>& make) {
    if (!rows_.contains(name)) {
      const Row& row = rows_[name] = make();
      if (!path_.empty()) write(name, row);
    }
    order_.push_back(name);
    fmt::print("{:<28} {:>6} kills, {:>6} right\n", name, rows_[name].kills, rows_[name].right);
    std::fflush(stdout);
  }
  Row sum() const {
    Row sum;
    for (const std::string& name : order_) sum.add(rows_.at(name));
    return sum;
  }

 private:
  void write(const std::string& name, const Row& row) {
    std::ofstream out(path_, std::ios::app);
    out << name << "\n" << row.kills << " " << row.right << " " << row.longest_read_ms;
    for (const Tally& t : row.tally) out << " " << t.accepted << " " << t.torn << " " << t.refused;
    out << "\n";
  }
  std::string path_;
  std::map<std::string, Row> rows_;
  std::vector<std::string> order_;
};

int print_table(const Row& sum) {
  fmt::print("\n| structure | lines taken | of these torn | half written, refused |\n|---|---|---|---|\n");
  for (size_t s = 0; s < kStructures; ++s) {
    fmt::print("| {} | {} | {} | {} |\n", kNames[s], sum.tally[s].accepted, sum.tally[s].torn, sum.tally[s].refused);
  }
  fmt::print("\nlongest reading: {:.2f} ms\nkilled_writers: {} of {} right\n", sum.longest_read_ms, sum.right, sum.kills);
  return sum.right == sum.kills && sum.kills > 0 ? 0 : 1;
}

int self_test() {
  ring::TickClock clock;
  size_t found = 0;
  for (const Scene& scene : broken_scenes()) {
    const Row row = kill_at_each_instruction(scene, 1, clock);
    const bool is_found = row.right < row.kills;
    found += is_found;
    fmt::print("{:<36} {} of {} kills show it\n", scene.name, row.kills - row.right, row.kills);
  }
  fmt::print("killed_writers_self_test: {} of {} right\n", found, broken_scenes().size());
  return found == broken_scenes().size() ? 0 : 1;
}

}  // namespace
}  // namespace railwitness::faults

int main(int argc, char** argv) {
  using namespace railwitness::faults;
  uint64_t kills = 10'000, seed = 1, stride = 1;
  std::string results_path;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--self-test") return self_test();
    if (i + 1 == argc) return fmt::print(stderr, "killed_writers: {} needs a value\n", option), 2;
    const char* value = argv[++i];
    if (option == "--results") results_path = value;
    else if (option == "--kills") kills = std::strtoull(value, nullptr, 10);
    else if (option == "--seed") seed = std::strtoull(value, nullptr, 10);
    else if (option == "--stride") stride = std::max<uint64_t>(std::strtoull(value, nullptr, 10), 1);
    else return fmt::print(stderr, "killed_writers: no option {}\n", option), 2;
  }
  railwitness::ring::TickClock clock;
  Results results(results_path);
  fmt::print("seed {}\n", seed);
  for (const Scene& scene : scenes()) {
    results.run(scene.name, [&] { return kill_at_each_instruction(scene, scene.stride * stride, clock); });
  }
  for (uint64_t block = 0; results.sum().kills < kills; ++block) {
    const uint64_t n = std::min(kBlock, kills - results.sum().kills);
    results.run(fmt::format("at random, {}", block), [&] { return kill_at_random(seed * 1'000'003 + block, n, clock); });
  }
  return print_table(results.sum());
}
