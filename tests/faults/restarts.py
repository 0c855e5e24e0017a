#!/usr/bin/env python3
"""A sidecar that is killed and started again at random, under load: what jobs notice of it, and what is seen of them.

    restarts.py RAILWITNESS RESTART_JOB [--kills N] [--seed N] [--results FILE] [--store]
                [--collective PROGRAM --plugin LIBRARY] [--sanitized]
    restarts.py --self-test              shows that each condition can be missed

One job (restart_job.cc) records all the time and keeps its own account of it; with --collective, jobs that move and check
data through the plugin come and go beside it. Each kill has its row. The sidecar is killed

    early       within 60 ms of its start
    handing     within 1.5 s, while jobs find it and change over
    settled     at some time after it has read everything of the long job rightly

and started again at once, soon, or after up to 2 s. A row is right if the job lives and goes on meanwhile; a settled one if

    every flow is read with the counts that the job's account has for that time, at the latest LONGEST_S after the start,
    no flow is unwitnessed and no segment is disbelieved,
    the window that nobody witnessed is told, begins at a kill, ends after this start, and has its note.

--store: this program does what systemd does for a service with FileDescriptorStoreMax=: keeps the descriptors that a sidecar
hands to it and gives them to the next one. Then the window must end with the start of the sidecar, for jobs that have not
come over too; in a `gone` row a second job ends while no sidecar runs, and the next one must tell what it left behind.

At the end: descriptors, mappings and memory of the job are what they were (not judged if --sanitized: a sanitizer keeps a
shadow of what was unmapped), and every collective was right.
Ends with `restarts: N of M right`, exit 1 unless N = M. --results keeps rows; the same command goes on from there.
"""
import argparse
import fcntl
import json
import mmap
import os
import random
import re
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../probes/sidecar'))
from sidecar_process import ask, wait_until  # noqa: E402

LONGEST_S = 10  # a second between attempts, and what a busy machine takes; what it took is told
READ_WITHIN_S = 1.0  # facts are of the last turn that thought, at most so old; more than that is told by the sidecar as late
FLOWS = 2 * 8 + 4
HEAD, FLOW = struct.Struct('=4Q'), struct.Struct('=5Q')


class Account:
    """The job's own, in a file that both map."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            self.map = mmap.mmap(file.fileno(), HEAD.size + FLOWS * FLOW.size, access=mmap.ACCESS_READ)
        self.samples = []

    def head(self):
        return dict(zip(('ready', 'lives', 'bursts', 'waits'), HEAD.unpack_from(self.map, 0)))

    def sample(self):
        """One word after the other: counts begun are read last, counts done first."""
        flows = {}
        before = time.monotonic()
        done = [FLOW.unpack_from(self.map, HEAD.size + i * FLOW.size) for i in range(FLOWS)]
        begun = [FLOW.unpack_from(self.map, HEAD.size + i * FLOW.size) for i in range(FLOWS)]
        for least, most in zip(done, begun):
            flows[least[0]] = {'posted': (least[2], most[1]), 'completed': (least[4], most[3])}
        self.samples = self.samples[-2000:] + [(before, time.monotonic(), flows)]

    def bounds(self, earliest, latest):
        """What each flow's counts may be at a time in between; None: no sample is old or new enough."""
        before = [flows for _, end, flows in self.samples if end <= earliest]
        after = [flows for begin, _, flows in self.samples if begin >= latest]
        if not before or not after:
            return None
        return {qpn: {what: (before[-1][qpn][what][0], after[0][qpn][what][1]) for what in ('posted', 'completed')}
                for qpn in after[0]}


def payload(posts):
    return posts * 100 + posts // 7 * 21 + sum(range(posts % 7))


def wrong_flows(process, bounds):
    """What of a process' facts is not so; empty: all is right."""
    flows = {flow['qpn']: flow for flow in process.get('flows', []) if flow['qpn'] in bounds}
    wrong = [f'no flow {qpn}' for qpn in bounds if qpn not in flows]
    for qpn, flow in flows.items():
        for what, (least, most) in bounds[qpn].items():
            if not least <= flow.get(what, 0) <= most:
                wrong.append(f'flow {qpn}: {what} {flow.get(what, 0)}, not {least}..{most}')
        if flow.get('posted_bytes', 0) != payload(flow.get('posted', 0)):
            wrong.append(f'flow {qpn}: {flow.get("posted_bytes", 0)} bytes in {flow.get("posted", 0)} posts')
    for what in ('unwitnessed_flows', 'unwitnessed_events'):
        if process.get(what):
            wrong.append(f'{what} {process[what]}')
    if process.get('segment_problem'):
        wrong.append(process['segment_problem'])
    return wrong


