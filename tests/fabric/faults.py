"""Faults to plant in a fabric, and the findings that each must give: no more, no fewer.

A fault changes the table of cables (swapped cables, what a cable runs at) or gives ibsim a command (a cable unplugged,
counters). Places are drawn; no two faults of one scene share a NIC, a pair of switches or, where places are judged, a host.
"""
import dataclasses
import random


@dataclasses.dataclass(frozen=True)
class Expected:
    kind: str
    components: frozenset  # names of ports and devices
    wanted: frozenset = frozenset()
    words: tuple = ()      # that the line for people must have
    rails: tuple = ()
    is_counter: bool = False  # no source of cables says it


def port_name(port):
    device, number = port
    return device if ' ' in device else f'{device}:{number}'


class Scene:
    def __init__(self, name, fabric, seed):
        self.name, self.fabric, self.rng = name, fabric, random.Random(f'{name} {seed}')
        self.expected, self.commands, self.unplugged, self.plan = [], [], [], None
        self.hosts = list(fabric.hosts[1:])  # opensm runs on the first
        self.rng.shuffle(self.hosts)
        self.used_nics, self.used_switches = set(), set()

    # --- drawing places

    def host(self, unit=None):
        for h in self.hosts:
            if unit is None or self.fabric.unit(h) == unit:
                self.hosts.remove(h)
                return h
        raise ValueError(f'{self.name}: no host is left')

    def two_rails(self):
        return self.rng.sample(range(self.fabric.shape.rails), 2)

    def free_nic(self):
        """Of a host without a fault of place. Twins must stay the majority: three of a host, two of a leaf."""
        of = lambda name, where: sum(where(nic) == name for nic in self.used_nics)
        host_of, leaf_of = (lambda nic: nic[0].split()[0]), (lambda nic: self.fabric.peer[nic][0])
        hosts = [h for h in [*self.hosts, self.fabric.hosts[0]] if of(h, host_of) < 3]
        nics = [(self.fabric.nic(h, r), r) for h in hosts for r in range(self.fabric.shape.rails)]
        free = [(nic, r) for nic, r in nics if nic not in self.used_nics and of(leaf_of(nic), leaf_of) < 2]
        nic, rail = self.rng.choice(free)
        self.used_nics.add(nic)
        return nic, rail

    def free_uplink(self):
        """A cable between a leaf and a spine, each of them in one fault only."""
        free = [(port, self.fabric.rails[port[0]]) for port, far in sorted(self.fabric.peer.items())
                if port[0] in self.fabric.rails and not self.fabric.is_nic(far[0]) and not {port[0], far[0]} & self.used_switches]
        port, rail = self.rng.choice(free)
        self.used_switches.update((port[0], self.fabric.peer[port][0]))
        return port, rail

    def expect(self, kind, components, wanted=(), words=(), rails=(), is_counter=False):
        self.expected.append(Expected(kind, frozenset(components), frozenset(wanted), tuple(words), tuple(sorted(rails)), is_counter))

    def seat(self, port):
        """Where a NIC belongs, as far as its twins tell: the port only where hosts have one number in all leaves."""
        return port_name(port) if not self.fabric.shape.shuffled else port[0]

    # --- faults

    def swapped(self):
        """Two cables of one host in each other's leaf."""
        host, (a, b) = self.host(), self.two_rails()
        one, other = self.fabric.nic(host, a), self.fabric.nic(host, b)
        at = [self.fabric.peer[one], self.fabric.peer[other]]
        self.fabric.swap(one, other)
        self.expect('swapped', [one[0], other[0]], map(port_name, at), [one[0], other[0], *map(port_name, at)], [a, b])

    def crossed(self, kind='wrong-leaf'):
        """A cable of one host in the place of another host's: another rail, or the same rail of another unit."""
        if kind == 'wrong-leaf':
            one, (a, b) = self.host(), self.two_rails()
            other = self.host(self.fabric.unit(one))
        else:
            one, other = self.host(0), self.host(1)
            a = b = self.rng.randrange(self.fabric.shape.rails)
        nics = [(self.fabric.nic(one, a), a), (self.fabric.nic(other, b), b)]
        at = {nic: self.fabric.peer[nic] for nic, _ in nics}
        self.fabric.swap(nics[0][0], nics[1][0])
        for nic, rail in nics:
            there = self.fabric.peer[nic]
            self.expect(kind, [nic[0], port_name(there)], [self.seat(at[nic])], [nic[0], port_name(there), self.seat(at[nic])], [rail])

    def missing(self):
        """A NIC's cable is unplugged: the NIC is not seen any more."""
        host, rail = self.host(), self.rng.randrange(self.fabric.shape.rails)
        nic = self.fabric.nic(host, rail)
        at = self.fabric.peer[nic]
        self.unplug(nic)
        self.expect('missing-link', [nic[0]], [self.seat(at)], [host, nic[0].split()[1], self.seat(at)], [rail])

    def missing_uplink(self):
        port, rail = self.free_uplink()
        spine = self.fabric.peer[port]
        self.unplug(port)
        self.expect('missing-switch-link', [port[0], spine[0]], map(port_name, (port, spine)), [*map(port_name, (port, spine))], [rail])

    def exchanged_uplinks(self):
        """Two cables between leaves and spines in each other's spine: nobody can tell the ports, as nothing says which cable was meant."""
        ends = [self.free_uplink(), self.free_uplink()]
        for port, rail in ends:
            pair = [port[0], self.fabric.peer[port][0]]
            self.expect('missing-switch-link', pair, (), pair, [rail])
        self.fabric.swap(ends[0][0], ends[1][0])

    def dead_leaf(self):
        """Of the last unit; not of the rail that opensm runs on."""
        unit, rail = self.fabric.shape.units - 1, self.rng.randrange(1, self.fabric.shape.rails)
        hosts = [h for h in self.fabric.hosts if self.fabric.unit(h) == unit]
        for port in sorted(p for p in self.fabric.peer if p[0] == self.fabric.leaf(unit, rail)):
            self.unplug(port)
        kind = 'missing-link' if unit > 1 else 'note'  # of two units nobody can tell which is right
        self.expect(kind, [self.fabric.nic(h, rail)[0] for h in hosts], (), [f'the {len(hosts)} hosts of unit {unit} have no rail {rail}'], [rail])

    def unplug(self, port):
        self.unplugged.append(port)
        self.commands.append(f'Unlink "{self.fabric.id(port[0])}"[{port[1]}]')

    def degraded(self, kind, runs_at, uplink=False):
        """What a cable runs at: '2xHDR' is half width, '4xEDR' half speed."""
        port, rail = self.free_uplink() if uplink else self.free_nic()
        ends = [port, self.fabric.peer[port]]
        self.fabric.mark(port, runs_at)
        self.expect(kind, map(port_name, ends), (), [*map(port_name, ends), runs_at, self.fabric.shape.speed], [rail])

    def counts(self, kind, counter, value, side='leaf'):
        """A counter of one end of a cable: a leaf's towards a host, the NIC's, or a spine's."""
        port, rail = self.free_uplink() if side == 'spine' else self.free_nic()
        far = self.fabric.peer[port]
        at = port if side == 'nic' else far
        self.set_counter(at, counter, value)
        self.expect(kind, map(port_name, (port, far)), (), [port_name(at), f'{counter} {value}'], [rail], is_counter=True)

    def counts_in_vain(self, counter, value):
        """A counter that is no fault: traffic, or as few as links count when they come up."""
        self.set_counter(self.fabric.peer[self.free_nic()[0]], counter, value)

    def set_counter(self, port, counter, value):
        self.commands.append(f'PerformanceSet "{self.fabric.id(port[0])}"[{port[1]}] PortCounters.{counter}={value}')

    def two_names(self):
        """Two spines with one description."""
        spines = sorted(d for d in self.fabric.guids if d.startswith('spine'))
        one, other = self.rng.sample(spines, 2)
        self.fabric.descriptions[other] = one
        self.expect('duplicate-name', [one, *(f'{self.fabric.guids[s]:016x}' for s in (one, other))], (), [one])

    def exchanged_ports(self):
        """Two hosts of one leaf in each other's port: only a plan can tell."""
        self.plan = self.fabric.plan_text()
        one, rail = self.host(), self.rng.randrange(self.fabric.shape.rails)
        nics = [self.fabric.nic(one, rail), self.fabric.nic(self.host(self.fabric.unit(one)), rail)]
        at = {nic: self.fabric.peer[nic] for nic in nics}
        self.fabric.swap(*nics)
        for nic in nics:
            there = self.fabric.peer[nic]
            self.expect('wrong-port', [nic[0], port_name(there)], [port_name(at[nic])], [nic[0], port_name(there), port_name(at[nic])], [rail])


