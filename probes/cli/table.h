// Rows of text in columns.
#ifndef RAILWITNESS_PROBES_CLI_TABLE_H_
#define RAILWITNESS_PROBES_CLI_TABLE_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace railwitness::cli {

// Columns as wide as their widest cell; the last one is not padded.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }
  std::string text() const {
    std::vector<size_t> width(rows_[0].size(), 0);
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], width[i]);
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace railwitness::cli

#endif  // RAILWITNESS_PROBES_CLI_TABLE_H_
