// Incidents for people and for programs: the one line and the one JSON object. Pure functions. docs/verdicts.md.
#ifndef RAILWITNESS_PROBES_EXPORT_INCIDENT_TEXT_H_
#define RAILWITNESS_PROBES_EXPORT_INCIDENT_TEXT_H_

#include <cstdint>
#include <string>

#include "probes/model/incident.h"

namespace railwitness::exporter {

// At most 160 characters (not bytes), e.g.
// LINK confirmed 0.97  n13 rail 3  mlx5_3/1 ► cable C-0417 ► leaf-r3-p1:14  port down 1.1 s  job 8812 blocked 256 ranks
// rank 104 exonerated
std::string one_line(const model::Incident& incident, int64_t now_wall_ns);
// {"type":"incident", ...}, one line, keys as in docs/verdicts.md, with "line" the text above.
std::string to_json(const model::Incident& incident, int64_t now_wall_ns);

// A finding of class WAIT: "waiting for rank 2 on host2 since 3.1 s (busy: 0.98 cores)"; {"type":"wait", ...}.
std::string wait_line(const model::Finding& finding, int64_t now_wall_ns);
std::string wait_to_json(const model::Finding& finding, int64_t now_wall_ns);

}  // namespace railwitness::exporter

#endif  // RAILWITNESS_PROBES_EXPORT_INCIDENT_TEXT_H_
