#include "probes/model/printable.h"

#include <gtest/gtest.h>

namespace railwitness::model {
namespace {

TEST(LastErrorLine, IsTheLastThatIsNotEmptyFitForATerminal) {
  EXPECT_EQ(last_error_line("usage: x\nno such socket\n\n  "), ": no such socket");
  EXPECT_EQ(last_error_line("one"), ": one");
  EXPECT_EQ(last_error_line("a\n\033[2Jb\r\n"), ": ?[2Jb");
  EXPECT_EQ(last_error_line(std::string(300, 'x')), ": " + std::string(200, 'x'));
}

TEST(LastErrorLine, IsEmptyOfAProgramThatSaidNothing) {
  EXPECT_EQ(last_error_line(""), "");
  EXPECT_EQ(last_error_line(" \r\n\t\n"), "");
}

}  // namespace
}  // namespace railwitness::model
