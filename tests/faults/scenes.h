// Short pieces of writing that are killed at every instruction: one for each structure of the segment.
#ifndef RAILWITNESS_TESTS_FAULTS_SCENES_H_
#define RAILWITNESS_TESTS_FAULTS_SCENES_H_

#include "tests/faults/writer.h"

#include <span>

namespace railwitness::faults {

struct Scene {
  const char* name;
  void (*prepare)(Writer&);
  void (*act)(Writer&);
  // Every so many instructions; 1: at every one.
  uint64_t stride;
  bool alone = false;  // begins in private memory, without a sidecar
};

std::span<const Scene> scenes();

// The same structures written in a wrong order: what must be found.
std::span<const Scene> broken_scenes();

}  // namespace railwitness::faults

#endif  // RAILWITNESS_TESTS_FAULTS_SCENES_H_
