// Runs an NCCL operation between several ranks, checks every element of the result and prints a table in the manner
// of nccl-tests.  Ranks are processes of this machine, each pretending to be a host of its own, so that all data goes
// through NCCL's network transport.  Meant for libcpugpu.so, but uses nothing except the public NCCL and CUDA APIs.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <getopt.h>
#include <map>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration;

// --- command line -----------------------------------------------------------------------------------------------

struct Options {
  int ranks = 2;
  std::string operation = "allreduce";
  std::string type = "float";
  std::string reduction = "sum";
  size_t minBytes = 8, maxBytes = 64 << 20;
  size_t factor = 4;
  int iterations = 5, warmup = 1;
  int root = 0;
  bool inPlace = false;
  bool registered = false;
  double timeout = 60;   // seconds without completion until a rank gives up
  int stallRank = -1;    // this rank runs the operation once, then never again
  int killRank = -1;     // this rank dies by SIGKILL after its first run
  int abortRank = -1;    // this rank aborts its communicator after its first run
  int groups = 1;        // the communicator is split; rank r belongs to group r % groups
  int communicators = 1; // so many, one after another
  bool cpuTime = false;  // also print what an operation takes of the processors
  bool reports = true;   // this rank prints the table
};

const char* const kUsage =
    "coll_perf [-n RANKS] [-c OPERATION] [-d TYPE] [-o sum|prod|min|max|avg] [-b MINBYTES] [-e MAXBYTES] [-f FACTOR]\n"
    "          [-i ITERATIONS] [-w WARMUP] [-r ROOT] [-p (in place)] [-R (register buffers)]\n"
    "          [-T TIMEOUT_S] [-S STALLED_RANK] [-K KILLED_RANK] [-A ABORTING_RANK]\n"
    "          [-G GROUPS (split the communicator)] [-C COMMUNICATORS (one after another)] [-U (print processor time)]\n"
    "operations: allreduce allgather reducescatter broadcast reduce sendrecv alltoall\n"
    "RANKn_NAME=value in the environment sets NAME=value in rank n alone\n"
    "types: int8 uint8 int32 uint32 int64 uint64 half float double bfloat16\n";

size_t parseBytes(const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  const double unit = *end == 'K' ? 1 << 10 : *end == 'M' ? 1 << 20 : *end == 'G' ? 1 << 30 : 1;
  return static_cast<size_t>(value * unit);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int c; (c = getopt(argc, argv, "n:c:d:o:b:e:f:i:w:r:pRT:S:K:A:G:C:Uh")) != -1;) {
    switch (c) {
      case 'U': options.cpuTime = true; break;
      case 'n': options.ranks = std::atoi(optarg); break;
      case 'c': options.operation = optarg; break;
      case 'd': options.type = optarg; break;
      case 'o': options.reduction = optarg; break;
      case 'b': options.minBytes = parseBytes(optarg); break;
      case 'e': options.maxBytes = parseBytes(optarg); break;
      case 'f': options.factor = parseBytes(optarg); break;
      case 'i': options.iterations = std::atoi(optarg); break;
      case 'w': options.warmup = std::atoi(optarg); break;
      case 'r': options.root = std::atoi(optarg); break;
      case 'p': options.inPlace = true; break;
      case 'R': options.registered = true; break;
      case 'T': options.timeout = std::atof(optarg); break;
      case 'S': options.stallRank = std::atoi(optarg); break;
      case 'K': options.killRank = std::atoi(optarg); break;
      case 'A': options.abortRank = std::atoi(optarg); break;
      case 'G': options.groups = std::atoi(optarg); break;
      case 'C': options.communicators = std::atoi(optarg); break;
      default: std::fputs(kUsage, stderr); std::exit(c == 'h' ? 0 : 2);
    }
  }
  return options;
}

// --- data types -------------------------------------------------------------------------------------------------

