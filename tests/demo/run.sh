#!/bin/bash
# What `make demo` runs: set-up, build, demo. Options go to demo.py: tests/demo/run.sh --mode ofi --seed 7
set -euo pipefail
cd "$(dirname "$0")/../.."
# Refused before set-up and build, which take minutes.
mode=tap seed=0
for ((i = 1, n = 2; i <= $#; i++, n++)); do
  case ${!i} in
    --mode) mode=${!n:-} ;; --mode=*) mode=${!i#--mode=} ;;
    --seed) seed=${!n:-} ;; --seed=*) seed=${!i#--seed=} ;;
  esac
done
case $mode in tap | ofi) ;; *) echo "demo: there is no mode '$mode'; modes are: tap ofi" >&2; exit 2 ;; esac
[[ $seed =~ ^[0-9]+$ ]] || { echo "demo: '$seed' is no seed; a whole number is meant" >&2; exit 2; }
if [[ ${WITHOUT_NCCL:-} == 1 || ( ${WITHOUT_VM:-} == 1 && $mode != ofi ) ]]; then
  echo 'demo: it needs the real libnccl and the virtual machine; run it without WITHOUT_NCCL and WITHOUT_VM' >&2
  echo 'demo: without a virtual machine: make demo MODE=ofi' >&2
  exit 2
fi
if [[ $mode == ofi ]]; then
  echo 'demo: set-up (the first time 2 to 4 minutes), build (the first time about 5 minutes), then up to 3 minutes of demo.'
  echo 'demo: hosts are network namespaces of this machine, GPUs are emulated: seconds here say little about hardware.'
  cmake/setup.sh demo-ofi
else
  echo 'demo: set-up (the first time 2 to 5 minutes), build (the first time about 5 minutes), then up to 6 minutes of demo.'
  echo 'demo: processor and NICs of the hosts are emulated in software, which is slow: seconds here say little about hardware.'
  cmake/setup.sh demo
fi
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
