// What the kernel's RDMA subsystem says of one host: devices and ports as FabricFacts, queue pairs, resources.
#ifndef RAILWITNESS_PROBES_MODEL_RDMA_FACTS_H_
#define RAILWITNESS_PROBES_MODEL_RDMA_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/model/fabric_facts.h"

namespace railwitness::model {

struct QueuePair {
  std::string device;
  uint32_t port = 0;
  uint32_t local_number = 0;  // unique in its device only
  std::optional<uint32_t> remote_number;
  std::string type, state;  // "RC", "RTS": a receiver of a one-way stream rests in RTR and is well
  std::string owner;        // program or kernel module
  std::optional<uint32_t> pid;
};

struct RdmaFacts {
  FabricFacts fabric;  // ports are labelled with their network device
  std::vector<QueuePair> queue_pairs;
  std::map<std::string, std::map<std::string, uint64_t>> resources;  // by device: "qp" 3, "mr" 0
};

}  // namespace railwitness::model

#endif  // RAILWITNESS_PROBES_MODEL_RDMA_FACTS_H_
