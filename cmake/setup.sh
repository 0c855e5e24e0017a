#!/bin/bash
# setup.sh [build|test|demo|demo-ofi]: installs what `make` needs on Debian 12. Safe to repeat: does nothing that is done already.
# NCCL: RAILWITNESS_NCCL_ROOT, else the CUDA toolkit in /usr/local/cuda, else wheels from PyPI into .deps/;
# WITHOUT_NCCL=1 goes on without, and says what is then not proven.
set -euo pipefail
what=${1:-test}
root=$(cd "$(dirname "$0")/.." && pwd)
say() { printf 'setup: %s\n' "$*"; }

install_packages() {
  local wanted missing=()
  local without=''
  # Sections of packages.txt, by the word in brackets.
  [[ $what == demo-ofi ]] && without+='[vm]'
  if [[ $what != test ]]; then without+='[ibsim]'
  elif [[ -e /sys/class/infiniband_mad/abi_version ]]; then
    without+='[ibsim]'
    say 'this host has InfiniBand: opensm is not installed, as Debian starts it as a subnet manager; the test fabric_ibsim may be skipped'
  fi
  mapfile -t wanted < <(awk -v only="$([[ $what == build ]] && echo '[build]')" -v without="$without" \
    '/^#/ {skip = ($2 ~ /^\[/ && index(without, $2)) || (only && $2 != only); next} !skip' "$root/cmake/packages.txt" | tr -s ' ' '\n')
  for package in "${wanted[@]}"; do
    [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == 'install ok installed' ]] || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then say "all ${#wanted[@]} Debian packages are there"; return; fi
  if ((EUID != 0)); then
    say "not root, and these packages are missing: ${missing[*]}"
    say "run as root, or install them: apt-get install --no-install-recommends ${missing[*]}"
    exit 1
  fi
  say "installing ${#missing[@]} Debian packages (1 to 3 minutes): ${missing[*]}"
  local log; log=$(mktemp)
  if ! { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1
  then tail -n 20 "$log"; say "apt-get failed; its whole output is in $log"; exit 1; fi
  rm -f "$log"
}

find_nccl() {
  if [[ ${WITHOUT_NCCL:-} == 1 ]]; then
    say 'WITHOUT_NCCL=1: NOT PROVEN in this run: that the real libnccl loads the plugin, that its net_ib is witnessed, the demo'
    return
  fi
  if [[ -n ${RAILWITNESS_NCCL_ROOT:-} ]]; then say "NCCL from RAILWITNESS_NCCL_ROOT=$RAILWITNESS_NCCL_ROOT"; return; fi
  if [[ -e /usr/local/cuda/lib64/libnccl.so.2 && -e /usr/local/cuda/include/nccl.h ]]; then say 'NCCL from the CUDA toolkit in /usr/local/cuda'; return; fi
  say 'no CUDA toolkit here: NCCL 2.28.9 and the CUDA headers come from PyPI (about 300 MB, 1 to 3 minutes)'
  "$root/tests/cpugpu/fetch_nccl.sh" "$root/.deps/nccl"
}

install_packages
[[ $what == build ]] && exit 0
find_nccl
[[ $what == demo-ofi ]] && exit 0
if [[ ${WITHOUT_VM:-} == 1 ]]; then
  say 'WITHOUT_VM=1: NOT PROVEN in this run: anything over real ibverbs (Soft-RoCE), the demo'
else
  say 'the guest kernel for the virtual machine (70 MB, once)'
  "$root/tests/rdma_vm/rdma_vm" --install
fi
