#include "probes/fabric/readers/switch_syslog.h"

#include <gtest/gtest.h>

namespace railwitness::fabric {
namespace {

using Kind = model::FabricEvent::Kind;

std::string text_of(std::string_view bytes) {
  const auto facts = read_switch_syslog("s.log", bytes);
  if (!facts.ok()) return std::string(facts.status().message());
  static constexpr const char* kKinds[] = {"?", "down", "up", "admin-down", "admin-up", "unhealthy", "counter"};
  std::string out;
  for (const model::FabricEvent& event : facts->events) {
    out += event.device + " " + event.port + " " + kKinds[static_cast<int>(event.kind)];
    if (event.outage_ns) out += " after " + std::to_string(*event.outage_ns / 1'000'000) + " ms";
    out += "; ";
  }
  for (const model::Remark& remark : facts->remarks) out += "(" + remark.text + ")";
  return out;
}

std::string record(const char* usec, const char* flags) {
  return std::string("Timestamp: Sun Nov 29 18:05:48 2026 ") + usec + " usec\n3: swp1: <" + flags +
         "> mtu 1500 state X\n    link/ether 16:03\n";
}

TEST(SwitchSyslog, OnePhysicalEventThatTwoDaemonsLogIsOneEvent) {
  EXPECT_EQ(text_of("Mar  7 04:11:02.118 leaf INFO teamd#teamd_Po1[31]: Ethernet4: carrier changed to DOWN\n"
                    "Mar  7 04:11:02.120 leaf NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet4 oper "
                    "state set from up to down\n"
                    "Mar  7 04:11:04.120 leaf NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet4 oper "
                    "state set from down to up\n"
                    "Mar  7 04:11:04.200 leaf NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet4 oper "
                    "state set from up to down\n"),
            "leaf Ethernet4 down; leaf Ethernet4 up after 2002 ms; leaf Ethernet4 down; (Ethernet4 is still down at "
            "the end of this log)");
}

TEST(SwitchSyslog, AnUpWithoutADownBeforeItHasNoLength) {
  EXPECT_EQ(text_of("2022-02-14 10:32:54.573793 leaf <local2.warning> WARNING swss#orchagent: :- updatePortOperStatus: "
                    "OperStatus of Port Ethernet38 "
                    "(alias: he-1/1/38) changed from down to up\n"),
            "leaf Ethernet38 up; ");
}

TEST(SwitchSyslog, MicrosecondsOfTheMonitorHaveNoLeadingZeros) {
  EXPECT_EQ(text_of(record("100", "NO-CARRIER,BROADCAST,UP") + record("2100", "BROADCAST,UP,LOWER_UP")),
            " swp1 down;  swp1 up after 2 ms; ");
}

TEST(SwitchSyslog, WhatAnAdministratorDoesIsNoFaultAndAChangedMtuNoEvent) {
  EXPECT_EQ(text_of(record("1", "BROADCAST,UP,LOWER_UP") + record("2", "BROADCAST") +
                    record("3", "NO-CARRIER,UP,LOWER_UP") + record("4", "UP,LOWER_UP")),
            " swp1 admin-down;  swp1 admin-up;  swp1 up; ");
  EXPECT_EQ(text_of(record("1", "BROADCAST,UP,LOWER_UP")), "(no port came or went in this log)");
}

TEST(SwitchSyslog, TheShortFormOfTheMonitorSaysTheSame) {
  EXPECT_EQ(text_of("[2026-11-29T18:05:48.000100] 3: swp1@if4: <NO-CARRIER,UP> mtu 1500\n[2026-11-29T18:05:48.002100] "
                    "3: swp1@if4: <UP,LOWER_UP> mtu 1500\n"),
            " swp1 down;  swp1 up after 2 ms; ");
}

TEST(SwitchSyslog, ATextWithoutTimesIsRefused) {
  EXPECT_EQ(text_of("hello\n"), "s.log: no line with a time in it: neither syslog nor ip -timestamp monitor link");
  EXPECT_EQ(text_of("Mar  7 04:11:02 leaf kernel: hello\n"), "(no port came or went in this log)");
}

}  // namespace
}  // namespace railwitness::fabric
