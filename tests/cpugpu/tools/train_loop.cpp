// One rank of a small training job: the same collective again and again, with every element checked.  Ranks are
// started one by one, each in a place of its own (a host of the virtual machine, a container), and find each other by
// a file.  Meant for libcpugpu.so, but uses nothing except the public NCCL and CUDA APIs.
//
//   SIGUSR1   this rank computes before its next collective (burns CPU, --compute-seconds), the others wait for it
//   SIGTERM   asks all ranks to end together after the current iteration
//
// The status file gets a line per iteration: monotonic seconds, number, wrong elements so far, seconds it took.
// Exit status: 0 no wrong element, 1 wrong elements or an error, 2 usage, 3 aborted (--timeout, or an error of NCCL).
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <getopt.h>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration;

volatile std::sig_atomic_t computeRequested = 0, stopRequested = 0;

void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(result));
}
void check(cudaError_t result, const char* what) {
  if (result != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}
#define CHECK(call) check(call, #call)

double monotonic() { return duration<double>(Clock::now().time_since_epoch()).count(); }

// --- command line -----------------------------------------------------------------------------------------------

struct Options {
  int rank = -1, ranks = 0;
  std::string idFile, statusFile;
  std::string operation = "allreduce";
  size_t bytes = 1 << 20;
  long iterations = 0;         // 0: no limit
  double seconds = 0;          // 0: no limit
  double gapSeconds = 0.05;    // between collectives
  double computeSeconds = 20;  // on SIGUSR1
  double timeout = 0;          // seconds without completion until this rank gives up; 0: never
};

const char* const kUsage =
    "train_loop --rank R --ranks N --id-file FILE [--op allreduce|allgather|reducescatter|broadcast] [--bytes B]\n"
    "           [--iterations I] [--seconds S] [--gap-seconds S] [--compute-seconds S] [--timeout S] [--status FILE]\n";

[[noreturn]] void usage(const std::string& problem) {
  std::fprintf(stderr, "train_loop: %s\n%s", problem.c_str(), kUsage);
  std::exit(2);
}

double parseNumber(const char* option, const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || value < 0) usage(std::string(option) + ": not a number: " + text);
  const double unit = *end == 'K' ? 1 << 10 : *end == 'M' ? 1 << 20 : *end == 'G' ? 1 << 30 : 1;
  if (*end != '\0' && (unit == 1 || end[1] != '\0')) usage(std::string(option) + ": not a number: " + text);
  return value * unit;
}

Options parse(int argc, char** argv) {
  enum { kRank, kRanks, kIdFile, kOp, kBytes, kIterations, kSeconds, kGap, kCompute, kTimeout, kStatus, kHelp };
  static const option table[] = {
      {"rank", 1, nullptr, kRank},         {"ranks", 1, nullptr, kRanks},
      {"id-file", 1, nullptr, kIdFile},    {"op", 1, nullptr, kOp},
      {"bytes", 1, nullptr, kBytes},       {"iterations", 1, nullptr, kIterations},
      {"seconds", 1, nullptr, kSeconds},   {"gap-seconds", 1, nullptr, kGap},
      {"compute-seconds", 1, nullptr, kCompute}, {"timeout", 1, nullptr, kTimeout},
      {"status", 1, nullptr, kStatus},     {"help", 0, nullptr, kHelp},
      {nullptr, 0, nullptr, 0}};
  Options options;
  int which = 0;
  for (int c; (c = getopt_long(argc, argv, "", table, &which)) != -1;) {
    const auto number = [&] { return parseNumber(table[which].name, optarg); };
    switch (c) {
      case kRank: options.rank = static_cast<int>(number()); break;
      case kRanks: options.ranks = static_cast<int>(number()); break;
      case kIdFile: options.idFile = optarg; break;
      case kOp: options.operation = optarg; break;
      case kBytes: options.bytes = static_cast<size_t>(number()); break;
      case kIterations: options.iterations = static_cast<long>(number()); break;
      case kSeconds: options.seconds = number(); break;
      case kGap: options.gapSeconds = number(); break;
      case kCompute: options.computeSeconds = number(); break;
      case kTimeout: options.timeout = number(); break;
      case kStatus: options.statusFile = optarg; break;
      case kHelp: std::fputs(kUsage, stdout); std::exit(0);
      default: usage("unknown option");
    }
  }
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks) usage("--rank and --ranks are needed");
  if (options.idFile.empty() && options.ranks > 1) usage("--id-file is needed");
  return options;
}

// --- data and operations ----------------------------------------------------------------------------------------

// Input of a rank: small integers, whose sums are exact, other ones in every iteration.  The period is prime, so that
// data which arrives in the wrong place does not look right.
constexpr size_t kPeriod = 4093;

const std::vector<float>& pattern() {
  static const std::vector<float> values = [] {
    std::vector<float> made(kPeriod);
    uint32_t state = 12345;
    for (float& value : made) {
      state = state * 1664525 + 1013904223;
      value = static_cast<float>(state >> 24);
    }
    return made;
  }();
  return values;
}

