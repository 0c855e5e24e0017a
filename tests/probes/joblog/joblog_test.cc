#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"
#include "probes/joblog/log_line.h"
#include "probes/joblog/messages.h"
#include "probes/joblog/report.h"

namespace railwitness::joblog {
namespace {

JobLog read(std::string_view text, size_t cut = SIZE_MAX) {
  Reader reader;
  for (size_t at = 0; at < text.size(); at += std::min(cut, text.size() - at)) reader.feed(text.substr(at, cut));
  return reader.finish();
}

std::string file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What two ranks of an NCCL say, each with the lines of `body`.
std::string job(const std::string& version, const std::vector<std::string>& body, int ranks = 2) {
  std::string out;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string prefix = "host" + std::to_string(rank) + ":42:43 [0] NCCL INFO ";
    if (rank == 0) out += "NCCL version " + version + "+cuda12.1\n";
    for (const std::string& line : body) out += prefix + line + "\n";
    out += prefix + "comm 0x5581 rank " + std::to_string(rank) + " nranks " + std::to_string(ranks) +
           " cudaDev 0 busId c1000 commId 0x1 - Init COMPLETE\n";
  }
  return out;
}

std::string text_of(const std::string& log) {
  const JobLog read_job = read(log);
  return to_text(read_job, judge(read_job));
}

Use use_of(const std::string& log) {
  return judge(read(log)).use;
}

// --- a line

TEST(LogLine, WhatStandsBeforeNcclsOwnPrefixIsLeftOut) {
  for (const std::string before :
       {"", "[2026-11-29 23:58:34] ", "[default0]:", "[1,12]<stdout>:", "3: ", "2026-11-29T23:58:34.1 "}) {
    const std::string line = before + "node-a.x:12:345 [7] NCCL INFO Using network IB";
    const auto messages = split_line(line);
    ASSERT_EQ(messages.size(), 1u) << line;
    EXPECT_EQ(messages[0].host, before == "" || before.back() != ':' ? "node-a.x" : messages[0].host) << line;
    EXPECT_EQ(messages[0].pid, 12);
    EXPECT_EQ(messages[0].text, "Using network IB");
  }
}

TEST(LogLine, TwoRanksInOneLineAreTwoMessages) {
  const auto messages = split_line("vm:1:2 [0] NCCL INFO 2 p2p channels per pevm:8:9 [0] NCCL INFO Using network IB");
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].pid, 1);
  EXPECT_EQ(messages[1].pid, 8);
  EXPECT_EQ(messages[1].text, "Using network IB");
}

TEST(LogLine, AWarningHasItsPlaceInTheSourceBeforeIt) {
  const auto messages =
      split_line("[2026-11-29 23:57:19] vm:9:9 [0] plugin/net.cc:379 NCCL WARN Failed to initialize any NET plugin");
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_TRUE(messages[0].is_warning);
  EXPECT_EQ(match(messages[0].text).event, Event::kNoNetAtAll);
}

TEST(LogLine, ALineWithoutAPrefixIsOfNobody) {
  const auto messages = split_line("NCCL INFO Using network Socket");
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].host, "");
  EXPECT_TRUE(split_line("step 3 loss [0] 1.23").empty());
  EXPECT_TRUE(split_line("").empty());
}

// --- the words of every version

TEST(Messages, TheWordsOfEveryVersionAreKnown) {
  std::ifstream in(std::string(RAILWITNESS_TEST_DATA) + "/messages.tsv");
  ASSERT_TRUE(in);
  int rows = 0, right = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    const std::string event = line.substr(0, first), versions = line.substr(first + 1, second - first - 1);
    std::string text = line.substr(second + 1);
    for (size_t at = 0; (at = text.find("%s", at)) != std::string::npos;) text.replace(at, 2, "x");
    for (size_t at = 0; (at = text.find("%d", at)) != std::string::npos;) text.replace(at, 2, "1");
    ++rows;
    const bool is_right = std::to_string(static_cast<int>(match(text).event)) == event;
    right += is_right;
    EXPECT_TRUE(is_right) << versions << ": " << text << " is taken for event " << static_cast<int>(match(text).event);
  }
  EXPECT_GT(rows, 20);
  printf("messages: %d of %d right\n", right, rows);
}

