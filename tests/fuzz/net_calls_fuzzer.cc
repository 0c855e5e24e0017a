// NCCL's calls in any order that NCCL can make them, over the engine and a transport within this process: several
// communicators, connections given up half-way, closes with requests outstanding, deregistration before them, tests in
// any order, errors anywhere, finalize without init, memory of the witness changing under way.
//
// What the engine gives NCCL is checked here, what it gives the transport there.
#include "plugin/engine/engine.h"
#include "plugin/witness/cost.h"
#include "plugin/witness/memory.h"
#include "plugin/witness/recorder.h"
#include "tests/fuzz/loop_transport.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace railwitness::fuzz {
namespace {

constexpr size_t kMost = 24;        // of each kind of thing
constexpr size_t kBufferBytes = 256;
void* const kStale = reinterpret_cast<void*>(uintptr_t{0xDEAD0000DEAD0001});

struct Handle {
  alignas(8) unsigned char bytes[nccl::kHandleBytes];
};

struct Buffer {
  void* mr;
  std::vector<char> data;
};

struct Request {
  void* request;
  int n;  // 0: a flush
  std::vector<size_t> room;
};

struct Connection {
  void* comm;
  bool is_send;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<Request> requests;
  bool has_failed = false;  // NCCL's progress thread is over
};

struct Context {
  void* context;
  bool is_there;
};

class Host {
 public:
  Host(Bytes& in, LoopTransport& transport) : in_(in), transport_(transport) {}

  void run() {
    init();
    while (!in_.is_over()) step();
    end();
  }

 private:
  void step() {
    switch (in_.next() % 24) {
      case 0: return init();
      case 1: return finalize();
      case 2: return listen();
      case 3: case 4: return connect();
      case 5: case 6: return accept();
      case 7: return close_listen();
      case 8: return close_connection();
      case 9: case 10: return register_memory();
      case 11: return deregister();
      case 12: case 13: case 14: case 15: return isend();
      case 16: case 17: case 18: return irecv();
      case 19: case 20: case 21: return test();
      case 22: return iflush();
      default: return rest();
    }
  }

  template <typename T>
  T* pick(std::vector<T>& all) {
    return all.empty() ? nullptr : &all[in_.next() % all.size()];
  }
  Connection* pick_connection(bool is_send) {
    for (size_t i = 0, first = in_.next(); i < connections_.size(); i++) {
      Connection& c = connections_[(first + i) % connections_.size()];
      if (c.is_send == is_send) return &c;
    }
    return nullptr;
  }
  static void check(Result result) {
    if (result == nccl::kInProgress) broken("the engine said ncclInProgress");
  }

  void init() {
    if (contexts_.size() >= kMost) return;
    void* context = nullptr;
    const Result result = engine::init(&context, in_.next(), {nccl::kUndefined}, nullptr, nullptr);
    check(result);
    if (contexts_.empty() && result) broken("the first init failed");
    if (!context) broken("init set no context");
    if (result) return check(engine::finalize(context));  // as NCCL 2.28.3 does
    contexts_.push_back({context, true});
    int count = -1;
    if (!engine::devices(&count) && (count < 0 || count > 6)) broken("a number of devices that nobody gave");
    engine::DeviceProperties p{};
    for (int i = 0; i < count; i++) check(engine::properties(i, &p));
  }

  void finalize() {
    if (in_.one_in(8)) return check(engine::finalize(nullptr));  // NCCL 2.28 after an init that failed
    Context* c = pick(contexts_);
    if (!c || contexts_.size() == 1 || !connections_.empty() || !listens_.empty()) return;
    check(engine::finalize(c->context));
    contexts_.erase(contexts_.begin() + (c - contexts_.data()));
  }

  void listen() {
    if (listens_.size() >= kMost || contexts_.empty()) return;
    Handle handle{};
    void* comm = nullptr;
    const Result result = engine::listen(pick(contexts_)->context, in_.next() % 3, handle.bytes, &comm);
    check(result);
    if (!result != (comm != nullptr)) broken("listen's result does not go with its comm");
    if (comm) listens_.push_back(comm), handles_.push_back(handle);
  }

