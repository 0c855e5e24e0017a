#!/bin/bash
# What `make demo` runs: set-up, build, demo. Options go to demo.py: tests/demo/run.sh --seed 7
set -euo pipefail
cd "$(dirname "$0")/../.."
if [[ ${WITHOUT_NCCL:-} == 1 || ${WITHOUT_VM:-} == 1 ]]; then
  echo 'demo: it needs the real libnccl and the virtual machine; run it without WITHOUT_NCCL and WITHOUT_VM' >&2
  exit 2
fi
echo 'demo: set-up (the first time 2 to 5 minutes), build (the first time about 5 minutes), then up to 6 minutes of demo.'
echo 'demo: processor and NICs of the hosts are emulated in software, which is slow: seconds here say little about hardware.'
cmake/setup.sh demo
options=()
[[ -n ${RAILWITNESS_NCCL_ROOT:-} ]] && options+=("-DRAILWITNESS_NCCL_ROOT=$RAILWITNESS_NCCL_ROOT")
mkdir -p build
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
echo 'demo: building; the output is in build/release.log'
if ! { cmake --preset release "${options[@]}" && cmake --build --preset release -j "${JOBS:-$(nproc)}" \
       --target railwitness nccl-net-railwitness train_loop; } >build/release.log 2>&1; then
  tail -n 40 build/release.log
  echo 'demo: the build failed' >&2
  exit 1
fi
exec tests/demo/demo.py --timeout 360 "$@"
