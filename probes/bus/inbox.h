// What arrives over the bus, bytes to facts. Pure: no connection, no clock. Anybody whom the server lets publish may have
// written any of it.
#ifndef RAILWITNESS_PROBES_BUS_INBOX_H_
#define RAILWITNESS_PROBES_BUS_INBOX_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/model/facts.h"

namespace railwitness::bus {

// Of the correlator: facts of all nodes. One thread.
class FactsInbox {
 public:
  // Nothing: not facts, or not those of the node that the subject names (both are counted), or said before: after a
  // reconnect the stream says again what it had said. `replayed`: from before anybody listened.
  std::optional<model::Heard> take(const std::string& subject, std::string_view payload, bool replayed);
  uint64_t malformed() const { return malformed_; }

  // Names of which the last message is known, more than the correlator keeps nodes. With one more all are forgotten, so
  // that forged names take no more memory; what the stream then says again is heard again.
  static constexpr size_t kMaxNames = 32'768;

 private:
  struct Said {
    std::string boot_id;
    int64_t start_mono_ns = 0;
    uint64_t sequence = 0;
  };
  bool is_news(const model::NodeFacts& facts);

  uint64_t malformed_ = 0;
  std::map<std::string, Said> said_;
};

// Of a sidecar: what one message asks `node` for; at most kMaxPingRequests with those in `out`.
constexpr size_t kMaxPingRequests = 64;
void take_ping_requests(const std::string& node, std::string_view payload, std::vector<model::PingRequest>& out);

}  // namespace railwitness::bus

#endif  // RAILWITNESS_PROBES_BUS_INBOX_H_
