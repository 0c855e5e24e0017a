#!/usr/bin/env python3
"""What being witnessed costs a job and the sidecar beside it, by the number of flows, against the budgets.

    cost.py FLOW_COST RAILWITNESS          of a build: BUILD/bench/flow_cost BUILD/bin/railwitness

Runs jobs of 8, 256 and 4608 flows (a rank of a 2304-rank all-to-all) on a verbs provider that does nothing, so that all
that is counted is ours, each beside a sidecar of its own; then eight jobs of 4608 flows beside one, as on a node of eight
GPUs. Counts are exact; memory is what the kernel says. Ends with `cost: N of M right`, exit 1 unless N = M. The processor
time of a connection is told on a machine that may be busy, which the budget is far from; instructions are exact.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, f'{TESTS}/probes/sidecar')
from sidecar_process import Sidecar  # noqa: E402

SIZES = (8, 256, 4608)
SEGMENTS = {8: 1, 256: 2, 4608: 5}  # the next one is asked for when three quarters of the lines are taken
KIB_A_FLOW = 8.5  # a flow's lines: 128 + 128 + 256 + 128 x 64 bytes
results = []


def check(text, condition, detail=''):
    results.append(bool(condition))
    if not condition:
        print(f'wrong: {text} {detail}')


class Job:
    def __init__(self, program, socket, flows):
        self.process = subprocess.Popen([program, 'hold', socket, str(flows)], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.stages = {}

    def wait_until(self, stage):
        while stage not in self.stages:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f'job ended before "{stage}"')
            said = json.loads(line)
            self.stages[said['stage']] = said
        return self.stages[stage]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def instructions(program, mode, flows):
    run = subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', '--toggle-collect=measured',
                          program, 'open', mode, str(flows)], text=True, stderr=subprocess.PIPE, check=True)
    return int(re.search(r'Collected : (\d+)', run.stderr).group(1))


def one_job(program, railwitness, flows):
    with tempfile.TemporaryDirectory() as folder:
        sidecar = Sidecar(railwitness, folder)
        time.sleep(1)
        idle = sidecar.status()
        job = Job(program, sidecar.socket, flows)
        full = job.wait_until('full')
        time.sleep(1)
        row = {'flows': flows, **job.stages, 'sidecar': sidecar.status(), 'idle': idle, 'share': sidecar.share(),
               'seen': sidecar.seen()}
        job.end()
        sidecar.end()
    before, begun, connected, posted = (job.stages[s] for s in ('before', 'begun', 'connected', 'posted'))
    check(f'{flows}: a sidecar was there', full['sidecar'] == 1)
    check(f'{flows}: all flows are witnessed', full['flows'] == flows and full['unwitnessed'] == 0, full)
    check(f'{flows}: the sidecar sees all', row['seen'] == ({job.process.pid: flows}, 0), row['seen'])
    check(f'{flows}: one thread', full['threads'] - before['threads'] == 1, full)
    check(f'{flows}: one descriptor', full['descriptors'] - before['descriptors'] == 1, full)
    check(f'{flows}: segments', full['parts'] == SEGMENTS[flows], full)
    check(f'{flows}: a process without flows takes 128 KiB at most',
          begun['private_kib'] + begun['segment_kib'] <= 128, begun)
    per_flow = lambda stage, key: (stage[key] - begun[key]) / flows
    slack = 64 / flows  # pages that are begun
    check(f'{flows}: a flow that has not posted takes 1 KiB at most',
          per_flow(connected, 'segment_kib') + per_flow(connected, 'private_kib') <= 1 + 2 * slack + 64 / flows, connected)
    check(f'{flows}: a flow in full use takes its lines', per_flow(full, 'segment_kib') <= KIB_A_FLOW + 0.25 + slack, full)
    check(f'{flows}: and half a KiB of private memory', per_flow(full, 'private_kib') <= 0.5 + 2 * slack, full)
    connect_ns = (connected['cpu_ns'] + posted['cpu_ns']) / flows
    check(f'{flows}: connect takes 2 ms of processor time at most', connect_ns <= 2e6, connect_ns)
    check(f'{flows}: the sidecar has its socket and its segments',
          row['sidecar']['descriptors'] - idle['descriptors'] == 1 + SEGMENTS[flows], row['sidecar'])
    check(f'{flows}: and no further thread', row['sidecar']['threads'] == idle['threads'], row['sidecar'])
    row['connect_us'] = connect_ns / 1e3
    row['idle_flow_kib'] = per_flow(connected, 'segment_kib') + per_flow(connected, 'private_kib')
    row['flow_kib'] = per_flow(full, 'segment_kib') + per_flow(full, 'private_kib')
    return row


def eight_jobs(program, railwitness):
    with tempfile.TemporaryDirectory() as folder:
        sidecar = Sidecar(railwitness, folder)
        jobs = [Job(program, sidecar.socket, 4608) for _ in range(8)]
        for job in jobs:
            job.wait_until('full')
        time.sleep(1)
        seen, unwitnessed = sidecar.seen()
        share, status = sidecar.share(), sidecar.status()
        for job in jobs:
            job.end()
        time.sleep(1)
        after = sidecar.status()
        sidecar.end()
    check('8 x 4608: all are seen', seen == {job.process.pid: 4608 for job in jobs}, seen)
    check('8 x 4608: none unwitnessed', unwitnessed == 0, unwitnessed)
    check('8 x 4608: the sidecar takes 64 MiB at most', status['peak_kib'] <= 64 * 1024, status)
    return {'share': share, 'after': after, **status}


def print_table(rows, node, per_flow_instructions):
    columns = ['flows of the process'] + [str(r['flows']) for r in rows]
    table = [
        ('**in the job**', lambda r: ''),
        ('threads', lambda r: r['full']['threads'] - r['before']['threads']),
        ('descriptors', lambda r: r['full']['descriptors'] - r['before']['descriptors']),
        ('segments', lambda r: r['full']['parts']),
        ('memory without flows, KiB', lambda r: r['begun']['private_kib'] + r['begun']['segment_kib']),
        ('memory of a flow that has not posted, KiB', lambda r: f'{r["idle_flow_kib"]:.1f}'),
        ('memory of a flow in full use, KiB', lambda r: f'{r["flow_kib"]:.1f}'),
        ('memory in all, flows in full use, KiB: segments', lambda r: r['full']['segment_kib']),
        ('the same: private', lambda r: r['full']['private_kib']),
        ('processor time to connect a flow, µs', lambda r: f'{r["connect_us"]:.0f}'),
        ('processor time to begin, µs', lambda r: f'{r["begun"]["cpu_ns"] / 1e3:.0f}'),
        ('**in the sidecar, for this process**', lambda r: ''),
        ('descriptors', lambda r: r['sidecar']['descriptors'] - r['idle']['descriptors']),
        ('threads', lambda r: r['sidecar']['threads'] - r['idle']['threads']),
        ('memory, KiB', lambda r: r['sidecar']['rss_kib'] - r['idle']['rss_kib']),
        ('processor, share of a core while nothing happens', lambda r: f'{r["share"]:.3f}'),
    ]
    print('| ' + ' | '.join(columns) + ' |\n|' + '---|' * len(columns))
    for name, value in table:
        print('| ' + ' | '.join([name] + [str(value(r)) for r in rows]) + ' |')
    print(f'\nA sidecar without jobs: {rows[0]["idle"]["rss_kib"]} KiB, {rows[0]["idle"]["threads"]} thread(s), '
          f'{rows[0]["idle"]["descriptors"]} descriptors. With eight processes of 4608 flows: {node["rss_kib"]} KiB '
          f'({node["peak_kib"]} at most), {node["descriptors"]} descriptors, {node["share"]:.3f} of a core; '
          f'{node["after"]["rss_kib"]} KiB after they ended.')
    if per_flow_instructions is not None:
        print(f'Connecting a flow: {per_flow_instructions:.0f} instructions of ours (create, three times modify, first post and '
              'completion), without the kernel and the question to verbs for the own address.')


def main():
    if len(sys.argv) != 3 or not all(map(os.path.isfile, sys.argv[1:])):
        sys.exit(__doc__)
    program, railwitness = sys.argv[1:]
    rows = [one_job(program, railwitness, flows) for flows in SIZES]
    node = eight_jobs(program, railwitness)
    added = None
    if subprocess.run(['which', 'valgrind'], stdout=subprocess.DEVNULL).returncode == 0:
        added = (instructions(program, 'tapped', 512) - instructions(program, 'plain', 512)) / 512
        # 2 ms are millions of instructions; this one is there to notice a loop over all flows.
        check('connecting a flow takes 12000 instructions at most', added <= 12000, added)
        many = (instructions(program, 'tapped', 4608) - instructions(program, 'plain', 4608)) / 4608
        check('and no more where there are many', many <= 1.1 * added, (added, many))
    print_table(rows, node, added)
    print(f'cost: {sum(results)} of {len(results)} right')
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
