/* The witness segment, layout version 0: what one process of a job writes and the sidecar of its node reads.
 *
 * One segment per process, made and sized by the sidecar (a sealed memfd), mapped only by the job, read by the sidecar
 * with pread(2), copied once, then validated. Everything in it after hand-over is written by the job and therefore
 * hostile to the reader. The normative text is docs/segment-abi.md; this header is its C form.
 *
 *   offset 0          railwitness_segment_header   written by the sidecar before hand-over, never trusted again
 *   writer_offset     railwitness_writer           one, counters of the whole process
 *   threads_offset    railwitness_thread  [thread_capacity]
 *   rails_offset      railwitness_rail    [rail_capacity]
 *   comms_offset      railwitness_comm    [comm_capacity]
 *   identities_offset railwitness_identity[flow_capacity]    \
 *   states_offset     railwitness_state   [flow_capacity]     | a flow is one index into these four
 *   histograms_offset railwitness_histogram[flow_capacity]    |
 *   records_offset    railwitness_record  [flow_capacity][RAILWITNESS_RECORDS_PER_FLOW]  /
 *   control_offset    railwitness_control [control_capacity]
 *
 * A process with more flows gets further segments, numbered by `part`: same header, but only the writer and the four
 * tables of flows; every other capacity is 0. The flows of all parts are numbered through.
 *
 * Writers: each line has one writing thread at a time (that of the queue pair, as NCCL's proxy guarantees), except the
 * control ring, which many threads claim with one atomic add. All stores are plain or release stores of aligned words
 * of at most 8 bytes; nothing is locked. Little-endian, fixed-width, no pointers. A writer killed at any store leaves
 * a readable segment.
 *
 * Times are ticks of the clock named in railwitness_writer.clock; 0 means "never". The reader converts.
 */
#ifndef RAILWITNESS_ABI_SEGMENT_H_
#define RAILWITNESS_ABI_SEGMENT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define RAILWITNESS_ASSERT(condition, text) static_assert(condition, text)
#else
#define RAILWITNESS_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define RAILWITNESS_SEGMENT_MAGIC 0x304745534E575752ull /* "RWWNSEG0" */
#define RAILWITNESS_ABI_MAJOR 0 /* a reader or writer of another major refuses */
#define RAILWITNESS_ABI_MINOR 4 /* a larger minor is read by its known part; 2: net calls, 3: further segments, 4: cost */

#define RAILWITNESS_RECORDS_PER_FLOW 128
#define RAILWITNESS_HISTOGRAM_BUCKETS 64

/* Capacities of a segment as the sidecar makes it today; the header of each segment holds its own. */
#define RAILWITNESS_THREAD_CAPACITY 64
#define RAILWITNESS_RAIL_CAPACITY 32
#define RAILWITNESS_COMM_CAPACITY 64
#define RAILWITNESS_FLOW_CAPACITY 256
#define RAILWITNESS_CONTROL_CAPACITY 1024 /* a power of two */

/* The segments of a process: part 0 holds 256 flows, the next ones 512, 1024, 2048, 4096, and 4096 each from there on.
 * Flow i of a part is flow RAILWITNESS_PART_FIRST_FLOW(part) + i of the process. */
#define RAILWITNESS_PARTS 7u
#define RAILWITNESS_PART_FLOWS(part) (256u << ((part) < 4u ? (part) : 4u))
#define RAILWITNESS_PART_FIRST_FLOW(part) \
  ((part) <= 4u ? 256u * ((1u << ((part) <= 4u ? (part) : 4u)) - 1u) : 3840u + 4096u * ((part) - 4u))
#define RAILWITNESS_MOST_FLOWS RAILWITNESS_PART_FIRST_FLOW(RAILWITNESS_PARTS)

