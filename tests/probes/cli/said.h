// What a command writes to its two streams, and how it ends.
#ifndef RAILWITNESS_TESTS_PROBES_CLI_SAID_H_
#define RAILWITNESS_TESTS_PROBES_CLI_SAID_H_

#include <cstdio>
#include <cstdlib>
#include <string>

#include "probes/cli/correlate.h"

namespace railwitness::cli {

struct Said {
  int code = -1;
  std::string out, err;
  double seconds = 0;  // where the test counts them
};

// `run` gets the streams and returns the exit code.
template <class Run>
Said said_by(const Run& run) {
  Said said;
  char *out = nullptr, *err = nullptr;
  size_t out_size = 0, err_size = 0;
  const Streams streams{open_memstream(&out, &out_size), open_memstream(&err, &err_size)};
  said.code = run(streams);
  fclose(streams.out);
  fclose(streams.err);
  said.out.assign(out, out_size);
  said.err.assign(err, err_size);
  free(out);
  free(err);
  return said;
}

}  // namespace railwitness::cli

#endif  // RAILWITNESS_TESTS_PROBES_CLI_SAID_H_
