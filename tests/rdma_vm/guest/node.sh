# Holds the namespaces it runs in as those of a node that is no host: a leaf switch, or mgmt.
# usage: node.sh NAME
echo $1 >/proc/sys/kernel/hostname
mount -t sysfs sysfs /sys
mkdir /run/$1; mount -t tmpfs run /run/$1; mkdir /run/$1/rdma-vm /run/$1/lock
mount --bind /run/rdma-vm /run/$1/rdma-vm; mount -n --move /run/$1 /run
mount -t tmpfs shm /dev/shm
echo $$ >/run/rdma-vm/pid/$1; echo >&9; exec sleep infinity
