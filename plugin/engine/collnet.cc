#include "plugin/engine/collnet.h"

namespace railwitness::engine {
namespace {
constinit CollNet* chosen = nullptr;
}

void choose_collnet(CollNet* collnet) { chosen = collnet; }
CollNet* collnet() { return chosen; }

}  // namespace railwitness::engine
