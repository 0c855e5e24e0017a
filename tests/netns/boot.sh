#!/bin/bash
# The first process of the bed's namespaces: makes mgmt, the leaves and the hosts, then runs COMMAND.  From netns_bed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) guest=$(cd "$(dirname "${BASH_SOURCE[0]}")/../rdma_vm/guest" && pwd)
V=/run/rdma-vm HOSTS=$BED_HOSTS RAILS=$BED_RAILS
cannot() {
  printf 'netns_bed: cannot %s; a container needs CAP_SYS_ADMIN and CAP_NET_ADMIN and writable /sys and /proc (docker run --privileged)\n' "$1" >&2
  exit 125
}
# batch WHAT [NETNS...]: ip commands from standard input
batch() { local what=$1 said; shift; said=$(ip "$@" -batch - 2>&1) || cannot "$what: $(head -n 1 <<<"$said")"; }

mount -t tmpfs -o mode=755 run /run 2>/dev/null || cannot 'mount on /run'
mkdir -p $V/{bin,pid,scratch} /run/netns /run/lock; chmod 1777 $V/scratch
for command in onhost onmgmt lldp; do install -m 755 "$guest/$command.sh" $V/bin/$command; done
install -m 755 "$here/rail.sh" $V/bin/rail
install -m 644 "$guest/lldpd.conf" "$guest/node.sh" "$here/host.sh" $V
printf '%s' "$BED_PORTS" >$V/ports
printf 'HOSTS=%q RAILS=%q HOST_NAMESPACES=%q\n' "$HOSTS" "$RAILS" '-m -u -n' >$V/env
{ cat /etc/hosts; echo 192.168.77.254 mgmt
  for ((h = 0; h < HOSTS; h++)); do echo 192.168.77.$((h + 1)) host$h; done; } >$V/hosts
mount --bind $V/hosts /etc/hosts || cannot 'mount on /etc/hosts'

{ echo netns add mgmt; for ((h = 0; h < HOSTS; h++)); do echo netns add host$h; done
  for ((r = 0; r < RAILS; r++)); do echo netns add leaf-r$r; done; } | batch 'make network namespaces' || exit
declare -A port                             # port[H,R]: the port of leaf-r<R> that host H is plugged into
while read -r h r p; do port[$h,$r]=$p; done <$V/ports
{ echo link set lo up
  for ((r = 0; r < RAILS; r++)); do for ((h = 0; h < HOSTS; h++)); do
    printf -v mac 02:00:00:00:%02x:%02x $h $r
    printf -v leaf 02:00:00:01:%02x:%02x ${port[$h,$r]#swp} $r
    echo link add h${h}r$r address $mac netns host$h type veth peer name ${port[$h,$r]} address $leaf netns leaf-r$r
  done; done
  for ((h = 0; h < HOSTS; h++)); do echo link add eth0 netns host$h type veth peer name m$h netns mgmt; done
} | batch 'make cables (kernel option CONFIG_VETH)' || exit
for ((r = 0; r < RAILS; r++)); do
  { printf -v mac 02:00:00:01:00:%02x $r
    echo link set lo up; echo link add bridge address $mac type bridge; echo link set bridge up
    for ((h = 0; h < HOSTS; h++)); do echo link set ${port[$h,$r]} master bridge up; done
  } | batch 'make a leaf switch (kernel option CONFIG_BRIDGE)' -n leaf-r$r || exit
done
{ printf '%s\n' 'link set lo up' 'link add eth0 type bridge' 'address add 192.168.77.254/24 dev eth0' 'link set eth0 up'
  for ((h = 0; h < HOSTS; h++)); do echo link set m$h master eth0 up; done; } | batch 'make the management network' -n mgmt || exit
for ((h = 0; h < HOSTS; h++)); do
  { printf '%s\n' 'link set lo up' "address add 192.168.77.$((h + 1))/24 dev eth0" 'link set eth0 up'
    for ((r = 0; r < RAILS; r++)); do
      echo address add 10.$r.0.$((h + 1))/24 dev h${h}r$r; echo link set h${h}r$r up
    done; } | batch "give host$h its addresses" -n host$h || exit
done

# The kernel tells carriers at most once a second, and who starts before would see interfaces that are down.
for ((h = 0, try = 0; h < HOSTS; try++)); do
  down=$(ip -n host$h -o link show | grep -c 'state DOWN')
  ((down == 0)) && { ((h++)); continue; }
  ((try < 150)) || cannot "get $down interfaces of host$h up"
  sleep 0.1
done

# A process each holds the namespaces of a host, a switch and the management node; it says so on descriptor 9.
mkfifo $V/ready; exec 9<>$V/ready
hold() {   # hold NODE NAMESPACES SCRIPT ARGUMENT
  nsenter --net=/run/netns/$1 unshare $2 bash $V/$3 $4 || echo "$1" >&9
}
for ((h = 0; h < HOSTS; h++)); do hold host$h '-m -u -i' host.sh $h & done
hold mgmt '-m -u' node.sh mgmt &
for ((r = 0; r < RAILS; r++)); do hold leaf-r$r '-m -u' node.sh leaf-r$r & done
for ((i = 0; i < HOSTS + RAILS + 1; i++)); do
  read -r failed <&9
  [ -z "$failed" ] || cannot "set up $failed"
done

export PATH=$V/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
export RDMA_VM_HOSTS=$HOSTS RDMA_VM_RAILS=$RAILS BED_SCRATCH=$V/scratch
unset BED_HOSTS BED_RAILS BED_PORTS
"$@" 9>&-
exit $?
