#include "plugin/tap/flows.h"

#include "plugin/tap/real_verbs.h"
#include "plugin/witness/recorder.h"

namespace railwitness::tap {
namespace {

using witness::Flow;
using witness::FlowFacts;

Slot* slot_of_flow[witness::kMostFlows];  // under control_mutex

// `counted`: this queue pair found no line before, and is counted as unwitnessed.
Flow* open_flow(Slot& slot, uint32_t qpn, bool always_signalled, bool counted) {
  const ControlLock lock;
  // A number may come again without a destruction that was seen (by another way than the stub's).
  if (Flow* known = slot.flows.find(qpn)) witness::close_flow(*known);
  if (!slot.flows.insert(qpn, nullptr)) return nullptr;  // 12288 queue pairs on one context
  Flow* flow = witness::open_flow(qpn, always_signalled, counted);
  if (!flow) return nullptr;
  slot.flows.insert(qpn, flow);
  slot_of_flow[flow->index] = &slot;
  return flow;
}

// The attributes that `mask` names, as verbs knows them for this queue pair.
struct Learnt {
  FlowFacts facts;
  uint8_t state, timeout, retries, mtu, port;
  uint16_t lid;
  ibv_gid local, peer;
};

void read_facts(const ibv_qp* qp, const ibv_qp_attr& a, int mask, Learnt& l) {
  FlowFacts& f = l.facts;
  f.device = qp->context->device->name;
  if (mask & IBV_QP_STATE) l.state = static_cast<uint8_t>(a.qp_state), f.qp_state = &l.state;
  if (mask & IBV_QP_PORT) l.port = a.port_num, f.port = &l.port;
  if (mask & IBV_QP_DEST_QPN) f.peer_qpn = &a.dest_qp_num;
  if (mask & IBV_QP_PATH_MTU) l.mtu = static_cast<uint8_t>(a.path_mtu), f.path_mtu = &l.mtu;
  if (mask & IBV_QP_TIMEOUT) l.timeout = a.timeout, f.timeout = &l.timeout;
  if (mask & IBV_QP_RETRY_CNT) l.retries = a.retry_cnt, f.retry_count = &l.retries;
  if (!(mask & IBV_QP_AV)) return;
  l.lid = a.ah_attr.dlid;
  f.peer_lid = &l.lid;
  if (a.ah_attr.port_num) l.port = a.ah_attr.port_num, f.port = &l.port;
  if (!a.ah_attr.is_global) return;
  l.peer = a.ah_attr.grh.dgid;
  f.peer_gid = l.peer.raw;
  // Only now: entries of the table may move when an address of the interface changes.
  if (real_verbs.query_gid && f.port &&
      !real_verbs.query_gid(qp->context, l.port, a.ah_attr.grh.sgid_index, &l.local))
    f.local_gid = l.local.raw;
}

Flow* find_flow(const ibv_qp* qp) {
  Slot* slot = find_slot(qp->context);
  return slot ? slot->flows.find(qp->qp_num) : nullptr;
}

}  // namespace

void flow_created(ibv_qp* qp, const ibv_qp_init_attr* attributes) {
  if (!witness::may_record()) return;
  if (Slot* slot = find_slot(qp->context)) open_flow(*slot, qp->qp_num, attributes && attributes->sq_sig_all, false);
}

void flow_modified(ibv_qp* qp, const ibv_qp_attr* attributes, int mask, int result) {
  if (!witness::may_record()) return;
  Flow* flow = find_flow(qp);
  if (!flow) return;
  if (result == 0) {
    Learnt learnt{};
    read_facts(qp, *attributes, mask, learnt);
    witness::learn(*flow, learnt.facts);
  }
  const uint32_t rail = witness::rail_of(*flow);
  const uint64_t state = mask & IBV_QP_STATE ? uint64_t{attributes->qp_state} : uint64_t{IBV_QPS_UNKNOWN};
  const uint64_t peer = mask & IBV_QP_DEST_QPN ? attributes->dest_qp_num : 0;
  witness::record_event({.kind = RAILWITNESS_CONTROL_QP_MODIFIED, .rail = rail, .qpn = qp->qp_num,
                         .value = {state, peer, static_cast<uint64_t>(int64_t{result})}});
}

void* flow_destroying(ibv_qp* qp) {
  if (!witness::may_record()) return nullptr;
  Slot* slot = find_slot(qp->context);
  Flow* flow = slot ? find_flow(qp) : nullptr;
  if (slot) {
    const ControlLock lock;
    slot->flows.remove(qp->qp_num);
  }
  return flow;
}

void flow_destroyed(void* token, int result) {
  auto* flow = static_cast<Flow*>(token);
  if (result == 0) return witness::close_flow(*flow);
  const ControlLock lock;
  slot_of_flow[flow->index]->flows.insert(flow->qpn, flow);
}

void async_event(ibv_context* context, const ibv_async_event* event) {
  if (!witness::may_record()) return;
  uint32_t qpn = 0, rail = witness::kNoRail;
  uint64_t where = 0;
  switch (event->event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      where = qpn = event->element.qp->qp_num;
      break;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
      where = static_cast<uint64_t>(event->element.port_num);
      rail = witness::find_rail(context->device->name, static_cast<uint8_t>(where));
      break;
    default:  // of a CQ, SRQ, WQ or the device
      rail = witness::find_rail(context->device->name, 1);
  }
  witness::record_event({.kind = RAILWITNESS_CONTROL_ASYNC_EVENT, .rail = rail, .qpn = qpn,
                         .value = {static_cast<uint64_t>(event->event_type), where, 0}});
}

Flow* attach_flow(Slot& slot, ibv_qp* qp) {
  add_rails(slot);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  const bool known = real_verbs.query_qp && !real_verbs.query_qp(qp, &attributes, IBV_QP_CAP, &init);
  return open_flow(slot, qp->qp_num, known && init.sq_sig_all, slot.flows.knows(qp->qp_num));
}

void complete_facts(Flow& flow, ibv_qp* qp) {
  if (!real_verbs.query_qp || witness::is_peer_known(flow)) return;
  constexpr int kMask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT |
                        IBV_QP_RETRY_CNT;
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  if (real_verbs.query_qp(qp, &attributes, kMask, &init)) return;
  Learnt learnt{};
  read_facts(qp, attributes, kMask, learnt);
  witness::learn(flow, learnt.facts);
}

}  // namespace railwitness::tap
