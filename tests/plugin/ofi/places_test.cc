// Where sequences and slots lie, without dividing.
#include "plugin/ofi/comm.h"

#include <map>

#include <gtest/gtest.h>

namespace railwitness::ofi_test {
namespace {

TEST(Places, AreTakenInTurnAndFoundAgainAsLongAsTheyMayBeInUse) {
  for (const int window : {8, 11, 32}) {
    ofi::Comm comm{};
    comm.max_requests = window;
    comm.sequence = 0xffffffe0;  // wraps around on the way
    std::map<uint32_t, int> taken;
    for (int i = 0; i < 100; i++) {
      taken[comm.sequence] = comm.place;
      for (int ahead = 0; ahead < window; ahead++)
        EXPECT_EQ(ofi::place_of(comm, comm.sequence + static_cast<uint32_t>(ahead)), (i + ahead) % window);
      ofi::next_sequence(&comm);
      for (int back = 1; back <= window && back <= i + 1; back++) {
        const uint32_t sequence = comm.sequence - static_cast<uint32_t>(back);
        EXPECT_EQ(ofi::place_of(comm, sequence), taken[sequence]);
      }
    }
  }
}

TEST(Groups, AreAsManyAsSlotsNeed) {
  ofi::Comm comm{};
  for (comm.max_group = 1; comm.max_group <= ofi::kMaxReceives + 1; comm.max_group++) {
    for (int index = 0; index < ofi::kMaxReceives; index++) {
      const ofi::GroupSlot at = ofi::group_slot_of(comm, index);
      EXPECT_EQ(static_cast<int>(at.group), index / comm.max_group);
      EXPECT_EQ(at.slot, index % comm.max_group);
      EXPECT_EQ(ofi::groups_of(comm, index + 1), at.group + 1);
    }
  }
}

}  // namespace
}  // namespace railwitness::ofi_test
