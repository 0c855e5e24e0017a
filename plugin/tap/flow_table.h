// From a queue pair number to its flow: open addressing, one table a context. Readers are the threads that post and poll,
// without a lock; writers hold control_mutex (context.h). A reader looks for the number of a queue pair that exists, and no
// writer touches the entry of that one meanwhile; entries of others may change under it, which it does not notice.
#ifndef RAILWITNESS_PLUGIN_TAP_FLOW_TABLE_H_
#define RAILWITNESS_PLUGIN_TAP_FLOW_TABLE_H_

#include "plugin/witness/hot.h"
#include "railwitness/base/shared_word.h"

#include <cstdint>

namespace railwitness::tap {

extern witness::Flow no_flow;  // stands for queue pairs without a line

class FlowTable {
 public:
  static constexpr uint32_t kEntries = 16384;  // 192 KiB, of which only the pages around known numbers are taken
  static constexpr uint32_t kMostUsed = kEntries * 3 / 4;  // some stay empty, so that a search ends

  bool create();  // idempotent
  void clear();

  // False: not at the first look; the number may be known all the same, if it collides with others. What comes out has
  // its `memory` null, if the number is known but has no line.
  [[gnu::always_inline]] bool find_at_once(uint32_t qpn, witness::Flow*& flow) const {
    const Table* table = table_;
    const uint32_t i = qpn % kEntries;
    if (load_acquire(table->qpn[i]) != qpn) [[unlikely]] return false;
    flow = load_relaxed(table->flow[i]);
    return true;
  }
  witness::Flow* find(uint32_t qpn) const;  // null: not known, or without a line
  bool knows(uint32_t qpn) const;
  bool is_full() const { return load_relaxed(used_) >= kMostUsed; }

  bool insert(uint32_t qpn, witness::Flow* flow);
  void remove(uint32_t qpn);

  template <typename Visit>
  void for_each(Visit visit) {
    for (uint32_t i = 0; table_ && i < kEntries; i++)
      if (table_->qpn[i] != kEmpty && table_->qpn[i] != kRemoved && table_->flow[i] != &no_flow) visit(*table_->flow[i]);
  }

 private:
  static constexpr uint32_t kEmpty = 0, kRemoved = ~0u;  // real numbers have 24 bits and begin at 2

  struct Table {
    uint32_t qpn[kEntries];
    witness::Flow* flow[kEntries];  // never null where there is a number
  };

  int find_entry(uint32_t qpn) const;  // -1: not known

  Table* table_;
  uint32_t used_;  // entries that are not empty
};

}  // namespace railwitness::tap

#endif  // RAILWITNESS_PLUGIN_TAP_FLOW_TABLE_H_
