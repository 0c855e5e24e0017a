#include "plugin/chain/chain.h"

namespace railwitness::chain {

Opened open(const char*) {
  return {nullptr, nullptr, "this build of railwitness can't chain plugins; use RAILWITNESS_MODE=tap"};
}

}  // namespace railwitness::chain
