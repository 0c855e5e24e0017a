// What is witnessed of a chained plugin that uses verbs, by the way in which it gets at them. One case a process:
//
//     witnessed_verbs CASE PLUGIN CHAINED     exit 0 if all was as it should be
//
// stub: every verbs call. late: those after the profiler's init. unseen: none. table: every post and completion, because
// libibverbs.so was there before us. In all of them the net calls themselves are witnessed by the engine.
#include "railwitness/nccl/net_v11.h"
#include "railwitness/nccl/profiler_v5.h"
#include "tests/plugin/check.h"
#include "tests/plugin/fake_sidecar.h"

#include <cstdarg>
#include <cstdio>

#include <dlfcn.h>

namespace railwitness::test {
namespace {

constexpr int kMessages = 100;
std::string said;

void logger(nccl::LogLevel, unsigned long, const char*, int, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  said += std::string(text) + "\n";
  puts(text);
}

// NCCL's calls in its order: net init, profiler init, connection, transfers.
void run_job(const char* plugin) {
  void* library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  if (!library) fprintf(stderr, "%s\n", dlerror()), exit(1);
  const auto* net = static_cast<const nccl::NetV11*>(dlsym(library, "ncclNetPlugin_v11"));
  const auto* profiler = static_cast<const nccl::ProfilerV5*>(dlsym(library, "ncclProfiler_v5"));
  void *context = nullptr, *events = nullptr, *listening = nullptr, *sending = nullptr, *receiving = nullptr;
  int count = 0, mask = 0;
  nccl::NetCommConfigV11 config{nccl::kUndefined};
  CHECK(net->init(&context, 7, &config, logger, nullptr) == nccl::kSuccess);
  CHECK(net->devices(&count) == nccl::kSuccess);
  CHECK(count == 1);
  if (count != 1) exit(1);
  nccl::NetPropertiesV11 properties;
  CHECK(net->get_properties(0, &properties) == nccl::kSuccess);
  CHECK(!strcmp(properties.name, "fake_0"));
  CHECK(profiler->init(&events, 7, &mask, "world", 1, 2, 0, logger) == nccl::kSuccess);

  char handle[nccl::kHandleBytes] = {}, data[1000] = {};
  CHECK(net->listen(context, 0, handle, &listening) == nccl::kSuccess);
  while (!sending || !receiving) {
    if (!sending) CHECK(net->connect(context, 0, handle, &sending, nullptr) == nccl::kSuccess);
    if (!receiving) CHECK(net->accept(listening, &receiving, nullptr) == nccl::kSuccess);
  }
  CHECK(net->close_listen(listening) == nccl::kSuccess);
  void* mr = nullptr;
  CHECK(net->reg_mr(sending, data, sizeof data, nccl::kPtrHost, &mr) == nccl::kSuccess && mr);
  for (int i = 0; i < kMessages; i++) {
    void* request = nullptr;
    int done = 0, bytes = 0;
    CHECK(net->isend(sending, data, sizeof data, 0, mr, nullptr, &request) == nccl::kSuccess && request);
    while (!done) CHECK(net->test(request, &done, &bytes) == nccl::kSuccess);
    CHECK(bytes == 1000);
  }
  CHECK(net->dereg_mr(sending, mr) == nccl::kSuccess);
  CHECK(net->close_send(sending) == nccl::kSuccess && net->close_recv(receiving) == nccl::kSuccess);
  CHECK(profiler->finalize(events) == nccl::kSuccess);
  CHECK(net->finalize(context) == nccl::kSuccess);
}

int flows_of(const SegmentCopy& s, railwitness_flow_kind kind, uint64_t* index) {
  int n = 0;
  for (uint64_t i = 0; i < s.header().flow_capacity; i++)
    if (s.identity(i).sequence && s.identity(i).kind == kind && s.state(i).posted) *index = i, n++;
  return n;
}

void check(const SegmentCopy& s, const std::string& expected) {
  uint64_t i = 0;
  CHECK(flows_of(s, RAILWITNESS_FLOW_CONNECTION, &i) == 1);
  CHECK(s.state(i).completed == kMessages);
  CHECK(s.state(i).completed_bytes == 1000 * kMessages);
  const bool is_seen = expected != "unseen";
  CHECK(s.writer().contexts == (is_seen ? 1 : 0));
  CHECK(flows_of(s, RAILWITNESS_FLOW_QUEUE_PAIR, &i) == (is_seen ? 1 : 0));
  if (!is_seen) return;
  CHECK(s.state(i).posted == kMessages && s.state(i).completed == kMessages);
  CHECK(s.state(i).completed_bytes == 1000 * kMessages);
  if (expected == "stub") CHECK(s.identity(i).peer_qpn == 4242);  // the creation and the connection were seen, too
}

}  // namespace
}  // namespace railwitness::test

int main(int argc, char** argv) {
  using namespace railwitness::test;
  if (argc != 4) return 2;
  alarm(60);
  const std::string expected = argv[1], file = "/tmp/railwitness-chain-test";
  setenv("RAILWITNESS_SOCKET", "/nowhere", 1);
  setenv("RAILWITNESS_SEGMENT_FILE", file.c_str(), 1);
  setenv("RAILWITNESS_MODE", (std::string("chain:") + argv[3]).c_str(), 1);
  if (expected == "table") CHECK(dlopen("libibverbs.so", RTLD_NOW));
  run_job(argv[2]);
  check(take_segment_file(file), expected);
  fflush(stdout);
  return failures ? 1 : 0;
}
