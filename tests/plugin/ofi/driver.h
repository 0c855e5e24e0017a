// Plays NCCL's part against mode ofi, both ends in one process: what NCCL's service and progress threads call, in their
// order. Everything here fails the test on any result but success.
#ifndef RAILWITNESS_TESTS_PLUGIN_OFI_DRIVER_H_
#define RAILWITNESS_TESTS_PLUGIN_OFI_DRIVER_H_

#include "plugin/engine/transport.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace railwitness::ofi_test {

using nccl::Result;

engine::Transport& transport();  // opened once; the process ends if it cannot be

// What the plugin said through NCCL's logger since the last call: "WARN text", "INFO text".
std::vector<std::string> take_log();
std::string text_of(const std::vector<std::string>& log);

void* make_context();

struct Pair {
  void* context = nullptr;
  void* send = nullptr;
  void* receive = nullptr;
  Result send_result = nccl::kSuccess, receive_result = nccl::kSuccess;
};
Pair connect_pair(void* context, int device = 0);  // connects to itself
void close_pair(Pair* pair);

// A registered buffer, filled with a pattern of `seed`.
std::vector<uint8_t> pattern(size_t bytes, unsigned seed);

void* send_until_taken(const Pair& pair, const void* data, size_t bytes, int tag);
void* receive(const Pair& pair, void* data, size_t bytes, int tag);
// Tests both requests by turns until both are done.
void finish(void* send_request, void* receive_request, int* sent, int* received);
bool test_once(void* request, int* bytes);  // done?

// Calls until that gives an error, for at most 15 seconds; how many it took, in `after`.
Result wait_for_error(const std::function<Result()>& call, double* after);

bool uses(const char* provider);  // whether RAILWITNESS_OFI_PROVIDER has it in its name
int open_descriptors();
// TCP connections whose peer has gone and whose bytes nobody has read: those that libfabric was accepting.
int half_accepted();
long resident_kb();
long heap_bytes();  // in use
double seconds();

}  // namespace railwitness::ofi_test

#endif  // RAILWITNESS_TESTS_PLUGIN_OFI_DRIVER_H_
