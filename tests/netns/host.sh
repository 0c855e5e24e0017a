# Makes the namespaces it runs in a host, and holds them.  The host sees what a node sees: its own NICs and no others.
# usage: host.sh NUMBER
set -e
h=$1
echo host$h >/proc/sys/kernel/hostname
mkdir /run/host$h; mount -t tmpfs run /run/host$h; cd /run/host$h
mkdir rdma-vm lock
mount --bind /run/rdma-vm rdma-vm
printf '00000000-0000-4000-8000-%012d\n' $h >boot_id
mount -n --move /run/host$h /run; cd /run
mount -t sysfs sysfs /sys                       # of this network namespace: lo, eth0 and the rails
mount -t tmpfs shm /dev/shm
mount --bind boot_id /proc/sys/kernel/random/boot_id
cd /; echo $$ >/run/rdma-vm/pid/host$h; echo >&9; exec sleep infinity
