#include "tests/plugin/lifecycle/loaded.h"

#include <cstdarg>
#include <mutex>

#include <dlfcn.h>

namespace railwitness::lifecycle {
namespace {

std::mutex said_mutex;
int said_lines = 0;

void logger(nccl::LogLevel, unsigned long, const char*, int, const char* format, ...) {
  char text[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard lock(said_mutex);
  if (!strstr(text, "railwitness")) return;  // a chained plugin's own
  said_lines++;
  const size_t used = strnlen(bed.page->text, sizeof bed.page->text);
  snprintf(bed.page->text + used, sizeof bed.page->text - used, "%s\n", text);
}

}  // namespace

void use_mode() {
  if (bed.mode == Mode::kChain) setenv("RAILWITNESS_MODE", ("chain:" + bed.loop).c_str(), 1);
  if (bed.mode == Mode::kOfi) setenv("RAILWITNESS_MODE", "ofi", 1), setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  if (bed.mode == Mode::kTap) unsetenv("RAILWITNESS_MODE");
}

int lines_said() { return said_lines; }
bool was_said(const char* what) { return strstr(bed.page->text, what) != nullptr; }

Plugin::Plugin(const std::string& path) {
  use_mode();
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) fprintf(stderr, "%s\n", dlerror());
  NEED(handle);
  net = static_cast<const nccl::NetV11*>(dlsym(handle, "ncclNetPlugin_v11"));
  profiler = static_cast<const nccl::ProfilerV5*>(dlsym(handle, "ncclProfiler_v5"));
  NEED(net && profiler);
}

void Plugin::init() {
  nccl::NetCommConfigV11 config{};
  config.traffic_class = nccl::kUndefined;
  NEED(net->init(&context, 7, &config, logger, nullptr) == nccl::kSuccess);
  int devices = -1;
  NEED(net->devices(&devices) == nccl::kSuccess);
  NEED((devices > 0) == (bed.mode != Mode::kTap));
}

void Plugin::finalize() const { NEED(net->finalize(context) == nccl::kSuccess); }

void* Plugin::init_profiler() const {
  void* profiling = nullptr;
  int mask = -1;
  NEED(profiler->init(&profiling, 7, &mask, "world", 1, 2, 0, logger) == nccl::kSuccess);
  return profiling;
}

void Plugin::unload() {
  NEED(dlclose(handle) == 0);
  handle = nullptr;
}

// By a name that is loaded, if it is: a host may have a real libibverbs.so.
Verbs::Verbs(const char* name) : library(dlopen(name, RTLD_NOW | RTLD_NOLOAD)) {
  if (!library) library = dlopen("libibverbs.so.1", RTLD_NOW);
  NEED(library);
}

void* Verbs::find_symbol(const char* name) const {
  void* symbol = dlvsym(library, name, "IBVERBS_1.1");
  NEED(symbol);
  return symbol;
}

void Verbs::open() {
  int count = 0;
  ibv_device** list = find<ibv_device**(int*)>("ibv_get_device_list")(&count);
  NEED(list && count == 1);
  context = find<ibv_context*(ibv_device*)>("ibv_open_device")(list[0]);
  NEED(context);
  find<void(ibv_device**)>("ibv_free_device_list")(list);
}

void Verbs::close() {
  NEED(!find<int(ibv_context*)>("ibv_close_device")(context));
  context = nullptr;
}

ibv_qp* Verbs::create_qp() const {
  ibv_pd pd{};
  pd.context = context;
  ibv_qp_init_attr init{};
  ibv_qp* qp = find<ibv_qp*(ibv_pd*, ibv_qp_init_attr*)>("ibv_create_qp")(&pd, &init);
  NEED(qp);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.dest_qp_num = 4242;
  NEED(!find<int(ibv_qp*, ibv_qp_attr*, int)>("ibv_modify_qp")(qp, &a, IBV_QP_STATE | IBV_QP_DEST_QPN));
  return qp;
}

void Verbs::destroy_qp(ibv_qp* qp) const { NEED(!find<int(ibv_qp*)>("ibv_destroy_qp")(qp)); }

VerbsMover::VerbsMover(const Verbs& verbs) : verbs_(verbs), qp_(verbs.create_qp()) { cq_.context = verbs.context; }
VerbsMover::~VerbsMover() {
  if (qp_) verbs_.destroy_qp(qp_);
}

bool VerbsMover::move(int transfers) {
  ibv_sge piece{0, 1000, 0};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &piece;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.send_flags = IBV_SEND_SIGNALED;
  for (int i = 0; i < transfers; i++) {
    ibv_wc wc[4];
    if (ibv_post_send(qp_, &wr, &bad) || ibv_poll_cq(&cq_, 4, wc) != 1 || ibv_poll_cq(&cq_, 4, wc) != 0) return false;
    if (wc[0].status != IBV_WC_SUCCESS) return false;
  }
  return true;
}

NetMover::NetMover(const Plugin& plugin) : net_(*plugin.net) {
  alignas(8) char handle[nccl::kHandleBytes] = {};
  NEED(net_.listen(plugin.context, 0, handle, &listen_) == nccl::kSuccess);
  const uint64_t end_ns = read_clock_ns(CLOCK_MONOTONIC) + 20'000'000'000;
  while (!send_ || !receive_) {
    if (!send_) NEED(net_.connect(plugin.context, 0, handle, &send_, nullptr) == nccl::kSuccess);
    if (!receive_) NEED(net_.accept(listen_, &receive_, nullptr) == nccl::kSuccess);
    NEED(read_clock_ns(CLOCK_MONOTONIC) < end_ns);
  }
  NEED(net_.reg_mr(send_, out_, sizeof out_, nccl::kPtrHost, &out_mr_) == nccl::kSuccess);
  NEED(net_.reg_mr(receive_, in_, sizeof in_, nccl::kPtrHost, &in_mr_) == nccl::kSuccess);
}

NetMover::~NetMover() {
  net_.dereg_mr(send_, out_mr_);
  net_.dereg_mr(receive_, in_mr_);
  net_.close_send(send_);
  net_.close_recv(receive_);
  net_.close_listen(listen_);
}

bool NetMover::move(int transfers) {
  for (int i = 0; i < transfers; i++) {
    out_[0] = static_cast<char>(i), in_[0] = static_cast<char>(~i);
    void *sending = nullptr, *receiving = nullptr, *data = in_;
    size_t bytes = sizeof in_;
    int tag = 0;
    for (int sent = 0, received = 0; !sent || !received;) {
      if (!receiving && net_.irecv(receive_, 1, &data, &bytes, &tag, &in_mr_, nullptr, &receiving)) return false;
      if (!sending && net_.isend(send_, out_, sizeof out_, 0, out_mr_, nullptr, &sending)) return false;
      int size = 0;
      if (sending && !sent && net_.test(sending, &sent, &size)) return false;
      if (receiving && !received && net_.test(receiving, &received, &size)) return false;
    }
    if (in_[0] != out_[0]) return false;
  }
  return true;
}

Loaded::Loaded() {
  plugin.init();
  if (bed.mode != Mode::kTap) return;
  verbs = std::make_unique<Verbs>();
  verbs->open();
}

std::unique_ptr<Mover> Loaded::make_mover() const {
  if (bed.mode == Mode::kTap) return std::make_unique<VerbsMover>(*verbs);
  return std::make_unique<NetMover>(plugin);
}

void Loaded::start_moving(int threads) {
  for (int i = 0; i < threads; i++)
    threads_.emplace_back([this, i] {
      const std::unique_ptr<Mover> mover = make_mover();
      while (!over_) {
        NEED(mover->move(1));
        bed.page->moved[i]++;
        if (bed.page->moved[i] % 16 == 0) nap_ms(1);  // the machine has others
      }
    });
  while (bed.page->moved[threads - 1] == 0) nap_ms(1);
}

void Loaded::stop() {
  over_ = true;
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

}  // namespace railwitness::lifecycle