// --- whole logs: real ones of NCCL 2.28.9 in data/, made as data/README.md says

TEST(Judge, RealLogsAreJudgedAsWritten) {
  int logs = 0, right = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RAILWITNESS_TEST_DATA)) {
    if (entry.path().extension() != ".log") continue;
    std::filesystem::path expected = entry.path();
    expected.replace_extension(".txt");
    const std::string log = file(entry.path());
    const std::string text = text_of(log);
    ++logs;
    right += text == file(expected);
    EXPECT_EQ(text, file(expected)) << entry.path().filename();
    const JobLog in_pieces = read(log, 7);
    EXPECT_EQ(to_text(in_pieces, judge(in_pieces)), text) << "however the log is cut";
  }
  EXPECT_GE(logs, 17);
  printf("job_logs: %d of %d right\n", right, logs);
}

// --- versions that word it otherwise (format strings of their libraries)

TEST(Judge, OldVersionsWithoutTheLibrary) {
  EXPECT_EQ(
      use_of(job("2.18.3", {"Plugin name set by env to railwitness",
                            "NET/Plugin : Plugin load (libnccl-net-railwitness.so) returned 2 : "
                            "libnccl-net-railwitness.so: cannot open shared object file: No such file or directory",
                            "NET/Plugin : No plugin found, using internal implementation", "Using network IB"})),
      Use::kNotUsed);
  const std::string text =
      text_of(job("2.21.5", {"NET/Plugin: Plugin name set by env to railwitness",
                             "NET/Plugin: Most recent plugin load returned 2 : libnccl-net-railwitness.so: cannot "
                             "open. All attempts to load 'railwitness' also failed.",
                             "NET/Plugin: Using internal network plugin.", "Using network IB"}));
  EXPECT_NE(text.find("railwitness is NOT used, NCCL 2.21.5"), std::string::npos) << text;
  EXPECT_NE(text.find("could not be loaded"), std::string::npos) << text;
  EXPECT_NE(text.find("2 of 2 ranks (0-1), network IB"), std::string::npos) << text;
  EXPECT_EQ(
      use_of(job("2.26.2",
                 {"NET/Plugin: Plugin name set by env to railwitness",
                  "NET/Plugin: Could not find: railwitness libnccl-net-railwitness.so. Using internal net plugin.",
                  "Using network IB"})),
      Use::kNotUsed);
}

TEST(Judge, OldVersionsWithoutATableForThem) {
  const std::string text = text_of(job(
      "2.24.3",
      {"NET/Plugin: Plugin name set by env to railwitness", "NET/Plugin: Failed to find ncclNetPlugin_v9 symbol.",
       "NET/Plugin: Failed to find ncclNetPlugin symbol (>= v5). ncclNetPlugin symbols v4 and lower are not supported.",
       "Using network IB"}));
  EXPECT_NE(text.find("NCCL 2.24.3 found none of its tables"), std::string::npos) << text;
}

TEST(Judge, TheBannerIsEnoughInAnyVersion) {
  EXPECT_EQ(use_of(job("2.27.7", {"NET/Plugin: Plugin name set by env to railwitness",
                                  "NET/Plugin: Loaded net plugin railwitness (v10)",
                                  "railwitness 0.1.0: tap by stub, sidecar connected",
                                  "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>", "Using network IB"})),
            Use::kUsed);
}

