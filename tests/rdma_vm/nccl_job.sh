#!/bin/bash
# nccl_job.sh: an NCCL job inside rdma_vm, one rank per host, over NCCL's own net_ib on the host's Soft-RoCE NICs, or,
# inside netns_bed with NCCL_JOB_DEVICES=h, over what NCCL_NET_PLUGIN brings on the host's interfaces.
#
#   nccl_job.sh start DIRECTORY PROGRAM_DIRECTORY [train_loop's options]   starts and waits until all ranks are ready
#   nccl_job.sh stop  DIRECTORY     asks the ranks to end, kills what has not ended after 20 s; fails if any rank failed
#   nccl_job.sh pid   DIRECTORY RANK
#
# DIRECTORY gets per rank H: H.log (output), H.nccl (NCCL's log, NCCL_DEBUG=WARN by default), H.status (a line per
# iteration), H.exit (exit status).  PROGRAM_DIRECTORY holds train_loop and libcpugpu.so (the build of tests/cpugpu).
# What NCCL 2.28.9 needs here, and why:
#   NCCL_GIN_TYPE=2     its GDAKI probe leaves a pointer unset on verbs devices that are not mlx5, and then crashes
#   NCCL_TOPO_FILE      rxe devices have no PCI path, so NCCL must be told where they sit
#   NCCL_IB_GID_INDEX=1 the RoCE v2 GID of rxe
# Only with Soft-RoCE: NCCL_IB_*.
# Variables already set win, so NCCL_NET_PLUGIN, NCCL_DEBUG and the like can be added from outside.
set -u
hosts=$RDMA_VM_HOSTS rails=$RDMA_VM_RAILS devices=${NCCL_JOB_DEVICES:-rxe_h}
usage() { sed -n 's/^#   \(nccl_job.sh .*\)/usage: \1/p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
action=$1 dir=$2
shift 2

write_topology() {   # write_topology HOST: sets NCCL_TOPO_FILE and NCCL_IB_HCA
  local h=$1 r nics= hca=
  for ((r = 0; r < rails; r++)); do
    hca+=${hca:+,}$devices${h}r$r:1
    nics+="<pci busid=\"0000:c$((r + 2)):00.0\" class=\"0x020700\" vendor=\"0x15b3\" device=\"0x1021\" subsystem_vendor=\"\" subsystem_device=\"\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><nic><net name=\"$devices${h}r$r\" port=\"1\" speed=\"100000\" latency=\"0\"/></nic></pci>"
  done
  export NCCL_IB_HCA="=$hca" NCCL_TOPO_FILE=$dir/$h.topology.xml
  cat >"$NCCL_TOPO_FILE" <<XML
<system version="1"><cpu host_hash="0x1" numaid="0" affinity="00000000,00000003" arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="17">
<pci busid="0000:c0:00.0" class="0x060400" vendor="0x1000" device="0xc030" subsystem_vendor="" subsystem_device="" link_speed="32.0 GT/s PCIe" link_width="16">
<pci busid="0000:c1:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="" subsystem_device="" link_speed="32.0 GT/s PCIe" link_width="16"/>
$nics
</pci></cpu></system>
XML
}

rank_pid() { cat "$dir/$1.pid" 2>/dev/null; }
alive() { local pid; pid=$(rank_pid $1) && [ ! -e "$dir/$1.exit" ] && kill -0 "$pid" 2>/dev/null; }

start() {
  local programs=$1 h try
  shift
  mkdir -p "$dir"; dir=$(cd "$dir" && pwd); rm -f "$dir"/*.{exit,status,pid,nccl} "$dir/id"
  export NCCL_GIN_TYPE=${NCCL_GIN_TYPE:-2} NCCL_IB_GID_INDEX=${NCCL_IB_GID_INDEX:-1} NCCL_DEBUG=${NCCL_DEBUG:-WARN}
  export NCCL_SOCKET_IFNAME=${NCCL_SOCKET_IFNAME:-eth0}
  export NCCL_MAX_NCHANNELS=${NCCL_MAX_NCHANNELS:-$rails} NCCL_MIN_NCHANNELS=${NCCL_MIN_NCHANNELS:-$rails}
  for ((h = 0; h < hosts; h++)); do
    (
      write_topology $h
      export NCCL_DEBUG_FILE=$dir/$h.nccl
      onhost $h bash -c 'echo $$ >"$0"; exec "$@"' "$dir/$h.pid" "$programs/train_loop" --rank $h --ranks $hosts \
        --id-file "$dir/id" --status "$dir/$h.status" "$@" >"$dir/$h.log" 2>&1
      echo $? >"$dir/$h.exit"
    ) </dev/null &
  done
  for ((h = 0, try = 0; h < hosts; try++)); do
    [ -s "$dir/$h.status" ] && { ((h++)); continue; }
    if [ $try -ge 600 ] || [ -e "$dir/$h.exit" ]; then
      echo "nccl_job: rank $h has not done an iteration:" >&2; tail -n 5 "$dir/$h.log" "$dir/$h.nccl" >&2
      return 1
    fi
    sleep 0.2
  done
}

stop() {
  local h try bad=0
  for ((h = 0; h < hosts; h++)); do alive $h && kill -TERM $(rank_pid $h) && kill -CONT $(rank_pid $h); done 2>/dev/null  # a stopped rank takes no signal
  for ((h = 0, try = 0; h < hosts && try < 100; try++)); do
    if alive $h; then sleep 0.2; else ((h++)); fi
  done
  for ((h = 0; h < hosts; h++)); do
    alive $h && { echo "nccl_job: rank $h does not end, killed" >&2; kill -KILL $(rank_pid $h); bad=1; continue; }
    sleep 0.1
    [ "$(cat "$dir/$h.exit" 2>/dev/null)" = 0 ] || { echo "nccl_job: rank $h failed: $(tail -n 1 "$dir/$h.log")" >&2; bad=1; }
  done
  return $bad
}

case $action in
start) [ $# -ge 1 ] || usage; start "$@" ;;
stop) stop ;;
pid) rank_pid "$1" ;;
*) usage ;;
esac