struct railwitness_segment_header {
  uint64_t magic; /* stored last, release */
  uint16_t abi_major;
  uint16_t abi_minor;
  uint32_t header_bytes;
  uint64_t segment_bytes;
  uint64_t features; /* unknown bits are ignored */
  uint32_t thread_capacity;
  uint32_t rail_capacity;
  uint32_t comm_capacity;
  uint32_t flow_capacity;
  uint32_t records_per_flow;
  uint32_t control_capacity;
  uint32_t generation; /* counts the segments a sidecar process has handed to anybody; for display */
  uint32_t part;       /* 0: the first segment of its process; else a further one, of flows only */
  uint64_t writer_offset;
  uint64_t threads_offset;
  uint64_t rails_offset;
  uint64_t comms_offset;
  uint64_t identities_offset;
  uint64_t states_offset;
  uint64_t histograms_offset;
  uint64_t records_offset;
  uint64_t control_offset;
  uint8_t boot_id[16];
  uint64_t created_wall_ns; /* CLOCK_REALTIME */
  uint64_t created_mono_ns; /* CLOCK_MONOTONIC */
  uint8_t reserved1[256 - 168];
};

enum railwitness_clock {
  RAILWITNESS_CLOCK_UNKNOWN = 0,
  RAILWITNESS_CLOCK_TSC = 1,     /* rdtsc of an invariant time stamp counter */
  RAILWITNESS_CLOCK_MONO_NS = 2, /* clock_gettime(CLOCK_MONOTONIC), nanoseconds */
};

/* How the process' verbs calls are witnessed. */
enum railwitness_attach {
  RAILWITNESS_ATTACH_NONE = 0,  /* nothing is witnessed (yet) */
  RAILWITNESS_ATTACH_STUB = 1,  /* NCCL found tap-verbs.so under the name libibverbs.so */
  RAILWITNESS_ATTACH_LATE = 2,  /* contexts that NCCL had opened before were found and tapped */
  RAILWITNESS_ATTACH_TABLE = 3, /* the provider's alloc_context was replaced */
  RAILWITNESS_ATTACH_CHAIN = 4, /* net calls, forwarded to another net plugin; its verbs calls too if it makes any */
  RAILWITNESS_ATTACH_OFI = 5,   /* net calls, over our own libfabric transport */
};

enum railwitness_detail {
  RAILWITNESS_DETAIL_FULL = 0,
  RAILWITNESS_DETAIL_COUNTERS = 1, /* counts go on; stamps are coarse, histograms stand still */
};

struct railwitness_writer {
  uint32_t pid;    /* as the writer sees itself; for display, the sidecar uses SO_PEERCRED */
  uint32_t clock;  /* enum railwitness_clock */
  uint32_t attach; /* enum railwitness_attach */
  uint32_t contexts; /* verbs contexts tapped so far */
  uint32_t threads;  /* lines in use: stored with release after the line is filled */
  uint32_t rails;
  uint32_t comms;
  uint32_t flows; /* of this part */
  /* The rest is of the whole process and lies in part 0. */
  uint64_t unwitnessed_flows;  /* queue pairs that found no line anybody reads, and have found none since */
  uint64_t unwitnessed_events; /* posts, completions and errors that belong to no line */
  uint64_t control_reserved;   /* events claimed in the control ring, ever */
  uint64_t alone_begin_ticks;  /* the last span without a sidecar: since when (its loss, or the start), 0 never */
  uint64_t alone_end_ticks;    /* and when the next one took over */
  uint32_t plugin_version;     /* major << 16 | minor << 8 | patch */
  uint32_t copied_forward;     /* 1: lines were taken over from an earlier segment */
  /* What recording takes, measured once a second; since minor 4. */
  uint64_t cost_events;       /* events that were timed, ever: a post, a receive posted, a completion each */
  uint64_t cost_ticks;        /* and what they took */
  uint32_t cost_ppm;          /* of the time of the threads that call: what full recording took in the last second, or would
                                 have taken */
  uint16_t cost_max_permille; /* more than this for some seconds: counters only; 0: no limit */
  uint16_t detail;            /* enum railwitness_detail */
  uint64_t detail_since_ticks; /* when `detail` changed last; 0: never */
  uint32_t detail_reductions;  /* how often it changed to counters only */
  uint32_t cost_event_ticks;   /* of an event, in the last second; 0: none was timed */
  uint32_t detail_ppm;         /* cost_ppm when `detail` changed last */
  uint8_t reserved[128 - 124];
};