  void connect() {
    if (connections_.size() >= kMost || handles_.empty() || contexts_.empty()) return;
    void *comm = nullptr, *device_handle = nullptr;
    uint32_t channel = 7;  // RCCL
    const bool is_rccl = in_.one_in(4);
    const Result result = engine::connect(pick(contexts_)->context, in_.next() % 2, pick(handles_)->bytes, &comm,
                                          is_rccl ? reinterpret_cast<void**>(&channel) : &device_handle);
    check(result);
    if (result && comm) broken("connect gave a comm with an error");
    if (channel != 7) broken("RCCL's channel was overwritten");
    if (comm) connections_.push_back({comm, true, {}, {}});
  }

  void accept() {
    void** listener = pick(listens_);
    if (!listener || connections_.size() >= kMost) return;
    void *comm = nullptr, *device_handle = nullptr;
    const Result result = engine::accept(*listener, &comm, &device_handle);
    check(result);
    if (result && comm) broken("accept gave a comm with an error");
    if (comm) connections_.push_back({comm, false, {}, {}});
  }

  void close_listen() {
    void** listener = pick(listens_);
    if (!listener) return;
    check(engine::close_listen(*listener));
    listens_.erase(listens_.begin() + (listener - listens_.data()));
  }

  void close(Connection& c) {  // with whatever is outstanding
    for (const auto& buffer : c.buffers) check(engine::deregister(c.comm, buffer->mr));
    check(c.is_send ? engine::close_send(c.comm) : engine::close_recv(c.comm));
  }

  void close_connection() {
    Connection* c = pick(connections_);
    if (!c) return;
    close(*c);
    connections_.erase(connections_.begin() + (c - connections_.data()));
  }

  void register_memory() {
    Connection* c = pick(connections_);
    if (!c || c->buffers.size() >= kMost) return;
    auto buffer = std::make_unique<Buffer>(Buffer{nullptr, std::vector<char>(kBufferBytes)});
    const int type = in_.next() % 2 ? nccl::kPtrHost : nccl::kPtrCuda;
    const Result result = in_.one_in(4)
        ? engine::register_dmabuf(c->comm, buffer->data.data(), kBufferBytes, nccl::kPtrCuda, 0, -1, &buffer->mr)
        : engine::register_memory(c->comm, buffer->data.data(), kBufferBytes, type, &buffer->mr);
    check(result);
    if (!result && !buffer->mr) broken("a registration without a handle");
    if (!result) c->buffers.push_back(std::move(buffer));
  }

  void deregister() {  // in use or not: an abort
    Connection* c = pick(connections_);
    if (!c || c->buffers.empty() || (!c->requests.empty() && !in_.one_in(8))) return;
    check(engine::deregister(c->comm, c->buffers.back()->mr));
    retired_.push_back(std::move(c->buffers.back()));  // NCCL frees the memory after the close
    c->buffers.pop_back();
  }

  void isend() {
    Connection* c = pick_connection(true);
    if (!c || c->buffers.empty() || c->has_failed || c->requests.size() >= 300) return;
    Buffer& buffer = **pick(c->buffers);
    const size_t bytes = in_.next() % (kBufferBytes + 1);
    void* request = kStale;
    const Result result = engine::isend(c->comm, buffer.data.data(), bytes, in_.next() % 3, buffer.mr, nullptr, &request);
    check(result);
    c->has_failed |= result != nccl::kSuccess;
    if (!result && request == kStale) broken("isend left the request as it was");
    if (!result && request) c->requests.push_back({request, 1, {bytes}});
  }

  void irecv() {
    Connection* c = pick_connection(false);
    if (!c || c->buffers.empty() || c->has_failed || c->requests.size() >= 300) return;
    const int n = 1 + in_.next() % LoopTransport::kGroup;
    void *data[LoopTransport::kGroup], *mrs[LoopTransport::kGroup], *phandles[LoopTransport::kGroup] = {data, data, data, data};
    size_t bytes[LoopTransport::kGroup];
    int tags[LoopTransport::kGroup];
    Request r{n == 1 && in_.one_in(3) ? reinterpret_cast<void*>(nccl::kOptionalCompletion) : kStale, n, {}};
    void* const before = r.request;
    for (int i = 0; i < n; i++) {
      Buffer& buffer = **pick(c->buffers);
      data[i] = buffer.data.data(), mrs[i] = buffer.mr, bytes[i] = kBufferBytes, tags[i] = in_.next() % 3;
      r.room.push_back(kBufferBytes);
    }
    const Result result = engine::irecv(c->comm, n, data, bytes, tags, mrs, in_.one_in(2) ? nullptr : phandles, &r.request);
    check(result);
    c->has_failed |= result != nccl::kSuccess;
    if (!result && r.request == before) broken("irecv left the request as it was");
    if (!result && r.request) c->requests.push_back(std::move(r));
  }

