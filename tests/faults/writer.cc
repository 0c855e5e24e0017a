#include "tests/faults/writer.h"

#include "plugin/tap/context.h"
#include "plugin/tap/flows.h"
#include "plugin/tap/real_verbs.h"
#include "plugin/witness/net_flows.h"
#include "plugin/witness/net_hot.h"
#include "plugin/witness/recorder.h"
#include "railwitness/base/shared_word.h"

#include <cstdlib>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace railwitness::faults {

using test::QuietProvider;

namespace {

int answer_gid(ibv_context*, uint8_t port, int, ibv_gid* gid) { return fill_local_gid(port, gid->raw), 0; }

Descriptor further_segment;
bool map_further(const witness::Memory& memory, bool, witness::Part& part) {
  return further_segment.fd >= 0 && memory.part_count == 1 &&
         witness::map_sidecar_part(further_segment.fd, further_segment.bytes, 1, part).is_ok();
}

witness::Memory* map_first(const Descriptor& first) {
  Status status = Status::ok();
  witness::Memory* memory = witness::map_sidecar(first.fd, first.bytes, status);
  if (!memory) fprintf(stderr, "writer: %s\n", status.what()), _exit(3);
  return memory;
}

// Not lines of the segment: only the order counts.
void begin(Span& span) { store_release(span.begun, span.begun + 1); }
void end(Span& span) { store_release(span.done, span.done + 1); }

}  // namespace

Writer::Writer(const Descriptor& first, const Descriptor& further, Journal& journal, bool alone)
    : first_(first), journal_(journal), nic_(kDevice), queue_pairs_(kQueuePairs) {
  witness::start(alone ? witness::map_private() : map_first(first));
  further_segment = further;
  witness::set_growth(map_further);
  tap::real_verbs.query_gid = answer_gid;
  if (!tap::tap_context(&nic_.context)) fprintf(stderr, "writer: context is not tapped\n"), _exit(3);
  store_release(journal_.tid, static_cast<uint32_t>(syscall(SYS_gettid)));
}

void Writer::adopt() { witness::switch_memory(map_first(first_)); }

void Writer::add_rails(uint32_t count) {
  for (uint32_t i = 0; i < count; i++) witness::add_rail(rail_of(i));
}

void Writer::connect(ibv_qp& qp) {
  ibv_qp_attr attributes{};
  attributes.port_num = port_of(qp.qp_num);
  attributes.dest_qp_num = peer_of(qp.qp_num);
  fill_peer_gid(qp.qp_num, attributes.ah_attr.grh.dgid.raw);
  qp.context = &nic_.context;
  test::connect_queue_pair(qp, attributes);
}

void Writer::connect_all() {
  for (uint32_t i = 0; i < kQueuePairs; i++) {
    queue_pairs_[i].qp_num = kFirstQueuePair + i;
    connect(queue_pairs_[i]);
  }
  for (uint32_t i = 0; i < kConnections; i++) {
    const uint32_t q = kFirstConnection + i;
    witness::NetEnds ends{};
    ends.number = q;
    ends.peer_number = peer_of(q);
    ends.port = port_of(q);
    snprintf(ends.device, sizeof ends.device, "%s", kDevice);
    fill_local_gid(port_of(q), ends.gid);
    fill_peer_gid(q, ends.peer_gid);
    witness::Flow* flow = witness::open_net_flow(ends, RAILWITNESS_DIRECTION_SEND);
    if (!flow || !witness::enter_net_flow(*flow)) fprintf(stderr, "writer: no line\n"), _exit(3);
    connections_.push_back(flow);
  }
}

void Writer::post_on(ibv_qp& qp, uint64_t i) {
  ibv_sge sge{0, static_cast<uint32_t>(bytes_of(qp.qp_num, i)), 0};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = wr_id_of(qp.qp_num, i);
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = is_immediate(i) ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  begin(journal_.all_posts);
  ibv_post_send(&qp, &wr, &bad);
  end(journal_.all_posts);
}

void Writer::complete_on(ibv_qp& qp, uint64_t i) {
  QuietProvider::next_completion = {};
  QuietProvider::next_completion.wr_id = wr_id_of(qp.qp_num, i);
  QuietProvider::next_completion.qp_num = qp.qp_num;
  QuietProvider::next_completion.opcode = IBV_WC_RDMA_WRITE;
  if (qp.qp_num == kFailing) {
    QuietProvider::next_completion.status = static_cast<ibv_wc_status>(kError);
    QuietProvider::next_completion.vendor_err = vendor_of(qp.qp_num);
  }
  ibv_wc wc;
  ibv_poll_cq(&nic_.cq, 1, &wc);
}

void Writer::post(uint32_t q) {
  const uint32_t at = q - kFirstQueuePair;
  begin(journal_.posts[at]);
  post_on(queue_pair(q), posted_[at]++);
  end(journal_.posts[at]);
}