struct railwitness_thread { /* one line per thread that calls; plain counters, the reader times their change */
  uint32_t tid;
  uint32_t reserved0;
  uint64_t posts; /* calls of post_send and post_recv */
  uint64_t polls; /* calls of poll_cq */
  uint64_t completions;
  uint64_t first_call_ticks;
  uint8_t reserved[64 - 40];
};

enum railwitness_link_layer {
  RAILWITNESS_LINK_UNKNOWN = 0,
  RAILWITNESS_LINK_INFINIBAND = 1,
  RAILWITNESS_LINK_ETHERNET = 2,
};

struct railwitness_rail { /* a port of a device that the process has open; filled once at open */
  char device[64]; /* NUL-terminated, as in /sys/class/infiniband */
  uint64_t guid;   /* node guid, network byte order as verbs gives it */
  uint8_t port;
  uint8_t link_layer; /* enum railwitness_link_layer */
  uint8_t state;      /* enum ibv_port_state at open */
  uint8_t active_speed;
  uint8_t active_width;
  uint8_t reserved0;
  uint16_t lid;
  uint8_t gid[16]; /* entry 0 of the port's table */
  uint8_t reserved[128 - 96];
};

struct railwitness_comm { /* a communicator, as NCCL's profiler interface introduces it */
  uint64_t comm_hash;
  int32_t rank;
  int32_t nranks;
  int32_t nnodes;
  uint32_t open; /* 1 open, 2 closed; stored last with release */
  uint64_t opened_ticks;
  uint64_t closed_ticks;
  char name[64]; /* NUL-terminated, may be empty */
  uint8_t reserved[128 - 104];
};

enum railwitness_direction {
  RAILWITNESS_DIRECTION_UNKNOWN = 0,
  RAILWITNESS_DIRECTION_SEND = 1, /* this end sends the data of the connection */
  RAILWITNESS_DIRECTION_RECV = 2, /* this end receives the data and sends CTS */
};

enum railwitness_role { /* what this queue pair's own sends carry */
  RAILWITNESS_ROLE_UNKNOWN = 0,
  RAILWITNESS_ROLE_DATA = 1,
  RAILWITNESS_ROLE_CTS = 2,   /* clear-to-send entries written into the sender's FIFO */
  RAILWITNESS_ROLE_FLUSH = 3, /* loop-back reads that flush GPU writes */
};

enum railwitness_flow_kind {
  RAILWITNESS_FLOW_QUEUE_PAIR = 0,
  RAILWITNESS_FLOW_CONNECTION = 1, /* one end of a connection of the net slot: isend, irecv, test */
};

struct railwitness_identity { /* a flow; `sequence` is odd while the line is being written */
  uint32_t sequence; /* 0: free */
  uint8_t port;
  uint8_t link_layer;
  uint8_t direction; /* enum railwitness_direction; set by the first post */
  uint8_t role;      /* enum railwitness_role; set by the first post */
  uint32_t qpn;
  uint32_t peer_qpn; /* 0: not known */
  uint8_t local_gid[16];
  uint8_t peer_gid[16];
  uint16_t lid;
  uint16_t peer_lid;
  uint32_t rail;    /* index into the rails; ~0: not known */
  uint64_t created_ticks;
  uint64_t destroyed_ticks; /* 0: alive */
  uint8_t qp_state;   /* enum ibv_qp_state as last set by ibv_modify_qp */
  uint8_t timeout;    /* local ACK timeout exponent, 4.096 us x 2^timeout */
  uint8_t retry_count;
  uint8_t path_mtu;   /* enum ibv_mtu */
  uint8_t kind;       /* enum railwitness_flow_kind */
  uint8_t reserved0[3];
  uint8_t reserved[128 - 80];
};