  void iflush() {
    Connection* c = pick_connection(false);
    if (!c || c->buffers.empty() || c->has_failed || c->requests.size() >= 300) return;
    Buffer& buffer = **pick(c->buffers);
    void *data = buffer.data.data(), *mr = buffer.mr, *request = nullptr;
    int bytes = 10;
    const Result result = engine::iflush(c->comm, 1, &data, &bytes, &mr, &request);
    check(result);
    c->has_failed |= result != nccl::kSuccess;
    if (!result && request) c->requests.push_back({request, 0, {}});
  }

  void test() {
    Connection* c = pick(connections_);
    if (!c || c->requests.empty() || c->has_failed) return;
    Request* r = in_.one_in(4) ? pick(c->requests) : &c->requests.front();  // the oldest, mostly
    int done = 0x5A5A5A5A;
    std::vector<int> sizes(c->is_send ? 1 : 64, 0);  // a send has one int
    const bool without = r->n == 0 || in_.one_in(4);
    const Result result = engine::test(r->request, &done, without ? nullptr : sizes.data());
    check(result);
    c->has_failed |= result != nccl::kSuccess;
    if (result) return;
    if (done != 0 && done != 1) broken("test left done as it was");
    if (!done) return;
    for (size_t i = 0; i < sizes.size() && !without; i++)
      if (sizes[i] < 0 || static_cast<size_t>(sizes[i]) > (i < r->room.size() ? r->room[i] : 0)) broken("a size beyond the room");
    if (!c->is_send && r->n) check(engine::irecv_consumed(c->comm, r->n, r->request));
    c->requests.erase(c->requests.begin() + (r - c->requests.data()));
  }

  void rest() {
    const unsigned attributes[11] = {};
    int device = -1;
    switch (in_.next() % 6) {
      case 0: return check(engine::set_attributes(contexts_.empty() ? nullptr : pick(contexts_)->context, attributes));
      case 1: return check(engine::make_virtual_device(&device, {2, {0, 1}}));
      case 2:  // a sidecar comes: the witness changes memory
        if (witness::is_started() && switches_++ < 3) witness::switch_memory(witness::map_private()), witness::settle(in_.one_in(2));
        return;
      case 3: return witness::time_next_calls();
      case 4:  // recording became too dear, or is no longer
        return witness::record_in(in_.one_in(2) ? witness::Detail::kCounters : witness::Detail::kFull);
      default:
        if (switches_) witness::settle(false);
    }
  }

  void end() {
    transport_.be_well(true);
    for (Connection& c : connections_) close(c);
    for (void* listener : listens_) check(engine::close_listen(listener));
    for (const Context& c : contexts_) check(engine::finalize(c.context));
    if (transport_.comms() || transport_.registrations()) broken("something is held after all was closed");
  }

  Bytes& in_;
  LoopTransport& transport_;
  int switches_ = 0;
  std::vector<Context> contexts_;
  std::vector<void*> listens_;
  std::vector<Handle> handles_;
  std::vector<Connection> connections_;
  std::vector<std::unique_ptr<Buffer>> retired_;
};

}  // namespace
}  // namespace railwitness::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace railwitness;
  if (size > 4096) return 0;
  fuzz::Bytes in(data, size);
  const bool is_watched = in.next() % 8 != 0;  // without memory nothing is witnessed
  witness::forget_everything();
  if (is_watched) witness::start(witness::map_private());
  auto* transport = new fuzz::LoopTransport(in);
  engine::forget_transport();
  engine::choose_transport(transport);
  fuzz::Host(in, *transport).run();
  engine::forget_transport();
  delete transport;
  return 0;
}
