// What a progress thread does while nothing happens. NCCL's spin, and yield; where there are fewer processors than
// spinning threads, that keeps the peer from the processor which the data has to come from.
#ifndef RAILWITNESS_PLUGIN_OFI_WAIT_H_
#define RAILWITNESS_PLUGIN_OFI_WAIT_H_

#include "plugin/ofi/settings.h"

#include <cstdint>

namespace railwitness::ofi {

// Per thread, over all connections that it serves.
void note_progress();
void note_empty_poll(Wait wait);  // may yield or sleep for some 50 µs

uint32_t coarse_clock_ms();  // wraps around; steps of a few ms

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_WAIT_H_