float fromBfloat16(uint16_t bits) {
  const uint32_t word = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

uint16_t toBfloat16(float value) {  // exact for the small integers used here
  uint32_t word;
  std::memcpy(&word, &value, sizeof(word));
  return static_cast<uint16_t>(word >> 16);
}

double fromHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

uint16_t toHalf(double value) {  // exact for the small integers used here, except 0
  int exponent;
  const double mantissa = std::frexp(std::fabs(value), &exponent);
  const int magnitude = (exponent + 14) << 10 | (static_cast<int>(mantissa * 2048) & 0x3ff);
  return static_cast<uint16_t>(magnitude | (value < 0 ? 0x8000 : 0));
}

struct Type {
  ncclDataType_t nccl;
  size_t size;
  bool isSigned, isInteger;
  double tolerance;  // of averages; everything else is exact
  std::function<double(const void*, size_t)> get;
  std::function<void(void*, size_t, double)> set;
};

template <typename T>
Type plainType(ncclDataType_t nccl, double tolerance) {
  return {nccl, sizeof(T), std::is_signed_v<T>, std::is_integral_v<T>, tolerance,
          [](const void* data, size_t i) { return static_cast<double>(static_cast<const T*>(data)[i]); },
          [](void* data, size_t i, double value) { static_cast<T*>(data)[i] = static_cast<T>(static_cast<int64_t>(value)); }};
}

template <auto get, auto set>
Type shortFloat(ncclDataType_t nccl, double tolerance) {
  using Value = decltype(get(uint16_t{}));
  return {nccl, 2, true, false, tolerance, [](const void* data, size_t i) { return get(static_cast<const uint16_t*>(data)[i]); },
          [](void* data, size_t i, double value) { static_cast<uint16_t*>(data)[i] = set(static_cast<Value>(value)); }};
}

Type findType(const std::string& name) {
  static const std::map<std::string, Type> types = {
      {"int8", plainType<int8_t>(ncclInt8, 0)},        {"uint8", plainType<uint8_t>(ncclUint8, 0)},
      {"int32", plainType<int32_t>(ncclInt32, 0)},     {"uint32", plainType<uint32_t>(ncclUint32, 0)},
      {"int64", plainType<int64_t>(ncclInt64, 0)},     {"uint64", plainType<uint64_t>(ncclUint64, 0)},
      {"float", plainType<float>(ncclFloat, 1e-6)},    {"double", plainType<double>(ncclDouble, 1e-14)},
      {"half", shortFloat<fromHalf, toHalf>(ncclHalf, 4e-3)},
      {"bfloat16", shortFloat<fromBfloat16, toBfloat16>(ncclBfloat16, 4e-2)}};
  const auto found = types.find(name);
  if (found == types.end()) throw std::invalid_argument("unknown type " + name);
  return found->second;
}

// Test data, pseudo-random in rank and position: 2, 1 or (signed types) -1.  Sums and products of few of these are
// exact in every type.
double inputValue(const Type& type, int rank, size_t index) {
  const uint64_t key = (index + 1) * 0x9e3779b97f4a7c15ull ^ static_cast<uint64_t>(rank + 1) * 0xd1b54a32d192ed03ull;
  const uint64_t random = (key ^ key >> 29) * 0xbf58476d1ce4e5b9ull >> 62;
  return random < 2 ? 2 : random == 2 && type.isSigned ? -1 : 1;
}

// --- operations -------------------------------------------------------------------------------------------------

void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(result));
}
void check(cudaError_t result, const char* what) {
  if (result != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}
#define CHECK(call) check(call, #call)

// One rank's view of one operation on `count` elements; count is what the NCCL call takes.
struct Job {
  const Options& options;
  int rank;
  Type type;
  size_t count;
  char *send, *recv;
  ncclComm_t comm;
  cudaStream_t stream;
};

ncclRedOp_t reductionOf(const std::string& name) {
  static const std::map<std::string, ncclRedOp_t> reductions = {
      {"sum", ncclSum}, {"prod", ncclProd}, {"min", ncclMin}, {"max", ncclMax}, {"avg", ncclAvg}};
  return reductions.at(name);
}

double expectedReduction(const Job& job, size_t index) {
  const std::string& op = job.options.reduction;
  double value = inputValue(job.type, 0, index);
  for (int rank = 1; rank < job.options.ranks; rank++) {
    const double other = inputValue(job.type, rank, index);
    value = op == "prod" ? value * other : op == "min" ? std::min(value, other) : op == "max" ? std::max(value, other)
                                                                                             : value + other;
  }
  if (op == "avg") value /= job.options.ranks;
  return value;
}

struct Operation {
  // Buffer sizes in multiples of count, as functions of the number of ranks.
  std::function<size_t(size_t)> sendBlocks, recvBlocks;
  std::function<ncclResult_t(const Job&)> run;
  // Value of recv[index] on this rank; NaN where the operation leaves recv alone.
  std::function<double(const Job&, size_t index)> expected;
  // Bus bandwidth relative to (bytes per rank / time), as defined by nccl-tests.
  std::function<double(double)> busFactor;
};

Operation findOperation(const std::string& name) {
  const auto one = [](size_t) { return size_t{1}; };
  const auto all = [](size_t n) { return n; };
  const auto share = [](double n) { return (n - 1) / n; };
  const auto neighbours = [](const Job& job) {
    return std::pair{(job.rank + 1) % job.options.ranks, (job.rank + job.options.ranks - 1) % job.options.ranks};
  };
  static const std::map<std::string, Operation> operations = {
      {"allreduce", {one, one,
          [](const Job& j) { return ncclAllReduce(j.send, j.recv, j.count, j.type.nccl, reductionOf(j.options.reduction), j.comm, j.stream); },
          expectedReduction, [](double n) { return 2 * (n - 1) / n; }}},
      {"reduce", {one, one,
          [](const Job& j) { return ncclReduce(j.send, j.recv, j.count, j.type.nccl, reductionOf(j.options.reduction), j.options.root, j.comm, j.stream); },
          [](const Job& j, size_t i) { return j.rank == j.options.root ? expectedReduction(j, i) : std::nan(""); },
          [](double) { return 1.0; }}},
      {"reducescatter", {all, one,
          [](const Job& j) { return ncclReduceScatter(j.send, j.recv, j.count, j.type.nccl, reductionOf(j.options.reduction), j.comm, j.stream); },
          [](const Job& j, size_t i) { return expectedReduction(j, j.rank * j.count + i); }, share}},
      {"allgather", {one, all,
          [](const Job& j) { return ncclAllGather(j.send, j.recv, j.count, j.type.nccl, j.comm, j.stream); },
          [](const Job& j, size_t i) { return inputValue(j.type, static_cast<int>(i / j.count), i % j.count); }, share}},
      {"broadcast", {one, one,
          [](const Job& j) { return ncclBroadcast(j.send, j.recv, j.count, j.type.nccl, j.options.root, j.comm, j.stream); },
          [](const Job& j, size_t i) { return inputValue(j.type, j.options.root, i); }, [](double) { return 1.0; }}},
      {"sendrecv", {one, one,
          [=](const Job& j) {
            const auto [next, previous] = neighbours(j);
            ncclGroupStart();
            ncclSend(j.send, j.count, j.type.nccl, next, j.comm, j.stream);
            ncclRecv(j.recv, j.count, j.type.nccl, previous, j.comm, j.stream);
            return ncclGroupEnd();
          },
          [=](const Job& j, size_t i) { return inputValue(j.type, neighbours(j).second, i); }, [](double) { return 1.0; }}},
      {"alltoall", {all, all,
          [](const Job& j) {
            const size_t block = j.count * j.type.size;
            ncclGroupStart();
            for (int peer = 0; peer < j.options.ranks; peer++) {
              ncclSend(j.send + peer * block, j.count, j.type.nccl, peer, j.comm, j.stream);
              ncclRecv(j.recv + peer * block, j.count, j.type.nccl, peer, j.comm, j.stream);
            }
            return ncclGroupEnd();
          },
          [](const Job& j, size_t i) {
            return inputValue(j.type, static_cast<int>(i / j.count), j.rank * j.count + i % j.count);
          }, share}}};
  const auto found = operations.find(name);
  if (found == operations.end()) throw std::invalid_argument("unknown operation " + name);
  return found->second;
}

// --- one rank ---------------------------------------------------------------------------------------------------

// What the rank processes share.
struct Shared {
  ncclUniqueId id;
  std::atomic<int> idReady, arrived, wrongElements;
  std::atomic<long> cpuNs;  // of all ranks, for the size that is measured
};

class Barrier {
 public:
  Barrier(Shared& shared, int ranks) : shared_(shared), ranks_(ranks) {}
  void wait() {
    goal_ += ranks_;
    shared_.arrived++;
    while (shared_.arrived < goal_) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

 private:
  Shared& shared_;
  int ranks_, goal_ = 0;
};

[[noreturn]] void abortAndExit(int rank, ncclComm_t comm, int status) {
  const auto start = Clock::now();
  const ncclResult_t aborted = ncclCommAbort(comm);
  std::printf("rank %d: ncclCommAbort returned \"%s\" after %.3f s\n", rank, ncclGetErrorString(aborted),
              duration<double>(Clock::now() - start).count());
  std::fflush(stdout);
  _exit(status);
}

// Waits for the stream like a careful application does: watches for asynchronous errors and for the clock.
void waitForCompletion(const Job& job) {
  const auto start = Clock::now();
  while (cudaStreamQuery(job.stream) == cudaErrorNotReady) {
    ncclResult_t status = ncclSuccess;
    CHECK(ncclCommGetAsyncError(job.comm, &status));
    const double seconds = duration<double>(Clock::now() - start).count();
    if (status != ncclSuccess && status != ncclInProgress) {
      std::printf("rank %d: asynchronous error after %.2f s: %s\n", job.rank, seconds, ncclGetErrorString(status));
    } else if (seconds > job.options.timeout) {
      std::printf("rank %d: no completion within %.1f s\n", job.rank, seconds);
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      continue;
    }
    abortAndExit(job.rank, job.comm, 3);
  }
}

int countWrongElements(const Job& job, const Operation& operation) {
  int wrong = 0;
  const size_t total = job.count * operation.recvBlocks(job.options.ranks);
  const double tolerance = job.options.reduction == "avg" ? job.type.tolerance : 0;
  char expectedBytes[8];
  for (size_t i = 0; i < total; i++) {
    double expected = operation.expected(job, i);
    if (std::isnan(expected)) continue;
    if (job.type.isInteger) {  // integers: truncate and wrap like the type itself
      job.type.set(expectedBytes, 0, expected);
      expected = job.type.get(expectedBytes, 0);
    }
    const double got = job.type.get(job.recv, i);
    if (!(std::fabs(got - expected) <= tolerance * (1 + std::fabs(expected)))) {
      if (wrong++ == 0) std::printf("rank %d: element %zu is %g, expected %g\n", job.rank, i, got, expected);
    }
  }
  return wrong;
}

// What is to happen to this rank after its first operation, if anything.
void sufferFault(const Options& options, int rank, ncclComm_t comm) {
  if (rank == options.killRank) {
    std::printf("rank %d: dies now\n", rank);
    std::fflush(stdout);
    raise(SIGKILL);
  }
  if (rank == options.stallRank) {
    std::printf("rank %d: stays away\n", rank);
    std::fflush(stdout);
    for (;;) pause();
  }
  if (rank == options.abortRank) abortAndExit(rank, comm, 0);
}

// Of this rank's process, all threads, with the kernel's part.
long cpuNs() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) { return time.tv_sec * 1000000000L + time.tv_usec * 1000L; };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

void runSize(const Options& options, const Operation& operation, size_t bytes, int rank, ncclComm_t comm,
             cudaStream_t stream, Shared& shared, Barrier& barrier) {
  const Type type = findType(options.type);
  const size_t blocks = std::max(operation.sendBlocks(options.ranks), operation.recvBlocks(options.ranks));
  // `bytes` is the size of the larger buffer, as in nccl-tests.
  const size_t count = std::max<size_t>(1, bytes / type.size / blocks), block = count * type.size;
  char *first = nullptr, *second = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&first), block * blocks));
  CHECK(cudaMalloc(reinterpret_cast<void**>(&second), block * blocks));
  Job job = {options, rank, type, count, first, second, comm, stream};
  if (options.inPlace) {
    // The smaller of both buffers is this rank's block of the larger one.
    job.send = operation.sendBlocks(options.ranks) < blocks ? first + rank * block : first;
    job.recv = operation.recvBlocks(options.ranks) < blocks ? first + rank * block : first;
  }
  void *firstHandle = nullptr, *secondHandle = nullptr;
  if (options.registered) {
    CHECK(ncclCommRegister(comm, first, block * blocks, &firstHandle));
    CHECK(ncclCommRegister(comm, second, block * blocks, &secondHandle));
  }
  const auto fill = [&] {
    std::memset(first, 0xaa, block * blocks);
    std::memset(second, 0xaa, block * blocks);
    for (size_t i = 0; i < job.count * operation.sendBlocks(options.ranks); i++) type.set(job.send, i, inputValue(type, rank, i));
  };
  const auto run = [&](int times) {
    for (int i = 0; i < times; i++) CHECK(operation.run(job));
    waitForCompletion(job);
  };
  const auto verify = [&] { shared.wrongElements += countWrongElements(job, operation); };
  fill();
  barrier.wait();
  run(1);
  verify();
  barrier.wait();
  sufferFault(options, rank, comm);
  run(options.warmup);
  barrier.wait();
  const long cpuBefore = cpuNs();
  const auto start = Clock::now();
  run(options.iterations);
  const double seconds = duration<double>(Clock::now() - start).count() / std::max(1, options.iterations);
  shared.cpuNs += cpuNs() - cpuBefore;
  if (!options.inPlace) verify();  // in place, later runs have started from other data
  barrier.wait();
  if (options.reports) {
    const double algorithmBandwidth = static_cast<double>(block * blocks) / seconds / 1e6;
    std::printf("%12zu %12zu %9s %6s %11.1f %11.1f %11.1f %8d\n", block * blocks, job.count, options.type.c_str(),
                options.reduction.c_str(), seconds * 1e6, algorithmBandwidth,
                algorithmBandwidth * operation.busFactor(options.ranks), shared.wrongElements.load());
    const long spent = shared.cpuNs.exchange(0);  // nobody adds before the next barrier
    if (options.cpuTime) std::printf("# %zu bytes: %ld CPU ns an operation\n", block * blocks, spent / std::max(1, options.iterations));
    std::fflush(stdout);
  }
  if (options.registered) {
    CHECK(ncclCommDeregister(comm, firstHandle));
    CHECK(ncclCommDeregister(comm, secondHandle));
  }
  CHECK(cudaFree(first));
  CHECK(cudaFree(second));
}

