#!/bin/sh
# Fetches what the emulator needs from PyPI: libnccl.so.2 with nccl.h, and the CUDA runtime's headers and library.
# No GPU, driver, compiler or account is needed.  Idempotent: does nothing when everything is there.
#
#   tests/cpugpu/fetch_nccl.sh [DIRECTORY]        default: .deps/nccl in the root of the project
#   tests/cpugpu/fetch_nccl.sh 2.27.7 2.30.7 ...  further releases of libnccl alone, to run the same programs with
#
# The directory gets include/ and lib/.  CMake looks there by itself; another place is named by
# -DRAILWITNESS_NCCL_ROOT=DIRECTORY.  Further releases go to $RAILWITNESS_NCCL_CACHE/VERSION/lib/libnccl.so.2, by
# default ~/.cache/railwitness/nccl; releases before 2.27.7 exist for CUDA 12 only, the others are taken for CUDA 13
# (2.29.7-cu12 asks for the other one).
set -eu
room=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
cache=${RAILWITNESS_NCCL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/railwitness/nccl}

# nvidia-nccl: nccl.h, libnccl.so.2 | cuda-runtime: cuda.h, cuda_runtime*.h, cuda_fp16.h, libcudart | cuda-crt: crt/*.h
# libnccl 2.28.9 was built with CUDA 13.0, hence these versions.  (nv/target of cuda-cccl is only for nvcc.)
wheels="nvidia-nccl-cu13==2.28.9 nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88"
stamp="$wheels"

say() { echo "fetch_nccl: $*"; }
die() { echo "fetch_nccl: $*" >&2; exit 1; }

# download WHEEL DIRECTORY
download() {
  "$python" -m pip --version >/dev/null 2>&1 || die "no pip for $python (Debian: apt-get install python3-pip)"
  say "downloading $1"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir --only-binary :all: \
    --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 --platform manylinux_2_18_x86_64 \
    --platform manylinux_2_27_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux1_x86_64 --dest "$2" "$1" || die "cannot download $1"
}

# fetch_release VERSION: nccl.h and libnccl.so.2 of one release, into the cache
fetch_release() {
  version=${1%-cu*} cuda=13
  case $version in 2.1?.*|2.2[0-6].*|2.27.[0-6]) cuda=12 ;; esac
  case $1 in *-cu*) cuda=${1##*-cu} ;; esac
  [ -e "$cache/$1/lib/libnccl.so.2" ] && { say "$cache/$1 is complete"; return; }
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/.fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  download "nvidia-nccl-cu$cuda==$version" "$work"
  for file in lib/libnccl.so.2 include/nccl.h; do
    "$python" - "$work"/*.whl "nvidia/nccl/$file" "$work/$file" <<'PY'
import os, shutil, sys, zipfile
wheel, member, target = sys.argv[1:]
os.makedirs(os.path.dirname(target), exist_ok=True)
with zipfile.ZipFile(wheel).open(member) as source, open(target, 'wb') as file:
    shutil.copyfileobj(source, file)
PY
  done
  rm -f "$work"/*.whl
  chmod 755 "$work"
  mv "$work" "$cache/$1"
  say "$cache/$1 is complete"
}

case ${1:-} in
[0-9]*.[0-9]*.[0-9]*)
  for release in "$@"; do fetch_release "$release"; done
  exit 0 ;;
esac
target=${1:-$room/../../.deps/nccl}

verify() {
  for file in include/nccl.h include/cuda.h include/cuda_runtime_api.h include/crt/host_defines.h lib/libnccl.so.2; do
    [ -e "$target/$file" ] || { say "$target/$file is missing"; return 1; }
  done
  # The emulator finds libnccl's private CUDA runtime by its symbol table, so a stripped copy is of no use.
  "$python" - "$target/lib/libnccl.so.2" <<'PY' || return 1
import struct, sys
with open(sys.argv[1], 'rb') as f:
    head = f.read(64)
    offset, size, count = *struct.unpack_from('<Q', head, 40), *struct.unpack_from('<HH', head, 58)
    f.seek(offset)
    table = f.read(size * count)
kinds = [struct.unpack_from('<I', table, i * size + 4)[0] for i in range(count)]
if 2 not in kinds:                                  # SHT_SYMTAB
    sys.exit(f'fetch_nccl: {sys.argv[1]} has no .symtab (stripped)')
PY
}

mkdir -p "$target"
target=$(cd "$target" && pwd)
if [ "$(cat "$target/wheels" 2>/dev/null)" = "$stamp" ] && verify; then
  say "$target is complete"
  exit 0
fi
work=$(mktemp -d "$target/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
for wheel in $wheels; do download "$wheel" "$work"; done
for file in "$work"/*.whl; do
  say "unpacking $(basename "$file")"
  "$python" -m zipfile -e "$file" "$work/unpacked"
done
rm -rf "$target/include" "$target/lib"
mkdir "$target/include" "$target/lib"
for part in "$work"/unpacked/nvidia/*/; do
  [ ! -d "$part/include" ] || cp -r "$part/include/." "$target/include/"
  [ ! -d "$part/lib" ] || cp -r "$part/lib/." "$target/lib/"
done
if [ -e "$target/lib/libcudart.so.13" ]; then ln -sf libcudart.so.13 "$target/lib/libcudart.so"; fi
verify || die "$target is not usable"
rm -rf "$work"
echo "$stamp" > "$target/wheels"
say "$target is complete: $(du -sh "$target" | cut -f1)"
