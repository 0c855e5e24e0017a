#!/bin/sh
# Ranks that are started one by one find each other, compute on a signal, end together, and their bytes add up.
# usage: train_loop_test.sh BUILD_DIRECTORY
set -u
build=$1
export NCCL_SOCKET_IFNAME=lo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

ok() { echo "ok    $1"; }
fail() { failures=$((failures + 1)); echo "FAIL  $1"; sed 's/^/      /' "$work"/log.*; }

start() {   # start RANKS ARGUMENTS...: sets $pids
  ranks=$1 rank=0 pids=
  shift
  rm -f "$work"/*
  while [ $rank -lt "$ranks" ]; do
    "$build/train_loop" --timeout 60 --rank $rank --ranks "$ranks" --id-file "$work/id" --status "$work/status.$rank" "$@" \
      > "$work/log.$rank" 2>&1 &
    pids="$pids $!" rank=$((rank + 1))
  done
}
finish() {  # exit status 0 if all ranks ended with 0
  bad=0
  for pid in $pids; do wait "$pid" || bad=1; done
  return $bad
}
iterations() { tail -n 1 "$work/status.$1" | cut -d' ' -f2; }
total() { cat "$work"/count.* | awk -v name="$1" '$1 == name { sum += $2 } END { printf "%d\n", sum }'; }

for op in allreduce allgather reducescatter broadcast; do
  start 3 --op $op --bytes 100000 --iterations 5 --gap-seconds 0
  if finish && [ "$(iterations 0) $(iterations 2)" = "4 4" ]; then ok "$op, 3 ranks"; else fail "$op, 3 ranks"; fi
done

export NCCL_PROFILER_PLUGIN=$build/libcount_profiler.so COUNT_PROFILER_OUT=$work/count
start 3 --bytes 3M --iterations 4 --gap-seconds 0
if finish && [ "$(total sent_bytes)" -ge $((4 * 2 * 2 * 3 * 1048576)) ] && [ "$(total sent_bytes)" = "$(total received_bytes)" ]; then
  ok "bytes sent $(total sent_bytes) are bytes received"
else
  fail "bytes sent $(total sent_bytes), received $(total received_bytes)"
fi
export NCCL_NET_PLUGIN=$build/libprobe_plugin.so PROBE_LOG=1
start 3 --bytes 3M --iterations 4 --gap-seconds 0
finish || fail "with the probe plugin"
probe=$(sed -n 's/.*bytes sent \([0-9]*\) received \([0-9]*\).*/\1 \2/p' "$work"/log.* | awk '{ s += $1; r += $2 } END { print s, r }')
if [ "$probe" = "$(total sent_bytes) $(total received_bytes)" ]; then ok "the net plugin saw the same bytes: $probe"
else fail "the net plugin saw $probe, the profiler $(total sent_bytes) $(total received_bytes)"; fi
unset NCCL_PROFILER_PLUGIN NCCL_NET_PLUGIN PROBE_LOG

start 2 --bytes 1000 --compute-seconds 3
for try in $(seq 100); do [ -s "$work/status.1" ] && break; sleep 0.2; done
last=${pids##* }
kill -USR1 "$last"
sleep 1.5
before=$(iterations 0)
sleep 1
[ "$before" = "$(iterations 0)" ] && ok "others wait for a rank that computes" || fail "others wait for a rank that computes"
sleep 2
[ "$before" != "$(iterations 0)" ] && ok "... and go on" || fail "... and go on"
kill "$last"
if finish && [ "$(iterations 0)" = "$(iterations 1)" ]; then ok "SIGTERM of one rank ends all after the same iteration"
else fail "SIGTERM of one rank ends all after the same iteration"; fi

echo "$failures failures"
[ $failures = 0 ]
