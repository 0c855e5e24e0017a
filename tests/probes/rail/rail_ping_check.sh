#!/bin/bash
# Runs inside a bed of virtual hosts with 2 hosts and 2 rails: rail_ping_check.sh PROGRAM [PREFIX]
# PREFIX is what the devices are called before HOSTrRAIL: rxe_h (the default), or udp:h for interfaces.
# A healthy rail answers, a rail that loses everything does not while the one beside it does, a rail whose switch port
# is down does not, and a healed one answers again.
set -u
program=$1 prefix=${2:-rxe_h} folder=$(mktemp -d) failed=0
onhost 1 "$program" serve host1 "$folder/ports" 60 ${prefix}1r0 ${prefix}1r1 >"$folder/server" 2>&1 &
server=$!
for ((i = 0; i < 100; i++)); do [ -e "$folder/ports" ] && break; sleep 0.1; done

expect() { # WHAT RECEIVED_ON_RAIL_0 RECEIVED_ON_RAIL_1
  local out
  out=$(onhost 0 "$program" ping host0 "${4:-host1}" "$folder/ports" ${prefix}0r0 ${prefix}0r1)
  if grep -q "${prefix#udp:}0r0 sent 3 received $2 " <<<"$out" && grep -q "${prefix#udp:}0r1 sent 3 received $3 " <<<"$out"; then
    echo "ok $1:" $out
  else
    echo "FAILED $1:" $out; failed=1
  fi
}

expect 'both rails are healthy' 3 3
expect 'the peer goes by another name' 0 0 host7
rail drop 1 0; expect 'rail 0 loses everything' 0 3
rail clear 1 0; expect 'rail 0 has healed' 3 3
rail down 1 1; expect 'the switch port of rail 1 is down' 3 0
rail up 1 1; sleep 1; expect 'rail 1 is up again' 3 3
kill $server; wait $server 2>/dev/null
expect 'nobody lives there any more' 0 0
cat "$folder/server"
exit $failed
