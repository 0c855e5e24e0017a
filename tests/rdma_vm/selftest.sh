#!/bin/bash
# selftest.sh: checks what rdma_vm promises; a line per check, then "rdma_vm: N of M right".  Takes about 3 minutes.
vm="$(cd "$(dirname "$0")" && pwd)/rdma_vm"
right=0 all=0
check() {   # check DESCRIPTION WANTED GOT
  all=$((all + 1))
  if [ "$2" = "$3" ]; then echo "ok    $1"; right=$((right + 1)); else echo "WRONG $1: want '$2' got '$3'"; fi
}
work=$(mktemp -d); export TMPDIR=$work; trap 'rm -rf "$work"' EXIT
mkdir "$work/a b"; cd "$work/a b" || exit 1
echo data >file

# What a command sees and gives back.
got=$("$vm" --rails 1 --hosts 1 --out "$work/out dir" -- bash -c '
  cat file; pwd; echo "$1|$2"; echo new >"$RDMA_VM_OUT/res"; echo lost >lostfile; echo err >&2; exit 42' x 'q"uo te' "it's" 2>"$work/err")
check 'exit status' 42 $?
check 'stdout, directory, arguments' "data
$work/a b
q\"uo te|it's" "$got"
check 'stderr' err "$(cat "$work/err")"
check '--out' new "$(cat "$work/out dir/res")"
check 'writes elsewhere are lost' no "$([ -e lostfile ] && echo yes || echo no)"
check 'environment' 'a  b' "$(FOO='a  b' "$vm" --rails 1 --hosts 1 -- bash -c 'echo "$FOO"')"
"$vm" --rails 1 --hosts 1 -- bash -c 'head -c 20000000 /dev/urandom | tee >(sha256sum >&2)' >"$work/bin" 2>"$work/sum"
check '20 MB of binary output' "$(cut -c1-64 "$work/sum")" "$(sha256sum <"$work/bin" | cut -c1-64)"

# How it ends.
"$vm" --rails 1 --hosts 1 --timeout 12 -- sleep 100 >/dev/null 2>&1; check 'timeout' 124 $?
"$vm" --rails 1 --hosts 1 -- /no/such/thing >/dev/null 2>&1; check 'command not found' 127 $?
"$vm" --rails 1 --hosts 1 -- bash -c 'kill -9 $$' >/dev/null 2>&1; check 'killed command' 137 $?
"$vm" --rails 1 --hosts 1 -- bash -c 'echo c >/proc/sysrq-trigger; sleep 5' >/dev/null 2>"$work/err"; check 'guest crash' 125 $?
check 'a crash shows the console' 1 "$(grep -c 'sysrq: Trigger a crash' "$work/err")"
"$vm" --rails 1 --hosts 1 --boot-timeout 0.5 -- true >/dev/null 2>"$work/err"; check 'a guest that never begins' 125 $?
check '... was started again, and that is said' 2 "$(grep -c 'Started again' "$work/err")"
"$vm" --rails 1 --hosts 1 -- sleep 100 & pid=$!; sleep 6; kill $pid; wait $pid; check 'SIGTERM' 143 $?
check 'no QEMU of ours is left' 0 "$(pgrep -c -P $pid qemu)"
check 'no directories are left' '' "$(ls -d "$work"/rdma-vm.* 2>/dev/null)"
env -i PATH=/nowhere "$(python3 -c 'import sys; print(sys.executable)')" "$vm" -- true >/dev/null 2>"$work/err"
check 'without QEMU: exit status' 125 $?
check 'without QEMU: names the package' 1 "$(grep -c 'Debian package: qemu-system-x86' "$work/err")"

# Hosts, switches, cabling.
cat >inside.sh <<'SH'
show() { echo "$1: $2"; }
for h in 0 1 2; do
  show "host$h sees" "$(onhost $h bash -c 'hostname; ls /sys/class/infiniband /sys/class/net /dev/infiniband | grep "^[^/]"; ibv_devices | grep -o "rxe.*r[0-9]"' | paste -sd' ')"
done
show mgmt "$(onmgmt hostname)"
show 'host0 reaches mgmt' "$(onmgmt timeout 5 python3 -c 'import socket
s = socket.create_server(("192.168.77.254", 5000)); c = s.accept()[0]; print(c.getpeername()[0])' & for try in 1 2 3 4 5; do sleep 1; onhost 0 bash -c ': >/dev/tcp/mgmt/5000' 2>/dev/null && break; done; wait)"
onhost 2 ibv_rc_pingpong -d rxe_h2r0 -g 1 >/dev/null & sleep 2
show pingpong "$(onhost 0 ibv_rc_pingpong -d rxe_h0r0 -g 1 host2 | tail -1 | cut -d' ' -f1-2)"
wait
lldp start
told() { onhost $1 lldpctl -f keyvalue | sed -n 's/^lldp\.\(h.*r.*\)\.\(chassis\.name\|port\.ifname\)=/\1 /p' | paste -sd' '; }
truth() { local r; for r in 0 1; do rail where $1 $r | sed "s/\(.*\):\(.*\)/h$1r$r \1 h$1r$r \2/"; done | paste -sd' '; }
for h in 0 1 2; do show "lldp of host$h" "$([ "$(told $h)" = "$(truth $h)" ] && echo true || echo "$(told $h) instead of $(truth $h)")"; done
show cabling "$(cut -d' ' -f3 /run/rdma-vm/ports | paste -sd' ')"
active() { onhost $1 cat /sys/class/infiniband/rxe_h$1r$2/ports/1/state; }
rail down 1 0; sleep 3
show down "$(active 1 0), $(active 1 1), $(active 0 0)"
show 'lldp without carrier' "$(told 1)"
rail up 1 0; sleep 4
show up "$(active 1 0), $([ "$(told 1)" = "$(truth 1)" ] && echo told)"
rail drop 1 0; sleep 1
show drop "$(active 1 0), $([ "$(told 1)" = "$(truth 1)" ] && echo told)"
onhost 0 timeout 20 ibv_rc_pingpong -d rxe_h0r0 -g 1 -n 10 >/dev/null 2>&1 & sleep 2
show 'dropped pingpong' "$(onhost 1 timeout 8 ibv_rc_pingpong -d rxe_h1r0 -g 1 -n 10 host0 >/dev/null 2>&1 && echo arrives || echo fails)"
rail clear 1 0; wait
onhost 0 timeout 20 ibv_rc_pingpong -d rxe_h0r0 -g 1 -n 10 >/dev/null 2>&1 & sleep 2
show 'cleared pingpong' "$(onhost 1 timeout 8 ibv_rc_pingpong -d rxe_h1r0 -g 1 -n 10 host0 >/dev/null 2>&1 && echo arrives || echo fails)"
lldp stop
SH
"$vm" --hosts 3 --rails 2 --shuffle 3 -- bash ./inside.sh >"$work/got" 2>"$work/err"
line() { sed -n "s/^$1: //p" "$work/got"; }
for h in 0 1 2; do
  check "host$h sees itself only" "host$h rdma_cm uverbs$h uverbs$((h + 3)) rxe_h${h}r0 rxe_h${h}r1 eth0 h${h}r0 h${h}r1 lo rxe_h${h}r0 rxe_h${h}r1" "$(line "host$h sees")"
  check "lldp tells host$h its ports" true "$(line "lldp of host$h")"
done
check 'mgmt' mgmt "$(line mgmt)"
check 'the management network' 192.168.77.1 "$(line 'host0 reaches mgmt')"
check 'RDMA between hosts' '1000 iters' "$(line pingpong)"
check '--shuffle permutes ports' 'swp1 swp1 swp2 swp2 swp3 swp3' "$(line cabling | tr ' ' '\n' | sort | paste -sd' ')"
check '... and not in order' no "$([ "$(line cabling)" = 'swp1 swp2 swp3 swp1 swp2 swp3' ] && echo yes || echo no)"
check 'rail down' '1: DOWN, 4: ACTIVE, 4: ACTIVE' "$(line down)"
check 'lldp forgets a port without carrier' 1 "$(line 'lldp without carrier' | grep -c '^h1r1 leaf-r1 h1r1 swp[1-3]$')"
check 'rail up, and lldp knows it again' '4: ACTIVE, told' "$(line up)"
check 'rail drop keeps the link up, and what lldp told' '4: ACTIVE, told' "$(line drop)"
check 'rail drop loses data' fails "$(line 'dropped pingpong')"
check 'rail clear' arrives "$(line 'cleared pingpong')"
[ $right = $all ] || cat "$work/err" >&2
echo "rdma_vm: $right of $all right"
[ $right = $all ]
