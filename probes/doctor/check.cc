#include "probes/doctor/check.h"

namespace railwitness::doctor {

std::string_view word(State state) {
  switch (state) {
    case State::kOk:
      return "ok";
    case State::kWarn:
      return "warn";
    case State::kBad:
      return "bad";
    case State::kUnknown:
      return "unknown";
  }
  return "unknown";
}

}  // namespace railwitness::doctor
