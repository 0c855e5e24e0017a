// Tells the two ends of a connection from all others when the transport cannot (a chained plugin's handles are opaque):
// both have seen the 128 bytes that listen filled in, and connect got, before it changed them.
#ifndef RAILWITNESS_PLUGIN_ENGINE_MEETING_H_
#define RAILWITNESS_PLUGIN_ENGINE_MEETING_H_

#include "plugin/engine/transport.h"

#include <cstdint>

namespace railwitness::engine {

struct Meeting {
  uint64_t word[2];  // a hash of the handle
};

Meeting meet(const void* handle);

// connect is called again and again with the same memory, in which the transport may keep its state. Before each call:
// the meeting of the first one. After it, unless the connection is not made yet, it is forgotten. A call whose handle is
// not as the last one left it is the first of another connection (one that was given up is never closed). Any thread.
Meeting before_connect(const void* handle);
void after_connect(const void* handle, const Meeting& meeting, bool again);

// In a forked child: the lock may be held by a thread that only its parent has.
void renew_lock_in_child();

// Where `ends` has no number or addresses: ones that the other end has too, as its peer's.
void fill_in(const Meeting& meeting, bool is_send, Ends& ends);

}  // namespace railwitness::engine

#endif  // RAILWITNESS_PLUGIN_ENGINE_MEETING_H_
