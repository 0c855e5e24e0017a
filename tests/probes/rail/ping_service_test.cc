// What can be said without a device; the rest is rail_ping_check in the bed of virtual hosts.
#include "probes/rail/ping_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railwitness::rail {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

model::PingRequest request(uint64_t id) {
  model::PingRequest request;
  request.id = id;
  request.from_node = "host0";
  request.device = "no_such_device";
  request.to_node = "host1";
  request.to.gid = "0000:0000:0000:0000:0000:ffff:0a00:0002";
  return request;
}

TEST(PingService, SaysWhatCannotBeOpenedAndGoesOn) {
  PingService service("host0");
  service.open({"no_such_device"});
  EXPECT_THAT(service.problems(), ElementsAre("no RDMA device no_such_device"));
  EXPECT_THAT(service.ports(), IsEmpty());
  EXPECT_THAT(service.tick(0), IsEmpty());
  service.open({});
  EXPECT_THAT(service.problems(), IsEmpty());
}

TEST(PingService, GivesAProblemForAProbeFromADeviceThatIsNotOpen) {
  PingService service("host0");
  ASSERT_TRUE(service.start(request(5), 100).ok());
  const auto ended = service.tick(200);
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].id, 5u);
  EXPECT_EQ(ended[0].sent, 0u);
  EXPECT_EQ(ended[0].to_node, "host1");
  EXPECT_EQ(ended[0].mono_ns, 200);
  EXPECT_THAT(ended[0].problem, HasSubstr("no_such_device"));
  EXPECT_THAT(service.tick(300), IsEmpty());
}

TEST(PingService, BoundsTheProbesUnderWay) {
  PingService service("host0");
  for (size_t i = 0; i < PingService::kMaxOutstanding; ++i) ASSERT_TRUE(service.start(request(i), 0).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(service.start(request(99), 0)));
  EXPECT_THAT(service.tick(0), SizeIs(PingService::kMaxOutstanding));
  EXPECT_TRUE(service.start(request(99), 0).ok());
}

}  // namespace
}  // namespace railwitness::rail
