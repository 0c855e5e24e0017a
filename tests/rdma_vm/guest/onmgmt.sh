#!/bin/bash
# onmgmt CMD...: runs CMD on the management node
[ $# -ge 1 ] || { echo 'usage: onmgmt COMMAND [ARG...]' >&2; exit 2; }
exec nsenter -t $(</run/rdma-vm/pid/mgmt) -m -n -u --wdns="$PWD" -- "$@"
