// One source, built once a version (FAKE_VERSION, 5 to 12). Exports ncclNetPlugin_vN, ncclCollNetPlugin_vN and fake_vN.
#define FAKE_JOIN_(a, b) a##b
#define FAKE_JOIN(a, b) FAKE_JOIN_(a, b)
#define FAKE_TEXT_(a) #a
#define FAKE_TEXT(a) FAKE_TEXT_(a)
#include FAKE_TEXT(railwitness/nccl/FAKE_JOIN(net_v, FAKE_VERSION).h)
#if FAKE_VERSION >= 6
#include FAKE_TEXT(railwitness/nccl/FAKE_JOIN(collnet_v, FAKE_VERSION).h)
#endif

#include "tests/plugin/chain/fake_plugin.h"

#include <iterator>

#define FAKE_EXPORT __attribute__((visibility("default")))

using railwitness::nccl::Result;
using Net = railwitness::nccl::FAKE_JOIN(NetV, FAKE_VERSION);
using Properties = railwitness::nccl::FAKE_JOIN(NetPropertiesV, FAKE_VERSION);

extern "C" FAKE_EXPORT fake::Plugin FAKE_JOIN(fake_v, FAKE_VERSION);
fake::Plugin FAKE_JOIN(fake_v, FAKE_VERSION);

namespace {

fake::Plugin& plugin = FAKE_JOIN(fake_v, FAKE_VERSION);

template <typename Argument>
uint64_t word(Argument argument) {
  if constexpr (std::is_pointer_v<Argument>) return reinterpret_cast<uint64_t>(argument);
  else return static_cast<uint64_t>(argument);
}

// Any function of any table: the address of one with the right arguments is taken below.
template <fake::Function function, typename... Arguments>
Result recorded(Arguments... arguments) {
  plugin.calls++;
  if (plugin.is_quiet) return plugin.result;
  plugin.last = {function, sizeof...(arguments), {word(arguments)...}};
  if (plugin.hook) plugin.hook(plugin.last);
  return plugin.result;
}

Result get_properties(int device, Properties* properties) {
  recorded<fake::kGetProperties>(device, properties);
  static char name[] = "fake0", path[] = "/sys/devices/pci0000:00/0000:00:01.0";
  properties->name = name;
  properties->pci_path = path;
  properties->guid = fake::kGuid;
  properties->ptr_support = fake::kPtrSupport;
  properties->speed_mbps = fake::kSpeed;
  properties->port = fake::kPort;
  properties->latency_us = fake::kLatency;
  properties->max_comms = fake::kMaxComms;
  properties->max_recvs = fake::kMaxRecvs;
#if FAKE_VERSION >= 7
  properties->net_device_type = fake::kNetDeviceType;
  properties->net_device_version = fake::kNetDeviceVersion;
#endif
#if FAKE_VERSION >= 8
  properties->reg_is_global = fake::kRegIsGlobal;
#endif
#if FAKE_VERSION >= 9
  properties->force_flush = fake::kForceFlush;
  properties->vprops.ndevs = static_cast<int>(std::size(properties->vprops.devs));
  for (int i = 0; i < properties->vprops.ndevs; i++) properties->vprops.devs[i] = 10 + i;
  if (device < 0) properties->vprops.ndevs = 1000;  // a plugin that lies
  properties->max_p2p_bytes = fake::kMaxP2p;
  properties->max_coll_bytes = fake::kMaxColl;
#endif
#if FAKE_VERSION >= 11
  properties->max_multi_request_size = fake::kMultiRequest;
#endif
#if FAKE_VERSION >= 12
  properties->rail_id = fake::kRail;
  properties->plane_id = fake::kPlane;
#endif
  return plugin.result;
}

}  // namespace

using namespace fake;

extern "C" FAKE_EXPORT Net FAKE_JOIN(ncclNetPlugin_v, FAKE_VERSION);
Net FAKE_JOIN(ncclNetPlugin_v, FAKE_VERSION){
    .name = "fake",
    .init = recorded<kInit>,
    .devices = recorded<kDevices>,
    .get_properties = get_properties,
    .listen = recorded<kListen>,
    .connect = recorded<kConnect>,
    .accept = recorded<kAccept>,
    .reg_mr = recorded<kRegMr>,
#if FAKE_VERSION >= 6
    .reg_mr_dma_buf = recorded<kRegMrDmaBuf>,
#endif
    .dereg_mr = recorded<kDeregMr>,
    .isend = recorded<kIsend>,
    .irecv = recorded<kIrecv>,
    .iflush = recorded<kIflush>,
    .test = recorded<kTest>,
    .close_send = recorded<kCloseSend>,
    .close_recv = recorded<kCloseRecv>,
    .close_listen = recorded<kCloseListen>,
#if FAKE_VERSION >= 7
    .get_device_mr = recorded<kGetDeviceMr>,
    .irecv_consumed = recorded<kIrecvConsumed>,
#endif
#if FAKE_VERSION >= 9
    .make_v_device = recorded<kMakeVDevice>,
#endif
#if FAKE_VERSION >= 11
    .finalize = recorded<kFinalize>,
    .set_net_attr = recorded<kSetNetAttr>,
#endif
};

#if FAKE_VERSION >= 6
using CollNet = railwitness::nccl::FAKE_JOIN(CollNetV, FAKE_VERSION);
extern "C" FAKE_EXPORT CollNet FAKE_JOIN(ncclCollNetPlugin_v, FAKE_VERSION);
CollNet FAKE_JOIN(ncclCollNetPlugin_v, FAKE_VERSION){
    .name = "fake",
    .init = recorded<kInit>,
    .devices = recorded<kDevices>,
    .get_properties = get_properties,
    .listen = recorded<kListen>,
    .connect = recorded<kConnect>,
    .reduce_support = recorded<kReduceSupport>,
    .reg_mr = recorded<kRegMr>,
    .reg_mr_dma_buf = recorded<kRegMrDmaBuf>,
    .dereg_mr = recorded<kDeregMr>,
    .iallreduce = recorded<kIallreduce>,
#if FAKE_VERSION >= 8
    .iallgather = recorded<kIallgather>,
    .ireducescatter = recorded<kIreducescatter>,
#endif
    .iflush = recorded<kIflush>,
    .test = recorded<kTest>,
    .close_coll = recorded<kCloseColl>,
    .close_listen = recorded<kCloseListen>,
#if FAKE_VERSION >= 9
    .make_v_device = recorded<kMakeVDevice>,
#endif
#if FAKE_VERSION >= 11
    .finalize = recorded<kFinalize>,
#endif
};
#endif
