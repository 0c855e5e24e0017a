// Files below data/ of these tests, through a reader.
#ifndef RAILWITNESS_TESTS_PROBES_FABRIC_READERS_READ_DATA_H_
#define RAILWITNESS_TESTS_PROBES_FABRIC_READERS_READ_DATA_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "probes/model/fabric_facts.h"

namespace railwitness::fabric {

using Read = absl::StatusOr<model::FabricFacts>(std::string_view, std::string_view);

inline std::string text_of(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(std::string(RAILWITNESS_TEST_DATA) + "/" + file).rdbuf();
  return text.str();
}

// Facts of a text that must be read.
inline model::FabricFacts facts_of(Read& read, std::string_view text, std::string_view name = "file") {
  auto facts = read(name, text);
  EXPECT_TRUE(facts.ok()) << facts.status();
  return facts.ok() ? *std::move(facts) : model::FabricFacts();
}

inline std::string refusal_of(Read& read, std::string_view text) {
  const auto facts = read("file", text);
  EXPECT_FALSE(facts.ok());
  return std::string(facts.status().message());
}

// "leaf 1 - node mlx5_0 1 4x53125", sorted; one-sided ones with a '?'.
inline std::vector<std::string> links_of(const model::FabricFacts& facts) {
  std::vector<std::string> all;
  for (const auto& link : facts.links) {
    std::vector<std::string> ends;
    for (const size_t port : {link.a, link.b}) {
      ends.push_back(absl::StrCat(facts.devices[facts.ports[port].device].name, " ", facts.ports[port].number));
    }
    std::sort(ends.begin(), ends.end());
    const auto& port = facts.ports[link.a];
    all.push_back(absl::StrCat(ends[0], " - ", ends[1], " ", port.lanes.value_or(0), "x", port.lane_mbps.value_or(0),
                               link.one_sided ? " ?" : ""));
  }
  std::sort(all.begin(), all.end());
  return all;
}

inline std::vector<std::string> remarks_of(const model::FabricFacts& facts) {
  std::vector<std::string> all;
  for (const auto& remark : facts.remarks) all.push_back(absl::StrCat(remark.line, ": ", remark.text));
  return all;
}

// Every beginning of the text is facts or an error, never an end of the program.
inline void read_every_beginning(Read& read, const std::string& text, size_t step) {
  for (size_t length = 0; length < text.size(); length += step) (void)read("file", text.substr(0, length));
}

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_TESTS_PROBES_FABRIC_READERS_READ_DATA_H_
