// What both ends of the handshake do alike.
#ifndef RAILWITNESS_PLUGIN_OFI_GREETING_H_
#define RAILWITNESS_PLUGIN_OFI_GREETING_H_

#include "plugin/ofi/comm.h"

namespace railwitness::ofi {

Terms own_terms(const Devices& devices, const Device& device, uint64_t cookie);
Frame make_frame(Kind kind, const Terms& mine);  // not sealed
Frame make_refusal(const Terms& mine, const char* text);

// Warns once per process where builds differ, and says at level INFO what is harmless.
void note_differences(const Agreement& agreement, const Terms& mine, const Terms& theirs, const sockaddr_storage& peer);

// What to look at when nothing came: "" unless this process has no descriptor left, of which libfabric says nothing.
const char* hint_of_shortage();

class Deadline {
 public:
  void start(uint32_t timeout_s);  // only the first call counts; 0: never over
  bool is_over() const;

 private:
  uint32_t started_ms_ = 0, timeout_ms_ = 0;
  bool is_started_ = false;
};

}  // namespace railwitness::ofi

#endif  // RAILWITNESS_PLUGIN_OFI_GREETING_H_