struct railwitness_state { /* two cache lines; the first is all that a data post and its completion touch */
  uint64_t posted;           /* send work requests accepted */
  uint64_t completed;        /* of these, known to be finished (a signalled one finishes all before it) */
  uint64_t posted_bytes;     /* payload of `posted` */
  uint64_t completed_bytes;  /* payload of `completed` */
  uint64_t last_post_ticks;
  uint64_t last_completion_ticks;
  uint64_t oldest_post_ticks; /* post time of the oldest signalled request without completion; 0: none */
  uint64_t records;           /* records written, ever: stored with release after the record */

  uint64_t receives_posted;
  uint64_t receives_completed;
  uint64_t received_bytes;
  /* Since when a receive is outstanding with nothing arriving; 0: none outstanding. Of a connection that sends: since
     when the transport takes no send, as a rule for want of the peer's clear-to-send; none if before last_post_ticks. */
  uint64_t receive_wait_ticks;
  uint64_t first_post_ticks;
  uint64_t first_error_ticks;
  uint16_t first_error_status; /* enum ibv_wc_status; of a connection: ncclResult_t */
  uint16_t errors;             /* error completions, saturating */
  uint32_t first_error_vendor;
  uint64_t last_receive_ticks;
};

struct railwitness_histogram { /* bucket b: post to completion seen, floor(log2(ticks)) == b */
  uint32_t bucket[RAILWITNESS_HISTOGRAM_BUCKETS];
};

enum railwitness_record_flags {
  RAILWITNESS_RECORD_SIGNALLED = 1,
  RAILWITNESS_RECORD_IMMEDIATE = 2, /* carries immediate data: the end of a message for NCCL's net_ib */
};

struct railwitness_record { /* one call of post_send; a flow's record i lies at i % records_per_flow */
  uint64_t sequence; /* i + 1, stored last with release; 0 while being overwritten */
  uint64_t post_ticks;
  uint64_t done_ticks; /* 0: no completion seen; stored with release after `status` */
  uint64_t bytes;
  uint64_t wr_id;          /* of the last signalled request of the call */
  uint64_t posted_through; /* state.posted after the call */
  uint64_t bytes_through;  /* state.posted_bytes after the call */
  uint16_t requests;       /* work requests in the call */
  uint8_t opcode;          /* enum ibv_wr_opcode of the last one */
  uint8_t flags;           /* enum railwitness_record_flags */
  uint16_t status;         /* enum ibv_wc_status of the completion */
  uint16_t reserved;
};

enum railwitness_control_kind { /* never renumbered */
  RAILWITNESS_CONTROL_CONTEXT_OPENED = 1, /* value[0] rail index */
  RAILWITNESS_CONTROL_CONTEXT_CLOSED = 2,
  RAILWITNESS_CONTROL_QP_CREATED = 3,
  RAILWITNESS_CONTROL_QP_MODIFIED = 4, /* value[0] new state, [1] peer qpn, [2] result of the call */
  RAILWITNESS_CONTROL_QP_DESTROYED = 5,
  RAILWITNESS_CONTROL_ERROR_COMPLETION = 6, /* value[0] status, [1] vendor error, [2] wr_id */
  RAILWITNESS_CONTROL_POST_FAILED = 7,      /* value[0] errno */
  RAILWITNESS_CONTROL_ASYNC_EVENT = 8,      /* value[0] enum ibv_event_type, [1] port or qpn */
  RAILWITNESS_CONTROL_ATTACHED = 9,         /* value[0] enum railwitness_attach */
  RAILWITNESS_CONTROL_SIDECAR_LOST = 10,
  RAILWITNESS_CONTROL_SIDECAR_FOUND = 11,
  RAILWITNESS_CONTROL_COMM_OPENED = 12, /* value[0] comm hash, [1] rank */
  RAILWITNESS_CONTROL_COMM_CLOSED = 13,
  RAILWITNESS_CONTROL_DETAIL_REDUCED = 14, /* counters only; value[0] cost_ppm, [1] cost_max_permille, [2] cost_event_ticks */
  RAILWITNESS_CONTROL_DETAIL_RESTORED = 15, /* the same values */
};

