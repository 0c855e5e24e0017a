/* The hand-over: how a process of a job gets its witness segment from the sidecar of its node.
 *
 * A SOCK_SEQPACKET unix socket (default RAILWITNESS_DEFAULT_SOCKET). The job connects, sends one railwitness_hello and
 * gets one railwitness_welcome, which carries the segment's descriptor (SCM_RIGHTS) when status is 0. Then the socket
 * stays open: its end tells either side that the other is gone. The sidecar never takes a descriptor.
 * From minor 3 on (of both) the job may ask for further segments with railwitness_request, one after the other; each
 * request gets one more railwitness_welcome. An earlier sidecar hangs up on a request: it must not be asked.
 * Identity (pid, uid) is what SO_PEERCRED says, never what the hello says. docs/segment-abi.md, section "Hand-over".
 */
#ifndef RAILWITNESS_ABI_HANDOVER_H_
#define RAILWITNESS_ABI_HANDOVER_H_

#include "railwitness/abi/segment.h"

#define RAILWITNESS_HANDOVER_MAGIC 0x4F4C4C4548575752ull /* "RWWHELLO" */
#define RAILWITNESS_HANDOVER_ASKS 0xFFFFu /* abi_major of a hello that only asks who is there: RAILWITNESS_WELCOME_VERSION */
#define RAILWITNESS_DEFAULT_SOCKET "/run/railwitness/sidecar.sock"

struct railwitness_hello {
  uint64_t magic;
  uint16_t abi_major;
  uint16_t abi_minor;
  uint32_t hello_bytes;
  uint32_t pid; /* as the job sees itself; for display */
  uint32_t plugin_version;
  uint64_t features;
  char job[64]; /* NUL-terminated; a name to show: letters, digits and _.:/- ; anything else is replaced */
  uint8_t reserved[128 - 96];
};

#define RAILWITNESS_REQUEST_MAGIC 0x3054524150575752ull /* "RWWPART0" */

struct railwitness_request { /* "give me the further segment number `part`" */
  uint64_t magic;
  uint32_t request_bytes;
  uint32_t part; /* one more than the last that was given */
  uint8_t reserved[64 - 16];
};

enum railwitness_welcome_status {
  RAILWITNESS_WELCOME_OK = 0,
  RAILWITNESS_WELCOME_BAD_HELLO = 1,
  RAILWITNESS_WELCOME_VERSION = 2, /* other abi_major; the sidecar's own is in the welcome */
  RAILWITNESS_WELCOME_FULL = 3,    /* the sidecar serves no more processes or flows (or no more of this user) */
  RAILWITNESS_WELCOME_NO_MEMORY = 4,
};

struct railwitness_welcome {
  uint64_t magic;
  uint16_t abi_major;
  uint16_t abi_minor;
  uint32_t status; /* enum railwitness_welcome_status */
  uint64_t segment_bytes;
  uint32_t generation;
  uint32_t part; /* 0: the answer to the hello; else to the request for this part */
  uint8_t reserved[64 - 32];
};

RAILWITNESS_ASSERT(sizeof(struct railwitness_hello) == 128, "hello");
RAILWITNESS_ASSERT(offsetof(struct railwitness_hello, job) == 32, "job name");
RAILWITNESS_ASSERT(sizeof(struct railwitness_request) == 64, "request");
RAILWITNESS_ASSERT(sizeof(struct railwitness_welcome) == 64, "welcome");
RAILWITNESS_ASSERT(offsetof(struct railwitness_welcome, part) == 28, "part of a welcome");

#endif /* RAILWITNESS_ABI_HANDOVER_H_ */
