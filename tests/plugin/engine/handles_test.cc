#include "plugin/engine/handles.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace railwitness::engine {
namespace {

TEST(Handles, AreTakenOnceEachInAnyOrderAndNothingElseIs) {
  static constinit Handles handles;  // never freed, as in the plugin
  std::vector<char> memory(64 * 5000);
  std::vector<const char*> in;
  for (size_t i = 0; i < 5000; i++) in.push_back(&memory[64 * i]);
  EXPECT_FALSE(handles.take(in[0])) << "nothing is in there";
  for (const char* h : in) EXPECT_TRUE(handles.add(h));
  std::mt19937 random(5);
  for (int round = 0; round < 3; round++) {
    std::shuffle(in.begin(), in.end(), random);
    for (size_t i = 0; i < in.size(); i++) {
      ASSERT_FALSE(handles.take(in[i] + 1));
      ASSERT_TRUE(handles.take(in[i])) << i;
      ASSERT_FALSE(handles.take(in[i])) << "twice";
      EXPECT_TRUE(i % 2 == 0 || handles.add(in[i - 1]));  // as an address that is given again
    }
    for (size_t i = 0; i < in.size(); i++) EXPECT_EQ(handles.take(in[i]), i % 2 == 0);
    for (const char* h : in) EXPECT_TRUE(handles.add(h));
  }
}

}  // namespace
}  // namespace railwitness::engine
