// The correlator over a real nats-server with four sidecars played by the test: a rail that loses everything to and
// from one host while no post is unfinished. Only the probes that the correlator asks for can tell.
#include <atomic>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "probes/bus/bus.h"
#include "probes/cli/arguments.h"
#include "probes/cli/correlate.h"
#include "tests/probes/bus/server.h"
#include "tests/probes/diagnose/cluster.h"

namespace railwitness::cli {
namespace {

// Publishes the facts of a host until told to stop, and answers probe requests as a rail with a hole would.
class Sidecar {
 public:
  Sidecar(const std::string& url, const model::NodeFacts& facts, const std::string& broken)
      : facts_(facts), broken_(broken), bus_(*bus::open_node_bus(url, facts.node)), thread_([this] { run(); }) {}
  ~Sidecar() {
    stop_ = true;
    thread_.join();
  }
  int asked() const { return asked_; }

 private:
  void run() {
    while (!stop_) {
      for (const model::PingRequest& request : bus_->take_ping_requests()) {
        ++asked_;
        const bool lost = request.to_node == broken_ || facts_.node == broken_;
        facts_.pings.push_back({request.id, request.device, request.to_node, request.to.gid, 3, lost ? 0u : 3u, 1000,
                                facts_.taken_mono_ns, ""});
      }
      ++facts_.sequence;
      (void)bus_->publish(facts_);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  model::NodeFacts facts_;
  const std::string broken_;
  std::unique_ptr<bus::NodeBus> bus_;
  std::atomic<bool> stop_{false};
  std::atomic<int> asked_{0};
  std::thread thread_;
};

TEST(Fleet, BlackHoleWithoutUnfinishedPostIsFoundOverTheBus) {
  if (bus::Server::binary().empty()) GTEST_SKIP() << "no nats-server here";
  bus::Server server;
  server.start();
  diagnose::Cluster cluster(4, 2);
  cluster.everybody_waits(1, 2.5);
  std::vector<std::unique_ptr<Sidecar>> sidecars;
  for (int h = 0; h < 4; ++h) sidecars.push_back(std::make_unique<Sidecar>(server.url(), cluster.facts(h), "host2"));

  CorrelateOptions options;
  options.nats_url = server.url();
  options.json = true;
  options.interval_ms = 100;
  options.once_s = 6;
  options.nodes = 4;
  char* out = nullptr;
  size_t size = 0;
  Streams streams{open_memstream(&out, &size), stderr};
  const int code = run_correlate(options, streams, [] { return false; });
  std::fclose(streams.out);
  std::istringstream lines(std::string(out, size));
  std::free(out);

  EXPECT_EQ(code, kExitFinding);
  std::vector<nlohmann::json> incidents;
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json said = nlohmann::json::parse(line);
    if (said["type"] == "incident") incidents.push_back(std::move(said));
  }
  ASSERT_FALSE(incidents.empty());
  const nlohmann::json& last = incidents.back();
  EXPECT_EQ(last["class"], "LINK");
  EXPECT_EQ(last["state"], "confirmed") << last["line"];
  ASSERT_EQ(last["culprit"].size(), 1u);
  EXPECT_EQ(last["culprit"][0]["node"], "host2");
  EXPECT_EQ(last["culprit"][0]["rail"], 1);
  EXPECT_EQ(last["path"], "rxe_h2r1/1 ► cable h2r1–swp3 ► leaf-r1:swp3");
  for (const nlohmann::json& incident : incidents) EXPECT_EQ(incident["id"], last["id"]);
  for (const auto& sidecar : sidecars) EXPECT_GT(sidecar->asked(), 0);
}

}  // namespace
}  // namespace railwitness::cli
