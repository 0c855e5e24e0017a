// How many segments are out, in all and per user, so that no user can use up what others need. One thread.
//
// First segments are counted in seats, one a process; further ones in blocks of 256 flows, as they differ in size.
#ifndef RAILWITNESS_PROBES_SIDECAR_SEATS_H_
#define RAILWITNESS_PROBES_SIDECAR_SEATS_H_

#include <algorithm>
#include <cstdint>
#include <map>

#include "railwitness/abi/segment.h"

namespace railwitness::sidecar {

// A quarter stays for others, whatever one user takes.
class Shares {
 public:
  explicit Shares(uint32_t total) : total_(total), per_user_(most_of_one_user(total)) {}

  static uint32_t most_of_one_user(uint32_t total) { return std::max(total - total / 4, 1u); }

  uint32_t left_for(uint32_t uid) const {
    const auto found = taken_by_.find(uid);
    const uint32_t mine = found == taken_by_.end() ? 0 : found->second;
    return std::min(total_ - taken_, per_user_ - mine);
  }
  bool try_take(uint32_t uid, uint32_t count) {
    if (count > left_for(uid)) return false;
    taken_ += count;
    taken_by_[uid] += count;
    return true;
  }
  void give_back(uint32_t uid, uint32_t count) {
    const auto found = taken_by_.find(uid);
    if (found == taken_by_.end() || count == 0) return;
    count = std::min(count, found->second);
    taken_ -= count;
    if ((found->second -= count) == 0) taken_by_.erase(found);
  }
  uint32_t taken() const { return taken_; }

 private:
  uint32_t total_, per_user_;
  uint32_t taken_ = 0;
  std::map<uint32_t, uint32_t> taken_by_;
};

class Seats {
 public:
  // 262144 flows beyond the first 256 of each process: a hundred processes of 1000 flows take 153600 of them.
  static constexpr uint32_t kBlocks = 1024;

  explicit Seats(uint32_t total, uint32_t blocks = kBlocks) : processes_(total), blocks_(blocks) {}

  bool try_take(uint32_t uid) { return processes_.try_take(uid, 1); }
  void give_back(uint32_t uid) { processes_.give_back(uid, 1); }
  uint32_t taken() const { return processes_.taken(); }

  static constexpr uint32_t blocks_of(uint32_t part) { return RAILWITNESS_PART_FLOWS(part) / RAILWITNESS_FLOW_CAPACITY; }
  bool try_take_part(uint32_t uid, uint32_t part) { return blocks_.try_take(uid, blocks_of(part)); }
  void give_back_part(uint32_t uid, uint32_t part) { blocks_.give_back(uid, blocks_of(part)); }
  uint32_t blocks_taken() const { return blocks_.taken(); }

 private:
  Shares processes_, blocks_;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_SEATS_H_
