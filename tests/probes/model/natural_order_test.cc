#include "probes/model/natural_order.h"

#include <gtest/gtest.h>

namespace railwitness::model {
namespace {

TEST(NaturalLess, CountsAsPeopleDo) {
  EXPECT_TRUE(natural_less("mlx5_2", "mlx5_10"));
  EXPECT_FALSE(natural_less("mlx5_10", "mlx5_2"));
  EXPECT_TRUE(natural_less("mlx5_9", "mlx5_bond_0"));
  EXPECT_TRUE(natural_less("rxe_h0r0", "rxe_h0r1"));
  EXPECT_TRUE(natural_less("rxe_h2r9", "rxe_h10r0"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_FALSE(natural_less("a", "a"));
  EXPECT_NE(natural_less("a01", "a1"), natural_less("a1", "a01")) << "two names are never the same rail";
  EXPECT_TRUE(natural_less("a99999999999999999999998", "a99999999999999999999999"));
}

}  // namespace
}  // namespace railwitness::model
