#include "probes/fabric/readers/rdma_json.h"

#include <gtest/gtest.h>

namespace railwitness::fabric {
namespace {

std::string error_of(std::string_view bytes) {
  const auto facts = read_rdma_json("rdma.txt", bytes);
  return facts.ok() ? "none" : std::string(facts.status().message());
}

TEST(RdmaJson, JsonAndTextOfOneAnswerSayTheSame) {
  for (
      const char* text :
      {R"([{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"DOWN","physical_state":"POLLING","netdev":"eth0","netdev_index":2}])",
       "link mlx5_0/1 state DOWN physical_state POLLING netdev eth0 netdev_index 2 \n"}) {
    const auto facts = read_rdma_json("r", text);
    ASSERT_TRUE(facts.ok()) << facts.status();
    ASSERT_EQ(facts->fabric.ports.size(), 1u);
    EXPECT_EQ(facts->fabric.devices.at(0).name, "mlx5_0");
    EXPECT_EQ(facts->fabric.ports[0].number, 1u);
    EXPECT_EQ(facts->fabric.ports[0].label, "eth0");
    EXPECT_EQ(facts->fabric.ports[0].state, model::PortState::kDown);
  }
}

TEST(RdmaJson, SeveralAnswersInOneInputAreKnownByTheirShape) {
  const auto facts =
      read_rdma_json("r",
                     "[{\"ifname\":\"a\",\"port\":1,\"lqpn\":18,\"rqpn\":19,\"type\":\"RC\",\"state\":\"RTR\",\"pid\":"
                     "7,\"comm\":\"x\"}]\n\n"
                     "1: a: node_type ca fw 16.28 node_guid 7cfe:9003:0000:0001 sys_image_guid 7cfe:9003:0000:0001\n"
                     "link a/1 \n    rx_bytes 5 \n    brand_new 6\n\n0: b: pd 1 qp 3\n");
  ASSERT_TRUE(facts.ok()) << facts.status();
  ASSERT_EQ(facts->queue_pairs.size(), 1u);
  EXPECT_EQ(facts->queue_pairs[0].remote_number, 19u);
  EXPECT_EQ(facts->fabric.devices.at(0).guid, "7cfe900300000001");
  EXPECT_EQ(facts->fabric.ports.at(0).counters.at("brand_new").value, 6u);
  EXPECT_EQ(facts->resources.at("b").at("qp"), 3u);
}

TEST(RdmaJson, RefusalsNameFileAndLine) {
  EXPECT_EQ(error_of(""), "rdma.txt: no answer of rdma in it");
  EXPECT_EQ(error_of("[{\"port\":1}]"), "rdma.txt:1: an element without ifname");
  EXPECT_EQ(error_of("[{"), "rdma.txt: no JSON at line 1 column 3");
  EXPECT_EQ(error_of("link a/1 state UP\n[{"), "rdma.txt:2: JSON that begins here does not parse");
  EXPECT_EQ(error_of("link a\n"), "rdma.txt:1: not \"link DEVICE/PORT\"");
  EXPECT_EQ(error_of("link a/1 state\n"), "rdma.txt:1: a name without value");
  EXPECT_EQ(error_of("hello world\n"), "rdma.txt:1: neither JSON nor \"link DEVICE/PORT\" nor \"INDEX: DEVICE:\"");
  EXPECT_EQ(error_of("[3]"), "rdma.txt:1: an element without ifname");
}

}  // namespace
}  // namespace railwitness::fabric
