// Lines of comma-separated values, split by libcsv.
#ifndef RAILWITNESS_PROBES_FABRIC_READERS_CSV_LINE_H_
#define RAILWITNESS_PROBES_FABRIC_READERS_CSV_LINE_H_

#include <csv.h>

#include <string>
#include <string_view>
#include <vector>

namespace railwitness::fabric {

// Fields of one line; false: quotes do not close, or memory is out.
inline bool split_csv_line(std::string_view line, std::vector<std::string>& fields) {
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) return false;
  fields.clear();
  const auto field = [](void* text, size_t length, void* out) {
    static_cast<std::vector<std::string>*>(out)->emplace_back(static_cast<const char*>(text), length);
  };
  const bool is_read = csv_parse(&parser, line.data(), line.size(), field, nullptr, &fields) == line.size() &&
                       csv_fini(&parser, field, nullptr, &fields) == 0;
  csv_free(&parser);
  return is_read;
}

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_READERS_CSV_LINE_H_
