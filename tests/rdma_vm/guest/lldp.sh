#!/bin/bash
# lldp start|stop: lldpd of every host and every leaf.  start returns when every host has heard of all its switches.
#
# A host's lldpd runs in the host's mount and UTS namespaces, so that its name and its control socket are the host's, but
# in the root's network namespace, where the rails' NICs are; in a bed whose hosts have them themselves (HOST_NAMESPACES),
# in the host's.  It announces itself every second, for quick discovery, but what it said holds for 120 s, as with the
# default 30 s times 4.
V=/run/rdma-vm; . $V/env
host=${HOST_NAMESPACES:--m -u}
type lldpd >/dev/null || { echo 'lldp: no lldpd; Debian package: lldpd' >&2; exit 1; }
enter() {   # enter NODE NAMESPACES COMMAND...
  local pid=$(<$V/pid/$1) namespaces=$2; shift 2
  nsenter -t $pid $namespaces -- "$@"
}
list() { local IFS=,; echo "$*"; }   # a,b,c
case $1 in
start)
  for ((h = 0; h < HOSTS; h++)); do
    nics=(); for ((r = 0; r < RAILS; r++)); do nics+=(h${h}r$r); done
    enter host$h "$host" bash -c 'mkdir -p /run/lldpd; exec lldpd "$@"' - -O $V/lldpd.conf -I $(list ${nics[@]}) -C ${nics[0]} 9>&- &
  done
  for ((r = 0; r < RAILS; r++)); do
    ports=(); while read -r h rail p; do [ $rail = $r ] && ports+=($p); done <$V/ports
    enter leaf-r$r '-m -u -n' bash -c 'mkdir -p /run/lldpd; exec lldpd "$@"' - -O $V/lldpd.conf -I $(list ${ports[@]}) -C bridge 9>&- &
  done
  wait
  for ((h = 0, try = 0; h < HOSTS; try++)); do
    seen=$(enter host$h "$host" lldpctl -f keyvalue 2>/dev/null | grep -c 'chassis\.name=leaf-r')
    [ "$seen" -ge $RAILS ] && { ((h++)); continue; }
    [ $try -lt 300 ] || { echo "lldp: host$h sees $seen of $RAILS switches" >&2; exit 1; }
    sleep 0.2
  done ;;
stop)
  for node in $V/pid/*; do
    enter ${node##*/} -m bash -c 'kill $(</run/lldpd.pid)' 2>/dev/null
  done; exit 0 ;;
*) echo 'usage: lldp start|stop' >&2; exit 2 ;;
esac
