#!/bin/bash
# collect.sh DIR: what the real tools say of the fabric that they are run on (ibsim_bed), into DIR.
set -euo pipefail
cd "$1"
ibnetdiscover >ibnetdiscover.txt
ibnetdiscover -p >ports.txt
iblinkinfo >iblinkinfo.txt
iblinkinfo -l >lines.txt
# ibqueryerrors ends with 1 where it found errors.
ibqueryerrors >errors.txt || (($? == 1))
ibqueryerrors --details --data >details.txt || (($? == 1))
ibqueryerrors -r >reported.txt || (($? == 1))
# Of every port with errors, by the GUID of the switch or of the NIC's port; one file of each.
rm -f 0x*.out
sed -n 's/.*GUID 0x\([0-9a-f]*\) port \([0-9]*\):.*/\1 \2/p' errors.txt | while read -r guid port; do
  perfquery -G "0x$guid" "$port" >>"$(printf '0x%016x.out' "0x$guid")"
done
