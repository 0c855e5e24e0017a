#include "probes/sidecar/speaker.h"

#include "probes/export/incident_text.h"

namespace railwitness::sidecar {

void Speaker::think(const std::vector<model::Heard>& nodes, int64_t now_wall_ns) {
  const diagnose::Changes changes =
      tracker_.update(diagnose::diagnose(nodes, thresholds_, now_wall_ns), now_wall_ns);
  for (const model::Incident& incident : changes.incidents) {
    out_.say((json_ ? exporter::to_json(incident, now_wall_ns) : exporter::one_line(incident, now_wall_ns)) + "\n");
  }
  for (const model::Finding& wait : changes.waits) {
    out_.say((json_ ? exporter::wait_to_json(wait, now_wall_ns) : exporter::wait_line(wait, now_wall_ns)) + "\n");
  }
}

}  // namespace railwitness::sidecar
