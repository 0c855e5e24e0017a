#!/bin/bash
# run.sh [STAGE...]: all tests, the fast ones first. Stages: release asan tsan fuzz netns vm (default: all, in this order).
# Knobs: WITHOUT_NCCL=1, WITHOUT_VM=1, RAILWITNESS_NCCL_ROOT=DIR, JOBS=N. The last lines are those of the last ctest
# and one line a stage. Exit 0 only if every stage passed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
jobs=${JOBS:-$(nproc)}
stages=("$@")
((${#stages[@]})) || stages=(release asan tsan fuzz netns vm)
say() { printf '\n== %s\n' "$*"; }

say 'set-up, then 40 minutes to an hour on two cores: build and unit tests, sanitizers, then the virtual machine beds'
cmake/setup.sh test || exit 1
options=()
[[ ${WITHOUT_NCCL:-} == 1 ]] && options+=(-DRAILWITNESS_WITHOUT_NCCL=ON)
[[ -n ${RAILWITNESS_NCCL_ROOT:-} ]] && options+=("-DRAILWITNESS_NCCL_ROOT=$RAILWITNESS_NCCL_ROOT")

build() { cmake --preset "$1" "${options[@]}" >"build/$1.log" 2>&1 && cmake --build --preset "$1" -j "$jobs" >>"build/$1.log" 2>&1 || { tail -n 40 "build/$1.log"; return 1; }; }

# The sanitized plugin in the real libnccl.
sanitized_nccl() {
  if [[ ${WITHOUT_NCCL:-} == 1 ]]; then echo 'skipped as asked: the sanitized plugin in the real libnccl'; return 0; fi
  build release && ctest --preset release -L sanitized --no-tests=error
}

stage() {
  case $1 in
    release) build release && ctest --preset release -LE 'vm|netns|sanitized' -j "$jobs" --no-tests=error ;;
    asan) build asan && ctest --preset asan -L 'unit|plugin|fuzz' -LE vm -j "$jobs" --no-tests=error && sanitized_nccl ;;
    tsan) build tsan && ctest --preset tsan -L 'unit|plugin|fuzz' -LE vm -j "$jobs" --no-tests=error ;;
    # Each fuzzer for some seconds, with clang; `make fuzz` searches for longer.
    fuzz) build fuzz && tests/fuzz/run.py --smoke 2 ;;
    netns) build release && ctest --preset release -L netns --no-tests=error ;;
    vm)
      if [[ ${WITHOUT_VM:-} == 1 || ${WITHOUT_NCCL:-} == 1 ]]; then echo 'skipped as asked: the virtual machine beds'; return 0; fi
      build release && ctest --preset release -L vm --no-tests=error ;;
    *) echo "run.sh: no stage '$1'; stages are: release asan tsan fuzz netns vm"; return 2 ;;
  esac
}

# Objects are found again by content, in other clones too.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
mkdir -p build
failed=0 lines=()
for name in "${stages[@]}"; do
  say "stage $name"
  start=$SECONDS
  if stage "$name"; then word=passed; else word=FAILED failed=1; fi
  lines+=("stage $name: $word in $((SECONDS - start)) s")
done
printf '\n'
printf '%s\n' "${lines[@]}"
exit $failed
