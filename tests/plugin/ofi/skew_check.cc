// Every field of the handshake different on one side: what each side says, and after how many seconds.
//
//     skew_check         Ends with `skew: N of M right`, exit 1 unless N = M.
//
// Both sides are the real ones; what differs is changed on its way, in the handle or by a relay between them.
#include "plugin/ofi/handshake.h"
#include "plugin/ofi/side_channel.h"
#include "tests/plugin/ofi/driver.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

namespace railwitness::ofi_test {
namespace {

using namespace railwitness::ofi;

// Generous: on an idle machine prompt is 0.02 s. The second is RAILWITNESS_OFI_CONNECT_TIMEOUT, see main.
constexpr double kPromptS = 8, kTimeoutS = 12;

enum class Ends { kConnected, kPrompt, kTimeout };  // how a side fares

struct Row {
  const char* what;
  std::function<void(Handle&)> handle;        // changed before connect() sees it
  std::function<void(Frame&)> hello, welcome;  // changed by the relay
  Ends connector, listener;
  const char *connector_says, *listener_says;  // part of its log; null: no warning
};

sockaddr_storage loopback(uint16_t port) {
  sockaddr_storage storage{};
  auto& in = reinterpret_cast<sockaddr_in&>(storage);
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return storage;
}

// Passes frames on, whole, changing the first of each direction.
class Relay {
 public:
  Relay(const Row& row, const Handle& target) : row_(row) {
    address_ = loopback(0);
    listening_ = listen_on(&address_);
    memcpy(&target_, target.address, sizeof(sockaddr_in));
    thread_ = std::thread([this] { run(); });
  }
  ~Relay() {
    over_ = true;
    thread_.join();
    close(listening_);
  }
  const sockaddr_storage& address() const { return address_; }

 private:
  static bool pass(int from, int to, const std::function<void(Frame&)>& change, bool* is_first) {
    Frame frame;
    const ssize_t n = recv(from, &frame, sizeof frame, MSG_WAITALL);
    if (n <= 0) return false;
    if (*is_first && change && n == sizeof frame) change(frame);
    *is_first = false;
    return send(to, &frame, static_cast<size_t>(n), MSG_NOSIGNAL) == n;
  }
  void run() {
    int caller = -1;
    while (!over_ && (caller = accept(listening_, nullptr, nullptr)) < 0) usleep(1000);
    if (caller < 0) return;
    const int target = socket(AF_INET, SOCK_STREAM, 0);
    bool is_good = connect(target, reinterpret_cast<sockaddr*>(&target_), sizeof target_) == 0;
    bool is_first_hello = true, is_first_welcome = true;
    while (!over_ && is_good) {
      pollfd both[2] = {{caller, POLLIN, 0}, {target, POLLIN, 0}};
      poll(both, 2, 20);
      if (both[0].revents) is_good = pass(caller, target, row_.hello, &is_first_hello);
      if (is_good && both[1].revents) is_good = pass(target, caller, row_.welcome, &is_first_welcome);
    }
    close(caller);
    close(target);
  }

