#!/bin/bash
# selftest.sh [RAILWITNESS RAIL_PING_CHECK]: checks what netns_bed promises; a line per check, then
# "netns bed: N of M right".  With the two programs also what a sidecar without verbs sees there.  About 1 minute.
# Exit status 77, with the reason, where the bed cannot be made.
here="$(cd "$(dirname "$0")" && pwd)" bed="$(cd "$(dirname "$0")" && pwd)/netns_bed"
railwitness=${1:-} ping_check=${2:-}
right=0 all=0
check() {   # check DESCRIPTION WANTED GOT
  all=$((all + 1))
  if [ "$2" = "$3" ]; then echo "ok    $1"; right=$((right + 1)); else echo "WRONG $1: want '$2' got '$3'"; fi
}
"$bed" --check || exit 77
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir "$work/a b"; cd "$work/a b" || exit 1
echo data >file

# What a command sees and gives back.
got=$("$bed" -- bash -c 'cat file; pwd; echo "$1|$2"; echo new >result; echo err >&2; exit 42' x 'q"uo te' "it's" 2>"$work/err")
check 'exit status' 42 $?
check 'stdout, directory, arguments' "data
$work/a b
q\"uo te|it's" "$got"
check 'stderr' err "$(cat "$work/err")"
check 'files are this machine'\''s' new "$(cat result)"
check 'environment' 'a  b' "$(FOO='a  b' "$bed" -- bash -c 'echo "$FOO"')"

# How it ends, and that nothing is left.
mark="sleep 7$$"   # found in the list of processes
namespaces() { lsns -n -o NS -t net 2>/dev/null | sort | paste -sd' '; }
before=$(namespaces; ls -A /run/netns /run/rdma-vm 2>/dev/null; ip -o link | wc -l; grep -c . /proc/mounts)
"$bed" --timeout 3 -- $mark >/dev/null 2>&1; check 'timeout' 124 $?
"$bed" -- /no/such/thing >/dev/null 2>&1; check 'command not found' 127 $?
"$bed" -- bash -c 'kill -9 $$' >/dev/null 2>&1; check 'killed command' 137 $?
"$bed" -- bash -c "lldp start; onhost 1 $mark" >/dev/null 2>&1 & pid=$!; sleep 4; kill $pid; wait $pid; check 'SIGTERM' 143 $?
"$bed" -- bash -c "lldp start; onhost 1 setsid $mark" >/dev/null 2>&1 & pid=$!
for ((try = 0; try < 150; try++)); do pgrep -f "^$mark" >/dev/null && break; sleep 0.2; done
check 'its processes are there while it runs' yes "$(pgrep -f "^$mark" >/dev/null && echo yes || echo no)"
kill -9 $pid; wait $pid 2>/dev/null; for try in 1 2 3 4 5 6 7 8 9 10; do pgrep -f "^$mark" >/dev/null || break; sleep 0.2; done
check 'kill -9: no process is left' no "$(pgrep -f "^$mark" >/dev/null && echo yes || echo no)"
for try in 1 2 3 4 5 6 7 8 9 10; do   # the kernel takes network namespaces down a little later
  after=$(namespaces; ls -A /run/netns /run/rdma-vm 2>/dev/null; ip -o link | wc -l; grep -c . /proc/mounts)
  [ "$before" = "$after" ] && break; sleep 0.5
done
check 'kill -9: no namespace, interface, mount or file is left' "$before" "$after"

# What stands in the way is said in words.
said() { grep -c "$1" "$work/err"; }
cp -r "$here" "$here/../rdma_vm" "$work"; chmod -R a+rX "$work"; chmod 711 "$work"   # for somebody who may not read the repository
setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/python3 "$work/netns/netns_bed" -- true >/dev/null 2>"$work/err"
check 'without root: exit status' 125 $?
check 'without root: says so' 1 "$(said 'needs root')"
setpriv --bounding-set -net_admin --inh-caps -net_admin "$bed" -- true >/dev/null 2>"$work/err"
check 'without CAP_NET_ADMIN: exit status' 125 $?
check 'without CAP_NET_ADMIN: says so' 1 "$(said 'CAP_NET_ADMIN')"
setpriv --bounding-set -sys_admin --inh-caps -sys_admin "$bed" -- true >/dev/null 2>"$work/err"
check 'without CAP_SYS_ADMIN: fails' no "$([ $? = 0 ] && echo yes || echo no)"
check '--check says why not' 77 "$(setpriv --bounding-set -net_admin --inh-caps -net_admin "$bed" --check >"$work/err"; echo $?)"
check '... in words' 1 "$(said 'cannot be made here: .*CAP_NET_ADMIN')"

