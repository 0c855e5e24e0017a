// The order in which people count. Pure.
#ifndef RAILWITNESS_PROBES_MODEL_NATURAL_ORDER_H_
#define RAILWITNESS_PROBES_MODEL_NATURAL_ORDER_H_

#include <string_view>

namespace railwitness::model {

// mlx5_2 before mlx5_10; of "7" and "07", which are two names, the order of their bytes. A strict order of all texts.
bool natural_less(std::string_view left, std::string_view right);

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_NATURAL_ORDER_H_
