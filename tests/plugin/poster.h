// One flow and its thread, without verbs: what the tap does with hot.h.
#ifndef RAILWITNESS_TESTS_PLUGIN_POSTER_H_
#define RAILWITNESS_TESTS_PLUGIN_POSTER_H_

#include "plugin/witness/recorder.h"

namespace railwitness::test {

struct Poster {
  witness::Flow* flow;

  explicit Poster(uint32_t qpn) : flow(witness::open_flow(qpn, false)) {}

  void enter() {
    if (witness::this_thread.memory != witness::base()) witness::enter_thread();
    if (flow->memory == witness::base()) return;
    if (!flow->memory)
      witness::settle_role(*flow, RAILWITNESS_DIRECTION_SEND, RAILWITNESS_ROLE_DATA, witness::ticks());
    else
      witness::enter_flow(*flow);
  }
  void post(uint64_t id, uint64_t bytes = 100) {
    enter();
    add_relaxed(witness::this_thread.line->posts, 1);
    if (flow->state->records >= flow->limit) witness::make_room(*flow);
    witness::post_send(*flow, flow->state->records, {1, bytes, id, 1, RAILWITNESS_RECORD_SIGNALLED}, witness::ticks());
  }
  void complete(uint64_t id) {
    enter();
    add_relaxed(witness::this_thread.line->completions, 1);
    witness::complete_send(*flow, id, witness::ticks());
  }
};

}  // namespace railwitness::test

#endif  // RAILWITNESS_TESTS_PLUGIN_POSTER_H_
