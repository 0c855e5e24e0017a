#include "probes/sidecar/service_manager.h"

#include <gtest/gtest.h>

#include <string>

namespace railwitness::sidecar {
namespace {

const SegmentOwner kOwner{1234, 5678, 1000, "team:llm/run.7"};

TEST(StoredName, SaysAllThatTheNextSidecarMustKnow) {
  for (const uint32_t part : {0u, 3u}) {
    const ring::Segment segment = *ring::make_segment(9, "", part);
    const std::string name = stored_name(kOwner, segment);
    EXPECT_LE(name.size(), 255u);
    EXPECT_EQ(name.find(':'), std::string::npos) << "systemd takes no name with a colon";
    const auto read = read_stored_name(name);
    ASSERT_TRUE(read) << name;
    EXPECT_EQ(read->owner, kOwner);
    EXPECT_EQ(read->name, name);
    EXPECT_EQ(read->segment.part, part);
    EXPECT_EQ(read->segment.generation, 9u);
    EXPECT_EQ(read->segment.created_mono_ns, segment.created_mono_ns);
    EXPECT_EQ(read->segment.geometry.segment_bytes, segment.geometry.segment_bytes);
  }
}

TEST(StoredName, WithTheLongestJobAndNumbersIsShortEnough) {
  const SegmentOwner owner{INT32_MAX, UINT64_MAX, UINT32_MAX, std::string(64, 'x')};
  ring::Segment segment = *ring::make_segment(UINT32_MAX, "", 6);
  segment.created_mono_ns = INT64_MAX;
  const std::string name = stored_name(owner, segment);
  EXPECT_LE(name.size(), 255u);
  EXPECT_EQ(read_stored_name(name)->owner, owner);
}

TEST(StoredName, OfAnotherVersionOrAnotherServiceIsNone) {
  const std::string good = stored_name(kOwner, *ring::make_segment(9, ""));
  ASSERT_TRUE(read_stored_name(good));
  EXPECT_FALSE(read_stored_name("rw999" + good.substr(good.find('.')))) << "another layout";
  for (const char* name : {"", "stored", "rw0", "rw0.1.2.3.0.5.6", "rw0.x.2.3.0.5.6.job", "rw0.0.2.3.0.5.6.job", "rw0.1.0.3.0.5.6.job",
                           "rw0.-1.2.3.0.5.6.job", "rw0.1.2.3.7.5.6.job", "rw0.1.2.3.0.5.99999999999999999999.job"}) {
    EXPECT_FALSE(read_stored_name(name)) << name;
  }
}

TEST(ServiceManager, KeepsNothingWhereThereIsNone) {
  unsetenv("NOTIFY_SOCKET");
  const ServiceManager manager;
  EXPECT_FALSE(manager.keeps());
  EXPECT_EQ(manager.keep(kOwner, *ring::make_segment(9, "")), "");
  size_t useless = 7;
  EXPECT_TRUE(manager.take_stored(useless).empty());
  EXPECT_EQ(useless, 0u);
}

}  // namespace
}  // namespace railwitness::sidecar
