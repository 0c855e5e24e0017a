#include "probes/cli/variables.h"

#include <cstdlib>

#include "railwitness/base/knobs.h"

namespace railwitness::cli {
namespace {

std::string problem_of(const knobs::Entry& entry) {
  char text[256];
  knobs::describe_problem(entry, text, sizeof text);
  return text;
}

}  // namespace

std::vector<std::string> unknown_variables(const char* const* environment) {
  std::vector<std::string> out;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const knobs::Entry entry = knobs::read_entry(*environment);
    if (entry.is_unknown) out.push_back(problem_of(entry));
  }
  return out;
}

std::string wrong_value(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return {};
  const std::string entry = name + "=" + value;
  return problem_of(knobs::read_entry(entry));
}

}  // namespace railwitness::cli
