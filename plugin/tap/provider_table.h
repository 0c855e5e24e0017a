// The fallback where the stub's name is taken: alloc_context in the provider's own table of functions is replaced. Private
// ABI of rdma-core (PABI 17 to 64), so everything is checked first and anything unlike it refused. Taps every later user
// of verbs in the process, not NCCL alone. The table stays where it is: providers compare its address.
#ifndef RAILWITNESS_PLUGIN_TAP_PROVIDER_TABLE_H_
#define RAILWITNESS_PLUGIN_TAP_PROVIDER_TABLE_H_

namespace railwitness::tap {

// The reason where the table leads into one already.
inline constexpr char kAnotherCopy[] = "another copy of the plugin is at work; name one copy in NCCL_NET_PLUGIN";

struct TableResult {
  int tapped;       // providers
  const char* why;  // one was left alone, or all; null if none was
};

TableResult tap_provider_tables();

// Which member of `table` (struct verbs_device_ops) is alloc_context? -1 and a reason: it is not such a table.
int find_alloc_context(const void* table, int private_abi, const char** why);

}  // namespace railwitness::tap

#endif  // RAILWITNESS_PLUGIN_TAP_PROVIDER_TABLE_H_
