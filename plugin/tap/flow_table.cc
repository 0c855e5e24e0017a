#include "plugin/tap/flow_table.h"

#include <sys/mman.h>

namespace railwitness::tap {

constinit witness::Flow no_flow{};

bool FlowTable::create() {
  if (table_) return true;
  void* memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  table_ = static_cast<Table*>(memory);
  used_ = 0;
  return true;
}

void FlowTable::clear() {
  for (uint32_t i = 0; table_ && i < kEntries; i++) store_release(table_->qpn[i], kEmpty);
  store_relaxed(used_, 0);
}

int FlowTable::find_entry(uint32_t qpn) const {
  for (uint32_t n = 0, i = qpn % kEntries; n < kEntries; n++, i = (i + 1) % kEntries) {
    const uint32_t have = load_acquire(table_->qpn[i]);
    if (have == qpn) return static_cast<int>(i);
    if (have == kEmpty) break;
  }
  return -1;
}

witness::Flow* FlowTable::find(uint32_t qpn) const {
  const int i = find_entry(qpn);
  witness::Flow* flow = i < 0 ? nullptr : load_relaxed(table_->flow[i]);
  return flow == &no_flow ? nullptr : flow;
}

bool FlowTable::knows(uint32_t qpn) const { return find_entry(qpn) >= 0; }

bool FlowTable::insert(uint32_t qpn, witness::Flow* flow) {
  int at = find_entry(qpn);
  for (uint32_t n = 0, i = qpn % kEntries; n < kEntries && at < 0; n++, i = (i + 1) % kEntries) {
    const uint32_t have = table_->qpn[i];
    if (have == kRemoved || (have == kEmpty && used_ < kMostUsed)) at = static_cast<int>(i);
    if (have == kEmpty) break;
  }
  if (at < 0) return false;
  if (table_->qpn[at] == kEmpty) store_relaxed(used_, used_ + 1);
  store_relaxed(table_->flow[at], flow ? flow : &no_flow);
  store_release(table_->qpn[at], qpn);
  return true;
}

void FlowTable::remove(uint32_t qpn) {
  const int found = find_entry(qpn);
  if (found < 0) return;
  auto i = static_cast<uint32_t>(found);
  store_release(table_->qpn[i], kRemoved);
  // What stands directly before an empty entry can be empty too: no search goes on behind it.
  if (table_->qpn[(i + 1) % kEntries] != kEmpty) return;
  for (; table_->qpn[i] == kRemoved; i = (i + kEntries - 1) % kEntries) {
    store_release(table_->qpn[i], kEmpty);
    store_relaxed(used_, used_ - 1);
  }
}

}  // namespace railwitness::tap