def wrong_window(process, notes, kills, started, seen, must_end_ns=None):
    begin, end = (process.get(f'alone_{what}_mono_ns') for what in ('begin', 'end'))
    if begin is None or end is None:
        return ['the window that nobody witnessed is not told']
    begin, end = begin / 1e9, end / 1e9
    wrong = []
    if not any(kill <= begin for kill in kills):
        wrong.append('the window begins before a sidecar was killed')
    if not started <= end <= seen:
        wrong.append(f'the window ends {end - started:.3f} s after the start, and was told {seen - started:.3f} s after it')
    if must_end_ns and process['alone_end_mono_ns'] != must_end_ns:
        wrong.append(f'a kept segment is read from the start on, not from {end - must_end_ns / 1e9:.3f} s later')
    if not any(re.fullmatch(rf'process {process["pid"]} was unwitnessed for .+', note) for note in notes):
        wrong.append('no note has the window')
    return wrong


class Store(threading.Thread):
    """As systemd's for one service, sd_notify(3): takes what comes, gives it to the next sidecar."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.path, self.lock, self.kept, self.ready, self.unknown = f'{folder}/notify', threading.Lock(), {}, 0, []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.start()

    def run(self):
        while True:
            message, descriptors, _, _ = socket.recv_fds(self.socket, 4096, 8)
            fields = dict(line.split('=', 1) for line in message.decode().splitlines())
            with self.lock:
                if fields == {'READY': '1'}:
                    self.ready += 1
                elif fields.get('FDSTORE') == '1' and len(descriptors) == 1 and len(fields['FDNAME']) <= 255 and ':' not in fields['FDNAME']:
                    self.kept.setdefault(fields['FDNAME'], []).append(descriptors[0])
                elif fields.get('FDSTOREREMOVE') == '1':
                    for descriptor in self.kept.pop(fields['FDNAME'], []):
                        os.close(descriptor)
                else:
                    self.unknown.append(message)

    def has(self, pid):
        with self.lock:
            return any(name.split('.')[1] == str(pid) for name in self.kept)

    def launch(self, command, **more):
        """The next sidecar, with what is kept as descriptors 3 and on. They are copies: it may close its own."""
        with self.lock:
            named = [(name, descriptor) for name, list_of in self.kept.items() for descriptor in list_of]
            first = 600  # out of the way of 3 to 3 + n
            copies = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, first) for _, descriptor in named]
        moves = ' '.join(f'{3 + i}<&{copy}' for i, copy in enumerate(copies))
        closes = ' '.join(f'{copy}<&-' for copy in copies)
        script = f'export LISTEN_PID=$$; exec "$@" {moves} {closes}'
        environment = {**os.environ, 'NOTIFY_SOCKET': self.path, 'LISTEN_FDS': str(len(copies)),
                       'LISTEN_FDNAMES': ':'.join(name for name, _ in named)}
        process = subprocess.Popen(['bash', '-c', script, 'bash', *command], pass_fds=copies, env=environment, **more)
        for copy in copies:
            os.close(copy)
        return process


class Load(threading.Thread):
    """Jobs one after the other, each of which checks what it moves."""

    def __init__(self, program, plugin, environment, rng):
        super().__init__(daemon=True)
        self.command = [program, '--plugin', plugin, '--schedule', 'ring', '-n', '2', '--min', '64K', '--max', '1M',
                        '--factor', '16']
        self.environment, self.rng, self.over, self.right, self.wrong = environment, rng, threading.Event(), 0, []

    def run(self):
        while not self.over.is_set():
            job = subprocess.run([*self.command, '--seconds', f'{self.rng.uniform(0.05, 2):.2f}'], env=self.environment,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if job.returncode == 0:
                self.right += 1
            else:
                self.wrong.append(job.stdout[-2000:])


class Bed:
    def __init__(self, railwitness, restart_job, folder, with_store):
        self.railwitness, self.restart_job, self.folder = railwitness, restart_job, folder
        self.store = Store(folder) if with_store else None
        self.socket, self.control = f'{folder}/sidecar.sock', f'{folder}/control.sock'
        self.log = open(f'{folder}/log', 'ab')
        self.sidecar, self.started = None, 0
        self.kills = [time.monotonic()]  # and, before the first, the start of the job
        truth = f'{folder}/truth'
        self.job = subprocess.Popen([restart_job, self.socket, truth])
        wait_until(lambda: os.path.exists(truth) and os.path.getsize(truth), 10)
        self.account = Account(truth)
        assert wait_until(lambda: self.account.head()['ready'], 10), 'the job does not begin'

    def start(self):
        self.started = time.monotonic()
        command = [self.railwitness, 'sidecar', '--json', '--socket', self.socket, '--control-socket', self.control,
                   '--lldp-command', '']
        self.was_kept = self.store and self.store.has(self.job.pid)
        launch = self.store.launch if self.store else subprocess.Popen
        self.sidecar = launch(command, stdout=subprocess.DEVNULL, stderr=self.log)

    def kill(self, how):
        self.kills.append(time.monotonic())
        self.sidecar.send_signal(how)
        status = self.sidecar.wait()
        return status in (-how, 0) and (status != 0 or how == signal.SIGTERM)

    def facts(self):
        return ask(self.control)

    def state_of_job(self):
        status = open(f'/proc/{self.job.pid}/status').read()
        return {'descriptors': len(os.listdir(f'/proc/{self.job.pid}/fd')),
                'mappings': len(open(f'/proc/{self.job.pid}/maps').readlines()),
                'rss_kib': int(re.search(r'VmRSS:\s+(\d+)', status).group(1))}

    def await_right(self):
        """Seconds until all of the job is read rightly, what is told then, and what was wrong last."""
        wrong = ['the sidecar does not answer']
        while time.monotonic() - self.started < LONGEST_S:
            self.account.sample()
            facts = self.facts()
            seen = time.monotonic()
            self.account.sample()
            process = next((p for p in (facts or {}).get('processes', []) if p['pid'] == self.job.pid), None)
            if process:
                taken = facts['taken_mono_ns'] / 1e9
                bounds = self.account.bounds(taken - READ_WITHIN_S - facts.get('late_ns', 0) / 1e9, seen)
                if bounds is None:  # no sample is so old yet
                    time.sleep(0.05)
                    continue
                wrong = wrong_flows(process, bounds) or wrong_window(process, facts.get('notes', []), self.kills,
                                                                     self.started, seen, facts['sidecar_start_mono_ns'] if self.was_kept else None)
                if not wrong:
                    return {'right_s': seen - self.started, 'wrong': [],
                            'unwitnessed_s': (process['alone_end_mono_ns'] - process['alone_begin_mono_ns']) / 1e9}
            elif facts:
                wrong = ['the job has no segment of this sidecar']
            time.sleep(0.02)
        return {'right_s': None, 'wrong': wrong[:5]}

    def end(self):
        for process in (self.sidecar, self.job):
            if process and process.poll() is None:
                process.kill()
                process.wait()


def leave_behind(bed):
    """A second job: over to this sidecar, which is killed; then the job. What the next sidecar says of it that is wrong."""
    truth = f'{bed.folder}/second'
    job = subprocess.Popen([bed.restart_job, bed.socket, truth])
    try:
        listed = lambda: next((p for p in (bed.facts() or {}).get('processes', []) if p['pid'] == job.pid), {})
        if not wait_until(lambda: len(listed().get('flows', [])) >= FLOWS, LONGEST_S):
            return ['the second job is not read']
        bed.kill(signal.SIGKILL)
        job.kill()
        job.wait()
        account = Account(truth)
        account.sample()
        bounds = account.bounds(time.monotonic(), 0)
        bed.start()
        if not wait_until(lambda: listed().get('state') == 'gone', LONGEST_S):
            return [f'the second job is told as {listed().get("state", "never there")}']
        gone = listed()
        return wrong_flows(gone, bounds)
    finally:
        job.kill()
        job.wait()
        os.remove(truth)


def one_row(bed, number, rng):
    kind = rng.choice(('early', 'handing', 'settled', 'settled', 'gone') if bed.store else
                      ('early', 'handing', 'settled', 'settled'))
    down = rng.choice((0, rng.uniform(0, 0.3), rng.uniform(0.3, 2)))
    how = signal.SIGTERM if rng.random() < 0.1 else signal.SIGKILL
    before = bed.account.head()['bursts']
    bed.start()
    row = {'number': number, 'kind': kind, 'down_s': down, 'signal': how.name, 'wrong': []}
    if kind == 'settled':
        row.update(bed.await_right())
        row.update(bed.state_of_job())
        time.sleep(rng.uniform(0, 1))
    elif kind == 'gone':
        row['wrong'] = leave_behind(bed)
    else:
        time.sleep(rng.uniform(0, 0.06 if kind == 'early' else 1.5))
    if bed.sidecar.poll() is not None:
        row['wrong'].append(f'the sidecar ended by itself, status {bed.sidecar.returncode}')
    elif not bed.kill(how):
        row['wrong'].append('the sidecar did not end as it was told')
    time.sleep(down)
    if bed.job.poll() is not None:
        row['wrong'].append('the job is gone')
    elif not wait_until(lambda: bed.account.head()['bursts'] > before, 5):
        row['wrong'].append('the job does not go on')
    row['right'] = not row['wrong']
    return row


def line_of(row):
    seen = ''
    if row.get('right_s') is not None:
        seen = f'all right after {row["right_s"]:5.2f} s, unwitnessed {row["unwitnessed_s"]:5.2f} s'
    return (f'{row["number"]:4} {row["kind"]:8} {row["signal"]:7} then down {row["down_s"]:4.2f} s  {seen}'
            f'{"" if row["right"] else "  WRONG: " + "; ".join(row["wrong"])}')


def grown(rows):
    """What of the job is more at the end than after its first three takeovers. A segment's pages come with its lines."""
    settled = [row for row in rows if 'descriptors' in row]
    if len(settled) < 6:
        return []
    first, last = settled[2], settled[-1]
    most = {'descriptors': 0, 'mappings': 8, 'rss_kib': 8 << 10}
    return [f'{what} {first[what]}, later {last[what]}' for what, more in most.items() if last[what] > first[what] + more]


