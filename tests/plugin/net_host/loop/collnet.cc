// The loop plugin's CollNet tables: two ranks and more, sums of floats over the Unix sockets of its net. Rank 0 is the
// switch. Small messages only: each fits a socket's buffer, so that no rank waits for another before `test`.
#include "tests/plugin/net_host/loop/state.h"

#include <cerrno>
#include <cstring>
#include <numeric>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace railwitness::net_host::loop {
namespace {

constexpr int kFloat32 = 7, kSum = 0;  // ncclFloat32, ncclSum
constexpr int kLongest_ms = 10'000;
constexpr size_t kMostBytes = 64 * 1024;

struct Group {
  int rank, ranks;
  std::vector<int> fds;  // rank 0: to each other rank; else to rank 0
  std::set<void*> keys;
};

struct Operation {  // NCCL may have several; here each ends before the next is accepted
  Group* group;
  std::vector<char> mine;      // what this rank gives
  bool reduces;
  std::vector<std::pair<char*, size_t>> out;
  size_t offset, bytes;        // of the whole result: what `out` gets
};

bool transfer(int fd, char* data, size_t bytes, bool sends) {
  while (bytes) {
    pollfd p{fd, static_cast<short>(sends ? POLLOUT : POLLIN), 0};
    if (poll(&p, 1, kLongest_ms) != 1) return false;
    const ssize_t n = sends ? send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) : recv(fd, data, bytes, MSG_DONTWAIT);
    if (n <= 0) return false;
    data += n, bytes -= static_cast<size_t>(n);
  }
  return true;
}

void add(std::vector<char>& sum, const std::vector<char>& more) {
  for (size_t i = 0; i + sizeof(float) <= sum.size(); i += sizeof(float)) {
    float a, b;
    memcpy(&a, &sum[i], sizeof a), memcpy(&b, &more[i], sizeof b);
    a += b;
    memcpy(&sum[i], &a, sizeof a);
  }
}

// All ranks' data, added up or one after the other, at every rank.
bool run(Operation& o, std::vector<char>* all) {
  const size_t n = o.mine.size();
  *all = o.mine;
  if (o.group->rank) {
    all->resize(o.reduces ? n : n * static_cast<size_t>(o.group->ranks));
    return transfer(o.group->fds[0], all->data(), all->size(), false);
  }
  for (const int fd : o.group->fds) {
    std::vector<char> theirs(n);
    if (!transfer(fd, theirs.data(), n, false)) return false;
    if (o.reduces) add(*all, theirs);
    else all->insert(all->end(), theirs.begin(), theirs.end());
  }
  for (const int fd : o.group->fds)
    if (!transfer(fd, all->data(), all->size(), true)) return false;
  return true;
}

Result start(void* comm, const void* mine, size_t bytes, bool reduces, std::vector<std::pair<char*, size_t>> out,
             size_t offset, size_t window, void** request) {
  auto* group = static_cast<Group*>(comm);
  *request = nullptr;
  if (bytes > kMostBytes) return abi::kInvalidArgument;
  auto* o = new Operation{group, std::vector<char>(bytes), reduces, std::move(out), offset, window};
  memcpy(o->mine.data(), mine, bytes);
  if (group->rank && !transfer(group->fds[0], o->mine.data(), bytes, true)) return abi::kRemoteError;
  counters.posts++;
  *request = o;
  return abi::kSuccess;
}

Result test_collective(void* request, int* done, int* size) {
  auto* o = static_cast<Operation*>(request);
  *done = 0;
  if (!o->group) {  // a flush
    *done = 1;
    delete o;
    return abi::kSuccess;
  }
  std::vector<char> all;
  if (!run(*o, &all)) return abi::kRemoteError;
  size_t at = o->offset;
  const size_t end = o->offset + o->bytes;
  for (const auto& [to, room] : o->out) {
    const size_t n = std::min(room, end - at);
    memcpy(to, all.data() + at, n);
    at += n;
  }
  *done = 1;
  if (size) *size = static_cast<int>(o->bytes);
  delete o;
  return abi::kSuccess;
}

