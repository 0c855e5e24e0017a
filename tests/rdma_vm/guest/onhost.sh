#!/bin/bash
# onhost H CMD...: runs CMD as host H
[ $# -ge 2 ] || { echo 'usage: onhost HOST COMMAND [ARG...]' >&2; exit 2; }
{ p=$(</run/rdma-vm/pid/host$1); } 2>/dev/null || { echo "onhost: no host $1" >&2; exit 125; }
shift; exec nsenter -t $p -m -n -u -i --wdns="$PWD" -- "$@"
