// Which rail, unit and plane each NIC and each leaf is of. From the leaves, by majority: NIC numbers skip and differ from host
// to host (mlx5_{0,3,4,...}, HCA-N), so a number says nothing; but that the NIC called mlx5_4 is in leaf-r3 on most hosts does.
//
// A *slot* is a NIC's name on its host, with the port if it has several. A *family* is hosts that name their NICs alike. A *unit*
// is leaves that share most of their hosts. A *plane* is a part of the fabric that no cable joins with the other parts while
// most hosts are in all of them. A rail's number is the place of its slot among those of the family, from 0.
#ifndef RAILWITNESS_PROBES_FABRIC_RAILS_H_
#define RAILWITNESS_PROBES_FABRIC_RAILS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "probes/fabric/map.h"

namespace railwitness::fabric {

struct NicPlace {
  size_t port = 0;  // of the NIC, index in FabricMap::ports
  size_t host = 0;  // index in Rails::hosts
  std::string slot;
  size_t leaf = kNone;       // device that it is plugged into; kNone: into nothing known
  size_t leaf_port = kNone;  // index in FabricMap::ports
  int rail = -1;             // of its leaf, else of its slot; -1: not known
  size_t meant_leaf = kNone; // where the slot is on most hosts of the unit; kNone: no majority
};

struct HostPlace {
  std::string name;
  bool is_nameless = false;  // a description that names none ("localhost HCA-1"): one seat of its leaves
  std::vector<size_t> nics;  // indices in Rails::nics, by slot
  int family = -1;
  int unit = -1;
  bool is_typical = false;  // has so many of its family's slots that those it lacks are missing, not another kind of host
};

struct Family {
  std::vector<std::string> slots;  // in the order of their numbers
};

struct LeafPlace {
  int unit = -1;
  int rail = -1;  // -1: of none or of several
};

struct Rails {
  std::vector<HostPlace> hosts;  // by name
  std::vector<NicPlace> nics;
  std::vector<Family> families;
  std::vector<LeafPlace> of_device;       // by device of the map
  std::vector<int> plane_of_device;       // -1: of none
  std::map<std::pair<int, std::pair<int, std::string>>, size_t> meant;  // leaf by unit, family and slot
  int rail_count = 0, unit_count = 0, plane_count = 0;

  // Most hosts of the unit have all NICs in one port number of their leaves; then the port that this host's numbers
  // say, else 0.
  uint32_t usual_port(const FabricMap& map, size_t host) const;
};

Rails find_rails(const FabricMap& map);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_RAILS_H_
