#!/usr/bin/env python3
"""The plugin notices that its recorder has become slow, keeps only counters, says so, and comes back.

    self_measure.py SLOW_JOB RAILWITNESS

The whole way: a job with a recorder that can be slowed, a real sidecar, what `railwitness ls` prints. Half a minute. Ends
with `self_measure: N of M right`, exit 1 unless N = M.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

LIMIT = 20         # permille, the knob
RATE = 5000        # transfers a second: two events each
SLOW_NS = 8000     # of a reading of the clock: 80 permille
results = []


def check(text, condition, detail=''):
    results.append(bool(condition))
    if not condition:
        print(f'wrong: {text}: {detail}')


class Bed:
    def __init__(self, program, railwitness, folder):
        self.railwitness, self.control = railwitness, f'{folder}/control.sock'
        log = open(f'{folder}/sidecar.log', 'w')
        self.sidecar = subprocess.Popen(
            [railwitness, 'sidecar', '--socket', f'{folder}/sidecar.sock', '--control-socket', self.control,
             '--lldp-command', ''], stdout=log, stderr=log)
        while not os.path.exists(self.control):
            time.sleep(0.05)
            if self.sidecar.poll() is not None:
                raise SystemExit(f'sidecar does not start: {open(log.name).read()}')
        self.job = subprocess.Popen(
            [program, f'{folder}/sidecar.sock', str(RATE)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=dict(os.environ, RAILWITNESS_JOB='train', RAILWITNESS_COST_MAX_PERMILLE=str(LIMIT)))

    def ls(self, *options):
        return subprocess.run([self.railwitness, 'ls', '--control-socket', self.control, *options], text=True,
                              stdout=subprocess.PIPE, check=True).stdout

    def process(self):
        """Facts of the job; of before it has come: nothing."""
        found = [p for p in json.loads(self.ls('--json'))['processes'] if p['pid'] == self.job.pid]
        return found[0] if found else {}

    def cost(self):
        return self.process().get('witness_cost', {})

    def tell(self, line):
        self.job.stdin.write(line + '\n')
        self.job.stdin.flush()
        return json.loads(self.job.stdout.readline())

    def wait(self, holds, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if holds(self.cost()):
                return True
            time.sleep(0.2)
        return False

    def end(self):
        self.job.stdin.close()
        self.job.wait()
        self.sidecar.terminate()
        self.sidecar.wait()


def check_as_usual(bed):
    check('the cost is measured', bed.wait(lambda c: c.get('events', 0) >= 64), bed.cost())
    cost = bed.cost()
    check('it is below the limit', 0 < cost.get('ppm', 0) < LIMIT * 1000, cost)
    check('recording is whole', not cost.get('counters_only'), cost)
    shown = re.search(r'  ([\d.]+) %', bed.ls())
    ppms = sorted([cost['ppm'], bed.cost()['ppm']])  # it may be measured anew in between
    check('ls shows it', shown and ppms[0] - 100 <= float(shown[1]) * 1e4 <= ppms[1] + 100, (ppms, bed.ls()))


def check_slow(bed):
    slow = bed.tell(f'slow {SLOW_NS}')
    check('a slow clock costs the job', slow['transfer_ns'] > 2 * SLOW_NS, slow)
    check('only counters are kept', bed.wait(lambda c: c.get('counters_only')), bed.cost())
    cost, screen = bed.cost(), bed.ls()
    print(''.join(f'{line}\n' for line in screen.splitlines() if 'counters only' in line), end='')
    check('the cost that was seen is above the limit', cost['since_ppm'] > LIMIT * 1000, cost)
    check('an event takes what the clock takes', SLOW_NS * 0.8 < cost['event_ns'] < SLOW_NS * 3, cost)
    note = [line for line in screen.splitlines() if line.startswith('note: job train')]
    check('a note tells people, with limit and time',
          len(note) == 1 and f'COST_MAX_PERMILLE allows {LIMIT}: counters only since 2' in note[0] and
          f'{cost["since_ppm"] / 1000:.1f} permille' in note[0], screen)
    return slow


def check_counters(bed, slow):
    before = bed.process()['flows'][0]
    relieved = bed.tell('look')
    after = bed.process()['flows'][0]
    check('the job is relieved', relieved['transfer_ns'] < slow['transfer_ns'] / 2, (relieved, slow))
    moved = after['posted'] - before['posted']
    check('posts are counted', moved >= relieved['transfers'] / 4 > 0, (before, after, relieved))
    check('bytes are counted', after['posted_bytes'] - before['posted_bytes'] == 4096 * moved, (before, after))
    check('completions are counted', after['completed'] >= after['posted'] - 1, after)
    bed.tell('hold')
    held = bed.process()['flows'][0]
    check('a request that is not finished is seen', held['posted'] == held['completed'] + 1, held)
    facts = json.loads(bed.ls('--json'))
    age = (facts['taken_mono_ns'] - facts['processes'][0]['flows'][0]['oldest_post_mono_ns']) / 1e9
    check('and how long it has been so, by the tick of the helper', 0.8 < age < 30, age)
    bed.tell('go on')


def check_back(bed):
    bed.tell('slow 0')
    check('recording is whole again', bed.wait(lambda c: not c.get('counters_only', True) or (c and 'counters_only' not in c)), bed.cost())
    check('it was reduced once', bed.cost()['reductions'] == 1, bed.cost())
    check('the note is gone', 'counters only' not in bed.ls(), bed.ls())
    last = bed.tell('look')
    flow = bed.process()['flows'][0]
    check('and counts go on', last['transfers'] > 0 and flow['completed'] > 0, (last, flow))


def main():
    with tempfile.TemporaryDirectory() as folder:
        bed = Bed(sys.argv[1], sys.argv[2], folder)
        check_as_usual(bed)
        slow = check_slow(bed)
        check_counters(bed, slow)
        check_back(bed)
        bed.end()
    print(f'self_measure: {sum(results)} of {len(results)} right')
    return 0 if all(results) else 1


sys.exit(main())
