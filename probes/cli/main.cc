#include <exception>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "probes/cli/run.h"

int main(int argc, char** argv) {
  try {
    return railwitness::cli::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::exception& error) {  // memory, most likely
    fmt::print(stderr, "railwitness: {}\n", error.what());
    return 3;
  }
}
