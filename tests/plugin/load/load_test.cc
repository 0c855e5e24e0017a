// Loads the built plugin as NCCL does, drives verbs as net_ib does, and reads the segment file. One scenario a process:
//
//     load_test SCENARIO PLUGIN [LIBRARY]     exit 0 if all was as it should be
//
// Linked to neither verbs nor the plugin. LD_LIBRARY_PATH decides which libibverbs.so.1 there is.
#include "railwitness/nccl/net_v11.h"
#include "railwitness/nccl/profiler_v5.h"
#include "tests/plugin/check.h"
#include "tests/plugin/fake_sidecar.h"

#include <infiniband/verbs.h>

#include <cstdarg>
#include <cstdio>
#include <string>

#include <dlfcn.h>
#include <sys/stat.h>

namespace railwitness::test {
namespace {

std::string said;
int lines_about_mode = 0;
int lines = 0;

void logger(nccl::LogLevel, unsigned long, const char*, int, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  said = text;
  lines_about_mode += strstr(text, "RAILWITNESS_MODE") != nullptr;
  lines++;
  printf("%s\n", text);
}

bool said_has(const char* what) { return said.find(what) != std::string::npos; }

struct Plugin {
  void* handle;
  const nccl::NetV11* net;
  const nccl::ProfilerV5* profiler;

  explicit Plugin(const char* path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle) fprintf(stderr, "%s\n", dlerror()), exit(1);
    net = static_cast<const nccl::NetV11*>(dlsym(handle, "ncclNetPlugin_v11"));
    profiler = static_cast<const nccl::ProfilerV5*>(dlsym(handle, "ncclProfiler_v5"));
    CHECK(net && profiler);
  }
  void* init() {
    void* context = nullptr;
    int devices = -1;
    CHECK(net->init(&context, 7, nullptr, logger, nullptr) == nccl::kSuccess);
    CHECK(context);
    CHECK(net->devices(&devices) == nccl::kSuccess && devices == 0);
    return context;
  }
  void* init_profiler() {
    void* context = nullptr;
    int mask = -1;
    CHECK(profiler->init(&context, 7, &mask, "world", 1, 2, 0, logger) == nccl::kSuccess);
    CHECK(context && mask == 0);
    return context;
  }
};

// What net_ib does with verbs.
struct NetIb {
  void* library = nullptr;
  ibv_context* context = nullptr;
  ibv_qp* qp = nullptr;
  ibv_pd pd{};
  ibv_cq cq{};

