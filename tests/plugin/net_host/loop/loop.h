// A net plugin for tests, whose network is Unix sockets within this host. It speaks every version of the net table, or,
// built with LOOP_ONLY, one. It is strict: whatever NCCL would not do is an error here, so that a chain before it that
// changes anything is found. Knobs (environment):
//
//   LOOP_DEVICES=N        devices (2)
//   LOOP_MAX_RECVS=N      grouped receives (8)
//   LOOP_POINTERS=BITS    ptrSupport (5: host and dmabuf)
//   LOOP_TRIES=N          calls of connect and of accept until a comm comes (2); the count lives in the handle
//   LOOP_NULL_EVERY=N     every N-th isend and irecv gives no request (5; 0: never)
//   LOOP_LATE=N           up to N calls of test after completion still say "not yet" (3), so that later requests are
//                         complete before earlier ones
//   LOOP_CORRUPT=N        flips a bit in the N-th message with content that arrives in a process (0: in none)
//   LOOP_FAIL=init|devices|listen|connect|irecv|progress    fails there; `progress`: isend says ncclInProgress once
#ifndef RAILWITNESS_TESTS_PLUGIN_NET_HOST_LOOP_LOOP_H_
#define RAILWITNESS_TESTS_PLUGIN_NET_HOST_LOOP_LOOP_H_

#include "tests/plugin/net_host/abi.h"

#include <cstddef>
#include <cstdint>

namespace railwitness::net_host::loop {

using abi::Result;

// What the plugin holds and was told. The symbol loop_counts fills it.
struct Counts {
  int64_t inits, finalizes, contexts;  // contexts: held now
  int64_t listens, sends, receives;    // comms held now
  int64_t keys, requests;              // registrations and requests held now
  int64_t registrations, dmabufs, posts, flushes, consumed, attributes, optional;  // ever
  int64_t traffic_class, last_op;
  uint64_t last_comm_id;
  int64_t device_handle;       // as connect or accept got it last
  int64_t null_sizes;          // calls of test without sizes
};
using CountsFunction = void (*)(Counts*);

struct Config {
  uint64_t comm_id;
  int traffic_class;
  abi::Logger log;
  abi::ProfilerCallback profiler;
};

long knob(const char* name, long value);
bool fails(const char* where);

Result init(void** context, const Config&);
Result finalize(void* context);
Result devices(int* count);
Result properties(int device, abi::Properties<12>*);
Result make_virtual_device(int* device, const int* members, int count, int most);
Result listen(void* context, int device, void* handle, void** comm);
Result connect(void* context, int device, int traffic_class, void* handle, void** comm, void** device_handle);
Result accept(void* listen_comm, void** comm, void** device_handle);
Result close_listen(void* comm);
Result close_send(void* comm);
Result close_recv(void* comm);
Result register_memory(void* comm, void* data, size_t bytes, int type, void** mr);
Result register_dmabuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int fd, void** mr);
Result deregister(void* comm, void* mr);
Result isend(void* comm, void* data, size_t bytes, int tag, void* mr, void* phandle, void** request);
Result irecv(void* comm, int n, void** data, const size_t* bytes, const int* tags, void** mrs, void** phandles, void** request);
Result iflush(void* comm, int n, void** data, int* bytes, void** mrs, void** request);
Result test(void* request, int* done, int* sizes);
Result consumed(void* comm, int n, void* request);
Result set_attributes(void* context, const abi::Attributes*);

}  // namespace railwitness::net_host::loop

#endif  // RAILWITNESS_TESTS_PLUGIN_NET_HOST_LOOP_LOOP_H_
