#include "plugin/chain/chain.h"

#include "plugin/chain/library.h"
#include "plugin/chain/versions.h"

#include <cstdio>
#include <cstring>

#include <dlfcn.h>

namespace railwitness::chain {
namespace {

constexpr char kOurName[] = "railwitness";  // a copy of us elsewhere on the disk has other addresses but this name

constexpr MakeNet kNets[] = {net_v5, net_v6, net_v7, net_v8, net_v9, net_v10, net_v11, net_v12};
constexpr int kOldestNet = 5, kNewestNet = 12;
constexpr MakeCollNet kCollNets[] = {collnet_v6,  collnet_v7,  collnet_v8, collnet_v9,
                                     collnet_v10, collnet_v11, collnet_v12};
constexpr int kOldestCollNet = 6, kNewestCollNet = 12;
static_assert(sizeof kNets / sizeof *kNets == kNewestNet - kOldestNet + 1);
static_assert(sizeof kCollNets / sizeof *kCollNets == kNewestCollNet - kOldestCollNet + 1);

// What every table of every version begins with.
struct Head {
  const char* name;
  void (*init)();
};

// Null if `table` can be taken; else why not, with a place for the plugin and for the file.
const char* objection(const Head* table) {
  if (!table)
    return "chain:%s: %s is no net plugin, or an unknown one: it has none of ncclNetPlugin_v12 to ncclNetPlugin_v5";
  if (is_in_ourselves(table) || (table->name && !strcmp(table->name, kOurName)))
    return "chain:%s is railwitness itself (%s); name the plugin that is to move the data";
  if (!table->init) return "chain:%s: %s is broken: its newest table has no init";
  return nullptr;
}

}  // namespace

Opened open(const char* plugin) {
  static char why_not[1024];
  Library library = load(plugin, why_not, sizeof why_not);
  if (!library.handle) return {nullptr, nullptr, why_not};

  int version, coll_version;
  const void* table = newest_table(library, "ncclNetPlugin", kNewestNet, kOldestNet, &version);
  if (const char* text = objection(static_cast<const Head*>(table))) {
    snprintf(why_not, sizeof why_not, text, plugin ? plugin : "", library.name);
    dlclose(library.handle);
    return {nullptr, nullptr, why_not};
  }
  Opened opened{kNets[version - kOldestNet](table, library.name), nullptr, "there is no memory for the chain"};
  if (!opened.transport) return opened;
  opened.why_not = nullptr;
  table = newest_table(library, "ncclCollNetPlugin", kNewestCollNet, kOldestCollNet, &coll_version);
  if (table && static_cast<const Head*>(table)->init)
    opened.collnet = kCollNets[coll_version - kOldestCollNet](table, library.name);
  return opened;
}

}  // namespace railwitness::chain
