// Rows of CSV with the lines that they begin at, through libcsv.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_CSV_ROWS_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_CSV_ROWS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace railwitness::fabric {

struct CsvRow {
  std::vector<std::string> fields;  // the first 256
  uint32_t line = 0;
};

// Refuses broken quoting and more than 1 000 000 rows. Blank lines are no rows.
absl::StatusOr<std::vector<CsvRow>> csv_rows(std::string_view file, std::string_view bytes, char separator);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_CSV_ROWS_H_
