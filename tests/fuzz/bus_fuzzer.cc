// Any messages on the bus, subjects included: the correlator hears them, thinks, and says incidents and probes; a sidecar
// takes them for requests. The input is a row of messages (read_message below), the first of which is a URL too.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "probes/bus/inbox.h"
#include "probes/bus/subjects.h"
#include "probes/cli/correlator.h"
#include "probes/export/incident_text.h"
#include "probes/model/facts_json.h"

namespace {

using namespace railwitness;

constexpr int64_t kSecond = 1'000'000'000, kWall = 1'790'000'000 * kSecond;

void demand(bool condition) {
  if (!condition) std::abort();
}

struct Message {
  bool is_replayed = false, is_ping_request = false;
  int64_t later_ns = 0;
  std::string subject, payload;
};

// flags, length of the subject, length of the payload (two bytes, low one first), subject, payload. Flag 4: the subject is
// that of the node that the payload names, as nearly always in real life; flag 8: of the node whose name it is.
Message read_message(std::string_view& in) {
  const auto next = [&in] {
    const auto byte = in.empty() ? uint8_t{0} : static_cast<uint8_t>(in.front());
    in.remove_prefix(in.empty() ? 0 : 1);
    return byte;
  };
  const auto take = [&in](size_t bytes) {
    const std::string_view out = in.substr(0, bytes);
    in.remove_prefix(out.size());
    return std::string(out);
  };
  Message m;
  const uint8_t flags = next();
  m.is_replayed = flags & 1;
  m.is_ping_request = flags & 2;
  m.later_ns = (flags >> 4) * kSecond / 2;
  const size_t subject_bytes = next(), low = next(), high = next();
  m.subject = take(subject_bytes);
  m.payload = take(low | high << 8);
  if (flags & 8) m.subject = bus::facts_subject(m.subject);
  if (flags & 4) {
    const auto facts = model::parse_node_facts(m.payload);
    if (facts.ok()) m.subject = bus::facts_subject(facts->node);
  }
  return m;
}

// A subject of the stream is three tokens without wildcards, whatever the node is called.
void check_subject(const std::string& subject, std::string_view first) {
  demand(subject.starts_with(first) && subject.size() > first.size());
  for (const char c : subject.substr(first.size())) demand(absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '%');
}

void check_url(const std::string& url) {
  demand(bus::shown_url(url).find('@') == std::string::npos);
  const absl::Status status = bus::check_url(url);
  demand(std::string(status.message()).find('@') == std::string::npos);
  for (const std::string& one : bus::split_urls(url)) demand(!status.ok() || !bus::host_of(one).empty());
}

void think(cli::Correlator& correlator, int64_t now) {
  const cli::Correlator::Word word = correlator.think(now, kWall + now);
  demand(word.pings.size() <= 64);
  for (const model::PingRequest& ping : word.pings) check_subject(bus::probe_subject(ping.from_node), "railwitness.probe.");
  for (const auto& incident : word.changes.incidents) {
    demand(exporter::one_line(incident, kWall + now).find('\n') == std::string::npos);
    (void)exporter::to_json(incident, kWall + now);
  }
  for (const auto& wait : word.changes.waits) demand(exporter::wait_line(wait, kWall + now).find('\n') == std::string::npos);
  (void)correlator.speaking(now), (void)correlator.silent(now), (void)correlator.doubled(now), (void)correlator.is_crowded(now);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view in(reinterpret_cast<const char*>(data), size);
  bus::FactsInbox inbox;
  cli::Correlator correlator;
  std::vector<model::PingRequest> requests;
  std::vector<model::Heard> heard;
  int64_t now = 7200 * kSecond;
  uint64_t messages = 0, taken = 0;
  for (; !in.empty() && messages < 16; ++messages) {
    const Message m = read_message(in);
    if (messages == 0) check_url(m.payload.substr(0, 200));
    if (m.is_ping_request) bus::take_ping_requests(m.subject, m.payload, requests);
    if (auto one = inbox.take(m.subject, m.payload, m.is_replayed)) {
      check_subject(m.subject, "railwitness.facts.");
      heard.push_back(*std::move(one));
      ++taken;
    }
    if (m.later_ns == 0) continue;
    correlator.hear(std::move(heard), now);
    heard.clear();
    think(correlator, now += m.later_ns);
  }
  demand(taken + inbox.malformed() <= messages);
  demand(requests.size() <= bus::kMaxPingRequests);
  for (const model::PingRequest& request : requests) demand(model::to_json(std::vector{request}).size() < 65'536);
  correlator.hear(std::move(heard), now);
  think(correlator, now + kSecond);
  return 0;
}
