#include "railwitness/base/knobs.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace railwitness::knobs {
namespace {

std::string problem(const char* entry) {
  char text[256];
  describe_problem(read_entry(entry), text, sizeof text);
  return text;
}

TEST(EditDistance, ASwapIsOneSlip) {
  EXPECT_EQ(edit_distance("RAILWITNESS_MDOE", "RAILWITNESS_MODE"), 1u);
  EXPECT_EQ(edit_distance("sidcar", "sidecar"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance(std::string(1000, 'x'), "x"), kLongestWord);
  EXPECT_EQ(edit_distance(std::string(80, 'x'), std::string(80, 'y')), 80u);
}

TEST(Knobs, EveryRowIsWhole) {
  std::set<std::string> names;
  for (const Knob& knob : kAll) {
    EXPECT_TRUE(names.insert(knob.name).second) << knob.name << " has two rows";
    EXPECT_TRUE(std::string(knob.name).starts_with("RAILWITNESS_")) << knob.name;
    EXPECT_GE(strlen(knob.text), 20u) << knob.name;
    EXPECT_NE(knob.readers, 0u) << knob.name;
    EXPECT_TRUE(strlen(knob.since)) << knob.name;
    EXPECT_TRUE(is_valid(knob, knob.standard)) << knob.name;
    EXPECT_EQ(knob.type == Type::kNumber, *knob.unit != 0) << knob.name;
    EXPECT_EQ(knob.type == Type::kNumber, knob.least < knob.most) << knob.name;
    EXPECT_EQ(knob.type == Type::kChoice, *knob.choices != 0) << knob.name;
    EXPECT_EQ(problem((std::string(knob.name) + "=" + knob.standard).c_str()), "");
  }
}

TEST(Knobs, ASlipIsTakenForWhatIsMeant) {
  EXPECT_EQ(problem("RAILWITNESS_SOKET=x"), "RAILWITNESS_SOKET is not known; RAILWITNESS_SOCKET is meant?");
  EXPECT_EQ(problem("RAILWITNESS_MDOE=off"), "RAILWITNESS_MDOE is not known; RAILWITNESS_MODE is meant?");
  EXPECT_EQ(problem("RAIL_WITNESS_MODE=off"), "RAIL_WITNESS_MODE is not known; RAILWITNESS_MODE is meant?");
  EXPECT_EQ(problem("RAILWITNES_JOB=1"), "RAILWITNES_JOB is not known; RAILWITNESS_JOB is meant?");
  EXPECT_EQ(problem("railwitness_mode=off"), "railwitness_mode is not known; RAILWITNESS_MODE is meant?");
  EXPECT_EQ(problem("RAILWITNESS_SOCKET_PATH=x"), "RAILWITNESS_SOCKET_PATH is not known; RAILWITNESS_SOCKET is meant?");
  EXPECT_EQ(problem("RAILWITNESS_LLDP=x"), "RAILWITNESS_LLDP is not known; RAILWITNESS_LLDP_COMMAND is meant?");
  EXPECT_EQ(problem("RAILWITNESS_XYZZY=1"), "RAILWITNESS_XYZZY is not known; `railwitness env` lists what is");
}

TEST(Knobs, WhatOthersSetIsNotOurs) {
  for (const char* entry : {"RAILS_ENV=test", "PATH=/bin", "RAIL=1", "", "=", "NONSENSE", "RAILWAY_TOKEN=x",
                            "RAILWITNESS_SERVICE_HOST=10.0.0.1", "RAILWITNESS_SERVICE_PORT_NATS=4222",
                            "RAILWITNESS_PORT=tcp://10.0.0.1:4222", "RAILWITNESS_PORT_4222_TCP_ADDR=10.0.0.1",
                            "RAILWITNESS_NATS_PORT_4222_TCP=tcp://10.0.0.1:4222"})
    EXPECT_FALSE(read_entry(entry).is_ours()) << entry;
}

TEST(Knobs, AWrongValueIsNamedWithItsRange) {
  EXPECT_EQ(problem("RAILWITNESS_READ_INTERVAL_MS=5"),
            "RAILWITNESS_READ_INTERVAL_MS is '5'; a whole number of ms from 10 to 10000 is meant");
  EXPECT_EQ(problem("RAILWITNESS_MAX_PROCESSES=1e3"),
            "RAILWITNESS_MAX_PROCESSES is '1e3'; a whole number of processes from 1 to 65536 is meant");
  EXPECT_EQ(problem("RAILWITNESS_MODE=on"),
            "RAILWITNESS_MODE is 'on'; one of tap|chain:<plugin>|ofi|off is meant, tap is taken");
  EXPECT_EQ(problem("RAILWITNESS_MODE="), "") << "an empty value is as good as none";
  EXPECT_EQ(problem("RAILWITNESS_MODE=OFF"), "");
  EXPECT_EQ(problem("RAILWITNESS_MODE=chain:libx.so"), "");
  EXPECT_NE(problem("RAILWITNESS_MODE=chain:"), "") << "chained to what?";
  EXPECT_NE(problem(("RAILWITNESS_SOCKET=/" + std::string(107, 'x')).c_str()), "");
  EXPECT_EQ(problem(("RAILWITNESS_SOCKET=/" + std::string(106, 'x')).c_str()), "");
  EXPECT_EQ(problem("RAILWITNESS_MODE=\x1b[2J\n"),
            "RAILWITNESS_MODE is '?[2J?'; one of tap|chain:<plugin>|ofi|off is meant, tap is taken");
}

TEST(Knobs, ProblemsOfAnEnvironmentAreWholeSentencesWithinTheBuffer) {
  const std::string longer = "RAILWITNESS_" + std::string(300, 'Y') + "=1";
  const char* environment[] = {"RAILWITNESS_SOKET=1", longer.c_str(), "RAILWITNESS_INTERVAL_MS=0", "HOME=/", nullptr};
  char text[512];
  EXPECT_EQ(describe_problems(environment, kJob, text, sizeof text), 2) << "the interval is the correlator's";
  EXPECT_EQ(std::string(text), "RAILWITNESS_SOKET is not known; RAILWITNESS_SOCKET is meant?; RAILWITNESS_" +
                                   std::string(28, 'Y') + "… is not known; `railwitness env` lists what is");
  EXPECT_EQ(describe_problems(environment, kJob, text, 70), 2);
  EXPECT_STREQ(text, "RAILWITNESS_SOKET is not known; RAILWITNESS_SOCKET is meant?");
  EXPECT_EQ(describe_problems(environment, kJob, text, 20), 1);
  EXPECT_STREQ(text, "");
  EXPECT_EQ(describe_problems(nullptr, kJob, text, sizeof text), 0);
}

}  // namespace
}  // namespace railwitness::knobs
