#!/usr/bin/env python3
"""ibdiagnet2.db_csv of a fabric, out of what ibnetdiscover and ibqueryerrors say of it.

    db_csv.py IBNETDISCOVER_TXT IBQUERYERRORS_TXT >ibdiagnet2.db_csv

A rewriting, not ibdiagnet's own output: NVIDIA's ibdiagnet is in no Debian package (Debian's ibutils has the ibdiagnet of
2009, with other files). Sections and columns as NVIDIA's ibdiagnet user manual names them; PM_INFO has the counters that
ibqueryerrors printed, 0 for the others of that port.
"""
import re
import sys

WIDTHS = {'1x': 1, '4x': 2, '8x': 4, '12x': 8, '2x': 16}
SPEEDS = {'SDR': 1, 'DDR': 2, 'QDR': 4, 'FDR': 0x104, 'EDR': 0x204, 'HDR': 0x404, 'NDR': 0x804}
NODE = re.compile(r'^(Switch|Ca)\s+(\d+) "[SH]-([0-9a-f]{16})"\s+# "(.*)"(?: .* lid (\d+))?')
PORT = re.compile(r'^\[(\d+)\](?:\(([0-9a-f]+)\))?\s+"[SH]-([0-9a-f]{16})"\[(\d+)\].*# (?:lid (\d+) lmc \d+ )?".*" lid \d+ (\d+x)(\w+)')
COUNTERS = ('SymbolErrorCounter', 'LinkErrorRecoveryCounter', 'LinkDownedCounter', 'PortRcvErrors', 'PortRcvRemotePhysicalErrors',
            'PortRcvSwitchRelayErrors', 'PortXmitDiscards', 'PortXmitConstraintErrors', 'PortRcvConstraintErrors',
            'LocalLinkIntegrityErrors', 'ExcessiveBufferOverrunErrors', 'VL15Dropped', 'PortXmitWait')


def sections(topology, errors):
    nodes, ports, links, counters = [], [], [], []
    node_of_port_guid, node = {}, None
    for line in topology.splitlines():
        if found := NODE.match(line):
            kind, count, node, description, _ = found.groups()
            nodes.append((f'"{description}"', count, 1 if kind == 'Ca' else 2, f'0x{node}'))
        elif found := PORT.match(line):
            port, port_guid, far, far_port, lid, width, speed = found.groups()
            guid = f'{int(port_guid, 16):016x}' if port_guid else node
            node_of_port_guid[guid] = node
            ports.append((f'0x{node}', f'0x{guid}', port, lid or 0, WIDTHS[width], SPEEDS[speed], 4, 5))
            if (node, int(port)) < (far, int(far_port)):
                links.append((f'0x{node}', port, f'0x{far}', far_port))
    for guid, port, said in re.findall(r'GUID 0x([0-9a-f]+) port (\d+): (.*)', errors):
        values = dict(re.findall(r'\[(\w+) == (\d+)', said))
        guid = f'{int(guid, 16):016x}'
        counters.append((f'0x{node_of_port_guid[guid]}', f'0x{guid}', port, *(values.get(c, 0) for c in COUNTERS)))
    return {'NODES': ('NodeDesc,NumPorts,NodeType,NodeGUID', nodes),
            'PORTS': ('NodeGuid,PortGuid,PortNum,LID,LinkWidthActv,LinkSpeedActv,PortState,PortPhyState', ports),
            'LINKS': ('NodeGuid1,PortNum1,NodeGuid2,PortNum2', links),
            'PM_INFO': (f'NodeGUID,PortGUID,PortNumber,{",".join(COUNTERS)}', counters)}


def text(topology, errors):
    out = []
    for name, (head, rows) in sections(topology, errors).items():
        out += [f'START_{name}', head, *(','.join(map(str, row)) for row in rows), f'END_{name}', '', '']
    return '\n'.join(out)


if __name__ == '__main__':
    sys.stdout.write(text(open(sys.argv[1]).read(), open(sys.argv[2]).read()))