  template <typename F>
  F* find(const char* name) {
    auto* f = reinterpret_cast<F*>(dlvsym(library, name, "IBVERBS_1.1"));
    CHECK(f);
    return f;
  }
  bool load() {
    library = dlopen("libibverbs.so", RTLD_NOW);
    if (!library) library = dlopen("libibverbs.so.1", RTLD_NOW);
    return library != nullptr;
  }
  void open() {
    int count = 0;
    ibv_device** list = find<ibv_device**(int*)>("ibv_get_device_list")(&count);
    CHECK(list && count == 1);
    context = find<ibv_context*(ibv_device*)>("ibv_open_device")(list[0]);
    CHECK(context);
    find<void(ibv_device**)>("ibv_free_device_list")(list);
  }
  void connect() {
    pd.context = cq.context = context;
    ibv_qp_init_attr init{};
    qp = find<ibv_qp*(ibv_pd*, ibv_qp_init_attr*)>("ibv_create_qp")(&pd, &init);
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    a.dest_qp_num = 4242;
    a.ah_attr.port_num = 1;
    a.ah_attr.is_global = 1;
    a.ah_attr.grh.sgid_index = 3;
    CHECK(!find<int(ibv_qp*, ibv_qp_attr*, int)>("ibv_modify_qp")(qp, &a, IBV_QP_STATE | IBV_QP_DEST_QPN | IBV_QP_AV));
  }
  void transfer(int messages) {
    ibv_sge piece{0, 1000, 0};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &piece;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.send_flags = IBV_SEND_SIGNALED;
    for (int i = 0; i < messages; i++) {
      wr.wr_id = static_cast<uint64_t>(i);
      ibv_wc wc[4];
      CHECK(ibv_post_send(qp, &wr, &bad) == 0);
      CHECK(ibv_poll_cq(&cq, 4, wc) == 1);
      CHECK(ibv_poll_cq(&cq, 4, wc) == 0);
    }
  }
  void close() {
    CHECK(!find<int(ibv_qp*)>("ibv_destroy_qp")(qp));
    CHECK(!find<int(ibv_context*)>("ibv_close_device")(context));
  }
};

std::string segment_file;

SegmentCopy read_segment() { return take_segment_file(segment_file); }

void use_segment_file() {
  segment_file = "/tmp/railwitness-load-test";
  setenv("RAILWITNESS_SEGMENT_FILE", segment_file.c_str(), 1);
}

void check_transfer(const SegmentCopy& s, uint64_t flow, uint64_t messages, uint32_t peer) {
  CHECK(s.state(flow).posted == messages);
  CHECK(s.state(flow).completed == messages);
  CHECK(s.state(flow).completed_bytes == 1000 * messages);
  CHECK(s.identity(flow).peer_qpn == peer);
  CHECK(s.identity(flow).role == RAILWITNESS_ROLE_DATA);
  CHECK(s.identity(flow).rail == 0);
  CHECK(s.writer().rails == 1);
}

// --- scenarios ------------------------------------------------------------------------------------------------------

void by_stub(const char* plugin, const char*) {
  use_segment_file();
  Plugin p(plugin);
  void* first = p.init();
  CHECK(said_has("tap by stub"));
  NetIb ib;
  CHECK(ib.load());
  ib.open();
  void* profiler = p.init_profiler();
  ib.connect();
  ib.transfer(500);
  ibv_async_event event{};
  CHECK(!ib.find<int(ibv_context*, ibv_async_event*)>("ibv_get_async_event")(ib.context, &event));
  p.profiler->finalize(profiler);
  p.net->finalize(first);
  p.init();  // a second communicator
  CHECK(lines == 1);
  ib.transfer(500);
  ib.close();
  const SegmentCopy s = read_segment();
  CHECK(s.writer().attach == RAILWITNESS_ATTACH_STUB);
  CHECK(s.writer().contexts == 1);
  check_transfer(s, 0, 1000, 4242);
  CHECK(s.identity(0).local_gid[15] == 4);
  CHECK(s.identity(0).destroyed_ticks);
  CHECK(s.comm(0).comm_hash == 7 && s.comm(0).open == 2);
  CHECK(s.thread(0).posts == 1000 && s.thread(0).polls == 2000 && s.thread(0).completions == 1000);
  for (const int kind : {RAILWITNESS_CONTROL_ATTACHED, RAILWITNESS_CONTROL_CONTEXT_OPENED, RAILWITNESS_CONTROL_CONTEXT_CLOSED,
                         RAILWITNESS_CONTROL_QP_CREATED, RAILWITNESS_CONTROL_QP_MODIFIED, RAILWITNESS_CONTROL_QP_DESTROYED,
                         RAILWITNESS_CONTROL_ASYNC_EVENT, RAILWITNESS_CONTROL_COMM_OPENED, RAILWITNESS_CONTROL_COMM_CLOSED})
    CHECK(s.count_events(kind) == 1);
}

void name_taken(const char* plugin, const char*) {
  use_segment_file();
  CHECK(dlopen("libibverbs.so", RTLD_NOW));  // by this name, as another library of the job may have
  Plugin p(plugin);
  p.init();
  CHECK(said_has("tap by provider table"));
  NetIb ib;
  CHECK(ib.load());
  ib.open();
  p.init_profiler();
  ib.connect();
  ib.transfer(300);
  ib.close();
  const SegmentCopy s = read_segment();
  CHECK(s.writer().attach == RAILWITNESS_ATTACH_TABLE);
  check_transfer(s, 0, 300, s.identity(0).qpn + 1);  // asked of the device: the modification was not seen
}

void late(const char* plugin, const char* library) {  // the profiler slot alone, after NCCL has opened its devices
  use_segment_file();
  void* nccl = dlopen(library, RTLD_NOW);
  CHECK(nccl);
  const auto open = reinterpret_cast<ibv_context* (*)()>(dlsym(nccl, "fake_nccl_open"));
  NetIb ib;
  ib.context = open();
  ib.library = dlopen("libibverbs.so.1", RTLD_NOW);
  Plugin p(plugin);
  p.init_profiler();
  CHECK(said_has("tap by late attach, contexts 1,"));
  ib.connect();
  ib.transfer(200);
  p.init_profiler();  // a second communicator finds nothing further
  ib.transfer(100);
  ib.close();
  const SegmentCopy s = read_segment();
  CHECK(s.writer().contexts == 1);
  CHECK(s.writer().attach == RAILWITNESS_ATTACH_LATE);
  check_transfer(s, 0, 300, s.identity(0).qpn + 1);
  CHECK(s.writer().comms == 2);
}

void unloaded(const char* plugin, const char*) {
  Plugin p(plugin);
  p.init();
  NetIb ib;
  CHECK(ib.load());
  ib.open();
  ib.connect();
  ib.transfer(10);
  CHECK(dlclose(p.handle) == 0);
  ib.transfer(10);  // the code is still there
  ib.close();
  Plugin again(plugin);
  again.init();
  CHECK(lines == 1);
}

void no_sidecar(const char* plugin, const char*) {
  setenv("RAILWITNESS_SOCKET", "/nowhere/sidecar.sock", 1);
  Plugin p(plugin);
  for (int i = 0; i < 2; i++) p.net->finalize(p.init());
  CHECK(said_has("no sidecar"));
  CHECK(lines == 1);
}

void with_sidecar(const char* plugin, const char*) {
  FakeSidecar sidecar;
  setenv("RAILWITNESS_SOCKET", sidecar.path.c_str(), 1);
  if (fork() == 0) {  // the sidecar
    alarm(20);
    const int client = sidecar.accept();
    const int segment = FakeSidecar::serve(client);
    char byte;
    CHECK(recv(client, &byte, 1, 0) == 0);
    check_transfer(SegmentCopy::read(segment), 0, 50, 4242);
    _exit(failures);
  }
  Plugin p(plugin);
  p.init();
  CHECK(said_has("sidecar connected"));
  NetIb ib;
  CHECK(ib.load());
  ib.open();
  ib.connect();
  ib.transfer(50);
  ib.close();
}

void no_stub(const char* plugin, const char*) {  // `plugin` lies alone in its folder
  Plugin p(plugin);
  p.init();
  CHECK(said_has("tap-verbs.so cannot be loaded"));
  NetIb ib;
  CHECK(ib.load());
  p.init_profiler();
}

void off(const char* plugin, const char*) {
  setenv("RAILWITNESS_MODE", "off", 1);
  Plugin p(plugin);
  p.net->finalize(p.init());
  p.profiler->finalize(p.init_profiler());
  CHECK(said_has("off by RAILWITNESS_MODE"));
  CHECK(!dlopen("tap-verbs.so", RTLD_NOW | RTLD_NOLOAD) && !dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD));
}

