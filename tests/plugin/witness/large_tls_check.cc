// A program with more thread-local storage than the helper thread's own stack: glibc takes it out of every thread's stack.
// A program of its own, as all threads of it pay. Exit status 0: the helper started and found the sidecar that came later.
#include "plugin/witness/keeper.h"
#include "plugin/witness/recorder.h"
#include "tests/plugin/fake_sidecar.h"

#include <cstdio>

namespace {

thread_local volatile char large_storage[1 << 20];

}  // namespace

int main() {
  using namespace railwitness;
  large_storage[0] = 1;
  alarm(60);
  test::FakeSidecar sidecar;
  sidecar.close();
  witness::Knobs knobs{};
  snprintf(knobs.socket, sizeof knobs.socket, "%s", sidecar.path.c_str());
  const Status status = witness::begin(knobs);
  sidecar.open();  // which only a helper finds
  const int client = sidecar.accept();
  if (client < 0) printf("no helper: %s, %s\n", status.what(), witness::describe_sidecar());
  const int segment = client < 0 ? -1 : test::FakeSidecar::serve(client);
  for (int i = 0; segment >= 0 && !witness::has_sidecar() && i < 2000; i++) usleep(5000);
  const bool is_right = witness::has_sidecar();
  printf("large_tls: %d of 1 right\n", is_right);
  if (client >= 0) close(client), close(segment);
  return is_right ? 0 : 1;
}
