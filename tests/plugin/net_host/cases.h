// The cases, by what they are about. README.md says which trap each covers.
#ifndef RAILWITNESS_TESTS_PLUGIN_NET_HOST_CASES_H_
#define RAILWITNESS_TESTS_PLUGIN_NET_HOST_CASES_H_

#include "tests/plugin/net_host/communicator.h"
#include "tests/plugin/net_host/rank.h"

#include <vector>

namespace railwitness::net_host {

std::vector<Case> life_cases();      // load, init, properties, finalize, unload
std::vector<Case> silent_cases();    // modes without devices
std::vector<Case> connect_cases();   // listen, connect, accept
std::vector<Case> data_cases();      // isend, irecv, iflush, test
std::vector<Case> thread_cases();    // service and progress threads, several communicators
std::vector<Case> abort_cases();     // aborts, errors, peers that die
std::vector<Case> forward_cases();   // what a chain passes on
std::vector<Case> collnet_cases();
std::vector<Case> misuse_cases();    // what NCCL never does
std::vector<Case> cycle_cases();     // nothing is left behind

// When a case applies.
inline bool always(const Options&) { return true; }
inline bool loud(const Options& o) { return !o.is_silent(); }
inline bool silent(const Options& o) { return o.is_silent(); }
inline bool chained(const Options& o) { return o.is_chain(); }
inline bool ours_and_loud(const Options& o) { return o.is_ours() && !o.is_silent(); }

}  // namespace railwitness::net_host

#endif  // RAILWITNESS_TESTS_PLUGIN_NET_HOST_CASES_H_
