#!/bin/bash
# probe_check.sh RAILWITNESS: `railwitness probe rail` between real sidecars over a real nats-server and UDP, among hosts that
# are network namespaces, one rail of which loses everything. About 20 seconds. Ends with `probe: N of M right`.
# Exit status 77, with the reason, where the bed cannot be made.
here="$(cd "$(dirname "$0")" && pwd)" program=$(realpath "$1")
if [ "${2:-}" != inside ]; then
  "$here/netns_bed" --check || exit 77
  type nats-server >/dev/null || { echo 'no nats-server; Debian package: nats-server'; exit 77; }
  exec "$here/netns_bed" --hosts 3 --rails 3 --timeout 150 -- "$here/probe_check.sh" "$program" inside
fi

bus=nats://192.168.77.254:4222
onmgmt nats-server -js -a 192.168.77.254 -p 4222 -sd "$BED_SCRATCH/nats" >"$BED_SCRATCH/nats.log" 2>&1 &
for h in 0 1 2; do
  onhost $h bash -c 'mkdir -p /run/railwitness; exec "$@"' - "$program" sidecar --nats $bus --lldp-command '' \
    --rail h${h}r0 --rail h${h}r1 --rail h${h}r2 >/dev/null 2>"$BED_SCRATCH/sidecar$h.log" &
done
right=0 all=0
check() {   # check DESCRIPTION WANTED GOT
  all=$((all + 1))
  if [ "$2" = "$3" ]; then echo "ok    $1"; right=$((right + 1)); else echo "WRONG $1: want '$2' got '$3'"; fi
}
# probed A B: "STATUS VERDICT VERDICT VERDICT" of rails 0 to 2
probed() {
  local out=$BED_SCRATCH/said status
  onmgmt "$program" probe rail "$1" "$2" --nats $bus --rounds 2 --json >"$out" 2>"$BED_SCRATCH/err"
  status=$?
  python3 -c 'import json, sys
said = json.load(sys.stdin); print(sys.argv[1], *(r["verdict"].replace(" ", "-") for r in said["rails"]))' $status <"$out" 2>/dev/null ||
    echo "$status $(cat "$BED_SCRATCH/err" | tail -n 1)"
}
line() { python3 -c 'import json, sys; print(json.load(sys.stdin)["line"])' <"$BED_SCRATCH/said"; }

reason() { python3 -c 'import json, sys; print(json.load(sys.stdin)["rails"][2]["ways"][0]["reason"])' <"$BED_SCRATCH/said"; }

for ((try = 0; try < 20; try++)); do   # until they speak
  healthy=$(probed host0 host1); [[ $healthy == '0 '* ]] && break
done
check 'all rails carry' '0 good good good' "$healthy"
rail drop 1 1
rail down 1 2
sleep 2   # the sidecar reads states once a second
check 'a rail that silently loses everything, and one without carrier' '1 good no-answer no-answer' "$(probed host0 host1)"
check '... in one line' 'probe: rails 1 and 2 are bad (no answer both ways) between host0 and host1; rail 0 is good both ways, which exonerates it, both hosts and their sidecars' "$(line)"
check '... and that the carrier is the reason' 'h1r2 of host1 is DOWN' "$(reason)"
check 'a third host tells which end' '0 good good good' "$(probed host2 host0)"
[ $right = $all ] || tail -n 5 "$BED_SCRATCH"/*.log "$BED_SCRATCH/err" >&2
echo "probe: $right of $all right"
[ $right = $all ]