struct railwitness_control { /* event i lies at i % control_capacity */
  uint64_t sequence;         /* i + 1, stored last with release; 0 while being overwritten */
  uint64_t ticks;
  uint16_t kind; /* enum railwitness_control_kind */
  uint16_t rail; /* ~0: none */
  uint32_t qpn;  /* 0: none */
  uint64_t value[3];
  uint8_t reserved[64 - 48];
};

RAILWITNESS_ASSERT(RAILWITNESS_PART_FLOWS(0) == RAILWITNESS_FLOW_CAPACITY, "part 0 is the segment of before");
RAILWITNESS_ASSERT(RAILWITNESS_PART_FIRST_FLOW(1) == 256 && RAILWITNESS_PART_FIRST_FLOW(5) == 7936, "flows of parts");
RAILWITNESS_ASSERT(RAILWITNESS_MOST_FLOWS == 16128, "flows of a process");
RAILWITNESS_ASSERT(sizeof(struct railwitness_segment_header) == 256, "header is 256 bytes");
RAILWITNESS_ASSERT(offsetof(struct railwitness_segment_header, part) == 60, "part");
RAILWITNESS_ASSERT(offsetof(struct railwitness_segment_header, writer_offset) == 64, "offsets follow the capacities");
RAILWITNESS_ASSERT(offsetof(struct railwitness_segment_header, boot_id) == 136, "boot id follows the offsets");
RAILWITNESS_ASSERT(sizeof(struct railwitness_writer) == 128, "writer is two lines");
RAILWITNESS_ASSERT(offsetof(struct railwitness_writer, unwitnessed_flows) == 32, "writer counters");
RAILWITNESS_ASSERT(offsetof(struct railwitness_writer, cost_events) == 80, "cost of the witness");
RAILWITNESS_ASSERT(offsetof(struct railwitness_writer, cost_ppm) == 96, "cost of the last second");
RAILWITNESS_ASSERT(offsetof(struct railwitness_writer, cost_max_permille) == 100, "budget");
RAILWITNESS_ASSERT(offsetof(struct railwitness_writer, detail) == 102, "detail");
RAILWITNESS_ASSERT(offsetof(struct railwitness_writer, detail_since_ticks) == 104, "since when");
RAILWITNESS_ASSERT(offsetof(struct railwitness_writer, cost_event_ticks) == 116, "cost of an event");
RAILWITNESS_ASSERT(offsetof(struct railwitness_writer, detail_ppm) == 120, "why");
RAILWITNESS_ASSERT(sizeof(struct railwitness_thread) == 64, "thread is one line");
RAILWITNESS_ASSERT(sizeof(struct railwitness_rail) == 128, "rail is two lines");
RAILWITNESS_ASSERT(offsetof(struct railwitness_rail, gid) == 80, "gid of a rail");
RAILWITNESS_ASSERT(sizeof(struct railwitness_comm) == 128, "comm is two lines");
RAILWITNESS_ASSERT(sizeof(struct railwitness_identity) == 128, "identity is two lines");
RAILWITNESS_ASSERT(offsetof(struct railwitness_identity, local_gid) == 16, "gids of a flow");
RAILWITNESS_ASSERT(offsetof(struct railwitness_identity, created_ticks) == 56, "life of a flow");
RAILWITNESS_ASSERT(sizeof(struct railwitness_state) == 128, "state is two lines");
RAILWITNESS_ASSERT(offsetof(struct railwitness_state, receives_posted) == 64, "receives start the second line");
RAILWITNESS_ASSERT(sizeof(struct railwitness_histogram) == 256, "histogram");
RAILWITNESS_ASSERT(sizeof(struct railwitness_record) == 64, "record is one line");
RAILWITNESS_ASSERT(sizeof(struct railwitness_control) == 64, "control event is one line");

#endif /* RAILWITNESS_ABI_SEGMENT_H_ */
