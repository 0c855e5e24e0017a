// Edges outlive their source's memory of them: LLDP forgets the neighbour exactly when the link fails, which is when
// somebody asks which switch port it was. Used from one thread; the present comes in as an argument.
#ifndef RAILWITNESS_PROBES_FABRIC_EDGE_MEMORY_H_
#define RAILWITNESS_PROBES_FABRIC_EDGE_MEMORY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "probes/model/facts.h"

namespace railwitness::fabric {

class EdgeMemory {
 public:
  // `seen`: all that the source says now. What it no longer says stays, present = false, with the time it was last
  // said; what it says anew replaces what was known of that port.
  void update(const std::vector<model::Edge>& seen, int64_t now_mono_ns);
  std::vector<model::Edge> edges() const;

  static constexpr size_t kMaxEdges = 1024;

 private:
  std::map<std::string, model::Edge> by_port_;
};

// Fills device and port of each edge from the rail that has its network device; an edge of no rail keeps them empty.
void join_rails(std::vector<model::Edge>* edges, const std::vector<model::Rail>& rails);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_EDGE_MEMORY_H_
