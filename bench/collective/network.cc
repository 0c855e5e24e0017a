#include "bench/collective/network.h"

#include "bench/collective/options.h"
#include "plugin/chain/library.h"
#include "plugin/chain/versions.h"
#include "plugin/ofi/ofi.h"

#include "absl/strings/str_cat.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace railwitness::bench {
namespace {

constexpr chain::MakeNet kNets[] = {chain::net_v6, chain::net_v7,  chain::net_v8, chain::net_v9,
                                    chain::net_v10, chain::net_v11, chain::net_v12};
constexpr int kOldest = 6, kNewest = 12;

// NCCL's logger: warnings to stderr, the rest as well if NCCL_DEBUG asks for it.
void log(nccl::LogLevel level, unsigned long, const char*, int, const char* format, ...) {
  static const char* wanted = getenv("NCCL_DEBUG");
  if (level != nccl::kLogWarn && !(wanted && !strcmp(wanted, "INFO"))) return;
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "[%d] %s\n", getpid(), text);
}

absl::Status to_status(engine::Result result, const char* what) {
  if (result == nccl::kSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(what, " fails: ncclResult_t ", static_cast<int>(result), "; NCCL_DEBUG=INFO tells more"));
}

}  // namespace

absl::Status Barrier::wait() {
  goal_ += ranks_;
  shared_.arrived++;
  const absl::Time deadline = absl::Now() + timeout_;
  while (shared_.arrived < goal_) {
    if (shared_.has_failed) return absl::CancelledError("another rank has failed");
    if (absl::Now() > deadline) return absl::DeadlineExceededError("not all ranks came to a barrier");
    usleep(50);
  }
  return absl::OkStatus();
}

absl::Status Network::open(const std::string& plugin) {
  if (plugin == kOwnOfi) {
    const char* why_not = nullptr;
    transport_ = ofi::open(&why_not);
    if (!transport_) return absl::UnavailableError(absl::StrCat("ofi: ", why_not));
  } else {
    char why_not[1024];
    const chain::Library library = chain::load(plugin.c_str(), why_not, sizeof why_not);
    if (!library.handle) return absl::NotFoundError(why_not);
    int version;
    const void* table = chain::newest_table(library, "ncclNetPlugin", kNewest, kOldest, &version);
    if (!table) return absl::InvalidArgumentError(absl::StrCat(plugin, " has none of ncclNetPlugin_v6 to _v12"));
    transport_ = kNets[version - kOldest](table, library.name);
  }
  if (absl::Status s = to_status(transport_->init(&context_, 1, {nccl::kUndefined}, log, nullptr), "init"); !s.ok()) return s;
  calls_ = transport_->calls();
  if (!calls_.test) return absl::InternalError("the transport has no plain test()");
  int count = 0;
  if (absl::Status s = to_status(transport_->devices(&count), "devices"); !s.ok()) return s;
  if (count < 1)
    return absl::UnavailableError(absl::StrCat(plugin, " offers no devices; of railwitness, RAILWITNESS_MODE must be ofi or "
                                               "chain:PLUGIN, and NCCL_DEBUG=INFO says what it found"));
  return absl::OkStatus();
}

absl::Status Network::connect(Shared& shared, Barrier& barrier, int rank, int ranks, absl::Duration timeout) {
  std::vector<void*> listeners(static_cast<size_t>(ranks), nullptr);
  peers_.resize(static_cast<size_t>(ranks));
  for (int other = 0; other < ranks; other++) {
    if (other == rank) continue;
    const auto result = transport_->listen(context_, 0, shared.handles[rank][other], &listeners[static_cast<size_t>(other)]);
    if (absl::Status s = to_status(result, "listen"); !s.ok()) return s;
  }
  if (absl::Status s = barrier.wait(); !s.ok()) return s;
  const absl::Time deadline = absl::Now() + timeout;
  for (bool is_complete = false; !is_complete;) {
    is_complete = true;
    for (int other = 0; other < ranks; other++) {
      if (other == rank) continue;
      Peer& peer = peers_[static_cast<size_t>(other)];
      void* device_handle = nullptr;
      engine::Result result = nccl::kSuccess;
      if (!peer.send_comm)
        result = transport_->connect(context_, 0, shared.handles[other][rank], &peer.send_comm, &device_handle);
      if (result == nccl::kSuccess && !peer.recv_comm)
        result = transport_->accept(listeners[static_cast<size_t>(other)], &peer.recv_comm, &device_handle);
      if (absl::Status s = to_status(result, "connect or accept"); !s.ok()) return s;
      is_complete &= peer.send_comm && peer.recv_comm;
    }
    if (shared.has_failed) return absl::CancelledError("another rank has failed");
    if (absl::Now() > deadline) return absl::DeadlineExceededError("not all connections were made");
  }
  for (void* listener : listeners)
    if (listener) transport_->close_listen(listener);
  return barrier.wait();
}

absl::Status Network::register_for_all(void* data, size_t bytes, std::vector<void*>& send_mrs,
                                       std::vector<void*>& recv_mrs) {
  const auto add = [&](void* comm, std::vector<void*>& mrs) {
    void* mr = nullptr;
    engine::Result result = nccl::kSuccess;
    if (comm) result = transport_->register_memory(comm, data, bytes, nccl::kPtrHost, &mr);
    if (comm && result == nccl::kSuccess) registrations_.emplace_back(comm, mr);
    mrs.push_back(mr);
    return to_status(result, "regMr");
  };
  for (const Peer& peer : peers_) {
    if (absl::Status s = add(peer.send_comm, send_mrs); !s.ok()) return s;
    if (absl::Status s = add(peer.recv_comm, recv_mrs); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Network::close() {
  for (const auto& [comm, mr] : registrations_) transport_->deregister(comm, mr);
  for (const Peer& peer : peers_) {
    if (peer.send_comm) transport_->close_send(peer.send_comm);
    if (peer.recv_comm) transport_->close_recv(peer.recv_comm);
  }
  return to_status(transport_->finalize(context_), "finalize");
}

}  // namespace railwitness::bench
