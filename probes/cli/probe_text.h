// What `railwitness probe rail` found, as a table, a closing line and JSON. Pure.
#ifndef RAILWITNESS_PROBES_CLI_PROBE_TEXT_H_
#define RAILWITNESS_PROBES_CLI_PROBE_TEXT_H_

#include <string>
#include <vector>

#include "probes/cli/pair_probe.h"
#include "probes/rail/pair_verdict.h"

namespace railwitness::cli {

std::string probe_table(const PairProbe& probe, const std::vector<rail::RailVerdict>& verdicts);
// Which rails are bad and what is exonerated, in one line without its end.
std::string probe_line(const PairProbe& probe, const std::vector<rail::RailVerdict>& verdicts);
std::string probe_json(const PairProbe& probe, int rounds, const std::vector<rail::RailVerdict>& verdicts);

// Why there is nothing to probe: who of the two was not heard, who was, and which name is perhaps meant.
std::string not_heard(const PairProbe& probe);

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_PROBE_TEXT_H_
