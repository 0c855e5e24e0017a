// The life of queue pairs, as the hooks and the first posts tell it. Rare calls, any thread.
#ifndef RAILWITNESS_PLUGIN_TAP_FLOWS_H_
#define RAILWITNESS_PLUGIN_TAP_FLOWS_H_

#include "plugin/tap/context.h"

namespace railwitness::tap {

void flow_created(ibv_qp* qp, const ibv_qp_init_attr* attributes);
void flow_modified(ibv_qp* qp, const ibv_qp_attr* attributes, int mask, int result);
void* flow_destroying(ibv_qp* qp);
void flow_destroyed(void* token, int result);
void async_event(ibv_context* context, const ibv_async_event* event);

// The flow of a queue pair whose creation was not seen. Null: it stays without a line.
witness::Flow* attach_flow(Slot& slot, ibv_qp* qp);

// Asks the device about the peer, if nobody has told.
void complete_facts(witness::Flow& flow, ibv_qp* qp);

}  // namespace railwitness::tap

#endif  // RAILWITNESS_PLUGIN_TAP_FLOWS_H_