  const Row& row_;
  sockaddr_storage address_;
  sockaddr_in target_;
  int listening_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

struct Side {
  Result result = nccl::kSuccess;
  void* comm = nullptr;
  double seconds = -1;
  std::string said;
  bool is_over() const { return comm || result != nccl::kSuccess; }
};

void note(Side* side, double start) {
  if (side->is_over() && side->seconds < 0) side->seconds = seconds() - start;
}

std::string warnings(const std::vector<std::string>& log) {
  std::string text;
  for (const std::string& line : log)
    if (line.starts_with("WARN ")) text += (text.empty() ? "" : " | ") + line.substr(line.find("ofi: ") + 5);
  return text;
}

bool data_flows(void* context, Side& connector, Side& listener) {
  Pair pair{.context = context, .send = connector.comm, .receive = listener.comm};
  std::array<std::vector<uint8_t>, 8> in;
  void *data[8], *mrs[8] = {}, *receiving = nullptr;
  size_t sizes[8];
  int tags[8], received[64] = {};
  for (int i = 0; i < 8; i++) {
    in[i].resize(5000);
    data[i] = in[i].data(), sizes[i] = 5000, tags[i] = i;
  }
  if (transport().irecv(pair.receive, 8, data, sizes, tags, mrs, nullptr, &receiving) != nccl::kSuccess) return false;
  bool is_right = receiving != nullptr, is_done = false;
  for (int i = 7; is_right && i >= 0; i--) {
    const std::vector<uint8_t> out = pattern(static_cast<size_t>(600 * i), static_cast<unsigned>(i));
    void* sending = send_until_taken(pair, out.data(), out.size(), i);
    const double start = seconds();
    while (sending && seconds() - start < 5) {
      if (test_once(sending, nullptr)) sending = nullptr;
      if (!is_done) is_done = test_once(receiving, received);
    }
    is_right = !sending && std::equal(out.begin(), out.end(), in[i].begin());
  }
  const double start = seconds();
  while (is_right && !is_done && seconds() - start < 5) is_done = test_once(receiving, received);
  return is_right && is_done && received[3] == 1800;
}

bool is_as_expected(const Side& side, Ends ends, const char* says) {
  const bool said = says ? side.said.find(says) != std::string::npos : side.said.empty();
  if (ends == Ends::kConnected) return side.comm && said;
  const double limit = ends == Ends::kPrompt ? kPromptS : kTimeoutS + 2;
  return side.result == nccl::kRemoteError && side.seconds >= 0 && side.seconds < limit && said &&
         (ends == Ends::kPrompt || side.seconds > kTimeoutS - 1);
}

void show(const char* name, const Side& side) {
  printf("    %-9s %5.2f s  %-9s %s\n", name, side.seconds, side.comm ? "connected" : side.result ? "error" : "waits",
         side.said.empty() ? "(nothing)" : side.said.c_str());
}

// One row: both sides, stepped until each is over.
class Trial {
 public:
  explicit Trial(const Row& row) : row_(row), context_(make_context()) {
    take_log();
    is_listening_ = transport().listen(context_, 0, &handle_, &listening_) == nccl::kSuccess;
    if (row.hello || row.welcome) {
      relay_ = std::make_unique<Relay>(row, handle_);
      memcpy(handle_.address, &relay_->address(), sizeof handle_.address);
      seal(&handle_);
    }
    if (row.handle) row.handle(handle_);
    start_ = seconds();
  }
  ~Trial() {
    if (connector_.comm) transport().close_send(connector_.comm);
    if (listener_.comm) transport().close_recv(listener_.comm);
    if (is_listening_) transport().close_listen(listening_);
    transport().finalize(context_);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  bool is_over() const {
    return !is_listening_ || (connector_.is_over() && listener_.is_over()) || seconds() - start_ >= kTimeoutS + 3;
  }
  // What is logged meanwhile is this side's: there is one thread.
  void step() {
    if (!connector_.is_over()) connector_.result = transport().connect(context_, 0, &handle_, &connector_.comm, nullptr);
    connector_.said += warnings(take_log());
    note(&connector_, start_);
    if (!listener_.is_over()) listener_.result = transport().accept(listening_, &listener_.comm, nullptr);
    listener_.said += warnings(take_log());
    note(&listener_, start_);
  }
  bool judge() {
    bool is_right = is_listening_ && is_as_expected(connector_, row_.connector, row_.connector_says) &&
                    is_as_expected(listener_, row_.listener, row_.listener_says);
    if (connector_.comm && listener_.comm) is_right = data_flows(context_, connector_, listener_) && is_right;
    printf("%s %s\n", is_right ? "right" : "WRONG", row_.what);
    show("connector", connector_);
    show("listener", listener_);
    fflush(stdout);
    return is_right;
  }

 private:
  const Row& row_;
  void* context_;
  alignas(8) Handle handle_{};
  void* listening_ = nullptr;
  bool is_listening_ = false;
  std::unique_ptr<Relay> relay_;  // goes last
  Side connector_, listener_;
  double start_ = 0;
};

// All at once, from one thread. Returns how many were right.
int run(const std::vector<const Row*>& rows) {
  std::vector<std::unique_ptr<Trial>> trials;
  for (const Row* row : rows) trials.push_back(std::make_unique<Trial>(*row));
  for (bool is_over = false; !is_over; usleep(500)) {
    is_over = true;
    for (const auto& trial : trials) {
      if (trial->is_over()) continue;
      trial->step();
      is_over = false;
    }
  }
  int right = 0;
  for (const auto& trial : trials) right += trial->judge();
  return right;
}

// A peer without the plugin calls: what NCCL's own socket transport sends first is the magic of the handle it got.
bool run_foreign_caller() {
  void* context = make_context();
  take_log();
  alignas(8) Handle handle{};
  void* listening = nullptr;
  if (transport().listen(context, 0, &handle, &listening) != nccl::kSuccess) return false;
  sockaddr_in address{};
  memcpy(&address, handle.address, sizeof address);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const NcclOpening opening{handle.magic, 3};
  bool is_right = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && send(fd, &opening, 12, 0) == 12;
  Side listener;
  const double start = seconds();
  while (!listener.is_over() && seconds() - start < kTimeoutS) {
    listener.result = transport().accept(listening, &listener.comm, nullptr);
    note(&listener, start);
    usleep(500);
  }
  listener.said = warnings(take_log());
  char byte;
  is_right = is_right && is_as_expected(listener, Ends::kPrompt, "NCCL's own socket") && recv(fd, &byte, 1, 0) <= 0;
  printf("%s the caller is a rank with NCCL's own socket transport\n", is_right ? "right" : "WRONG");
  show("listener", listener);
  close(fd);
  transport().close_listen(listening);
  transport().finalize(context);
  return is_right;
}

template <typename T>
std::function<void(T&)> resealed(std::function<void(T&)> change) {
  return [change](T& bytes) {
    change(bytes);
    seal(&bytes);
  };
}

std::function<void(Handle&)> in_handle(std::function<void(Handle&)> change) { return resealed<Handle>(change); }
std::function<void(Frame&)> in_frame(std::function<void(Frame&)> change) { return resealed<Frame>(change); }

std::vector<Row> rows() {
  constexpr Ends kOk = Ends::kConnected, kNow = Ends::kPrompt, kLate = Ends::kTimeout;
  constexpr const char* kVersions = "wire version 1 here, 2 there";
  constexpr const char* kVersionsThere = "wire version 2 here, 1 there";
  const auto provider = [](auto& bytes) { snprintf(bytes.provider, sizeof bytes.provider, "udp;ofi_rxd"); };
  return {
      {"nothing differs", {}, {}, {}, kOk, kOk, nullptr, nullptr},
      {"nothing differs, with the relay between", {}, in_frame([](Frame&) {}), {}, kOk, kOk, nullptr, nullptr},
      {"handle: all zeros", [](Handle& h) { h = {}; }, {}, {}, kNow, kLate, "all zeros", "nobody came"},
      {"handle: random bytes", [](Handle& h) { memset(&h, 0xa5, sizeof h); }, {}, {}, kNow, kLate, "none of mode ofi",
       "nobody came"},
      {"handle: magic, as of NCCL's own transports", [](Handle& h) { h.magic = 12345; }, {}, {}, kNow, kLate,
       "another transport", "nobody came"},
      {"handle: checksum", [](Handle& h) { h.checksum++; }, {}, {}, kNow, kLate, "damaged", "nobody came"},
      {"handle: wire version", in_handle([](Handle& h) { h.wire_version = 2; }), {}, {}, kNow, kNow, kVersions, kVersionsThere},
      {"handle: provider", in_handle(provider), {}, {}, kNow, kNow, "udp;ofi_rxd there", "udp;ofi_rxd here"},
      {"handle: cookie", in_handle([](Handle& h) { h.cookie++; }), {}, {}, kNow, kLate, "meant for another listener",
       "nobody came"},
      {"handle: host id", in_handle([](Handle& h) { h.host_id++; }), {}, {}, kOk, kOk, nullptr, nullptr},
      {"handle: max group", in_handle([](Handle& h) { h.max_group = 2; }), {}, {}, kOk, kOk, nullptr, nullptr},
      {"handle: max group of nothing", in_handle([](Handle& h) { h.max_group = 0; }), {}, {}, kNow, kLate, "damaged",
       "nobody came"},
      {"handle: device, process", in_handle([](Handle& h) { h.pid = 1, h.device[0] = '\n'; }), {}, {}, kOk, kOk, nullptr,
       nullptr},
      {"hello: magic", {}, in_frame([](Frame& f) { f.magic++; }), {}, kNow, kLate, "has closed the connection", "nobody came"},
      {"hello: wire version", {}, in_frame([](Frame& f) { f.wire_version = 2; }), {}, kNow, kNow, kVersionsThere, kVersions},
      {"hello: checksum", {}, [](Frame& f) { f.checksum++; }, {}, kNow, kNow, "damaged", "damaged"},
      {"hello: provider", {}, in_frame(provider), {}, kNow, kNow, "udp;ofi_rxd here", "udp;ofi_rxd there"},
      {"hello: cookie", {}, in_frame([](Frame& f) { f.cookie++; }), {}, kNow, kLate, "meant for another listener",
       "nobody came"},
      {"hello: max group", {}, in_frame([](Frame& f) { f.max_group = 3; }), in_frame([](Frame& f) { f.max_group = 3; }), kOk,
       kOk, nullptr, nullptr},
      {"hello: max requests", {}, in_frame([](Frame& f) { f.max_requests = 8; }),
       in_frame([](Frame& f) { f.max_requests = 8; }), kOk, kOk, nullptr, nullptr},
      {"hello: size of the endpoint's name", {}, in_frame([](Frame& f) { f.name_bytes = 28; }), {}, kNow, kNow,
       "name has another size", "name of 28 bytes"},
      {"hello: build", {}, in_frame([](Frame& f) { f.build = 0x90909; }), {}, kOk, kOk, nullptr, "railwitness 0.1.0 here, 9.9.9"},
      {"hello: libfabric's version", {}, in_frame([](Frame& f) { f.libfabric = 0x20005; }), {}, kOk, kOk, nullptr, "2.5 at"},
      {"hello: build again, said once", {}, in_frame([](Frame& f) { f.build = 0x90909; }), {}, kOk, kOk, nullptr, nullptr},
      {"welcome: wire version", {}, {}, in_frame([](Frame& f) { f.wire_version = 2; }), kNow, kNow, kVersions, kVersionsThere},
      {"welcome: checksum", {}, {}, [](Frame& f) { f.checksum++; }, kNow, kNow, "damaged", "damaged"},
      {"welcome: provider", {}, {}, in_frame(provider), kNow, kNow, "udp;ofi_rxd there", "udp;ofi_rxd here"},
      {"hello: endpoint where nobody listens", {}, in_frame([](Frame& f) { f.name[2] = 0, f.name[3] = 9; }), {}, kLate, kLate,
       "no answer in time", "nothing comes through libfabric"},
  };
}

}  // namespace
}  // namespace railwitness::ofi_test

// Those that wait for a time limit wait together.
int main() {
  using namespace railwitness::ofi_test;
  setenv("RAILWITNESS_OFI_CONNECT_TIMEOUT", "12", 1);
  const std::vector<Row> all = rows();
  int right = 0;
  std::vector<const Row*> late;
  for (const Row& row : all) {
    if (row.connector == Ends::kTimeout || row.listener == Ends::kTimeout)
      late.push_back(&row);
    else
      right += run({&row});
  }
  right += run(late);
  right += run_foreign_caller();
  const int count = static_cast<int>(all.size()) + 1;
  printf("skew: %d of %d right\n", right, count);
  return right == count ? 0 : 1;
}
