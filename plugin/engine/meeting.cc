#include "plugin/engine/meeting.h"

#include <cstring>

#include <pthread.h>

namespace railwitness::engine {
namespace {

constexpr int kPending = 256;  // connections in the making; a proxy has as many as it has peers and channels

struct Pending {
  const void* handle;  // null: free
  Meeting meeting;
  Meeting left_as;  // of the handle when connect returned last
};

constinit Pending pending[kPending]{};
constinit int next_victim = 0;
constinit pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

bool operator==(const Meeting& a, const Meeting& b) { return a.word[0] == b.word[0] && a.word[1] == b.word[1]; }

Pending* find(const void* handle) {
  for (Pending& p : pending)
    if (p.handle == handle) return &p;
  return nullptr;
}

uint64_t mixed(uint64_t word) {  // the finaliser of splitmix64
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
  return word ^ (word >> 31);
}

}  // namespace

Meeting meet(const void* handle) {
  Meeting m{{0x9E3779B97F4A7C15ull, 0xC2B2AE3D27D4EB4Full}};
  for (size_t i = 0; i < nccl::kHandleBytes; i += 8) {
    uint64_t word;
    memcpy(&word, static_cast<const char*>(handle) + i, sizeof word);
    for (uint64_t& w : m.word) w = mixed(w + word);
  }
  return m;
}

void renew_lock_in_child() { mutex = PTHREAD_MUTEX_INITIALIZER; }

Meeting before_connect(const void* handle) {
  const Meeting now = meet(handle);
  pthread_mutex_lock(&mutex);
  Pending* p = find(handle);
  const Meeting first = p && p->left_as == now ? p->meeting : now;
  pthread_mutex_unlock(&mutex);
  return first;
}

void after_connect(const void* handle, const Meeting& meeting, bool again) {
  pthread_mutex_lock(&mutex);
  Pending* p = find(handle);
  if (!again) {
    if (p) *p = {};
  } else {
    if (!p) p = find(nullptr);
    if (!p) p = &pending[next_victim = (next_victim + 1) % kPending];
    *p = {handle, meeting, meet(handle)};
  }
  pthread_mutex_unlock(&mutex);
}

void fill_in(const Meeting& meeting, bool is_send, Ends& ends) {
  static constexpr uint8_t kUnknown[16] = {};
  const auto number = static_cast<uint32_t>(meeting.word[1]) | 2;
  if (!ends.number) {
    ends.number = is_send ? number | 1 : number & ~1u;
    if (!ends.peer_number) ends.peer_number = is_send ? number & ~1u : number | 1;
  }
  if (memcmp(ends.gid, kUnknown, sizeof kUnknown) || memcmp(ends.peer_gid, kUnknown, sizeof kUnknown)) return;
  // fd72:7700::/32, a unique local prefix: no address of any network.
  uint8_t made[16] = {0xFD, 0x72, 0x77, 0x00};
  memcpy(made + 4, &meeting.word[0], 8);
  memcpy(made + 12, &meeting.word[1], 4);
  memcpy(ends.gid, made, sizeof made);
  memcpy(ends.peer_gid, made, sizeof made);
}

}  // namespace railwitness::engine
