// Which devices of many sources are one.
#ifndef RAILWITNESS_PROBES_FABRIC_IDENTITY_H_
#define RAILWITNESS_PROBES_FABRIC_IDENTITY_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

// "MF0;leaf-r8:MQM9700/U1" and "leaf-r8.example.org" are "leaf-r8": what InfiniBand's subnet manager and DNS add goes.
std::string short_name(std::string_view name);

// A name that the factory gave, which many devices share.
bool is_factory_name(std::string_view name);

// The NIC's own name at the end of a description that names no host ("localhost HCA-1": "HCA-1"); empty: there is none.
std::string nic_of_nameless(std::string_view name);

// For each device of each facts the number of the one it is, from 0 in the order of `facts`; `count` is how many there are.
struct Identities {
  std::vector<std::vector<size_t>> of;
  size_t count = 0;
  std::vector<std::string> notes;
};
Identities identify(const std::vector<model::FabricFacts>& facts);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_IDENTITY_H_
