// The GID table of a host's RDMA ports: which index RoCE connections must use.
#ifndef RAILWITNESS_PROBES_MODEL_GID_FACTS_H_
#define RAILWITNESS_PROBES_MODEL_GID_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "probes/model/fabric_facts.h"

namespace railwitness::model {

struct GidEntry {
  std::string device;  // "mlx5_0"
  uint32_t port = 0, index = 0;
  std::string gid;      // eight groups of four lower-case digits
  std::string ipv4;     // of a GID that carries one; empty: it does not
  std::string version;  // "v1", "v2"
  std::string netdev;
  bool link_local = false;  // fe80::/10: reaches the own segment only
  uint32_t line = 0;
};

struct GidFacts {
  Source source;
  std::vector<GidEntry> entries;
  std::vector<Remark> remarks;
};

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_GID_FACTS_H_
