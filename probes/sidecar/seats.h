// How many segments are out, in all and per user, so that no user can use up what others need. One thread.
#ifndef RAILWITNESS_PROBES_SIDECAR_SEATS_H_
#define RAILWITNESS_PROBES_SIDECAR_SEATS_H_

#include <algorithm>
#include <cstdint>
#include <map>

namespace railwitness::sidecar {

class Seats {
 public:
  // A quarter of the seats stays for others, whatever one user does.
  explicit Seats(uint32_t total) : total_(total), per_user_(std::max(total - total / 4, 1u)) {}

  bool try_take(uint32_t uid) {
    const auto found = taken_by_.find(uid);
    if (taken_ >= total_ || (found != taken_by_.end() && found->second >= per_user_)) return false;
    ++taken_;
    ++taken_by_[uid];
    return true;
  }
  void give_back(uint32_t uid) {
    const auto found = taken_by_.find(uid);
    if (found == taken_by_.end()) return;
    --taken_;
    if (--found->second == 0) taken_by_.erase(found);
  }
  uint32_t taken() const { return taken_; }

 private:
  uint32_t total_, per_user_;
  uint32_t taken_ = 0;
  std::map<uint32_t, uint32_t> taken_by_;
};

}  // namespace railwitness::sidecar

#endif  // RAILWITNESS_PROBES_SIDECAR_SEATS_H_
