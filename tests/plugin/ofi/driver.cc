#include "tests/plugin/ofi/driver.h"

#include "plugin/ofi/ofi.h"

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

#include <gtest/gtest.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

// What libfabric itself never frees: see ManyConnectionsLeaveNothingBehind. Our own objects are counted there.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libfabric.so"; }

namespace railwitness::ofi_test {
namespace {

std::mutex log_lock;
std::vector<std::string> lines;

void log(nccl::LogLevel level, unsigned long, const char*, int, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard guard(log_lock);
  lines.push_back((level == nccl::kLogWarn ? "WARN " : "INFO ") + std::string(text));
}

}  // namespace

engine::Transport& transport() {
  static engine::Transport* const opened = [] {
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    setenv("RAILWITNESS_OFI_CONNECT_TIMEOUT", "20", 0);
    const char* reason = nullptr;
    engine::Transport* t = ofi::open(&reason);
    if (!t) fprintf(stderr, "mode ofi cannot be opened: %s\n", reason), exit(1);
    return t;
  }();
  return *opened;
}

std::vector<std::string> take_log() {
  const std::lock_guard guard(log_lock);
  return std::exchange(lines, {});
}

std::string text_of(const std::vector<std::string>& log) {
  std::string text;
  for (const std::string& line : log) text += line + "\n";
  return text;
}

void* make_context() {
  void* context = nullptr;
  EXPECT_EQ(transport().init(&context, 1, {nccl::kUndefined}, log, nullptr), nccl::kSuccess);
  EXPECT_NE(context, nullptr);
  return context;
}

Pair connect_pair(void* context, int device) {
  Pair pair{.context = context};
  alignas(8) uint8_t handle[nccl::kHandleBytes] = {};
  void* listening = nullptr;
  EXPECT_EQ(transport().listen(context, device, handle, &listening), nccl::kSuccess);
  if (!listening) return pair;
  const double start = seconds();
  while ((!pair.send || !pair.receive) && seconds() - start < 30) {
    if (!pair.send) pair.send_result = transport().connect(context, device, handle, &pair.send, nullptr);
    if (!pair.receive) pair.receive_result = transport().accept(listening, &pair.receive, nullptr);
    if (pair.send_result != nccl::kSuccess || pair.receive_result != nccl::kSuccess) break;
  }
  EXPECT_EQ(transport().close_listen(listening), nccl::kSuccess);
  EXPECT_TRUE(pair.send && pair.receive) << text_of(take_log());
  return pair;
}

void close_pair(Pair* pair) {
  EXPECT_EQ(transport().close_send(pair->send), nccl::kSuccess);
  EXPECT_EQ(transport().close_recv(pair->receive), nccl::kSuccess);
  pair->send = pair->receive = nullptr;
}

std::vector<uint8_t> pattern(size_t bytes, unsigned seed) {
  std::vector<uint8_t> data(bytes);
  uint32_t x = seed * 2654435761u + 1;
  for (uint8_t& b : data) x = x * 1664525 + 1013904223, b = static_cast<uint8_t>(x >> 24);
  return data;
}

void* send_until_taken(const Pair& pair, const void* data, size_t bytes, int tag) {
  void* request = nullptr;
  const double start = seconds();
  while (!request && seconds() - start < 20)
    if (transport().isend(pair.send, const_cast<void*>(data), bytes, tag, nullptr, nullptr, &request) != nccl::kSuccess) break;
  EXPECT_NE(request, nullptr) << text_of(take_log());
  return request;
}

void* receive(const Pair& pair, void* data, size_t bytes, int tag) {
  void* request = reinterpret_cast<void*>(nccl::kOptionalCompletion);
  void* no_mr = nullptr;
  EXPECT_EQ(transport().irecv(pair.receive, 1, &data, &bytes, &tag, &no_mr, nullptr, &request), nccl::kSuccess);
  EXPECT_NE(request, reinterpret_cast<void*>(nccl::kOptionalCompletion));
  return request;
}

bool test_once(void* request, int* bytes) {
  int done = 0x5a5a;
  EXPECT_EQ(transport().test(request, &done, bytes), nccl::kSuccess) << text_of(take_log());
  EXPECT_TRUE(done == 0 || done == 1) << done;
  return done == 1;
}

void finish(void* send_request, void* receive_request, int* sent, int* received) {
  const double start = seconds();
  while ((send_request || receive_request) && seconds() - start < 60) {
    if (send_request && test_once(send_request, sent)) send_request = nullptr;
    if (receive_request && test_once(receive_request, received)) receive_request = nullptr;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(!send_request && !receive_request) << "not done after a minute";
}

Result wait_for_error(const std::function<Result()>& call, double* after) {
  const double start = seconds();
  Result result = nccl::kSuccess;
  while (result == nccl::kSuccess && seconds() - start < 15) result = call();
  *after = seconds() - start;
  return result;
}

bool uses(const char* provider) {
  const char* text = getenv("RAILWITNESS_OFI_PROVIDER");
  return text && strstr(text, provider);
}

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count++;
  return count - 1;
}

int half_accepted() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = atoi(entry.path().filename().c_str());
    tcp_info info{};
    socklen_t size = sizeof info;
    int unread = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) || ioctl(fd, FIONREAD, &unread)) continue;
    count += info.tcpi_state == TCP_CLOSE_WAIT && unread > 0;
  }
  return count;
}

long resident_kb() {
  long size = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> size >> pages;
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

long heap_bytes() { return static_cast<long>(mallinfo2().uordblks); }

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace railwitness::ofi_test
