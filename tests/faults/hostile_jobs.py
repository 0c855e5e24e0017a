#!/usr/bin/env python3
"""Hostile jobs beside a running sidecar: what each does to the daemon, to an honest job, and what is said of it.

    hostile_jobs.py RAILWITNESS HOSTILE_JOB [--short] [--only NAME,...] [--results FILE]
    hostile_jobs.py --self-test          shows that each bound can be missed

Attacks are on the segment (hostile_job.cc) and on the hand-over socket (socket_attacks.py). As root they come from another
user than the honest job and the sidecar. Each has its row; it is right if

    the sidecar lives, and gives back what the attacker had of it (descriptors) within 6 s,
    its memory grows by 64 MiB at most,
    no turn of its loop takes more than 50 ms of processor time: so long is the next reading of all jobs put off at most
    (time on the wall clock is told, and not judged: other programs take it too; they slow processor time as well, so an
    attack is made up to three times until its turns are short enough, and the row says how often),
    the honest job is read all the time, and a new one gets its segment,
    and what is said of the attack is what should be.

Ends with `attacks: N of M right`, exit 1 unless N = M. --results keeps rows; the same command goes on from there.
"""
import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f'{os.path.dirname(HERE)}/probes/sidecar']
import socket_attacks  # noqa: E402
from sidecar_process import Sidecar, wait_until  # noqa: E402

MOST_RSS_KIB = 64 << 10
MOST_TURN_MS = 50
TOO_LONG = 'a turn took too long'
MOST_TRIES = 3
NOBODY = 65534


class Bed:
    """A sidecar, an honest job, and whoever comes."""

    def __init__(self, railwitness, hostile_job, folder):
        os.chmod(folder, 0o755)
        self.railwitness, self.hostile = railwitness, shutil.copy(hostile_job, f'{folder}/hostile_job')
        self.sidecar = Sidecar(railwitness, folder, '--json')
        self.honest = subprocess.Popen([self.hostile, 'honest', self.sidecar.socket], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        assert self.honest.stdout.readline() == 'ready\n'
        self.newcomer_ms()  # so that the segment of this process is there before anything is counted
        wait_until(lambda: any(p['pid'] == self.honest.pid for p in self.sidecar.facts().get('processes', [])), 10)

    def end(self):
        self.honest.kill()
        self.honest.wait()
        return self.sidecar.end()

    def newcomer_ms(self):
        """How long a job that starts now waits for its segment; None: it gets none within 2 s."""
        start = time.monotonic()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as job:
            job.settimeout(2)
            while time.monotonic() - start < 2:
                try:
                    job.connect(self.sidecar.socket)
                    job.send(socket_attacks.hello(b'newcomer'))
                    message, fds, _, _ = socket.recv_fds(job, 64, 4)
                    for fd in fds:
                        os.close(fd)
                    if fds:
                        return (time.monotonic() - start) * 1e3
                except (BlockingIOError, FileNotFoundError, ConnectionRefusedError):
                    time.sleep(0.01)
                except OSError:
                    return None
            return None

    def attack(self, name, seconds, count):
        who = {}
        if name in socket_attacks.ATTACKS:  # becomes another user itself: that one may not read this tree
            command = [sys.executable, f'{HERE}/socket_attacks.py', name, self.sidecar.socket, self.sidecar.control, str(seconds),
                       str(count)]
        else:
            command = [self.hostile, name, self.sidecar.socket, str(seconds), str(count)]
            if os.geteuid() == 0:
                who = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []}
        return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **who)

    def said_since(self, out, err):
        incidents = [json.loads(line) for line in self.sidecar.out().splitlines() if line.strip()][out:]
        return incidents, self.sidecar.log()[err:]


