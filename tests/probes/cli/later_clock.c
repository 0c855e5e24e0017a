/* Preloaded into a program: its monotonic clock is as many seconds ahead as the file LATER_CLOCK says. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long ahead_s(void) {
  const char* path = getenv("LATER_CLOCK");
  FILE* file = path ? fopen(path, "re") : NULL;
  long seconds = 0;
  if (!file) return 0;
  if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
  fclose(file);
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec* at) {
  const long failed = syscall(SYS_clock_gettime, clock, at);
  if (failed == 0 && clock == CLOCK_MONOTONIC) at->tv_sec += ahead_s();
  return (int)failed;
}
