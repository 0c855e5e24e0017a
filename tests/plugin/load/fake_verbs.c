/* libibverbs.so.1 for tests: one device "fake_0", whose provider accepts posts and completes each signalled one at the next
 * poll. The public part is verbs.h; the private part is laid out as in rdma-core (struct verbs_device and
 * verbs_device_ops of PABI 34), so that the fallback by provider table has something to recognise. */
#define _GNU_SOURCE
#include <infiniband/verbs.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#undef ibv_query_port

struct list_node {
  struct list_node *next, *previous;
};
struct verbs_device;
struct verbs_device_ops {
  const char* name;
  uint32_t match_min_abi_version, match_max_abi_version;
  const void* match_table;
  const void** static_providers;
  int (*match_device)(void*);
  struct verbs_context* (*alloc_context)(struct ibv_device*, int, void*);
  struct verbs_context* (*import_context)(struct ibv_device*, int);
  struct verbs_device* (*alloc_device)(void*);
  void (*uninit_device)(struct verbs_device*);
  void* rest[4];
};
struct verbs_device {
  struct ibv_device device;
  const struct verbs_device_ops* ops;
  int references;
  struct list_node entry;
  void* sysfs;
};

#define QUEUE 256
static __thread struct { /* of what this thread posted: NCCL's proxy polls for what it posts */
  struct ibv_wc wc[QUEUE];
  unsigned head, tail;
} queue;

static int post_send(struct ibv_qp* qp, struct ibv_send_wr* wr, struct ibv_send_wr** bad) {
  (void)bad;
  for (; wr; wr = wr->next) {
    if (!(wr->send_flags & IBV_SEND_SIGNALED)) continue;
    struct ibv_wc* wc = &queue.wc[queue.head++ % QUEUE];
    memset(wc, 0, sizeof *wc);
    wc->wr_id = wr->wr_id;
    wc->qp_num = qp->qp_num;
    wc->opcode = IBV_WC_RDMA_WRITE;
  }
  return 0;
}
static int post_recv(struct ibv_qp* qp, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad) {
  (void)qp, (void)wr, (void)bad;
  return 0;
}
static int poll_cq(struct ibv_cq* cq, int entries, struct ibv_wc* wc) {
  (void)cq;
  int n = 0;
  while (n < entries && queue.tail != queue.head) wc[n++] = queue.wc[queue.tail++ % QUEUE];
  return n;
}

static int match_device(void* sysfs) { return sysfs != NULL; }
static struct verbs_context* alloc_context(struct ibv_device* device, int fd, void* data) {
  (void)data;
  struct verbs_context* v = calloc(1, sizeof *v);
  v->sz = sizeof *v;
  v->context.device = device;
  v->context.cmd_fd = fd;
  v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  if (getenv("FAKE_VERBS_WITHOUT_OPS")) return v;
  v->context.ops.post_send = post_send;
  v->context.ops.post_recv = post_recv;
  v->context.ops.poll_cq = poll_cq;
  return v;
}
static struct verbs_device* alloc_device(void* sysfs) { return sysfs; }
static void uninit_device(struct verbs_device* device) { (void)device; }

static const char match_table[16] = "table";
static struct verbs_device_ops table = {
    .name = "fake",
    .match_min_abi_version = 1,
    .match_max_abi_version = 1,
    .match_table = match_table,
    .match_device = match_device,
    .alloc_context = alloc_context,
    .alloc_device = alloc_device,
    .uninit_device = uninit_device,
};
static struct list_node devices;
static struct verbs_device fake = {.ops = &table, .references = 2, .entry = {&devices, &devices}, .sysfs = &table};
static struct list_node devices = {&fake.entry, &fake.entry};

struct ibv_device** ibv_get_device_list(int* count) {
  struct ibv_device** list = calloc(2, sizeof *list);
  strcpy(fake.device.name, "fake_0");
  strcpy(fake.device.dev_name, "uverbs0");
  list[0] = &fake.device;
  if (count) *count = 1;
  return list;
}
void ibv_free_device_list(struct ibv_device** list) { free(list); }
__be64 ibv_get_device_guid(struct ibv_device* device) { return device == &fake.device ? 0x77 : 0; }

struct ibv_context* ibv_open_device(struct ibv_device* device) {
  return &((struct verbs_device*)device)->ops->alloc_context(device, 42, NULL)->context;
}
int ibv_close_device(struct ibv_context* context) {
  free((char*)context - offsetof(struct verbs_context, context));
  return 0;
}
struct ibv_qp* ibv_create_qp(struct ibv_pd* pd, struct ibv_qp_init_attr* attributes) {
  (void)attributes;
  static uint32_t number = 100;
  struct ibv_qp* qp = calloc(1, sizeof *qp);
  qp->context = pd->context;
  qp->qp_num = __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED);
  return qp;
}
int ibv_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attributes, int mask) {
  (void)qp, (void)attributes, (void)mask;
  return 0;
}
int ibv_destroy_qp(struct ibv_qp* qp) {
  free(qp);
  return 0;
}
int ibv_query_qp(struct ibv_qp* qp, struct ibv_qp_attr* attributes, int mask, struct ibv_qp_init_attr* init) {
  (void)mask;
  memset(attributes, 0, sizeof *attributes);
  memset(init, 0, sizeof *init);
  attributes->dest_qp_num = qp->qp_num + 1;
  attributes->port_num = attributes->ah_attr.port_num = 1;
  return 0;
}
int ibv_query_port(struct ibv_context* context, uint8_t port, struct _compat_ibv_port_attr* out) {
  (void)context;
  struct ibv_port_attr* a = (struct ibv_port_attr*)out;
  if (port != 1) return EINVAL;
  a->state = IBV_PORT_ACTIVE;
  a->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}
int ibv_query_gid(struct ibv_context* context, uint8_t port, int index, union ibv_gid* gid) {
  (void)context, (void)port;
  memset(gid, 0, sizeof *gid);
  gid->raw[15] = (uint8_t)(index + 1);
  return 0;
}
int ibv_get_async_event(struct ibv_context* context, struct ibv_async_event* event) {
  (void)context;
  event->event_type = IBV_EVENT_PORT_ERR;
  event->element.port_num = 1;
  return 0;
}
void verbs_set_ops(void* context, const void* ops) { (void)context, (void)ops; }
