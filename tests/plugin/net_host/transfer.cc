#include "tests/plugin/net_host/transfer.h"

#include "tests/plugin/net_host/rank.h"

#include <algorithm>
#include <cstring>

namespace railwitness::net_host {

namespace {

constexpr unsigned char kUntouched = 0xC3;

unsigned char pattern(size_t i, unsigned seed, size_t step) {
  return static_cast<unsigned char>(seed * 131 + step * 37 + i * 7 + (i >> 8) * 3 + (i >> 16));
}

}  // namespace

size_t largest(const std::vector<size_t>& sizes) { return sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end()); }

void write_pattern(unsigned char* data, size_t bytes, unsigned seed, size_t step) {
  for (size_t i = 0; i < bytes; i++) data[i] = pattern(i, seed, step);
}

bool has_pattern(const unsigned char* data, size_t bytes, unsigned seed, size_t step) {
  for (size_t i = 0; i < bytes; i++)
    if (data[i] != pattern(i, seed, step)) return false;
  return true;
}

// --- sends -----------------------------------------------------------------------------------------------------------

struct SendOperation::Slot {
  size_t step = 0;
  bool is_posted = false, is_done = false;
  void* request = nullptr;
  std::unique_ptr<ProfilerStep> phandle;
};

SendOperation::SendOperation(Net& net, void* comm, std::shared_ptr<Memory> memory, std::vector<size_t> sizes, TransferKind kind)
    : net_(net), comm_(comm), memory_(std::move(memory)), sizes_(std::move(sizes)), kind_(kind),
      slots_(static_cast<size_t>(kind.depth)), room_(largest(sizes_)) {
  REQUIRE(memory_->bytes.size() >= room_ * slots_.size(), "the test's own memory is too small");
}

SendOperation::~SendOperation() = default;

Result SendOperation::step(bool* moved) {
  if (posted_ < sizes_.size() && posted_ - done_ < slots_.size()) {
    Slot& slot = slots_[posted_ % slots_.size()];
    unsigned char* data = memory_->bytes.data() + (posted_ % slots_.size()) * room_;
    if (!slot.phandle) {
      write_pattern(data, sizes_[posted_], kind_.seed, posted_);
      slot.phandle = std::make_unique<ProfilerStep>();
    }
    const Result result = net_.isend(comm_, data, sizes_[posted_], kind_.tag, memory_->mr,
                                     kind_.bootstrap ? nullptr : slot.phandle.get(), &slot.request);
    if (result) return result;
    if (slot.request) slot.step = posted_++, slot.is_posted = true, slot.is_done = false, *moved = true;
  }
  if (kind_.newest_first)
    for (size_t s = posted_; s-- > done_ + 1;)
      if (const Result result = test(slots_[s % slots_.size()], moved); result) return result;
  if (done_ < posted_)
    if (const Result result = test(slots_[done_ % slots_.size()], moved); result) return result;
  while (done_ < posted_ && slots_[done_ % slots_.size()].is_done) slots_[done_++ % slots_.size()].is_posted = false;
  return abi::kSuccess;
}

Result SendOperation::test(Slot& slot, bool* moved) {
  if (slot.is_done) return abi::kSuccess;
  struct {
    int size = -1, canary = 0x7E57;  // NCCL has one int here
  } out;
  bool done = false;
  const Result result = net_.test(slot.request, kind_.bootstrap ? nullptr : &out.size, &done);
  if (result || !done) return result;
  REQUIRE(out.canary == 0x7E57, "test of a send wrote more than one size");
  if (!kind_.bootstrap)
    REQUIRE(out.size == static_cast<int>(sizes_[slot.step]), "a send of %zu bytes says %d", sizes_[slot.step], out.size);
  // The buffer is NCCL's again: what is written now must not arrive.
  memset(memory_->bytes.data() + (slot.step % slots_.size()) * room_, kUntouched, room_);
  slot.phandle.reset();
  slot.is_done = *moved = true;
  return abi::kSuccess;
}

// --- receives --------------------------------------------------------------------------------------------------------

struct ReceiveOperation::Slot {
  size_t step = 0;
  bool is_done = false, is_flushing = false;
  void* request = nullptr;
  std::vector<Net::Receive> receives;
  std::vector<size_t> subs;
  std::vector<std::unique_ptr<ProfilerStep>> phandles;
};

size_t receive_memory(const std::vector<Sub>& subs, const TransferKind& kind) {
  size_t room = 0;
  for (const Sub& sub : subs) room = std::max(room, largest(sub.sizes));
  return (room + ReceiveOperation::kSlack) * subs.size() * static_cast<size_t>(kind.depth);
}

