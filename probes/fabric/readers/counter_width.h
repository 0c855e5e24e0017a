// How far counters of an InfiniBand port count: they stop at the end of their width and then mean "at least".
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_COUNTER_WIDTH_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_COUNTER_WIDTH_H_

#include <cstdint>
#include <string_view>

#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

// Value of the counter `name`, as infiniband-diags ("LinkDownedCounter") or sysfs ("link_downed") calls it, with its mark.
// Widths are those of PortCounters (InfiniBand Architecture Specification, volume 1, 16.1.3.5); `extended`: the source says that
// it read PortCountersExtended, whose counters have 64 bits. Names without a known width are taken for 64 bits.
model::CounterValue counter_of(std::string_view name, uint64_t value, bool extended = false);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_COUNTER_WIDTH_H_
