#!/bin/bash
# rail ACTION HOST RAIL [...]: what happens to the switch port of a host
usage() { echo 'usage: rail down|up|drop|netem|clear|where HOST RAIL [netem arguments]' >&2; exit 2; }
[ $# -ge 3 ] || usage
a=$1 h=$2 r=$3 d=h$2r$3 leaf=leaf-r$3 port=; shift 3
while read -r x y p; do [ "$x $y" = "$h $r" ] && port=$p; done </run/rdma-vm/ports
[ "$port" ] || { echo "rail: no host $h on rail $r" >&2; exit 2; }
case $a in
up|down) exec ip -n $leaf link set $port $a ;;
drop)    exec "$0" netem $h $r loss 100% ;;
netem)   [ $# -ge 1 ] || usage
         tc qdisc replace dev $d root netem "$@" && exec tc -n $leaf qdisc replace dev $port root netem "$@" ;;
clear)   tc qdisc del dev $d root; exec tc -n $leaf qdisc del dev $port root ;;
where)   echo $leaf:$port ;;
*)       usage ;;
esac
