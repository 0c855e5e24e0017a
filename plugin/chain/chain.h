// Mode chain:PLUGIN. Opens another net plugin and offers it as our transport: that plugin moves the bytes, our engine
// watches its calls.
#ifndef RAILWITNESS_PLUGIN_CHAIN_CHAIN_H_
#define RAILWITNESS_PLUGIN_CHAIN_CHAIN_H_

#include "plugin/engine/collnet.h"
#include "plugin/engine/transport.h"

namespace railwitness::chain {

struct Opened {
  engine::Transport* transport;  // null: see why_not
  engine::CollNet* collnet;      // null: the plugin has no CollNet
  const char* why_not;           // in words, with the way out; null if there is a transport
};

// `plugin` is what NCCL_NET_PLUGIN would have been: a path or a library's name, else X of libnccl-net-X.so (or
// librccl-net-X.so); empty or null: libnccl-net.so, then librccl-net.so. Of its versions the newest is spoken, v12 to
// v5. Loads the library, calls nothing in it, and never unloads it. For one thread at a time; why_not lives until the
// next call.
Opened open(const char* plugin);

}  // namespace railwitness::chain

#endif  // RAILWITNESS_PLUGIN_CHAIN_CHAIN_H_