void Writer::complete(uint32_t q) {
  const uint32_t at = q - kFirstQueuePair;
  if (completed_[at] == posted_[at]) return;
  begin(journal_.completions[at]);
  complete_on(queue_pair(q), completed_[at]++);
  end(journal_.completions[at]);
}

void Writer::receive(uint32_t q) {
  ibv_sge sge{0, 4096, 0};
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  begin(journal_.all_posts);
  ibv_post_recv(&queue_pair(q), &wr, &bad);
  end(journal_.all_posts);
  QuietProvider::next_completion = {};
  QuietProvider::next_completion.qp_num = q;
  QuietProvider::next_completion.opcode = IBV_WC_RECV;
  QuietProvider::next_completion.byte_len = static_cast<uint32_t>(received_bytes_of(q));
  ibv_wc wc;
  ibv_poll_cq(&nic_.cq, 1, &wc);
}

// As the engine does it: prepared, taken by the transport, told.
void Writer::net_post(uint32_t c) {
  const uint64_t i = net_posted_[c]++;
  witness::Flow& flow = *connections_[c];
  railwitness_record& record = flow.records[i % witness::kRecords];
  begin(journal_.net_posts[c]);
  witness::prepare_net_send(record, bytes_of(kFirstConnection + c, i), witness::ticks);
  witness::post_net_send(*flow.state, record);
  end(journal_.net_posts[c]);
}

void Writer::net_complete(uint32_t c) {
  if (net_completed_[c] == net_posted_[c]) return;
  const uint64_t i = net_completed_[c]++;
  witness::Flow& flow = *connections_[c];
  const uint64_t oldest =
      net_completed_[c] == net_posted_[c] ? 0 : flow.records[(i + 1) % witness::kRecords].post_ticks;
  begin(journal_.net_completions[c]);
  witness::complete_net_send(*flow.state, flow.records[i % witness::kRecords], *flow.histogram, oldest, witness::ticks());
  end(journal_.net_completions[c]);
}

void Writer::begin_life(ibv_qp& qp, uint64_t posts) {
  qp.qp_num = kFirstShortLived + static_cast<uint32_t>(lives_++ % 1'000'000);
  connect(qp);
  for (uint64_t i = 0; i < posts; i++) post_on(qp, i), complete_on(qp, i);
}

void Writer::live_shortly(uint64_t posts) {
  ibv_qp qp{};
  begin_life(qp, posts);
  if (void* token = tap::flow_destroying(&qp)) tap::flow_destroyed(token, 0);
}

void Writer::connect_one() {
  ibv_qp qp{};
  begin_life(qp, 1);
}

void Writer::open_comm() {
  const uint64_t k = comms_++;
  char name[64];
  comm_name(k, name);
  open_comms_.push_back(witness::open_comm(kCommBase + k, comm_rank(k), comm_ranks(k), comm_nodes(k), name));
}

void Writer::close_comm() {
  if (open_comms_.empty()) return;
  witness::close_comm(open_comms_.front());
  open_comms_.erase(open_comms_.begin());
}

void Writer::push_event() {
  const uint64_t k = events_++;
  witness::record_event({.kind = RAILWITNESS_CONTROL_ASYNC_EVENT, .rail = static_cast<uint32_t>(k % 32),
                         .qpn = static_cast<uint32_t>(k) | 1, .value = {k, ~k, k * kGolden}});
}

// One thread owns all queue pairs, as NCCL's proxy does; the other writes events and communicators, without pause.
void Writer::write_everything() {
  add_rails();
  connect_all();
  store_release(journal_.ready, 1);
  pthread_t thread;
  pthread_create(&thread, nullptr, [](void* me) -> void* {
    auto& writer = *static_cast<Writer*>(me);
    for (uint64_t i = 0;; i++) {
      for (int k = 0; k < 5; k++) writer.push_event();
      writer.open_comm();
      if (writer.open_comms_.size() > i % RAILWITNESS_COMM_CAPACITY) writer.close_comm();
    }
  }, this);
  for (uint64_t i = 0;; i++) {
    for (uint32_t q = kFirstQueuePair; q < kFirstQueuePair + kQueuePairs; q++) {
      const uint64_t deep = q == kDeep ? 200 : i % 5 + 1;
      for (uint64_t k = 0; k < deep; k++) post(q);
      for (uint64_t k = 0; k < deep; k++) complete(q);
    }
    for (uint32_t c = 0; c < kConnections; c++) {
      for (uint64_t k = 0; k <= i % 8; k++) net_post(c);
      for (uint64_t k = 0; k <= i % 8; k++) net_complete(c);
    }
    receive(kFirstQueuePair);
    for (uint64_t k = 0; k < 4; k++) live_shortly(i % 3 + k * k);
  }
}

}  // namespace railwitness::faults
