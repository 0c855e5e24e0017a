# Makes the namespaces it runs in a host, and holds them.  The host sees what a node sees: its own NICs and no others.
# usage: host.sh NUMBER
h=$1
echo host$h >/proc/sys/kernel/hostname
mkdir /run/host$h; mount -t tmpfs run /run/host$h; cd /run/host$h
mkdir rdma-vm dev class class/infiniband class/infiniband_verbs class/net sys lock
mount --bind /run/rdma-vm rdma-vm
printf '00000000-0000-4000-8000-%012d\n' $h >boot_id
nodes=/dev/infiniband/rdma_cm verbs=/sys/class/infiniband_verbs/abi_version
for u in /sys/class/infiniband_verbs/uverbs*; do
  [[ $(<$u/ibdev) == rxe_h${h}r* ]] && nodes+=" /dev/infiniband/${u##*/}" verbs+=" $u"; done
cp -a $nodes dev
cp -a $verbs class/infiniband_verbs             # symbolic links, which are relative to /sys/class/X
cp -a /sys/class/infiniband/rxe_h${h}r* class/infiniband
cp -a /sys/class/net/h${h}r* class/net
printf '%s\n' 'link set lo up' "link add eth0 type veth peer name m$h netns mgmt" \
  "address add 192.168.77.$((h + 1))/24 dev eth0" 'link set eth0 up' | ip -batch -
mount -t sysfs sysfs sys                        # of this network namespace: lo and eth0
ln -s /run/sys/class/net/lo /run/sys/class/net/eth0 class/net
mount -n --move /run/host$h /run; cd /run
for c in infiniband infiniband_verbs net; do mount --bind class/$c /sys/class/$c; done
mount --bind dev /dev/infiniband; mount -t tmpfs shm /dev/shm
mount --bind boot_id /proc/sys/kernel/random/boot_id
cd /; echo $$ >/run/rdma-vm/pid/host$h; echo >&9; exec sleep infinity
