#include "probes/sidecar/speaker.h"

#include "probes/export/incident_text.h"

namespace railwitness::sidecar {

void Speaker::think(const std::vector<model::Heard>& nodes, int64_t now_wall_ns) {
  const diagnose::Changes changes =
      tracker_.update(diagnose::diagnose(nodes, thresholds_, now_wall_ns), now_wall_ns);
  for (const model::Incident& incident : changes.incidents) {
    say(json_ ? exporter::to_json(incident, now_wall_ns) : exporter::one_line(incident, now_wall_ns));
  }
  for (const model::Finding& wait : changes.waits) {
    say(json_ ? exporter::wait_to_json(wait, now_wall_ns) : exporter::wait_line(wait, now_wall_ns));
  }
}

// Each line at once: who reads a pipe during a hang must not wait for a full buffer.
void Speaker::say(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fputc('\n', out_);
  std::fflush(out_);
}

}  // namespace railwitness::sidecar