// Gives this rank an environment of its own: RANK1_NCCL_IB_HCA=x in the environment means NCCL_IB_HCA=x in rank 1.
void takeOwnEnvironment(int rank) {
  const std::string prefix = "RANK" + std::to_string(rank) + "_";
  std::vector<std::string> own;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (std::strncmp(*entry, prefix.c_str(), prefix.size()) == 0) own.push_back(*entry + prefix.size());
  for (const std::string& assignment : own) {
    const size_t equals = assignment.find('=');
    setenv(assignment.substr(0, equals).c_str(), assignment.c_str() + equals + 1, 1);
  }
}

// The options as they look from inside the group of this rank, where ranks have other numbers.
Options optionsOfGroup(Options options, int rank) {
  const int group = rank % options.groups;
  options.ranks = (options.ranks - group + options.groups - 1) / options.groups;
  for (int* special : {&options.killRank, &options.stallRank, &options.abortRank}) {
    *special = *special >= 0 && *special % options.groups == group ? *special / options.groups : -1;
  }
  options.reports = rank == 0;
  return options;
}

// From the first to the last call on one communicator.
void runCommunicator(const Options& all, int rank, Shared& shared, Barrier& barrier) {
  const Options options = optionsOfGroup(all, rank);
  const Operation operation = findOperation(options.operation);
  ncclComm_t whole, comm;
  cudaStream_t stream;
  const auto start = Clock::now();
  CHECK(cudaSetDevice(0));
  CHECK(ncclCommInitRank(&whole, all.ranks, shared.id, rank));
  comm = whole;
  if (all.groups > 1) CHECK(ncclCommSplit(whole, rank % all.groups, rank, &comm, nullptr));
  CHECK(cudaStreamCreate(&stream));
  if (options.reports) {
    std::printf("# %s, %d ranks, %s, communicator ready after %.2f s\n", options.operation.c_str(), options.ranks,
                options.inPlace ? "in place" : "out of place", duration<double>(Clock::now() - start).count());
    std::printf("#%11s %12s %9s %6s %11s %11s %11s %8s\n", "bytes", "count", "type", "redop", "time(us)", "algbw(MB/s)",
                "busbw(MB/s)", "#wrong");
  }
  for (size_t bytes = options.minBytes; bytes <= options.maxBytes; bytes *= options.factor) {
    runSize(options, operation, bytes, rank / all.groups, comm, stream, shared, barrier);
  }
  CHECK(cudaStreamDestroy(stream));
  if (comm != whole) CHECK(ncclCommDestroy(comm));
  CHECK(ncclCommDestroy(whole));
}