ReceiveOperation::ReceiveOperation(Net& net, void* comm, std::shared_ptr<Memory> memory, std::vector<Sub> subs, TransferKind kind)
    : net_(net), comm_(comm), memory_(std::move(memory)), subs_(std::move(subs)), kind_(kind),
      slots_(static_cast<size_t>(kind.depth)), room_(kSlack) {
  for (const Sub& sub : subs_) room_ = std::max(room_, largest(sub.sizes) + kSlack), steps_ = std::max(steps_, sub.sizes.size());
  REQUIRE(memory_->bytes.size() >= room_ * subs_.size() * slots_.size(), "the test's own memory is too small");
}

ReceiveOperation::~ReceiveOperation() = default;

Result ReceiveOperation::step(bool* moved) {
  if (posted_ < steps_ && posted_ - done_ < slots_.size() && (!kind_.slow_us || now_s() >= next_post_s_)) {
    if (const Result result = post(moved); result) return result;
    next_post_s_ = now_s() + 1e-6 * kind_.slow_us;
  }
  if (kind_.newest_first)
    for (size_t s = posted_; s-- > done_ + 1;)
      if (const Result result = test(slots_[s % slots_.size()], moved); result) return result;
  if (done_ < posted_)
    if (const Result result = test(slots_[done_ % slots_.size()], moved); result) return result;
  while (done_ < posted_ && slots_[done_ % slots_.size()].is_done) done_++;
  return abi::kSuccess;
}

Result ReceiveOperation::post(bool* moved) {
  Slot& slot = slots_[posted_ % slots_.size()];
  if (slot.receives.empty() || slot.step != posted_ || slot.is_done) {  // not a second try
    slot = Slot{};
    slot.step = posted_;
    unsigned char* data = memory_->bytes.data() + (posted_ % slots_.size()) * subs_.size() * room_;
    for (size_t i = 0; i < subs_.size(); i++, data += room_) {
      if (posted_ >= subs_[i].sizes.size()) continue;
      memset(data, kUntouched, room_);
      slot.phandles.push_back(std::make_unique<ProfilerStep>());
      slot.receives.push_back({data, subs_[i].sizes[posted_] + kSlack, subs_[i].tag, memory_->mr,
                               kind_.bootstrap ? nullptr : slot.phandles.back().get()});
      slot.subs.push_back(i);
    }
  }
  const bool optional = kind_.optional && slot.receives.size() == 1;
  if (const Result result = net_.irecv(comm_, slot.receives, optional, &slot.request); result) return result;
  if (slot.request) posted_++, *moved = true;
  return abi::kSuccess;
}

Result ReceiveOperation::test(Slot& slot, bool* moved) {
  if (slot.is_done) return abi::kSuccess;
  int sizes[abi::kMaxChannels + 1] = {};  // zeroed by NCCL; the last is not NCCL's
  bool done = false;
  const bool without_sizes = kind_.bootstrap || slot.is_flushing;
  if (const Result result = net_.test(slot.request, without_sizes ? nullptr : sizes, &done); result || !done) return result;
  *moved = true;
  if (!slot.is_flushing) {
    check(slot, without_sizes ? nullptr : sizes);
    net_.consumed(comm_, static_cast<int>(slot.receives.size()), slot.request);  // the request is over by now
    if (kind_.flush) {
      if (const Result result = net_.iflush(comm_, slot.receives, sizes, &slot.request); result) return result;
      slot.is_flushing = slot.request != nullptr;
      if (slot.is_flushing) return abi::kSuccess;
    }
  }
  slot.is_done = true;
  return abi::kSuccess;
}

void ReceiveOperation::check(Slot& slot, const int* sizes) {
  for (size_t i = 0; i < slot.receives.size(); i++) {
    const Sub& sub = subs_[slot.subs[i]];
    const size_t bytes = sub.sizes[slot.step];
    const auto* data = static_cast<const unsigned char*>(slot.receives[i].data);
    // With the hint a plugin may say done before the data is there, and then says no size: NCCL looks at flags in the data.
    const bool may_be_early = kind_.optional && slot.receives.size() == 1 && net_.version >= 9;
    if (sizes && !may_be_early)
      REQUIRE(sizes[i] == static_cast<int>(bytes), "step %zu, sub %zu of %zu: %d bytes arrived of %zu", slot.step, i,
              slot.receives.size(), sizes[i], bytes);
    const double end = now_s() + (may_be_early ? 10 : 0);
    while (!has_pattern(data, bytes, sub.seed, slot.step) && now_s() < end) nap_us(100);
    REQUIRE(has_pattern(data, bytes, sub.seed, slot.step), "step %zu, sub %zu (tag %d), %zu bytes: wrong data", slot.step, i,
            sub.tag, bytes);
    for (size_t j = bytes; j < bytes + kSlack; j++)
      REQUIRE(data[j] == kUntouched, "step %zu, sub %zu: written beyond the message's %zu bytes", slot.step, i, bytes);
  }
  if (sizes)
    for (size_t i = slot.receives.size(); i <= abi::kMaxChannels; i++)
      REQUIRE(sizes[i] == 0, "test wrote size %zu of a receive of %zu", i, slot.receives.size());
}

}  // namespace railwitness::net_host