// Calls visit(i, value of the pattern) for `count` elements that start at `first`.
template <typename Visit>
void eachElement(long iteration, size_t first, size_t count, Visit visit) {
  const std::vector<float>& values = pattern();
  size_t place = (first + static_cast<size_t>(iteration) * 7) % kPeriod;
  for (size_t i = 0; i < count; i++) {
    visit(i, values[place]);
    if (++place == kPeriod) place = 0;
  }
}

float factorOf(int rank) { return static_cast<float>(rank + 1); }

struct Job {
  const Options& options;
  size_t count;  // elements of a block
  float *send, *recv;
  ncclComm_t comm;
  cudaStream_t stream;

  size_t ranks() const { return static_cast<size_t>(options.ranks); }
  float sumOfFactors() const { return static_cast<float>(options.ranks * (options.ranks + 1)) / 2; }
};

struct Operation {
  bool sendsAll, receivesAll;  // a block per rank, else one block
  std::function<ncclResult_t(const Job&)> run;
  // What the pattern is multiplied with in block `block` of the result, and which element of it the block starts with.
  std::function<float(const Job&, size_t block)> factor;
  std::function<size_t(const Job&, size_t block)> first;
};

const Operation& findOperation(const std::string& name) {
  const auto sum = [](const Job& job, size_t) { return job.sumOfFactors(); };
  const auto start = [](const Job&, size_t) { return size_t{0}; };
  static const std::map<std::string, Operation> operations = {
      {"allreduce", {false, false,
          [](const Job& j) { return ncclAllReduce(j.send, j.recv, j.count, ncclFloat, ncclSum, j.comm, j.stream); }, sum, start}},
      {"allgather", {false, true,
          [](const Job& j) { return ncclAllGather(j.send, j.recv, j.count, ncclFloat, j.comm, j.stream); },
          [](const Job&, size_t block) { return factorOf(static_cast<int>(block)); }, start}},
      {"reducescatter", {true, false,
          [](const Job& j) { return ncclReduceScatter(j.send, j.recv, j.count, ncclFloat, ncclSum, j.comm, j.stream); }, sum,
          [](const Job& j, size_t) { return static_cast<size_t>(j.options.rank) * j.count; }}},
      {"broadcast", {false, false,
          [](const Job& j) { return ncclBroadcast(j.send, j.recv, j.count, ncclFloat, 0, j.comm, j.stream); },
          [](const Job&, size_t) { return factorOf(0); }, start}}};
  const auto found = operations.find(name);
  if (found == operations.end()) usage("unknown operation " + name);
  return found->second;
}

void fill(const Job& job, const Operation& operation, long iteration) {
  const float factor = factorOf(job.options.rank);
  const size_t received = job.count * (operation.receivesAll ? job.ranks() : 1);
  eachElement(iteration, 0, job.count * (operation.sendsAll ? job.ranks() : 1),
              [&](size_t i, float value) { job.send[i] = value * factor; });
  std::memset(job.recv, 0xaa, received * sizeof(float));
}

size_t countWrongElements(const Job& job, const Operation& operation, long iteration) {
  size_t wrong = 0;
  for (size_t block = 0; block < (operation.receivesAll ? job.ranks() : 1); block++) {
    const float factor = operation.factor(job, block);
    const float* const got = job.recv + block * job.count;
    eachElement(iteration, operation.first(job, block), job.count, [&](size_t i, float value) {
      if (got[i] == value * factor) return;
      if (wrong++ == 0) {
        std::printf("rank %d: iteration %ld, element %zu is %g, expected %g\n", job.options.rank, iteration,
                    block * job.count + i, static_cast<double>(got[i]), static_cast<double>(value * factor));
      }
    });
  }
  return wrong;
}

// --- rendezvous -------------------------------------------------------------------------------------------------

// Rank 0 puts the file there complete, by rename; the others wait for it.
ncclUniqueId agreeOnId(const Options& options) {
  ncclUniqueId id;
  if (options.rank == 0) {
    CHECK(ncclGetUniqueId(&id));
    if (options.idFile.empty()) return id;
    const std::string temporary = options.idFile + ".new";
    std::ofstream(temporary, std::ios::binary).write(id.internal, sizeof(id.internal));
    if (std::rename(temporary.c_str(), options.idFile.c_str()) != 0) throw std::runtime_error("cannot write " + options.idFile);
    return id;
  }
  for (const auto start = Clock::now(); Clock::now() - start < std::chrono::seconds(120);) {
    if (std::ifstream(options.idFile, std::ios::binary).read(id.internal, sizeof(id.internal))) return id;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw std::runtime_error("no " + options.idFile + " within 120 s");
}

// --- the loop ---------------------------------------------------------------------------------------------------

class Status {
 public:
  explicit Status(const std::string& path) {
    if (path.empty()) return;
    fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd_ < 0) throw std::runtime_error("cannot write " + path);
  }
  ~Status() { if (fd_ >= 0) close(fd_); }
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;

  void add(long iteration, size_t wrong, double seconds) const {
    char line[96];
    const int size = std::snprintf(line, sizeof(line), "%.3f %ld %zu %.3f\n", monotonic(), iteration, wrong, seconds);
    if (fd_ >= 0 && write(fd_, line, static_cast<size_t>(size)) != size) std::perror("train_loop: status");
  }

 private:
  int fd_ = -1;
};

