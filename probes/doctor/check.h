// What the doctor says of one thing.
#ifndef RAILWITNESS_PROBES_DOCTOR_CHECK_H_
#define RAILWITNESS_PROBES_DOCTOR_CHECK_H_

#include <string>
#include <string_view>
#include <vector>

namespace railwitness::doctor {

// kBad: the job or the node does not do what is wanted. kWarn: it works, but a part is missing or will surprise.
// kUnknown: could not be found out here.
enum class State { kOk, kWarn, kBad, kUnknown };

std::string_view word(State state);

struct Check {
  std::string name;
  State state = State::kUnknown;
  std::string evidence;  // what was seen, where
  std::string way_out;   // empty if there is nothing to do
};

}  // namespace railwitness::doctor

#endif  // RAILWITNESS_PROBES_DOCTOR_CHECK_H_