void misspelt(const char* plugin, const char*) {
  setenv("RAILWITNESS_SOKET", "/run/x", 1);
  setenv("RAILWITNESS_MODE", "tapp", 1);
  Plugin p(plugin);
  for (int i = 0; i < 2; i++) p.net->finalize(p.init());
  p.profiler->finalize(p.init_profiler());
  CHECK(said_has("warning: RAILWITNESS_SOKET is not known; RAILWITNESS_SOCKET is meant?"));
  CHECK(said_has("RAILWITNESS_MODE is 'tapp'; one of ") && lines_about_mode == 1);
  CHECK(lines == 2);  // the banner and this, once a process
}

}  // namespace
}  // namespace railwitness::test

int main(int argc, char** argv) {
  using namespace railwitness::test;
  if (argc < 3) return 2;
  const struct {
    const char* name;
    void (*run)(const char*, const char*);
  } scenarios[] = {{"stub", by_stub}, {"taken", name_taken},         {"late", late},       {"unloaded", unloaded},
                   {"off", off},      {"no_sidecar", no_sidecar},   {"no_stub", no_stub}, {"with_sidecar", with_sidecar},
                   {"misspelt", misspelt}};
  alarm(60);
  setenv("RAILWITNESS_SOCKET", "/nowhere", 0);
  for (const auto& s : scenarios) {
    if (strcmp(s.name, argv[1])) continue;
    s.run(argv[2], argc > 3 ? argv[3] : nullptr);
    fflush(stdout);
    return failures ? 1 : 0;
  }
  return 2;
}
