#!/bin/sh
# The real NCCL with railwitness in its net slot and another plugin chained behind it: data arrives, faults are reported as
# without us, and a plugin that can't be had leaves the job to NCCL's own transport.
# usage: nccl_test.sh CPUGPU_DIRECTORY RAILWITNESS_PLUGIN FAKES_DIRECTORY
set -u
perf=$1/coll_perf
probe=$1/libprobe_plugin.so
ours=$2
fakes=$3
export NCCL_SOCKET_IFNAME=lo NCCL_NET_PLUGIN=$ours PROBE_LOG=1 RAILWITNESS_SOCKET=/nowhere NCCL_DEBUG=INFO
# The name makes it an error if NCCL takes another transport than ours.
chained="env NCCL_NET=railwitness RAILWITNESS_MODE=chain:$probe"
right=0 all=0

# check DESCRIPTION PATTERN COMMAND...: the output must match the extended regular expression.
check() {
  description=$1 pattern=$2
  shift 2
  all=$((all + 1))
  output=$(timeout 180 "$@" 2>&1)
  if echo "$output" | grep -Eq "$pattern"; then
    right=$((right + 1))
    echo "ok    $description"
  else
    echo "FAIL  $description: no match for '$pattern'"
    echo "$output" | tail -40 | sed 's/^/      /'
  fi
}

good="all ranks finished, 0 wrong"
for ranks in 2 3 4; do
  check "all-reduce of $ranks ranks is right" "$good" $chained "$perf" -n $ranks -b 8 -e 4M -f 64
done
for operation in allgather reducescatter broadcast reduce sendrecv alltoall; do
  check "$operation of 3 ranks is right" "$good" $chained "$perf" -n 3 -c $operation -b 8 -e 1M -f 64
done
check "the log says what is chained, and its version" "railwitness [0-9.]+: chain of libprobe_plugin.so \(v11\)" \
  $chained "$perf" -n 2 -b 8 -e 8
check "all data goes through the chained plugin" "bytes sent [1-9][0-9]{7} received [1-9][0-9]{7}" \
  $chained "$perf" -n 2 -b 4M -e 4M

gpu="$chained PROBE_CUDA=1 NCCL_NET_GDR_LEVEL=SYS"
check "GPUDirect: the chained plugin gets device buffers" "regMr host [0-9]+ cuda [1-9].*" $gpu "$perf" -n 2 -b 1M -e 1M
check "GPUDirect: NCCL flushes on request" "iflush [1-9]" $gpu NCCL_NET_FORCE_FLUSH=1 "$perf" -n 2 -b 1M -e 1M
check "GPUDirect: all-to-all is right" "$good" $gpu "$perf" -n 3 -c alltoall -b 8 -e 1M -f 64
for operation in allreduce allgather sendrecv; do
  check "GPUDirect: $operation uses registered user buffers" "rank 0 - NET register userbuff" \
    $gpu NCCL_DEBUG_SUBSYS=REG "$perf" -n 3 -c $operation -R -b 1M -e 1M
  check "GPUDirect: $operation from registered buffers is right" "$good" $gpu "$perf" -n 3 -c $operation -R -b 1M -e 1M
done

check "a killed rank is reported" "rank 0: asynchronous error after [0-9.]+ s: remote process exited" \
  $chained "$perf" -n 3 -b 1M -e 1M -K 1 -T 20
check "abort works after a rank was killed" "rank 0: ncclCommAbort returned .no error" \
  $chained "$perf" -n 3 -b 1M -e 1M -K 1 -T 20
check "abort works when a rank stays away" "rank 0: ncclCommAbort returned .no error" \
  $chained "$perf" -n 3 -b 1M -e 1M -S 1 -T 3

# What can't be had: the reason is in the log, and NCCL goes on by itself.
for plugin in none_such "$fakes/libnccl-net-fake_strange.so" "$ours"; do
  case $plugin in
    none_such) reason="none_such is not found" ;;
    "$ours") reason="is railwitness itself" ;;
    *) reason="is no net plugin, or an unknown one" ;;
  esac
  check "chain:$plugin is told in the log" "$reason" env RAILWITNESS_MODE=chain:$plugin "$perf" -n 2 -b 8 -e 8
  check "chain:$plugin leaves the job to NCCL" "$good" env RAILWITNESS_MODE=chain:$plugin "$perf" -n 2 -b 8 -e 1M -f 64
done
for how in "an error" "no devices"; do
  refusing="env RAILWITNESS_MODE=chain:$fakes/libnccl-net-refusing.so"
  [ "$how" = "an error" ] && refusing="$refusing REFUSING_RESULT=2"
  check "a plugin that answers with $how is heard" "refusing: there is no such hardware" $refusing "$perf" -n 2 -b 8 -e 8
  check "a plugin that answers with $how leaves the job to NCCL" "$good" $refusing "$perf" -n 2 -b 8 -e 1M -f 64
done

echo "nccl_chain: $right of $all right"
[ $right = $all ]
