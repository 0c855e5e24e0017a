#include "probes/sidecar/outlet.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "probes/ring/unique_fd.h"
#include "probes/sidecar/clock.h"

namespace railwitness::sidecar {
namespace {

struct Pipe {
  ring::UniqueFd reading, writing;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) abort();
    reading = ring::UniqueFd(ends[0]), writing = ring::UniqueFd(ends[1]);
  }
  std::string read_all() {
    writing.reset();
    std::string all;
    char piece[4096];
    for (ssize_t got; (got = read(reading.get(), piece, sizeof(piece))) > 0;) all.append(piece, static_cast<size_t>(got));
    return all;
  }
};

TEST(Outlet, WritesEveryLineInItsOrderBeforeItEnds) {
  Pipe pipe;
  std::string said;
  {
    Outlet outlet(pipe.writing.get());
    for (int i = 0; i < 1000; ++i) {
      const std::string line = "line " + std::to_string(i) + "\n";
      outlet.say(line);
      said += line;
    }
  }
  EXPECT_EQ(pipe.read_all(), said);
}

TEST(Outlet, WhoSpeaksNeverWaitsForAReaderThatDoesNotRead) {
  Pipe pipe;
  const int64_t begin = now_mono_ns();
  {
    Outlet outlet(pipe.writing.get());
    for (int i = 0; i < 4096; ++i) outlet.say(std::string(1023, 'x') + "\n");
    EXPECT_TRUE(outlet.is_losing()) << "of four times as much as it keeps";
  }
  EXPECT_LT(now_mono_ns() - begin, 10 * kNsPerSecond) << "the end waits no longer than a second either";
  std::string piece(size_t{1} << 16, ' ');  // lets the thread go on, and out of the pipe
  fcntl(pipe.reading.get(), F_SETFL, O_NONBLOCK);
  for (int i = 0; i < 200; ++i) {
    while (read(pipe.reading.get(), piece.data(), piece.size()) > 0) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(Outlet, IsHeardAgainWhenItsReaderReadsOn) {
  Pipe pipe;
  Outlet outlet(pipe.writing.get());
  for (int i = 0; i < 2048; ++i) outlet.say(std::string(1023, 'x') + "\n");
  fcntl(pipe.reading.get(), F_SETFL, O_NONBLOCK);
  std::string all, piece(size_t{1} << 16, ' ');
  for (int i = 0; i < 5000 && all.find("again") == all.npos; ++i) {
    const ssize_t got = read(pipe.reading.get(), piece.data(), piece.size());
    if (got > 0) all.append(piece, 0, static_cast<size_t>(got));
    if (got <= 0) outlet.say("again\n"), std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_NE(all.find("again"), all.npos);
  EXPECT_FALSE(outlet.is_losing());
}

TEST(Outlet, KeepsTheFirstErrorOfItsDescriptor) {
  const ring::UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  Outlet outlet(full.get());
  outlet.say("lost\n");
  for (int i = 0; i < 1000 && outlet.error() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(outlet.error(), ENOSPC);
}

}  // namespace
}  // namespace railwitness::sidecar
