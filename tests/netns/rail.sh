#!/bin/bash
# rail ACTION HOST RAIL: what happens to the switch port of a host
usage() { echo 'usage: rail down|up|drop|clear|where HOST RAIL' >&2; exit 2; }
[ $# -eq 3 ] || usage
a=$1 h=$2 r=$3 leaf=leaf-r$3 port=
while read -r x y p; do [ "$x $y" = "$h $r" ] && port=$p; done </run/rdma-vm/ports
[ "$port" ] || { echo "rail: no host $h on rail $r" >&2; exit 2; }
case $a in
up|down) exec ip -n $leaf link set $port $a ;;
drop)    exec bridge -n $leaf link set dev $port state 0 ;;   # disabled: nothing in, nothing out, carrier stays
clear)   exec bridge -n $leaf link set dev $port state 3 ;;   # forwarding
where)   echo $leaf:$port ;;
*)       usage ;;
esac