def watch(bed, name, seconds, count):
    """The row of one attack."""
    earlier = bed.sidecar.facts()
    before, known = bed.sidecar.status(), {p['pid'] for p in earlier.get('processes', [])}
    out, err = len(bed.sidecar.out().splitlines()), len(bed.sidecar.log())
    start = time.monotonic()
    attacker = bed.attack(name, seconds, count)
    peak, ages, turns, unread, newcomers, problems, counts, notes, pids = before['rss_kib'], [], [], [], [], set(), set(), set(), set()
    problems_of = lambda p: p.get('segment_problem')
    while attacker.poll() is None or time.monotonic() - start < seconds:
        facts, now = bed.sidecar.facts(), bed.sidecar.status()
        peak = max(peak, now['rss_kib'])
        self_said = facts['self']
        turns.append(self_said['longest_turn_cpu_ns'] / 1e6)
        unread.append(self_said['longest_unread_ns'] / 1e6)
        notes |= set(facts.get('notes', [])) - set(earlier.get('notes', []))
        for process in facts.get('processes', []):
            if process['pid'] not in known:
                pids.add(process['pid'])
            if process['pid'] == bed.honest.pid:
                flow = process['flows'][0]
                ages.append((facts['taken_mono_ns'] - flow['last_post_mono_ns']) / 1e6)
                counts.add(flow['posted'])
                assert not problems_of(process), process
            elif problems_of(process) and process['pid'] not in known:
                problems.add(problems_of(process))
        newcomers.append(bed.newcomer_ms())
        if time.monotonic() - start > 120:
            attacker.kill()
        time.sleep(0.1)
    took = time.monotonic() - start
    cpu = (bed.sidecar.status()['cpu_s'] - before['cpu_s']) / took
    said, complaint = attacker.communicate()
    given_back = wait_until(lambda: bed.sidecar.status()['descriptors'] <= before['descriptors'] + 2, 6)  # us, asking
    incidents, log = bed.said_since(out, err)
    ls = subprocess.run([bed.railwitness, 'ls', '--control-socket', bed.sidecar.control], stdout=subprocess.PIPE).stdout
    hung = [n for n in newcomers if n is None]
    row = {'name': name, 'attacker': (said or complaint).strip(), 'status': attacker.returncode, 'cpu': cpu,
           'rss_kib': peak - before['rss_kib'], 'given_back': given_back, 'turn_ms': max(turns), 'unread_ms': max(unread),
           'age_ms': max(ages) if ages else None, 'moves': len(counts) > 1, 'newcomers': len(newcomers) - len(hung),
           'hung': len(hung), 'newcomer_ms': max((n for n in newcomers if n is not None), default=None),
           'problems': sorted(problems)[:3], 'pids': sorted(pids), 'notes': sorted(notes), 'log_lines': log.count('\n'),
           'confirmed': [i['line'] for i in incidents if i.get('state') == 'confirmed' and i['class'] in ('LINK', 'SWITCH')],
           'clean': all(32 <= b or b == 10 for b in ls) and b'<script' not in ls,
           'widest': max(len(line) for line in ls.decode().splitlines() if not line.startswith('note:')),
           'alive': bed.sidecar.is_alive()}
    return row


# What should be said; nothing: nothing needs to be.
EXPECTED = {
    'truncate': lambda r: r['attacker'] == 'shrinking refused, growing refused',
    'seals': lambda r: r['attacker'].count('refused') == 3,
    'garbage': lambda r: r['problems'],
    'ones': lambda r: r['problems'],
    'backwards': lambda r: any('went back' in p for p in r['problems']),
    'flip': lambda r: r['problems'],
    'claims': lambda r: not r['confirmed'],
    'names': lambda r: r['clean'] and r['widest'] <= 320,
    'parts': lambda r: any('further segment' in n for n in r['notes']),
    'versions': lambda r: any('another segment version' in n for n in r['notes']),
    'descriptors': lambda r: 'none arrived' in r['attacker'],
    'liar': lambda r: r['pids'] == [int(r['attacker'].rsplit(' ', 1)[1])],
    'flood': lambda r: r['log_lines'] < 100,
    'remove': lambda r: 'there again' in r['attacker'],
    'control': lambda r: os.geteuid() != 0 or 'Permission' in r['attacker'],
}


def judge(row, as_other_user):
    wrong = []
    for condition, what in (
            (row['alive'], 'the sidecar ended'), (row['given_back'], 'descriptors are not given back'),
            (row['rss_kib'] <= MOST_RSS_KIB, 'memory'), (row['turn_ms'] <= MOST_TURN_MS, TOO_LONG),
            (row['moves'], 'the honest job was not read'), (row['status'] == 0, 'the attack did not run'),
            (row['newcomers'] > 0 and (row['hung'] == 0 or not as_other_user), 'a new job got no segment'),
            (row['clean'], 'ls shows control characters'), (not row['confirmed'], 'hardware was confirmed'),
            (EXPECTED.get(row['name'], lambda r: True)(row), 'what is said')):
        if not condition:
            wrong.append(what)
    return wrong


def attack_until_short(bed, name, seconds, count, as_other_user, short):
    for tries in range(1, MOST_TRIES + 1):
        if not short or tries > 1:
            time.sleep(10)  # the longest turn is of the last ten seconds
        row = watch(bed, name, seconds, count)
        row['tries'] = tries
        if judge(row, as_other_user) != [TOO_LONG]:
            break
    return row