# Hosts, switches, cabling.
cat >inside.sh <<'SH'
show() { echo "$1: $2"; }
for h in 0 1 2; do show "host$h sees" "$(onhost $h bash -c 'hostname; ls /sys/class/net; cat /proc/sys/kernel/random/boot_id' | paste -sd' ')"; done
show mgmt "$(onmgmt hostname)"
reach() {   # reach HOST ADDRESS: can HOST open a connection to host1 at that address?
  local ready=$BED_SCRATCH/ready; rm -f $ready
  onhost 1 timeout 30 python3 -c 'import socket, sys
s = socket.create_server((sys.argv[1], 5000)); open(sys.argv[2], "w"); s.accept()[0].sendall(b"x")' $2 $ready & local server=$!
  for ((try = 0; try < 100; try++)); do [ -e $ready ] && break; sleep 0.1; done
  onhost $1 python3 -c 'import socket, sys
try: sys.exit(socket.create_connection((sys.argv[1], 5000), 3.5).recv(1) != b"x")
except OSError: sys.exit(1)' $2 && echo arrives || echo fails
  kill $server 2>/dev/null; wait $server 2>/dev/null
}
show 'host0 reaches host1 by name' "$(reach 0 host1)"
show 'rail 0' "$(reach 0 10.0.0.2)"; show 'rail 1' "$(reach 2 10.1.0.2)"
lldp start
told() { onhost $1 lldpctl -f keyvalue | sed -n 's/^lldp\.\(h.*r.*\)\.\(chassis\.name\|port\.ifname\)=/\1 /p' | paste -sd' '; }
truth() { local r; for r in 0 1; do rail where $1 $r | sed "s/\(.*\):\(.*\)/h$1r$r \1 h$1r$r \2/"; done | paste -sd' '; }
for h in 0 1 2; do show "lldp of host$h" "$([ "$(told $h)" = "$(truth $h)" ] && echo true || echo "$(told $h) instead of $(truth $h)")"; done
show cabling "$(cut -d' ' -f3 /run/rdma-vm/ports | paste -sd' ')"
carrier() { onhost $1 cat /sys/class/net/h$1r$2/carrier; }
rail down 1 0; sleep 1
show down "$(carrier 1 0), $(carrier 1 1), $(carrier 0 0), $(reach 0 10.0.0.2), $(reach 0 10.1.0.2)"
rail up 1 0; sleep 3
show up "$(carrier 1 0), $(reach 0 10.0.0.2), $([ "$(told 1)" = "$(truth 1)" ] && echo told)"
rail drop 1 0
show drop "$(carrier 1 0), $(reach 0 10.0.0.2), $(reach 0 10.1.0.2), $([ "$(told 1)" = "$(truth 1)" ] && echo told)"
rail clear 1 0
show clear "$(carrier 1 0), $(reach 0 10.0.0.2)"
lldp stop
SH
"$bed" --hosts 3 --rails 2 --shuffle 3 -- bash ./inside.sh >"$work/got" 2>"$work/err"
line() { sed -n "s/^$1: //p" "$work/got"; }
for h in 0 1 2; do
  check "host$h sees itself only" "host$h eth0 h${h}r0 h${h}r1 lo 00000000-0000-4000-8000-00000000000$h" "$(line "host$h sees")"
  check "lldp tells host$h its ports" true "$(line "lldp of host$h")"
done
check 'mgmt' mgmt "$(line mgmt)"
check 'the management network' arrives "$(line 'host0 reaches host1 by name')"
check 'rail 0' arrives "$(line 'rail 0')"
check 'rail 1' arrives "$(line 'rail 1')"
check '--shuffle permutes ports' 'swp1 swp1 swp2 swp2 swp3 swp3' "$(line cabling | tr ' ' '\n' | sort | paste -sd' ')"
check '... and not in order' no "$([ "$(line cabling)" = 'swp1 swp2 swp3 swp1 swp2 swp3' ] && echo yes || echo no)"
check 'rail down: that carrier, that path, no other' '0, 1, 1, fails, arrives' "$(line down)"
check 'rail up, and lldp knows it again' '1, arrives, told' "$(line up)"
check 'rail drop: the link stays, that path loses all, the other none' '1, fails, arrives, told' "$(line drop)"
check 'rail clear' '1, arrives' "$(line clear)"
[ $right = $all ] || cat "$work/err" >&2

# A sidecar without verbs, and its probes.
if [ -n "$railwitness" ]; then
  "$bed" --hosts 2 --rails 2 -- "$here/../probes/rail/rail_ping_check.sh" "$ping_check" udp:h >"$work/pings" 2>&1
  check 'active probes over UDP' 0 $?
  [ "$(grep -c '^ok' "$work/pings")" = 7 ] || cat "$work/pings"
  "$bed" --hosts 2 --rails 2 --shuffle 5 -- bash "$here/sidecar_check.sh" "$railwitness" >"$work/sidecar" 2>&1
  while IFS='|' read -r description wanted got; do check "$description" "$wanted" "$got"; done < <(grep -a '|' "$work/sidecar")
  check 'the sidecar was asked to the end' done "$(tail -n 1 "$work/sidecar")"
fi
echo "netns bed: $right of $all right"
[ $right = $all ]