TEST(Judge, OneRankOfManyWithoutItIsNamedAndMixedNetworksAreAHang) {
  std::string log = job("2.28.9", {"railwitness 0.1.0: tap by stub, sidecar connected", "Using network IB"}, 64);
  const std::string last = "host63:42:43 [0] NCCL INFO ";
  log = log.substr(0, log.find(last)) + last + "NCCL_NET_PLUGIN set by environment to none\n" + last +
        "Using network Socket\n" + last + "comm 0x1 rank 63 nranks 64 cudaDev 0 - Init COMPLETE\n";
  const std::string text = text_of(log);
  EXPECT_NE(text.find("railwitness is NOT used by every rank"), std::string::npos) << text;
  EXPECT_NE(text.find("used      63 of 64 ranks (0-62), network IB"), std::string::npos) << text;
  EXPECT_NE(text.find("not used  1 of 64 ranks (63), network Socket"), std::string::npos) << text;
  EXPECT_NE(text.find("hangs or fails at connect: IB on 63 of 64 ranks (0-62); Socket on 1 of 64 ranks (63)"),
            std::string::npos)
      << text;
}

TEST(Judge, RanksThatAreNotInTheLogAreMissed) {
  const std::string text = text_of(
      job("2.28.9", {"railwitness 0.1.0: tap by stub, sidecar connected", "Using network IB"}, 2).substr(0, 300));
  EXPECT_NE(text.find("the log shows 1 of 2 ranks"), std::string::npos) << text;
}

TEST(Judge, NoNcclNoJudgement) {
  EXPECT_EQ(use_of("epoch 1\nloss 2.3\n"), Use::kUnknown);
  EXPECT_EQ(use_of(""), Use::kUnknown);
  EXPECT_NE(text_of("epoch 1\n").find("no line of NCCL in it; run with NCCL_DEBUG=INFO"), std::string::npos);
}

TEST(Judge, AModeThatCannotBeHadIsToldWithItsReason) {
  const std::string text = text_of(job(
      "2.28.9", {"railwitness 0.1.0: tap by stub, no sidecar",
                 "railwitness: RAILWITNESS_MODE can't be had: no libfabric.so.1. No devices", "Using network Socket"}));
  EXPECT_NE(text.find("what RAILWITNESS_MODE names can't be had: no libfabric.so.1"), std::string::npos) << text;
}

TEST(Judge, OurOwnTransportIsUsedUnderOurName) {
  const std::string banner = "railwitness 0.1.0: ofi over tcp;ofi_rxm, sidecar connected";
  EXPECT_EQ(use_of(job("2.28.9", {banner, "Using network railwitness"})), Use::kUsed);
  EXPECT_EQ(use_of(job("2.28.9", {banner, "Using network Socket"})), Use::kNotUsed);
}

TEST(Report, JsonHasTheSameWords) {
  const JobLog read_job =
      read(job("2.28.9", {"railwitness 0.1.0: tap by stub, sidecar connected", "Using network IB"}));
  EXPECT_EQ(
      to_json(read_job, judge(read_job)),
      R"j({"type":"job_log","use":"used","nccl_version":"2.28.9","lines":7,"groups":[{"use":"used","how":"tap by stub, sidecar connected",)j"
      R"j("network":"IB","way_out":"","who":"2 of 2 ranks (0-1)","processes":[{"host":"host0","pid":42,"ranks":[0],"ranks_in_comm":2,"first_warning":""},)j"
      R"j({"host":"host1","pid":42,"ranks":[1],"ranks_in_comm":2,"first_warning":""}]}],"notes":[]})j");
}

TEST(Reader, BytesThatAreNoTextAreShownAsNone) {
  const std::string log = "vm:1:1 [0] NCCL INFO Using network \x1b[2J\xff\n";
  const std::string text = text_of(log);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(Reader, ALineOfAGigabyteCostsItsFirstBytes) {
  Reader reader;
  const std::string piece(1 << 20, 'x');
  reader.feed("vm:1:1 [0] NCCL INFO Using network IB");
  for (int i = 0; i < 16; ++i) reader.feed(piece);
  reader.feed("\nvm:2:2 [0] NCCL INFO Using network IB\n");
  const JobLog job = reader.finish();
  EXPECT_EQ(job.lines, 2u);
  ASSERT_EQ(job.processes.size(), 2u);
  EXPECT_LE(job.processes[0].network.size(), 256u);
}

}  // namespace
}  // namespace railwitness::joblog
