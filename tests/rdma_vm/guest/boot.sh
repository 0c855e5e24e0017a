# Second stage, the machine's own bash: rails, switches, hosts, then COMMAND.  Every exec costs under emulation, so batches.
V=/run/rdma-vm; . $V/env
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ulimit -l unlimited
declare -A port                             # port[H,R]: the port of leaf-r<R> that host H is plugged into
while read -r h r p; do port[$h,$r]=$p; done <$V/ports

{ echo netns add mgmt; for ((r = 0; r < RAILS; r++)); do echo netns add leaf-r$r; done; } | ip -batch -
{ echo link set lo up; echo rule add pref 20000 lookup local; echo rule del pref 0
  for ((r = 0; r < RAILS; r++)); do for ((h = 0; h < HOSTS; h++)); do
    d=h${h}r$r t=$((10000 + h * 100 + r))
    printf -v mac 02:00:00:00:%02x:%02x $h $r
    printf -v leaf 02:00:00:01:%02x:%02x ${port[$h,$r]#swp} $r
    echo link add $d address $mac mtu 4200 type veth peer name ${port[$h,$r]} address $leaf mtu 4200 netns leaf-r$r
    echo link set $d up
    echo address add 10.$r.0.$((h + 1))/24 dev $d noprefixroute
    echo route add 10.$r.0.0/24 dev $d table $t src 10.$r.0.$((h + 1))
    echo rule add pref $((10 + h * 100 + r)) oif $d lookup $t
    for ((o = 0; o < HOSTS; o++)); do
      printf -v mac 02:00:00:00:%02x:%02x $o $r
      echo neighbour add 10.$r.0.$((o + 1)) lladdr $mac dev $d nud permanent
    done; done; done; } | ip -batch -
for ((r = 0; r < RAILS; r++)); do
  { printf -v mac 02:00:00:01:00:%02x $r
    echo link set lo up; echo link add bridge address $mac mtu 4200 type bridge; echo link set bridge up
    for ((h = 0; h < HOSTS; h++)); do echo link set ${port[$h,$r]} master bridge up; done; } | ip -n leaf-r$r -batch -
done
for ((r = 0; r < RAILS; r++)); do for ((h = 0; h < HOSTS; h++)); do
  echo link add rxe_h${h}r$r type rxe netdev h${h}r$r; done; done | rdma -b -
printf '%s\n' 'link set lo up' 'link add eth0 type bridge' 'address add 192.168.77.254/24 dev eth0' \
  'link set eth0 up' | ip -n mgmt -batch -

# A process each holds the namespaces of a host, a switch and the management node; it says so on descriptor 9.
mkdir $V/pid; mkfifo $V.ready; exec 9<>$V.ready
{ echo 192.168.77.254 mgmt; for ((h = 0; h < HOSTS; h++)); do echo 192.168.77.$((h + 1)) host$h; done; } >>/etc/hosts
for ((h = 0; h < HOSTS; h++)); do unshare -m -n -u -i bash $V/host.sh $h & done
nsenter --net=/run/netns/mgmt unshare -m -u bash $V/node.sh mgmt &
for ((r = 0; r < RAILS; r++)); do nsenter --net=/run/netns/leaf-r$r unshare -m -u bash $V/node.sh leaf-r$r & done
for ((i = 0; i < HOSTS + RAILS + 1; i++)); do read -r <&9; done
for ((h = 0; h < HOSTS; h++)); do echo link set m$h master eth0 up; done | ip -n mgmt -batch -

echo >$V/begun
cd "$CWD" && setsid -w bash $V/cmd </dev/null >/dev/vm-out 2>/dev/vm-err 9>&-
echo $? >$V/rc
[ -z "$RDMA_VM_OUT" ] || umount "$RDMA_VM_OUT"
echo o >/proc/sysrq-trigger; read -r <&9
