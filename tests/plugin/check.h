// Checks of the test programs that are processes of their own, where a failed one must not end the scenario.
#ifndef RAILWITNESS_TESTS_PLUGIN_CHECK_H_
#define RAILWITNESS_TESTS_PLUGIN_CHECK_H_

#include <cstdio>

namespace railwitness::test {

inline int failures = 0;  // main's exit status

#define CHECK(condition)                                                                                       \
  do {                                                                                                         \
    if (!(condition)) fprintf(stderr, "line %d: %s\n", __LINE__, #condition), railwitness::test::failures++; \
  } while (0)

}  // namespace railwitness::test

#endif  // RAILWITNESS_TESTS_PLUGIN_CHECK_H_
