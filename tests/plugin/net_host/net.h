// A plugin's net table as NCCL of some version calls it, in the newest version's terms, and what NCCL relies on checked
// at every call: results, outputs that must be written, arguments that die with the call, time spent in it.
#ifndef RAILWITNESS_TESTS_PLUGIN_NET_HOST_NET_H_
#define RAILWITNESS_TESTS_PLUGIN_NET_HOST_NET_H_

#include "tests/plugin/net_host/abi.h"

#include <memory>
#include <string>
#include <vector>

namespace railwitness::net_host {

using abi::Result;

// A device's properties in the newest version's terms; what an older version lacks has NCCL's own value for it.
struct Device {
  std::string name, pci_path;
  uint64_t guid = 0;
  int ptr_support = 0, reg_is_global = 0, force_flush = 0, speed = 0, port = 0;
  float latency = 0;
  int max_comms = 0, max_recvs = 0, net_device_type = 0, net_device_version = 0;
  std::vector<int> members;
  size_t max_p2p_bytes = 0, max_coll_bytes = 0;
  int max_multi_request_size = 1, rail_id = abi::kUndefined, plane_id = abi::kUndefined;
  std::string unset;  // fields that the plugin left as they were
};

// NCCL's handle of a connection: the same memory for each try, and nothing may be written behind it.
struct Handle {
  unsigned char bytes[abi::kHandleBytes] = {};
  uint64_t canary = 0x6E65745F686F7374;
};

// A request's place in NCCL is stale between uses. It must be overwritten by every isend and irecv.
inline void* const kStale = reinterpret_cast<void*>(uintptr_t{0xDEAD0000DEAD0001});
inline void* const kOptional = reinterpret_cast<void*>(uintptr_t{1});  // NCCL_NET_OPTIONAL_RECV_COMPLETION

class Net {
 public:
  virtual ~Net() = default;
  const int version;

  virtual std::string name() const = 0;
  // v6 to v10: the plugin's init is called by the first communicator only, and there is no context.
  Result init(void** context, uint64_t comm_id, int traffic_class);
  int devices();
  bool has_no_devices();  // none, or an error: NCCL goes on without the plugin
  Device properties(int device);
  Result listen(void* context, int device, Handle*, void** comm);
  Result connect(void* context, int device, Handle*, void** comm, void** device_handle = nullptr);
  Result accept(void* listen_comm, void** comm, void** device_handle = nullptr);
  void close_listen(void* comm);
  void close_send(void* comm);
  void close_recv(void* comm);
  void* register_memory(void* comm, void* data, size_t bytes, int type = abi::kPtrHost);
  virtual bool has_dmabuf() const = 0;
  void* register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd);
  void deregister(void* comm, void* mr);

  Result isend(void* comm, void* data, size_t bytes, int tag, void* mr, void* phandle, void** request);
  struct Receive {
    void* data;
    size_t bytes;
    int tag;
    void *mr, *phandle;
  };
  // `optional`: NCCL does not need to know when it is done (a hint of 2.24 and later, hidden from v6 to v8).
  Result irecv(void* comm, const std::vector<Receive>&, bool optional, void** request);
  Result iflush(void* comm, const std::vector<Receive>&, const int* bytes, void** request);  // *request stays null if not needed
  // sizes: null, or one int of a send, or kMaxChannels ints of a receive, all 0 before.
  Result test(void* request, int* sizes, bool* done);
  void consumed(void* comm, int n, void* request);  // if the plugin wants to hear of it

  virtual bool has_device_mr() const = 0;
  virtual Result get_device_mr(void* comm, void* mr, void** pointer) = 0;
  virtual bool has_virtual_devices() const = 0;
  virtual Result make_virtual_device(const std::vector<int>& members, int* device) = 0;
  Result finalize(void* context);  // v6 to v10: nothing
  Result set_attributes(void* context, abi::Attributes attributes);

  // The functions as they are, for hosts that call what NCCL never does.
  virtual const void* table() const = 0;

 protected:
  explicit Net(int v) : version(v) {}
  virtual Result raw_init(void** context, uint64_t comm_id, int traffic_class) = 0;
  virtual Result raw_devices(int* count) = 0;
  virtual Result raw_properties(int device, Device* out) = 0;
  virtual Result raw_listen(void* context, int device, void* handle, void** comm) = 0;
  virtual Result raw_connect(void* context, int device, void* handle, void** comm, void** device_handle) = 0;
  virtual Result raw_accept(void* listen_comm, void** comm, void** device_handle) = 0;
  enum Closing { kListen, kSend, kRecv };
  virtual Result raw_close(Closing, void* comm) = 0;
  virtual Result raw_register(void* comm, void* data, size_t bytes, int type, void** mr) = 0;
  virtual Result raw_register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr) = 0;
  virtual Result raw_deregister(void* comm, void* mr) = 0;
  virtual Result raw_isend(void* comm, void* data, size_t bytes, int tag, void* mr, void* phandle, void** request) = 0;
  virtual Result raw_irecv(void* comm, const std::vector<Receive>&, void** request) = 0;
  virtual Result raw_iflush(void* comm, int n, void** data, int* sizes, void** mrs, void** request) = 0;
  virtual Result raw_test(void* request, int* done, int* sizes) = 0;
  virtual Result raw_consumed(void* comm, int n, void* request) = 0;
  virtual Result raw_finalize(void* context) = 0;
  virtual Result raw_set_attributes(void* context, abi::Attributes*) = 0;
  int traffic_class_ = abi::kUndefined;  // v10: goes to connect

 private:
  bool is_initialised_ = false;
};

std::unique_ptr<Net> make_net(int version, const void* table);

// What NCCL gives a plugin: its logger, and its profiler's callback from v10 on.
void logger(int level, unsigned long flags, const char* file, int line, const char* format, ...);
std::string logged();  // so far, a line each
void print_log(bool yes);
Result profiler(void** event, int type, void* phandle, int64_t plugin, void* data);
// A step's handle as NCCL gives it to isend and irecv. The callback accepts only those that live.
struct ProfilerStep {
  ProfilerStep();
  ~ProfilerStep();
  ProfilerStep(const ProfilerStep&) = delete;
  ProfilerStep& operator=(const ProfilerStep&) = delete;
};
int profiler_starts();
int profiler_stops();

}  // namespace railwitness::net_host

#endif  // RAILWITNESS_TESTS_PLUGIN_NET_HOST_NET_H_
