// Any bytes as the log of a job, whole and in pieces: the same judgement.
#include <cstdlib>
#include <string_view>

#include "probes/joblog/report.h"

namespace {

std::string judged(std::string_view log, size_t piece) {
  railwitness::joblog::Reader reader;
  for (size_t at = 0; at < log.size(); at += piece) reader.feed(log.substr(at, piece));
  const railwitness::joblog::JobLog job = reader.finish();
  const railwitness::joblog::Judgement judgement = railwitness::joblog::judge(job);
  return to_text(job, judgement) + to_json(job, judgement);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view log(reinterpret_cast<const char*>(data), size);
  if (judged(log, size + 1) != judged(log, 13)) abort();
  return 0;
}