def summary(rows, bed, load, sanitized):
    times = sorted(row['right_s'] for row in rows if row.get('right_s') is not None)
    windows = [row['unwitnessed_s'] - row['down_s'] for row in rows if row.get('unwitnessed_s') is not None]
    if times:
        print(f'all of the job read rightly after a start: median {statistics.median(times):.2f} s, worst {times[-1]:.2f} s')
        print(f'unwitnessed: longest {max(row["unwitnessed_s"] for row in rows if row.get("unwitnessed_s") is not None):.2f} s')
    head = bed.account.head()
    print(f'the job: {head["bursts"]} bursts, in which it waited {head["waits"]} times; {head["lives"]} short flows')
    checks = []
    if sanitized:
        print('what the job grows by is not judged: it is sanitized')
    else:
        checks.append(('the job grows', not grown(rows), '; '.join(grown(rows))))
    if bed.store:
        count, unknown = len(bed.store.kept), bed.store.unknown
        print(f'the store: {count} segments, READY {bed.store.ready} times')
        checks.append(('the store holds one segment of each process', 1 <= count <= 4 and not unknown, f'{count} {unknown[:2]}'))
    if load:
        print(f'collectives beside it: {load.right} right, {len(load.wrong)} wrong')
        checks.append(('collectives', load.right > 0 and not load.wrong, '\n'.join(load.wrong[:1])))
    right = sum(row['right'] for row in rows)
    for name, is_right, why in checks:
        right += is_right
        if not is_right:
            print(f'WRONG: {name}: {why}')
    print(f'restarts: {right} of {len(rows) + len(checks)} right')
    return right == len(rows) + len(checks)


