#include "probes/fabric/readers/csv_rows.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "csv.h"
#include "fmt/format.h"
#include "probes/fabric/readers/text.h"
#include "probes/model/printable.h"

namespace railwitness::fabric {
namespace {

constexpr size_t kMaxFields = 256, kMaxFieldBytes = 1024, kMaxRows = 1'000'000;

struct Parsed {
  std::vector<CsvRow> rows;
  CsvRow row;
  uint32_t line = 1;
  uint32_t begin = 1;  // line that the row begins at
  size_t fields = 0;
  bool after_return = false;  // the last line ended with \r, which \n may follow
  bool too_many = false;
};

void on_field(void* text, size_t length, void* to) {
  Parsed& parsed = *static_cast<Parsed*>(to);
  const std::string_view field(static_cast<const char*>(text), length);
  if (parsed.fields++ == 0) parsed.begin = parsed.line;
  parsed.line += static_cast<uint32_t>(std::count(field.begin(), field.end(), '\n'));
  parsed.after_return = false;
  if (parsed.row.fields.size() < kMaxFields) parsed.row.fields.push_back(model::printable(trim(field), kMaxFieldBytes));
}

// `end`: the character that ended the row, -1 at the end of the text.
void on_row(int end, void* to) {
  Parsed& parsed = *static_cast<Parsed*>(to);
  const bool second_of_two = end == '\n' && parsed.after_return && parsed.fields == 0;
  if (parsed.fields > 0 && parsed.rows.size() < kMaxRows) {
    parsed.row.line = parsed.begin;
    parsed.rows.push_back(std::move(parsed.row));
  } else if (parsed.fields > 0) {
    parsed.too_many = true;
  }
  parsed.row = CsvRow();
  parsed.fields = 0;
  if (!second_of_two) ++parsed.line;
  parsed.after_return = end == '\r';
}

}  // namespace

absl::StatusOr<std::vector<CsvRow>> csv_rows(std::string_view file, std::string_view bytes, char separator) {
  if (absl::Status fits = check_size(file, bytes); !fits.ok()) return fits;
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL) != 0)
    return refuse(file, 0, "libcsv does not start");
  const std::unique_ptr<csv_parser, void (*)(csv_parser*)> owner(&parser, csv_free);
  csv_set_delim(&parser, static_cast<unsigned char>(separator));
  Parsed parsed;
  const size_t done = csv_parse(&parser, bytes.data(), bytes.size(), on_field, on_row, &parsed);
  if (done != bytes.size() || csv_fini(&parser, on_field, on_row, &parsed) != 0) {
    return refuse(file, parsed.line, fmt::format("broken CSV: {}", csv_strerror(csv_error(&parser))));
  }
  if (parsed.too_many) return refuse(file, parsed.line, fmt::format("more than {} rows", kMaxRows));
  return std::move(parsed.rows);
}

}  // namespace railwitness::fabric