void runRank(const Options& options, int rank, Shared& shared) {
  takeOwnEnvironment(rank);
  setenv("NCCL_HOSTID", ("cpugpu-host-" + std::to_string(rank)).c_str(), 1);
  Barrier barrier(shared, options.ranks);
  for (int number = 1; number <= options.communicators; number++) {
    if (rank == 0) {
      CHECK(ncclGetUniqueId(&shared.id));
      shared.idReady = number;
    }
    while (shared.idReady < number) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    runCommunicator(options, rank, shared, barrier);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  auto* shared = static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) return 2;
  std::vector<pid_t> children;
  for (int rank = 0; rank < options.ranks; rank++) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      int status = 0;
      try {
        runRank(options, rank, *shared);
      } catch (const std::exception& error) {
        std::printf("rank %d: %s\n", rank, error.what());
        status = 1;
      }
      std::fflush(stdout);
      if (status != 0) _exit(status);
      std::exit(0);
    }
    children.push_back(child);
  }
  bool failed = false;
  // With a stalled rank: the others end by their own timeout, then the stalled one is removed.
  for (int rank = 0; rank < options.ranks; rank++) {
    if (rank == options.stallRank) continue;
    int status = 0;
    waitpid(children[rank], &status, 0);
    if (status == 0) continue;
    failed = true;
    if (WIFSIGNALED(status)) std::printf("rank %d: killed by signal %d\n", rank, WTERMSIG(status));
  }
  if (options.stallRank >= 0) {
    kill(children[options.stallRank], SIGKILL);
    waitpid(children[options.stallRank], nullptr, 0);
  }
  std::printf("# %s, %d wrong elements\n", failed ? "FAILED" : "all ranks finished", shared->wrongElements.load());
  return failed || shared->wrongElements != 0 ? 1 : 0;
}
