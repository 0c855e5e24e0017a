// What the writers of tests/faults write, so that whoever reads it can tell a line that is of one piece from one that is
// not: every word of a line follows from the line's own number.
#ifndef RAILWITNESS_TESTS_FAULTS_TRUTH_H_
#define RAILWITNESS_TESTS_FAULTS_TRUTH_H_

#include "railwitness/abi/segment.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace railwitness::faults {

// Record i of queue pair q.
constexpr uint64_t bytes_of(uint64_t q, uint64_t i) { return 8 * i + q % 1021; }
constexpr uint64_t bytes_through(uint64_t q, uint64_t n) { return n == 0 ? 0 : 4 * n * (n - 1) + n * (q % 1021); }
constexpr uint64_t wr_id_of(uint64_t q, uint64_t i) { return q << 32 | (i & 0xFFFFFFFF); }
constexpr bool is_immediate(uint64_t i) { return i % 2 == 0; }
constexpr uint64_t received_bytes_of(uint64_t q) { return 100 + q % 7; }

constexpr uint8_t port_of(uint64_t q) { return static_cast<uint8_t>(1 + q % 2); }
constexpr uint32_t peer_of(uint64_t q) { return static_cast<uint32_t>(q + 1'000'000); }
constexpr uint16_t kError = 12;
constexpr uint32_t vendor_of(uint64_t q) { return static_cast<uint32_t>(q * 3 + 1); }

inline void fill_local_gid(uint8_t port, uint8_t* gid) { memset(gid, 0xA0 + port, 16); }
inline void fill_peer_gid(uint64_t q, uint8_t* gid) {
  memset(gid, 0xB0, 16);
  memcpy(gid + 8, &q, 8);
}

constexpr const char* kDevice = "fake0";  // rails 0 and 1 are its ports 1 and 2
inline railwitness_rail rail_of(uint32_t index) {
  railwitness_rail rail{};
  snprintf(rail.device, sizeof rail.device, index < 2 ? "fake0" : "fake%u_of_a_long_name", index);
  rail.port = static_cast<uint8_t>(index < 2 ? index + 1 : 1);
  rail.guid = 0x1111111111111111ull * (index % 15 + 1);
  rail.lid = static_cast<uint16_t>(index * 257);
  rail.link_layer = RAILWITNESS_LINK_ETHERNET;
  fill_local_gid(static_cast<uint8_t>(index < 2 ? index + 1 : index), rail.gid);
  return rail;
}

constexpr uint64_t kCommBase = 0xC033000000000000ull;  // communicator k has this + k for its hash
constexpr int comm_ranks(uint64_t k) { return static_cast<int>(100 + k % 11); }
constexpr int comm_rank(uint64_t k) { return static_cast<int>(k % 97); }
constexpr int comm_nodes(uint64_t k) { return static_cast<int>(1 + k % 5); }
inline void comm_name(uint64_t k, char (&name)[64]) {
  snprintf(name, sizeof name, "communicator-with-a-name-of-some-length-%016llx", static_cast<unsigned long long>(k));
}

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ull;  // event k has the values k, ~k, k * kGolden

constexpr uint32_t kFirstQueuePair = 2, kQueuePairs = 6;  // that live as long as the writer
constexpr uint32_t kDeep = kFirstQueuePair + 4;           // has more outstanding than its ring holds
constexpr uint32_t kFailing = kFirstQueuePair + 5;        // every completion is an error
constexpr uint32_t kFirstConnection = 500, kConnections = 2;
constexpr uint32_t kFirstShortLived = 10'000;

// How far the writer has come, in memory that is no part of the segment: what is `done` must be found, what is not even
// `begun` must not.
struct Span {
  uint64_t begun, done;
};
struct Journal {
  uint64_t ready;  // all is there that lives long
  uint32_t tid;
  Span posts[kQueuePairs], completions[kQueuePairs];
  Span net_posts[kConnections], net_completions[kConnections];
  Span all_posts;
};

}  // namespace railwitness::faults

#endif  // RAILWITNESS_TESTS_FAULTS_TRUTH_H_
