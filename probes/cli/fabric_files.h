// Files of operators to facts of a fabric: reads them, knows each by its shape, and says what was in it.
#ifndef RAILWITNESS_PROBES_CLI_FABRIC_FILES_H_
#define RAILWITNESS_PROBES_CLI_FABRIC_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::cli {

// "ibnetdiscover", "iblinkinfo", ...: the kinds that --kind may name.
std::vector<std::string> fabric_kinds();

// The kind of a file by its first 64 KiB; empty: none that is known.
std::string recognised_kind(std::string_view bytes);

// All bytes of a file; "-" is standard input. The error names the file and the reason.
absl::StatusOr<std::string> read_whole_file(const std::string& path);
// Writes beside the file and renames, so that it is the old or the new one whatever happens.
absl::Status write_whole_file(const std::string& path, std::string_view bytes);

// `name`: PATH, or HOST=PATH for a file that does not say which host it is of (lldpctl). `kind` empty: by its shape.
// The time of the facts is their own, else that of the file.
absl::StatusOr<model::FabricFacts> read_fabric_file(const std::string& name, const std::string& kind);

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_FABRIC_FILES_H_
