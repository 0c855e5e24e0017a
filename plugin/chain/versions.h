// One maker a version: a transport, or a CollNet, that speaks it to `table`; null if there is no memory. `library` is
// the file's name, for descriptions.
#ifndef RAILWITNESS_PLUGIN_CHAIN_VERSIONS_H_
#define RAILWITNESS_PLUGIN_CHAIN_VERSIONS_H_

#include "plugin/engine/collnet.h"
#include "plugin/engine/transport.h"

namespace railwitness::chain {

using MakeNet = engine::Transport* (*)(const void* table, const char* library);
engine::Transport* net_v5(const void* table, const char* library);
engine::Transport* net_v6(const void* table, const char* library);
engine::Transport* net_v7(const void* table, const char* library);
engine::Transport* net_v8(const void* table, const char* library);
engine::Transport* net_v9(const void* table, const char* library);
engine::Transport* net_v10(const void* table, const char* library);
engine::Transport* net_v11(const void* table, const char* library);
engine::Transport* net_v12(const void* table, const char* library);

using MakeCollNet = engine::CollNet* (*)(const void* table, const char* library);
engine::CollNet* collnet_v6(const void* table, const char* library);
engine::CollNet* collnet_v7(const void* table, const char* library);
engine::CollNet* collnet_v8(const void* table, const char* library);
engine::CollNet* collnet_v9(const void* table, const char* library);
engine::CollNet* collnet_v10(const void* table, const char* library);
engine::CollNet* collnet_v11(const void* table, const char* library);
engine::CollNet* collnet_v12(const void* table, const char* library);

}  // namespace railwitness::chain

#endif  // RAILWITNESS_PLUGIN_CHAIN_VERSIONS_H_
