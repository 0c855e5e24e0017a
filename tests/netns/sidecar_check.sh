# Runs inside netns_bed: what a sidecar of host 1 says of rails that are interfaces. Lines "CHECK|WANTED|GOT", then "done".
# usage: sidecar_check.sh RAILWITNESS
program=$1
lldp start || exit 1
# With the capabilities that cmake/railwitness-sidecar.service.in leaves.
onhost 1 bash -c 'mkdir -p /run/railwitness; exec "$@"' - \
  setpriv --bounding-set=-all,+dac_override --inh-caps=-all --no-new-privs -- "$program" sidecar --rail h1r1 --rail h1r0 --rail nowhere \
  --lldp-interval-ms 500 --json >/dev/null 2>"$BED_SCRATCH/sidecar.log" &
sidecar=$!
for ((i = 0; i < 50; i++)); do onhost 1 test -S /run/railwitness/control.sock && break; sleep 0.1; done
# facts EXPRESSION: a Python expression over the facts `f`
facts() {
  onhost 1 "$program" ls --json | python3 -c 'import json, sys
f = json.load(sys.stdin); rails = {r["device"]: r for r in f["rails"]}; edges = {e["device"]: e for e in f["edges"]}
print(eval(sys.argv[1]))' "$1" 2>&1 | tail -n 1
}
until_is() { for ((i = 0; i < 50; i++)); do [ "$(facts "$2")" = "$1" ] && return; sleep 0.2; done; }
check() { echo "$1|$2|$3"; }
truth() { rail where 1 $1; }
until_is 2 'len(f["edges"])'
check 'sidecar: has CAP_DAC_OVERRIDE alone' 2 "$((0x$(sed -n 's/^CapEff:\t//p' /proc/$(pgrep -o -f "^$program sidecar --rail h1r1")/status)))"
check 'sidecar: rails in the order given' '[("h1r1", 0), ("h1r0", 1), ("nowhere", 2)]' "$(facts '[(r["device"], r.get("index", 0)) for r in f["rails"]]' | tr "'" '"')"
check 'sidecar: they are interfaces' 'netdev netdev netdev' "$(facts '" ".join(r["kind"] for r in f["rails"])')"
check 'sidecar: state and addresses' 'ACTIVE up True' "$(facts 'rails["h1r0"]["state"] + " " + rails["h1r0"]["phys_state"] + " " + str("0000:0000:0000:0000:0000:ffff:0a00:0002" in rails["h1r0"]["gids"])')"
check 'sidecar: counters' True "$(facts 'rails["h1r0"]["counters"]["tx_packets"] > 0 and "carrier_down_count" in rails["h1r0"]["counters"]')"
check 'sidecar: switch port of rail 0' "$(truth 0)" "$(facts 'edges["h1r0"]["switch_name"] + ":" + edges["h1r0"]["switch_port"]')"
check 'sidecar: switch port of rail 1' "$(truth 1)" "$(facts 'edges["h1r1"]["switch_name"] + ":" + edges["h1r1"]["switch_port"]')"
check 'sidecar: answers probes on both' '0a00:0002 0a01:0002' "$(facts '" ".join(p["gid"][-9:] for p in f["ping_ports"] if p["udp_port"] > 0)')"
check 'sidecar: a rail that is not there has no state' ''  "$(facts 'rails["nowhere"].get("state", "")')"
check 'sidecar: says which rail is none' True "$(facts 'any("rail nowhere is not an interface" in n for n in f["notes"])')"
check 'sidecar: says nothing of missing RDMA devices' False "$(facts 'any("RDMA" in n for n in f["notes"])')"
rail down 1 0
until_is DOWN 'rails["h1r0"]["state"]'
check 'sidecar: a lost carrier is a port that is down' 'DOWN ACTIVE' "$(facts 'rails["h1r0"]["state"] + " " + rails["h1r1"]["state"]')"
until_is False 'edges["h1r0"].get("present", True)'
check 'sidecar: and its switch port is remembered' "$(truth 0) False" "$(facts 'edges["h1r0"]["switch_name"] + ":" + edges["h1r0"]["switch_port"] + " " + str(edges["h1r0"].get("present", True))')"
rail up 1 0
until_is ACTIVE 'rails["h1r0"]["state"]'
check 'sidecar: and up again' ACTIVE "$(facts 'rails["h1r0"]["state"]')"
kill $sidecar; wait $sidecar 2>/dev/null
lldp stop
echo done
