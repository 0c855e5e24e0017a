// Tapped verbs contexts. A context's post_send, post_recv and poll_cq are replaced by functions of its own (one template
// instance a slot), so that no call has to look for the original.
//
// Replaced are three pointers in the ibv_context that the application holds: public ABI. The functions call the original
// exactly once with unchanged arguments, whatever else they find.
#ifndef RAILWITNESS_PLUGIN_TAP_CONTEXT_H_
#define RAILWITNESS_PLUGIN_TAP_CONTEXT_H_

#include "plugin/tap/flow_table.h"
#include "plugin/witness/hot.h"

#include <infiniband/verbs.h>

#include <cstdint>

#include <pthread.h>

namespace railwitness::tap {

inline constexpr int kSlots = 64;

struct Slot {
  // Read by each call.
  int (*post_send)(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad);
  int (*post_recv)(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** bad);
  int (*poll_cq)(ibv_cq* cq, int entries, ibv_wc* completions);
  FlowTable flows;
  // Under control_mutex.
  ibv_context* context;  // null: free
  bool closing;          // ibv_close_device is under way
  bool has_rails;
};
extern Slot slots[kSlots] __attribute__((visibility("hidden")));

// Guards slots and tables against one another's writers. Taken before the recorder's mutex, never after it, and never held
// over a call into verbs.
extern pthread_mutex_t control_mutex;

class ControlLock {
 public:
  ControlLock() { pthread_mutex_lock(&control_mutex); }
  ~ControlLock() { pthread_mutex_unlock(&control_mutex); }
  ControlLock(const ControlLock&) = delete;
  ControlLock& operator=(const ControlLock&) = delete;
};

// Taps a context; again, if its memory was that of an earlier one. False: no slot is free, it does not look like one, or
// another copy of the plugin has tapped it: each call would count twice, and copies that tap each other call in a circle.
bool tap_context(ibv_context* context);
bool is_tapped(const ibv_context* context);

// Which function posts on a context from now on: the one that reads the clock before the original is called, or, while
// only counters are kept (witness::Detail), one that does not. By a thread that is in a call on it, so that it is there.
void use_post_send(int slot, ibv_context* context, bool stamped);

// Fills the rails of the context's device, once. Not before ibv_open_device has returned.
void add_rails(Slot& slot);

Slot* find_slot(const ibv_context* context);
Slot* begin_close(ibv_context* context);
void end_close(Slot& slot, bool closed);

}  // namespace railwitness::tap

#endif  // RAILWITNESS_PLUGIN_TAP_CONTEXT_H_
