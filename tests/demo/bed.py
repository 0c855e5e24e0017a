"""The bed of the demo, inside the virtual machine of tests/rdma_vm or the namespaces of tests/netns, which have the same
commands: its nodes, the NCCL job on them, and the faults.

Used by demo.py only.  Everything runs as root in the bed; faults are injected and undone here, and the truth about
them (which switch port it was) is asked of the bed itself, never of what is under test.
"""
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
NCCL_JOB = HERE.parent / 'rdma_vm' / 'nccl_job.sh'
NATS_URL = 'nats://192.168.77.254:4222'
SCRATCH = pathlib.Path(os.environ.get('BED_SCRATCH', '/tmp'))   # in memory, seen by all nodes
# By mode of the plugin: what a host's devices are called before HOSTrRAIL, and what the job needs to be told.
DEVICES = {'tap': 'rxe_h', 'ofi': 'h'}


@dataclasses.dataclass
class Place:
    """Where a fault is: a host's port on a rail, or the rank on that host."""
    host: int
    rail: int
    mode: str
    switch: str = ''
    switch_port: str = ''

    def __post_init__(self):
        answer = subprocess.run(['rail', 'where', str(self.host), str(self.rail)], check=True, text=True, stdout=subprocess.PIPE)
        self.switch, self.switch_port = answer.stdout.strip().split(':')

    @property
    def node(self):
        return f'host{self.host}'

    @property
    def device(self):
        return f'{DEVICES[self.mode]}{self.host}r{self.rail}'


class Speaker:
    """A process whose standard output is JSON lines; each is kept with the moment it arrived."""

    def __init__(self, name, command, log, heard):
        self.name = name
        self.log = open(log, 'w')
        self.out = open(f'{log}.jsonl', 'w')
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.thread = threading.Thread(target=self._listen, args=(heard,), daemon=True)
        self.thread.start()

    def _listen(self, heard):
        for line in self.process.stdout:
            self.out.write(f'{time.monotonic():.3f} {line}')
            self.out.flush()
            try:
                what = json.loads(line)
            except ValueError:
                what = {'type': 'unparsable', 'line': line.strip()}
            heard(self.name, what)

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        if self.alive():
            self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Heard:
    """All that was said, in order of arrival: (monotonic seconds, speaker, object)."""

    def __init__(self):
        self.lines = []
        self.changed = threading.Condition()

    def add(self, speaker, what):
        with self.changed:
            self.lines.append((time.monotonic(), speaker, what))
            self.changed.notify_all()

    def since(self, moment):
        with self.changed:
            return [line for line in self.lines if line[0] >= moment]

    def wait(self, seconds):
        with self.changed:
            self.changed.wait(seconds)


class Job:
    """train_loop on every host, over NCCL's own net_ib or over the plugin's transport."""

    def __init__(self, mode, programs, hosts, arguments):
        self.directory = SCRATCH / 'job'
        self.mode = mode
        self.programs = programs
        self.hosts = hosts
        self.arguments = arguments
        self.log_sizes = {}

    def _run(self, *arguments, **more):
        return subprocess.run([str(NCCL_JOB), *map(str, arguments)], stdin=subprocess.DEVNULL, **more)

    def start(self, environment):
        done = self._run('start', self.directory, self.programs, *self.arguments, 
                         env={**os.environ, 'NCCL_JOB_DEVICES': DEVICES[self.mode], **environment})
        return done.returncode == 0

    def stop(self):
        return self._run('stop', self.directory).returncode == 0

    def pid(self, rank):
        return int((self.directory / f'{rank}.pid').read_text())

    def progress(self, rank):
        """(monotonic seconds, number, wrong elements) of the rank's last complete iteration."""
        with open(self.directory / f'{rank}.status', 'rb') as f:
            f.seek(max(0, f.seek(0, os.SEEK_END) - 200))
            last = f.read().decode().rstrip('\n').rsplit('\n', 1)[-1].split()
        return float(last[0]), int(last[1]), int(last[2])

    def slowest(self):
        return min((self.progress(rank) for rank in range(self.hosts)), key=lambda p: p[1])

    def wait_for_iterations(self, count, seconds):
        """Waits until every rank has done `count` more.  Returns when the first of them was done, or None."""
        before = max(self.progress(rank)[1] for rank in range(self.hosts))
        first, end = None, time.monotonic() + seconds
        while time.monotonic() < end:
            moment, number, _ = self.slowest()
            if first is None and number > before:
                first = moment
            if number >= before + count:
                return first
            if any((self.directory / f'{rank}.exit').exists() for rank in range(self.hosts)):
                return None
            time.sleep(0.2)
        return None

    def nccl_said(self):
        """Lines that NCCL has logged since the last call, as (rank, line)."""
        new = []
        for rank in range(self.hosts):
            path = self.directory / f'{rank}.nccl'
            if not path.exists():
                continue
            with open(path, 'rb') as f:
                f.seek(self.log_sizes.get(rank, 0))
                text = f.read()
            self.log_sizes[rank] = self.log_sizes.get(rank, 0) + len(text)
            new += [(rank, line) for line in text.decode(errors='replace').splitlines() if ' WARN ' in line]
        return new


class Bed:
    def __init__(self, directory, hosts):
        self.directory = pathlib.Path(directory)
        self.hosts = hosts
        self.heard = Heard()
        self.speakers = []
        self.nats = None

    def start_fabric(self):
        subprocess.run(['lldp', 'start'], check=True, stdin=subprocess.DEVNULL)

    def start_railwitness(self, program):
        """The bus and the correlator on the management node, a sidecar on every host."""
        self.nats = subprocess.Popen(
            ['onmgmt', 'nats-server', '-js', '-a', '192.168.77.254', '-p', '4222', '-sd', str(SCRATCH / 'nats')],
            stdin=subprocess.DEVNULL, stdout=open(self.directory / 'nats.log', 'w'), stderr=subprocess.STDOUT)
        time.sleep(1)
        self._speak('correlate', ['onmgmt', program, 'correlate', '--nats', NATS_URL, '--json'])
        for host in range(self.hosts):
            self._speak(f'host{host}', ['onhost', str(host), 'bash', '-c', 'mkdir -p /run/railwitness; exec "$@"', '-',
                                        program, 'sidecar', '--nats', NATS_URL, '--json'])
        time.sleep(2)
        for speaker in self.speakers:
            if not speaker.alive():
                raise RuntimeError(f'{speaker.name} has ended: {open(speaker.log.name).read()[-2000:]}')

    def _speak(self, name, command):
        self.speakers.append(Speaker(name, command, self.directory / f'{name}.log', self.heard.add))

    def stop(self):
        for speaker in self.speakers:
            speaker.stop()
        if self.nats:
            self.nats.terminate()

    def inject(self, kind, place, job):
        if kind == 'carrier':
            self._rail('down', place)
        elif kind == 'blackhole':
            self._rail('drop', place)
        elif kind == 'stop':
            os.kill(job.pid(place.host), signal.SIGSTOP)
        elif kind == 'compute':
            os.kill(job.pid(place.host), signal.SIGUSR1)

    def heal(self, kind, place, job):
        if kind == 'carrier':
            self._rail('up', place)
        elif kind == 'blackhole':
            self._rail('clear', place)
        elif kind == 'stop':
            os.kill(job.pid(place.host), signal.SIGCONT)

    @staticmethod
    def _rail(action, place):
        subprocess.run(['rail', action, str(place.host), str(place.rail)], check=True)