// A rank whose GPU or data loader is busy: it does not come to the collective, and nothing else is wrong with it.
void compute(const Options& options) {
  std::printf("rank %d: computes for %g s from %.3f\n", options.rank, options.computeSeconds, monotonic());
  std::fflush(stdout);
  volatile double value = 1;
  for (const double end = monotonic() + options.computeSeconds; monotonic() < end;) {
    for (int i = 0; i < 10000; i++) value = value * 1.0000001;
  }
}

void sleepFor(double seconds) {
  for (const double end = monotonic() + seconds;;) {
    const double left = end - monotonic();
    if (left <= 0 || computeRequested != 0) return;
    std::this_thread::sleep_for(duration<double>(std::min(left, 0.05)));
  }
}

void waitForCompletion(const Job& job) {
  const double start = monotonic();
  while (cudaStreamQuery(job.stream) == cudaErrorNotReady) {
    ncclResult_t status = ncclSuccess;
    CHECK(ncclCommGetAsyncError(job.comm, &status));
    const double seconds = monotonic() - start;
    const bool failed = status != ncclSuccess && status != ncclInProgress;
    if (!failed && (job.options.timeout == 0 || seconds < job.options.timeout)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    std::printf("rank %d: %s after %.1f s at %.3f, aborts\n", job.options.rank,
                failed ? ncclGetErrorString(status) : "no completion", seconds, monotonic());
    std::fflush(stdout);
    ncclCommAbort(job.comm);
    _exit(3);
  }
}

// Returns the number of wrong elements.  Every iteration ends with a vote, so that all ranks stop after the same one.
size_t loop(const Job& job, const Operation& operation, int* vote) {
  const Options& options = job.options;
  const Status status(options.statusFile);
  const double start = monotonic();
  size_t wrong = 0;
  long iteration = 0;
  for (bool more = true; more; iteration++) {
    if (computeRequested != 0) {
      computeRequested = 0;
      compute(options);
    }
    fill(job, operation, iteration);
    const bool enough = (options.iterations != 0 && iteration + 1 >= options.iterations) ||
                        (options.seconds != 0 && monotonic() - start >= options.seconds);
    vote[0] = stopRequested != 0 || enough ? 1 : 0;
    const double begin = monotonic();
    CHECK(operation.run(job));
    CHECK(ncclAllReduce(vote, vote + 1, 1, ncclInt, ncclMax, job.comm, job.stream));
    waitForCompletion(job);
    wrong += countWrongElements(job, operation, iteration);
    status.add(iteration, wrong, monotonic() - begin);
    more = vote[1] == 0;
    if (more) sleepFor(options.gapSeconds);
  }
  std::printf("rank %d: %ld iterations in %.1f s, %zu wrong elements\n", options.rank, iteration, monotonic() - start, wrong);
  return wrong;
}

int run(const Options& options) {
  // Ranks on one machine pose as hosts of their own; without it NCCL refuses two ranks with the same device.
  setenv("NCCL_HOSTID", ("train-loop-" + std::to_string(options.rank)).c_str(), /*overwrite=*/0);
  const Operation& operation = findOperation(options.operation);
  const double start = monotonic();
  ncclComm_t comm;
  cudaStream_t stream;
  CHECK(cudaSetDevice(0));
  CHECK(ncclCommInitRank(&comm, options.ranks, agreeOnId(options), options.rank));
  CHECK(cudaStreamCreate(&stream));
  std::printf("rank %d: communicator of %d ranks ready after %.2f s\n", options.rank, options.ranks, monotonic() - start);
  std::fflush(stdout);

  // --bytes is the size of the larger buffer, as in nccl-tests.
  const size_t blocks = operation.sendsAll || operation.receivesAll ? static_cast<size_t>(options.ranks) : 1;
  Job job = {options, std::max<size_t>(1, options.bytes / sizeof(float) / blocks), nullptr, nullptr, comm, stream};
  int* vote = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&job.send), job.count * blocks * sizeof(float)));
  CHECK(cudaMalloc(reinterpret_cast<void**>(&job.recv), job.count * blocks * sizeof(float)));
  CHECK(cudaMalloc(reinterpret_cast<void**>(&vote), 2 * sizeof(int)));
  const size_t wrong = loop(job, operation, vote);
  CHECK(cudaFree(vote));
  CHECK(cudaFree(job.recv));
  CHECK(cudaFree(job.send));
  CHECK(cudaStreamDestroy(stream));
  CHECK(ncclCommDestroy(comm));
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  struct sigaction action = {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int) { computeRequested = 1; };
  sigaction(SIGUSR1, &action, nullptr);
  action.sa_handler = [](int) { stopRequested = 1; };
  sigaction(SIGTERM, &action, nullptr);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::printf("rank %d: %s\n", options.rank, error.what());
    return 1;
  }
}