def healthy(scene):
    """Nothing but what is no fault."""
    scene.counts_in_vain('PortRcvSwitchRelayErrors', 5000)
    scene.counts_in_vain('PortXmitWait', 1000000)
    scene.counts_in_vain('SymbolErrorCounter', 4)


def planted(scene):
    """One of each at once."""
    scene.swapped()
    scene.crossed()
    scene.missing()
    if scene.fabric.shape.units > 1:
        scene.crossed('other-unit')
        scene.missing()
    scene.missing_uplink()
    scene.degraded('narrow', '2xHDR')
    scene.degraded('narrow', '1xHDR', uplink=True)
    scene.degraded('slow', '4xEDR')
    scene.counts('cable-errors', 'SymbolErrorCounter', 912)
    scene.counts('cable-errors', 'PortRcvErrors', 120, side='nic')
    scene.counts('congestion', 'PortXmitDiscards', 48233)
    healthy(scene)


def in_the_spine(scene):
    scene.missing_uplink()
    scene.degraded('slow', '4xEDR', uplink=True)
    scene.counts('cable-errors', 'LinkDownedCounter', 255, side='spine')  # saturated


# Of every size, with more than one unit, and the rest with 8 hosts.
EVERYWHERE, WITH_UNITS = ['healthy', 'planted', 'in the spine', 'two uplinks exchanged'], ['a leaf without cables']
SCENES = {'two uplinks exchanged': Scene.exchanged_uplinks, 'a leaf without cables': Scene.dead_leaf,
          'healthy': healthy, 'planted': planted, 'in the spine': in_the_spine, 'two names': Scene.two_names,
          'two cables of a host': Scene.swapped, 'two cables of two hosts': Scene.crossed, 'a NIC without a cable': Scene.missing,
          'half width': lambda scene: scene.degraded('narrow', '2xHDR'), 'half speed': lambda scene: scene.degraded('slow', '4xEDR'),
          'two ports of one leaf': Scene.exchanged_ports}
