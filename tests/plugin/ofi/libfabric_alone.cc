// What libfabric itself keeps of an endpoint that was closed, without any code of ours but for opening the library:
//
//     libfabric_alone PROVIDER N      opens, connects and closes N pairs of endpoints; prints what each pair left
//
// docs/cost.md has what it printed. In mode ofi most of what `net` loses is taken back: plugin/ofi/lost_infos.h.
#include "plugin/ofi/library.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <malloc.h>
#include <netinet/in.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

namespace {

railwitness::ofi::Library library;

void need(ssize_t result, const char* what) {
  if (result) fprintf(stderr, "libfabric_alone: %s: %zd\n", what, result), exit(1);
}

struct End {
  fid_fabric* fabric;
  fid_domain* domain;
  fid_cq* queue;
  fid_av* addresses;
  fid_ep* endpoint;
  char name[256];
  size_t name_bytes = sizeof name;
  fi_context2 context;
  bool is_done = false;

  explicit End(fi_info* info) {
    fi_cq_attr queue_attr{};
    queue_attr.format = FI_CQ_FORMAT_TAGGED;
    queue_attr.size = 64;
    fi_av_attr addresses_attr{};
    addresses_attr.type = FI_AV_TABLE;
    need(library.fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
    need(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
    need(fi_cq_open(domain, &queue_attr, &queue, nullptr), "fi_cq_open");
    need(fi_av_open(domain, &addresses_attr, &addresses, nullptr), "fi_av_open");
    need(fi_endpoint(domain, info, &endpoint, nullptr), "fi_endpoint");
    need(fi_ep_bind(endpoint, &queue->fid, FI_SEND | FI_RECV), "binding the queue");
    need(fi_ep_bind(endpoint, &addresses->fid, 0), "binding the addresses");
    need(fi_enable(endpoint), "fi_enable");
    need(fi_getname(&endpoint->fid, name, &name_bytes), "fi_getname");
  }
  ~End() {
    for (fid* object : {&endpoint->fid, &queue->fid, &addresses->fid, &domain->fid, &fabric->fid})
      need(fi_close(object), "fi_close");
  }
  void poll() {
    fi_cq_tagged_entry entry;
    is_done |= fi_cq_read(queue, &entry, 1) == 1;
  }
};

void connect_and_close(fi_info* info) {
  End a(info), b(info);
  fi_addr_t peer;
  need(fi_av_insert(a.addresses, b.name, 1, &peer, 0, nullptr) - 1, "fi_av_insert");
  char out[8] = {}, in[8];
  need(fi_trecv(b.endpoint, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &b.context), "fi_trecv");
  ssize_t sent;
  do sent = fi_tsend(a.endpoint, out, sizeof out, nullptr, peer, 1, &a.context), a.poll(), b.poll();
  while (sent == -FI_EAGAIN);
  need(sent, "fi_tsend");
  while (!a.is_done || !b.is_done) a.poll(), b.poll();
}

fi_info* ask(const char* provider) {
  fi_info *hints = library.dupinfo(nullptr), *info = nullptr;
  hints->fabric_attr->prov_name = strdup(provider);
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_TAGGED | FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
  const bool is_local = !strcmp(provider, "shm");
  need(library.getinfo(library.api, is_local ? nullptr : "127.0.0.1", nullptr, is_local ? 0 : FI_SOURCE, hints, &info),
       "fi_getinfo");
  library.freeinfo(hints);
  return info;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: libfabric_alone PROVIDER N\n"), 2;
  if (const railwitness::Status status = railwitness::ofi::open_library(&library); !status.is_ok())
    return fprintf(stderr, "libfabric_alone: %s\n", status.what()), 1;
  fi_info* info = ask(argv[1]);
  const int pairs = atoi(argv[2]);
  size_t before = 0;
  for (int i = 0; i <= pairs; i++) {
    connect_and_close(info);
    if (i == 0) before = mallinfo2().uordblks;
  }
  printf("%s of libfabric %u.%u: %d pairs of endpoints connected and closed, %.1f bytes left in use by each pair\n",
         info->fabric_attr->prov_name, library.version() >> 16, library.version() & 0xffff, pairs,
         static_cast<double>(mallinfo2().uordblks - before) / pairs);
  library.freeinfo(info);
  return 0;
}
