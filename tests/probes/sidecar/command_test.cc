#include "probes/sidecar/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "probes/sidecar/clock.h"

namespace railwitness::sidecar {
namespace {

using testing::HasSubstr;

absl::StatusOr<std::string> run(Command& command, int64_t skip_ns = 0) {
  const absl::Status status = command.start(now_mono_ns());
  if (!status.ok()) return status;
  for (int i = 0; i < 1000; ++i) {
    if (auto result = command.poll(now_mono_ns() + skip_ns)) return *std::move(result);
    pollfd event{command.poll_fd(), POLLIN, 0};
    poll(&event, 1, 10);
  }
  return absl::DeadlineExceededError("the test waited too long");
}

TEST(Command, GivesWhatAProgramSays) {
  Command command("echo  hello   world");
  const auto output = run(command);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(*output, "hello world\n");
  EXPECT_EQ(*run(command), "hello world\n") << "again";
  EXPECT_FALSE(command.running());
}

TEST(Command, SaysThatThereIsNoSuchProgram) {
  Command command("no-such-program-here -f json");
  const auto output = run(command);
  EXPECT_TRUE(absl::IsNotFound(output.status()));
  EXPECT_THAT(output.status().message(), HasSubstr("no-such-program-here cannot be run: No such file"));
  EXPECT_FALSE(Command("  ").start(0).ok());
}

TEST(Command, SaysHowAProgramFailed) {
  Command command("false");
  EXPECT_THAT(run(command).status().message(), HasSubstr("false ended with status 1"));
}

TEST(Command, SaysTheLastLineThatAProgramSaidOfItsFailure) {
  Command command("ls /nowhere/1 /nowhere/2");
  const std::string text(run(command).status().message());
  EXPECT_THAT(text, testing::StartsWith("ls ended with status 2: ls: cannot access"));
  EXPECT_THAT(text, HasSubstr("/nowhere/2"));
  EXPECT_THAT(text, testing::Not(HasSubstr("/nowhere/1")));
}

TEST(Command, AProgramThatComplainsAtLengthIsNotHeldUp) {
  Command command("dd if=/nowhere/" + std::string(3000, 'x') + "\x1b");
  const std::string text(run(command).status().message());
  EXPECT_THAT(text, HasSubstr("ended with status 1: "));
  EXPECT_LT(text.size(), 300u);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  Command flood("sh -c head${IFS}-c${IFS}1000000${IFS}/dev/zero>&2&&echo${IFS}done");  // more than a pipe holds
  const auto output = run(flood);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(*output, "done\n");
}

TEST(Command, EndsAProgramThatDoesNot) {
  Command command("sleep 1000");
  EXPECT_THAT(run(command, Command::kTimeoutNs + 1).status().message(), HasSubstr("no end within 5 s"));
}

TEST(Command, EndsAProgramThatSaysTooMuch) {
  Command command("cat /dev/zero");
  EXPECT_THAT(run(command).status().message(), HasSubstr("said more than 1048576 bytes"));
}

TEST(Command, TakesAsMuchAsIsAllowed) {
  Command command("head -c 1048576 /dev/zero");
  const auto output = run(command);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->size(), Command::kMaxBytes);
}

TEST(Command, LeavesNothingRunningBehind) {
  { Command("sleep 1000").start(now_mono_ns()).IgnoreError(); }
  SUCCEED();  // the destructor waited for it; it would hang otherwise
}

}  // namespace
}  // namespace railwitness::sidecar