def self_test():
    job = {'pid': 1, 'flows': [{'qpn': 7, 'posted': 3, 'completed': 2, 'posted_bytes': payload(3)}],
           'alone_begin_mono_ns': 2_000_000_000, 'alone_end_mono_ns': 4_000_000_000}
    bounds = {7: {'posted': (2, 4), 'completed': (2, 2)}}
    notes = ['process 1 was unwitnessed for 2.0 s']
    flow = lambda **more: {**job, 'flows': [{**job['flows'][0], **more}]}
    window = lambda process, notes=notes, kills=(1.0,): wrong_window(process, notes, kills, 3.0, 5.0)
    row = lambda **more: {'descriptors': 9, 'mappings': 40, 'rss_kib': 20000, **more}
    cases = [('a right process', not wrong_flows(job, bounds) and not window(job)),
             ('too few posts', wrong_flows(flow(posted=1, posted_bytes=payload(1)), bounds)),
             ('too many posts', wrong_flows(flow(posted=5, posted_bytes=payload(5)), bounds)),
             ('bytes of another count', wrong_flows(flow(posted_bytes=payload(2)), bounds)),
             ('a missing flow', wrong_flows({**job, 'flows': []}, bounds)),
             ('an unwitnessed flow', wrong_flows({**job, 'unwitnessed_flows': 1}, bounds)),
             ('a disbelieved segment', wrong_flows({**job, 'segment_problem': 'x'}, bounds)),
             ('no window', window({'pid': 1})),
             ('a window before any kill', window(job, kills=(2.5,))),
             ('a window that ended before the start', window({**job, 'alone_end_mono_ns': 2_500_000_000})),
             ('no note', window(job, notes=[])),
             ('a kept segment that was read late', wrong_window(job, notes, (1.0,), 3.0, 5.0, 3_000_000_000)),
             ('a leaked descriptor', grown([row()] * 6 + [row(descriptors=10)])),
             ('leaked memory', grown([row()] * 6 + [row(rss_kib=40000)])),
             ('nothing leaked', not grown([row()] * 7)),
             ('payload', payload(9) == sum(100 + i % 7 for i in range(9)))]
    right = sum(bool(found) for _, found in cases)
    for name, found in cases:
        if not found:
            print(f'not found: {name}')
    print(f'restarts_self_test: {right} of {len(cases)} right')
    return 0 if right == len(cases) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('railwitness', nargs='?')
    parser.add_argument('restart_job', nargs='?')
    parser.add_argument('--kills', type=int, default=200)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--results', help='file of rows')
    parser.add_argument('--collective', help='bench/collective')
    parser.add_argument('--plugin', help='libnccl-net-railwitness.so')
    parser.add_argument('--store', action='store_true', help='keep descriptors as systemd does')
    parser.add_argument('--sanitized', action='store_true', help='the job is built with a sanitizer: its memory is not judged')
    parser.add_argument('--self-test', action='store_true')
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if not options.restart_job or bool(options.collective) != bool(options.plugin):
        parser.error('needs RAILWITNESS and RESTART_JOB, and --collective with --plugin')
    rows = []
    if options.results and os.path.exists(options.results):
        rows = [json.loads(line) for line in open(options.results)]
    with tempfile.TemporaryDirectory(prefix='railwitness-restarts-') as folder:
        bed = Bed(os.path.abspath(options.railwitness), os.path.abspath(options.restart_job), folder, options.store)
        load = None
        try:
            if options.collective:
                environment = {**os.environ, 'RAILWITNESS_MODE': 'ofi', 'RAILWITNESS_SOCKET': bed.socket,
                               'NCCL_SOCKET_IFNAME': 'lo'}
                load = Load(options.collective, options.plugin, environment, random.Random(options.seed))
                load.start()
            while len(rows) < options.kills:
                row = one_row(bed, len(rows), random.Random(f'{options.seed}:{len(rows)}'))
                rows.append(row)
                print(line_of(row), flush=True)
                if options.results:
                    with open(options.results, 'a') as file:
                        file.write(json.dumps(row) + '\n')
            if load:
                load.over.set()
                load.join(120)
            return 0 if summary(rows, bed, load, options.sanitized) else 1
        finally:
            bed.end()


if __name__ == '__main__':
    sys.exit(main())