def print_row(row, wrong):
    told = [n for n in row['notes'] if 'processes' in n or 'left out' in n or 'not read' in n]
    again = f'try {row["tries"]}' if row.get('tries', 1) > 1 else ''
    said = '; '.join(filter(None, [again, row['attacker'], *row['problems'][:1], *told]))
    number = lambda v, digits=0: '-' if v is None else f'{v:.{digits}f}'
    print(f"| {row['name']} | {'yes' if not wrong else 'NO: ' + ', '.join(wrong)} | {row['cpu']:.2f} | {row['rss_kib'] / 1024:.1f} | "
          f"{number(row['turn_ms'], 1)} | {number(row['unread_ms'])} | {number(row['age_ms'], 1)} | "
          f"{number(row['newcomer_ms'])} | {row['log_lines']} | {said[:300]} |", flush=True)


def plan(short):
    """Name, seconds, count."""
    s = 0.8 if short else 4
    rows = [(name, s, 1) for name in ('truncate', 'holes', 'seals', 'garbage', 'ones', 'backwards', 'times', 'flip', 'claims',
                                      'names', 'parts', 'keep')]
    rows += [('many', 3 if short else 10, 48 if short else 400), ('gone', 3 if short else 10, 48 if short else 256)]
    thousands = 2000 if short else 10000
    rows += [(name, 3 if name == 'remove' else s, {'silent': 500, 'deaf': 200, 'control': 64, 'remove': 1, 'liar': 1}.get(name, thousands))
             for name in socket_attacks.ATTACKS]
    return rows


def self_test():
    good = {'name': 'names', 'attacker': '', 'status': 0, 'given_back': True, 'rss_kib': 0, 'turn_ms': 1, 'moves': True,
            'newcomers': 3, 'hung': 0, 'problems': [], 'notes': [], 'log_lines': 0, 'confirmed': [], 'clean': True,
            'widest': 100, 'alive': True, 'pids': [7]}
    bad = [{'alive': False}, {'given_back': False}, {'rss_kib': 65 << 10}, {'turn_ms': 51}, {'moves': False}, {'status': 1},
           {'hung': 1}, {'clean': False}, {'confirmed': ['LINK']}, {'widest': 321},
           {'name': 'garbage'}, {'name': 'truncate', 'attacker': 'shrinking ALLOWED, growing refused'},
           {'name': 'flood', 'log_lines': 1000}, {'name': 'liar', 'attacker': 'to process 8'}]
    found = sum(bool(judge({**good, **one}, True)) for one in bad) + (not judge(good, True))
    print(f'attacks_self_test: {found} of {len(bad) + 1} right')
    return 0 if found == len(bad) + 1 else 1


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('railwitness')
    parser.add_argument('hostile_job')
    parser.add_argument('--short', action='store_true')
    parser.add_argument('--only', default='')
    parser.add_argument('--results', default='')
    options = parser.parse_args()
    as_other_user = os.geteuid() == 0
    done = {}
    if options.results and os.path.exists(options.results):
        done = {row['name']: row for row in map(json.loads, open(options.results))}
    rows = [r for r in plan(options.short) if not options.only or r[0] in options.only.split(',')]
    unknown = set(filter(None, options.only.split(','))) - {r[0] for r in plan(options.short)}
    if unknown:
        parser.error(f'no attack {" ".join(sorted(unknown))}; there are: {" ".join(r[0] for r in plan(options.short))}')
    print('| attack | right | cpu | rss MiB | turn, cpu ms | longest unread ms | age ms | newcomer ms | log lines | what is said |')
    print('|' + '---|' * 10, flush=True)
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        bed = Bed(options.railwitness, options.hostile_job, folder)
        for name, seconds, count in rows:
            row = done.get(name)
            if not row:
                row = attack_until_short(bed, name, seconds, count, as_other_user, options.short)
                if options.results:
                    print(json.dumps(row), file=open(options.results, 'a'))
            wrong = judge(row, as_other_user)
            right += not wrong
            print_row(row, wrong)
        status = bed.end()
        if status != 0:
            print(f'the sidecar ended with status {status}: {bed.sidecar.log()[-2000:]}')
            right = 0
    if not as_other_user:
        print('not root: attackers and honest jobs are one user, so a flood may take the places of new ones')
    print(f'attacks: {right} of {len(rows)} right')
    return 0 if right == len(rows) else 1


if __name__ == '__main__':
    sys.exit(main())