Result connect_group(void** handles, int ranks, int rank, void* listen_comm, void** comm) {
  auto* group = new Group{rank, ranks, {}, {}};
  const int fd_of_listener = static_cast<Comm*>(listen_comm)->fd;
  for (int i = 1; i < ranks && !rank; i++) {
    pollfd p{fd_of_listener, POLLIN, 0};
    if (poll(&p, 1, kLongest_ms) != 1) return abi::kRemoteError;
    group->fds.push_back(accept4(fd_of_listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  }
  if (rank) {
    void* send_comm = nullptr;
    while (!send_comm)
      if (const Result result = connect(nullptr, 0, abi::kUndefined, handles[0], &send_comm, nullptr); result) return result;
    group->fds.push_back(dup(static_cast<Comm*>(send_comm)->fd));
    close_send(send_comm);
  }
  *comm = group;
  return abi::kSuccess;
}

Result close_group(void* comm) {
  auto* group = static_cast<Group*>(comm);
  if (!group->keys.empty()) return abi::kInternalError;
  for (const int fd : group->fds) ::close(fd);
  delete group;
  return abi::kSuccess;
}

Result register_in_group(void* comm, void* data, size_t bytes, int, void** mr) {
  if (!data || !bytes) return abi::kInvalidArgument;
  auto* key = new char;
  static_cast<Group*>(comm)->keys.insert(key);
  counters.keys++;
  *mr = key;
  return abi::kSuccess;
}

Result register_dmabuf_in_group(void* comm, void* data, size_t bytes, int type, uint64_t, int, void** mr) {
  return register_in_group(comm, data, bytes, type, mr);
}

Result deregister_in_group(void* comm, void* mr) {
  if (!static_cast<Group*>(comm)->keys.erase(mr)) return abi::kInvalidArgument;
  counters.keys--;
  delete static_cast<char*>(mr);
  return abi::kSuccess;
}

Result reduce_support(int type, int operation, int* supported) {
  *supported = type == kFloat32 && operation == kSum;
  return abi::kSuccess;
}

Result flush_group(void*, void*, int, void*, void** request) {
  counters.flushes++;
  *request = new Operation{};
  return abi::kSuccess;
}

Result init_collnet(void** context, uint64_t comm_id, abi::Logger log) {
  return init(context, {comm_id, abi::kUndefined, log, nullptr});
}

void* context_of_all;

template <int V>
struct Coll {
  static Result init_old(abi::Logger log) { return init_collnet(&context_of_all, 0, log); }
  static Result listen_old(int device, void* handle, void** comm) { return listen(context_of_all, device, handle, comm); }
  static Result get_properties(int device, abi::Properties<V>* out) {
    abi::Properties<12> p;
    if (const Result result = properties(device, &p); result) return result;
    memset(static_cast<void*>(out), 0, sizeof *out);
    out->name = p.name, out->pci_path = p.pci_path, out->guid = p.guid, out->ptr_support = p.ptr_support;
    out->speed = p.speed, out->port = p.port, out->latency = p.latency;
    out->max_comms = p.max_comms, out->max_recvs = 1;
    if constexpr (V >= 9) {
      out->members.ndevs = 1, out->members.devs[0] = device;
      out->max_p2p_bytes = p.max_p2p_bytes, out->max_coll_bytes = p.max_coll_bytes;
    }
    return abi::kSuccess;
  }
  static Result reg_mr(void* comm, void* data, abi::RegisteredBytes<V> bytes, int type, void** mr) {
    return register_in_group(comm, data, static_cast<size_t>(bytes), type, mr);
  }
  static bool has(void* comm, void* mr) { return static_cast<Group*>(comm)->keys.contains(mr); }
  static Result iallreduce(void* comm, void* mine, void* out, abi::Bytes<V> count, int type, int operation, void* mr,
                           void* out_mr, void** request) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(float);
    if (type != kFloat32 || operation != kSum || !has(comm, mr) || !has(comm, out_mr)) return abi::kInvalidArgument;
    return start(comm, mine, bytes, true, {{static_cast<char*>(out), bytes}}, 0, bytes, request);
  }
  static Result iallgather(void* comm, void* mine, int n, abi::PiecesOf<V> parts, size_t bytes, size_t offset, size_t window,
                           void* mr, void** request) {
    std::vector<std::pair<char*, size_t>> out;
    for (int i = 0; i < n; i++) {
      if (!has(comm, parts[i].mhandle)) return abi::kInvalidArgument;
      out.emplace_back(static_cast<char*>(parts[i].address), size_t{parts[i].size});
    }
    if (!has(comm, mr)) return abi::kInvalidArgument;
    return start(comm, mine, bytes, false, std::move(out), offset, window, request);
  }
  static Result ireducescatter(void* comm, int n, abi::PiecesOf<V> parts, void* out, size_t bytes, size_t, size_t, int type,
                               int operation, void* mr, void** request) {
    std::vector<char> mine;
    for (int i = 0; i < n; i++) {
      if (!has(comm, parts[i].mhandle)) return abi::kInvalidArgument;
      const auto* at = static_cast<const char*>(parts[i].address);
      mine.insert(mine.end(), at, at + size_t{parts[i].size});
    }
    if (type != kFloat32 || operation != kSum || !has(comm, mr)) return abi::kInvalidArgument;
    const auto rank = static_cast<size_t>(static_cast<Group*>(comm)->rank);
    return start(comm, mine.data(), mine.size(), true, {{static_cast<char*>(out), bytes}}, rank * bytes, bytes, request);
  }
  static Result make_v_device(int* device, abi::VirtualDeviceOf<V>* members) {
    return make_virtual_device(device, members->devs, members->ndevs, sizeof members->devs / sizeof(int));
  }
};

template <int V>
constexpr abi::CollNet<V> make() {
  abi::CollNet<V> t{};
  t.name = "loop";
  if constexpr (V >= 11) t.init = init_collnet, t.listen = listen, t.finalize = finalize;
  else t.init = Coll<V>::init_old, t.listen = Coll<V>::listen_old;
  t.devices = devices, t.get_properties = Coll<V>::get_properties;
  t.connect = connect_group, t.reduce_support = reduce_support;
  t.reg_mr = Coll<V>::reg_mr, t.reg_mr_dma_buf = register_dmabuf_in_group, t.dereg_mr = deregister_in_group;
  t.iallreduce = Coll<V>::iallreduce;
  if constexpr (V >= 8) t.iallgather = Coll<V>::iallgather, t.ireducescatter = Coll<V>::ireducescatter;
  if constexpr (V >= 9) t.make_v_device = Coll<V>::make_v_device;
  t.iflush = flush_group, t.test = test_collective, t.close_coll = close_group, t.close_listen = close_listen;
  return t;
}

}  // namespace

#define TABLE(V) \
  extern "C" __attribute__((visibility("default"))) constinit const abi::CollNet<V> ncclCollNetPlugin_v##V = make<V>();
#if !defined LOOP_ONLY || LOOP_ONLY == 6
TABLE(6)
#endif
#if !defined LOOP_ONLY || LOOP_ONLY == 7
TABLE(7)
#endif
#if !defined LOOP_ONLY || LOOP_ONLY == 8
TABLE(8)
#endif
#if !defined LOOP_ONLY || LOOP_ONLY == 9
TABLE(9)
#endif
#if !defined LOOP_ONLY || LOOP_ONLY == 10
TABLE(10)
#endif
#if !defined LOOP_ONLY || LOOP_ONLY == 11
TABLE(11)
#endif
#if !defined LOOP_ONLY || LOOP_ONLY == 12
TABLE(12)
#endif

}  // namespace railwitness::net_host::loop
