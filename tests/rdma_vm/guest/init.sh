#!/bin/sh
# First process of the guest: busybox, in the initramfs.  Mounts this machine's root below an overlay, then boot.sh.
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for m in $(cat /order); do insmod /mod/$m || echo "rdma_vm: insmod $m failed"; done
mount -t tmpfs t /t; mkdir -p /t/low /t/up /t/work /t/root; R=/t/root V=/t/root/run/rdma-vm
o=trans=virtio,version=9p2000.L,msize=512000
mount -t 9p -o $o,ro,cache=loose rootfs /t/low
mount -t overlay -o lowerdir=/t/low,upperdir=/t/up,workdir=/t/work overlay $R
mount -t tmpfs run $R/run; mkdir $V; mount -t 9p -o $o ctl $V; . $V/env
mkdir -p "$R/lib/modules/$KVER" /dev/pts /dev/shm
mount -o bind "$R$KMOD" "$R/lib/modules/$KVER"
mount -t devpts devpts /dev/pts; mount -t tmpfs shm /dev/shm; ln -s /proc/self/fd /dev/fd
for i in 0:in 1:out 2:err; do ln -s /proc/self/fd/${i%:*} /dev/std${i#*:}; done
[ -z "$RDMA_VM_OUT" ] || { mkdir -p "$R$RDMA_VM_OUT"; mount -t 9p -o $o out "$R$RDMA_VM_OUT"; }
for p in /sys/class/virtio-ports/*; do ln -s ${p##*/} /dev/vm-$(cat $p/name); done
# Two NICs of one rail live in one kernel, which would short-circuit them over "lo".
# So traffic bound to a NIC (rxe's always is) looks up that NIC's own table before the
# table "local" (see boot.sh), peers are static, and our own addresses are fine as sources.
for c in all default; do cd /proc/sys/net/ipv4/conf/$c; echo 0 >rp_filter; echo 1 >accept_local; done; cd /
for d in proc sys dev; do mount -o move /$d $R/$d; done
exec switch_root $R /bin/bash /run/rdma-vm/boot.sh
