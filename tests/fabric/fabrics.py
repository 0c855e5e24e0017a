"""Rail-optimised InfiniBand fabrics as tables of cables, and the texts that ibsim and railwitness read of them.

NIC r of every host is in a leaf of rail r; hosts of one *unit* share their leaves. Ports are pairs of a device's
description and a number: ('host03 mlx5_4', 1), ('leaf-u0-r2', 4). Nothing in the names is needed to find the rails.
"""
import dataclasses
import itertools
import random

NICS = (0, 3, 4, 5, 6, 9, 10, 11)  # numbers skip, as they do where storage and management have NICs, too


@dataclasses.dataclass(frozen=True)
class Shape:
    hosts: int
    down: int         # hosts of a unit
    spines: int       # in all; where `planes`: of a rail
    cables: int = 2   # from each leaf to each spine
    rails: int = 8
    planes: bool = False    # every rail has its own spines
    shuffled: bool = False  # hosts are in other ports of each leaf
    speed: str = '4xHDR'    # ibsim 0.10 knows none above

    @property
    def units(self):
        return -(-self.hosts // self.down)


SHAPES = {8: Shape(8, 32, 4), 64: Shape(64, 32, 16), 288: Shape(288, 36, 36, cables=1)}
# Beyond what ibsim takes in reasonable time: as text only. 4096 hosts have a third level (core switches).
LARGE = {'5008 nodes': Shape(600, 30, 48, 1, speed='4xNDR'), '4096 hosts': Shape(4096, 32, 32, 1, planes=True, speed='4xNDR')}


class Fabric:
    """`peer` has every cable twice, once from each end; `kind` says what it runs at, if not as the others."""

    def __init__(self, shape, seed=0):
        self.shape, self.peer, self.kind, self.rails = shape, {}, {}, {}
        self.guids, self.switches = {}, {}
        self.descriptions = {}  # of devices that do not say their own name
        rng = random.Random(seed)
        width = len(str(shape.hosts - 1))
        self.hosts = [f'host{h:0{width}d}' for h in range(shape.hosts)]
        self.nics = [f'mlx5_{NICS[r] if r < len(NICS) else 12 + r}' for r in range(shape.rails)]
        for u, r in itertools.product(range(shape.units), range(shape.rails)):
            self._leaf(u, r, rng)
        self._spines()

    def _leaf(self, unit, rail, rng):
        leaf, shape = self.leaf(unit, rail), self.shape
        self.rails[leaf] = rail
        self.guids[leaf] = 0x506b4b0300a00000 | rail << 12 | unit
        hosts = range(unit * shape.down, min(shape.hosts, (unit + 1) * shape.down))
        ports = list(range(1, shape.down + 1))
        if shape.shuffled:
            rng.shuffle(ports)
        for host, port in zip(hosts, ports):
            nic = self.nic(self.hosts[host], rail)
            self.guids[nic[0]] = 0x0002c90300000000 | host << 16 | rail << 8
            self.plug(nic, (leaf, port))

    def _spines(self):
        shape = self.shape
        groups = [[r] for r in range(shape.rails)] if shape.planes else [range(shape.rails)]
        for g, rails in enumerate(groups):
            leaves = [self.leaf(u, r) for r in rails for u in range(shape.units)]
            for pod in range(-(-len(leaves) // 32) if shape.planes else 1):
                of_pod = leaves[pod * 32:pod * 32 + 32] if shape.planes else leaves
                for s in range(shape.spines):
                    name = f'spine-p{g}-{pod}-{s}' if shape.planes else f'spine-{s}'
                    self.guids[name] = 0x506b4b0300b00000 | g << 16 | pod << 8 | s
                    for l, leaf in enumerate(of_pod):
                        for c in range(shape.cables):
                            self.plug((leaf, shape.down + s * shape.cables + c + 1), (name, l * shape.cables + c + 1))
            if shape.planes and len(leaves) > 32:
                self._cores(g, -(-len(leaves) // 32))

    def _cores(self, plane, pods):
        """Two core switches for the spines of one number in all pods, 16 cables to each."""
        for s, c in itertools.product(range(self.shape.spines), range(2)):
            core = f'core-p{plane}-{s}-{c}'
            self.guids[core] = 0x506b4b0300c00000 | plane << 16 | s << 8 | c
            for pod, k in itertools.product(range(pods), range(16)):
                self.plug((f'spine-p{plane}-{pod}-{s}', 33 + c * 16 + k), (core, pod * 16 + k + 1))

    def leaf(self, unit, rail):
        return f'leaf-u{unit}-r{rail}'

    def nic(self, host, rail):
        return (f'{host} {self.nics[rail]}', 1)

    def unit(self, host):
        return self.hosts.index(host) // self.shape.down

    def plug(self, a, b):
        self.peer[a], self.peer[b] = b, a
        for device, port in (a, b):
            self.switches[device] = max(self.switches.get(device, 0), port)

    def pull(self, a):
        b = self.peer.pop(a)
        del self.peer[b]
        return b

    def swap(self, a, b):
        """The far ends of two cables in each other's place."""
        c, d = self.pull(a), self.pull(b)
        self.plug(a, d)
        self.plug(b, c)

    def mark(self, port, kind):
        self.kind[port] = self.kind[self.peer[port]] = kind

    @staticmethod
    def is_nic(device):
        return ' ' in device

    @staticmethod
    def id(device):
        """As ibsim's commands name it."""
        return device.replace(' ', '-')

    def description(self, device):
        return self.descriptions.get(device, device)

    def devices(self):
        out = {device: [] for device in self.guids}
        for device, port in self.peer:
            out[device].append(port)
        return {device: sorted(ports) for device, ports in out.items()}

    def ibsim_text(self):
        speed = {'QDR': (7, 0), 'FDR': (7, 1), 'EDR': (7, 3), 'HDR': (7, 7)}[self.shape.speed[2:]]
        out = [f'speed={speed[0]}', f'extspeed={speed[1]}', 'width=3', '']
        for device, ports in sorted(self.devices().items(), key=lambda item: not self.is_nic(item[0])):
            is_nic, count = self.is_nic(device), 1 if self.is_nic(device) else self.switches[device]
            out.append(f'{"caguid" if is_nic else "switchguid"}={self.guids[device]:#018x}')
            out.append(f'{"Ca" if is_nic else "Switch"}\t{count} "{self.id(device)}"\t\t# "{self.description(device)}"')
            for port in ports:
                to, to_port = self.peer[device, port]
                ca = '# lid 0 lmc 0' if is_nic else '#'
                out.append(f'[{port}]\t"{self.id(to)}"[{to_port}]\t{ca} "{to}" lid 0 {self.kind.get((device, port), self.shape.speed)}')
            out.append('')
        return '\n'.join(out) + '\n'

    def ibnetdiscover_text(self):
        """As ibnetdiscover prints it; of fabrics that are too large for ibsim. LIDs are made up."""
        lids = {device: l + 1 for l, device in enumerate(self.guids)}
        name = lambda device: f'{"H" if self.is_nic(device) else "S"}-{self.guids[device]:016x}'
        first = next(device for device in self.guids if self.is_nic(device))
        out = ['#', '# Topology file: generated on Mon Nov 30 12:00:00 2026', '#',
               f'# Initiated from node {self.guids[first]:016x} port {self.guids[first] + 1:016x}', '']
        for device, ports in self.devices().items():
            guid, is_nic = self.guids[device], self.is_nic(device)
            out += ['vendid=0x2c9', f'devid={"0x1021" if is_nic else "0xd2f2"}', f'sysimgguid={guid:#x}']
            if is_nic:
                out += [f'caguid={guid:#x}', f'Ca\t1 "{name(device)}"\t\t# "{device}"']
            else:
                out += [f'switchguid={guid:#x}({guid:x})',
                        f'Switch\t{self.switches[device]} "{name(device)}"\t\t# "{device}" enhanced port 0 lid {lids[device]} lmc 0']
            for port in ports:
                to, to_port = self.peer[device, port]
                kind = self.kind.get((device, port), self.shape.speed)
                mine = f'({guid + 1:x}) ' if is_nic else ''
                far = f'({self.guids[to] + 1:x}) ' if self.is_nic(to) else ''
                own = f'lid {lids[device]} lmc 0 ' if is_nic else ''
                out.append(f'[{port}]{mine}\t"{name(to)}"[{to_port}]{far}\t\t# {own}"{to}" lid {lids[to]} {kind}')
            out.append('')
        return '\n'.join(out) + '\n'

    def plan_text(self):
        """Cables as a plan's CSV."""
        out = ['StartDevice,StartPort,EndDevice,EndPort']
        for (device, port), (to, to_port) in self.peer.items():
            if (device, port) < (to, to_port):
                out.append(f'{device},{port},{to},{to_port}')
        return '\n'.join(out) + '\n'

    def place_rows(self):
        """What `railwitness ports` has to say: host, NIC, switch port, rail of that switch."""
        return {(*device.split(), '{}:{}'.format(*far), str(self.rails[far[0]])) for (device, _), far in self.peer.items() if self.is_nic(device)}
