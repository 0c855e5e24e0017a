// A fake plugin of one version, opened through the chain.
#ifndef RAILWITNESS_TESTS_PLUGIN_CHAIN_CHAINED_H_
#define RAILWITNESS_TESTS_PLUGIN_CHAIN_CHAINED_H_

#include "plugin/chain/chain.h"
#include "tests/plugin/chain/fake_plugin.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include <dlfcn.h>

namespace railwitness::chain {

inline std::string path_of_fake(const std::string& name) { return RAILWITNESS_FAKES "/libnccl-net-" + name + ".so"; }

// Transports are never destroyed; this keeps the leak checker from asking about them.
inline Opened open_for_good(const std::string& plugin) {
  static std::vector<Opened> all;
  all.push_back(open(plugin.c_str()));
  return all.back();
}

// As tests::words: what the fake remembers of an argument.
template <typename Argument>
uint64_t word(Argument argument) {
  if constexpr (std::is_pointer_v<Argument>) return reinterpret_cast<uint64_t>(argument);
  else return static_cast<uint64_t>(argument);
}

template <typename... Arguments>
std::vector<uint64_t> words(Arguments... arguments) {
  return {word(arguments)...};
}

// A table's function; all versions begin with these.
struct TableHead {
  const char* name;
  void* init;
  void* devices;
};

class Chained : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const std::string path = path_of_fake("fake_v" + std::to_string(version()));
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library_) << dlerror();
    fake_ = static_cast<fake::Plugin*>(dlsym(library_, ("fake_v" + std::to_string(version())).c_str()));
    ASSERT_TRUE(fake_);
    fake_->result = nccl::kSuccess;
    fake_->hook = nullptr;
    fake_->is_quiet = false;
    opened_ = open_for_good(path);
    ASSERT_TRUE(opened_.transport) << opened_.why_not;
    EXPECT_EQ(opened_.why_not, nullptr);
  }
  void TearDown() override {
    if (library_) dlclose(library_);
  }

  int version() const { return GetParam(); }
  const fake::Call& last() const { return fake_->last; }
  std::vector<uint64_t> last_words() const { return {last().words, last().words + last().n}; }

  fake::Plugin* fake_ = nullptr;
  Opened opened_{};
  void* library_ = nullptr;
};

}  // namespace railwitness::chain

#endif  // RAILWITNESS_TESTS_PLUGIN_CHAIN_CHAINED_H_
