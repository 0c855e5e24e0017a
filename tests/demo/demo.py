#!/usr/bin/env python3
"""Four faults in a training job, and what railwitness says about each.

    tests/demo/demo.py [--mode tap|ofi] [--seed N] [--build build/release] [--out DIR]

Boots 4 hosts on 2 rails, hosts plugged into switch ports at random; starts lldpd, a NATS server, the correlator, a
sidecar per host, and an NCCL job with the plugin.  Mode tap: in the virtual machine of tests/rdma_vm, the real libnccl
over its own net_ib, witnessed at the verbs calls.  Mode ofi: in the network namespaces of tests/netns, the real libnccl
over the plugin's own transport, libfabric on TCP, witnessed at the net calls.  Then, in random order, at random moments and places:

    carrier     a switch port loses carrier
    blackhole   a switch port silently loses every packet, both links stay up
    stop        a rank is stopped (SIGSTOP)
    compute     a rank computes for 20 s before its next collective: nothing is wrong

Each verdict is compared with the truth.  Ends with "demo: N of 4 verdicts right"; exit status 1 if one is wrong.
--dry injects the faults into the job without railwitness and reports how the job behaves.
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HOSTS, RAILS = 4, 2
COMPUTE_S = 20      # what train_loop burns on SIGUSR1
PATIENCE_S = 45     # how long a verdict may take
SETTLE_S = 3        # after the right verdict: does it stay?
RESUME_S = 60       # after the repair, until every rank iterates again

sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import bed as beds  # noqa: E402
import judge        # noqa: E402

started = time.monotonic()


def say(text=''):
    print(f'{time.monotonic() - started:6.1f}  {text}' if text else '', flush=True)


# --- outside: boots the machine -----------------------------------------------------------------------------------

def parse():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--seed', type=int, default=None, help='of order, places, moments and cabling (default: random, printed)')
    ap.add_argument('--mode', choices=beds.DEVICES, default='tap', help='of the plugin (default %(default)s)')
    ap.add_argument('--build', default=str(ROOT / 'build' / 'release'), help='build directory (default %(default)s)')
    ap.add_argument('--programs', help='directory with train_loop (default BUILD/tests/cpugpu)')
    ap.add_argument('--out', help='gets all logs (default build/demo/MODE)')
    ap.add_argument('--bytes', default='2M', help='size of the collective (default %(default)s)')
    ap.add_argument('--only', choices=judge.FAULTS, action='append', help='only this fault; may be repeated')
    ap.add_argument('--dry', action='store_true', help='without railwitness')
    ap.add_argument('--timeout', type=int, default=420, help='seconds for everything (default %(default)s)')
    a = ap.parse_args()
    a.build, a.out = os.path.abspath(a.build), os.path.abspath(a.out or ROOT / 'build' / 'demo' / a.mode)
    a.programs = os.path.abspath(a.programs or os.path.join(a.build, 'tests', 'cpugpu'))
    a.program = os.path.join(a.build, 'bin', 'railwitness')
    a.plugin = os.path.join(a.build, 'lib', 'libnccl-net-railwitness.so')
    if a.seed is None:
        a.seed = random.SystemRandom().randrange(10**6)
    return a


def boot(a):
    plugin = [environment(a)['NCCL_NET_PLUGIN']] if environment(a) else []
    needed = [os.path.join(a.programs, 'train_loop')] + plugin + ([] if a.dry else [a.program])
    for path in needed:
        if not os.path.exists(path):
            sys.exit(f'demo: no {path}; build first, or name another --build')
    if a.mode == 'ofi':
        bed = [str(HERE.parent / 'netns' / 'netns_bed')]
        check = subprocess.run(bed + ['--check'], text=True, stdout=subprocess.PIPE)
        if check.returncode != 0:
            print(f'demo: NOT RUN: {check.stdout.strip()}')
            return check.returncode
    else:
        bed = [str(HERE.parent / 'rdma_vm' / 'rdma_vm'), '--mem', '4000', '--out', a.out]
    os.makedirs(a.out, exist_ok=True)
    print(f'demo: seed {a.seed}; boots {HOSTS} hosts on {RAILS} rails', flush=True)
    command = bed + ['--hosts', str(HOSTS), '--rails', str(RAILS), '--shuffle', str(a.seed), '--timeout', str(a.timeout), '--',
                     sys.executable, str(HERE / 'demo.py'), '--mode', a.mode, '--seed', str(a.seed), '--build', a.build,
                     '--programs', a.programs, '--out', a.out, '--bytes', a.bytes]
    for fault in a.only or []:
        command += ['--only', fault]
    status = subprocess.run(command + (['--dry'] if a.dry else [])).returncode
    if status not in (0, 1):   # else the summary has told it
        print(f'demo: exit status {status}; {whereabouts(a)}')
    return status


def whereabouts(a):
    """Where the logs are, and what does the same again."""
    again = f'make demo{" MODE=" + a.mode if a.mode != "tap" else ""} SEED={a.seed}'
    if a.only or a.dry:
        again = f'tests/demo/demo.py --mode {a.mode} --seed {a.seed}' + ''.join(f' --only {fault}' for fault in a.only or []) + ' --dry' * a.dry
    return f'logs are in {os.path.relpath(a.out)}; the same again: {again}'


# --- inside -------------------------------------------------------------------------------------------------------

class Case:
    """One fault, from injection to repair."""

    def __init__(self, kind, place):
        self.kind, self.place = kind, place
        self.begin = None       # the command that injects the fault starts; all seconds count from here
        self.command_s = 0.0    # and takes so long; the fault is in force somewhere within
        self.first = self.repair = self.nccl_at = None
        self.nccl_line = ''
        self.right, self.why, self.taken_back = False, '', []

    def since_fault(self, moment):
        """Seconds since the start of the injection: never less than since the fault was in force."""
        return moment - self.begin

    def truth(self):
        p = self.place
        if self.kind in ('carrier', 'blackhole'):
            what = 'loses carrier' if self.kind == 'carrier' else 'silently loses every packet'
            return f'{p.switch} {p.switch_port} (to {p.node} {p.device}) {what}'
        return f'rank {p.host} on {p.node} ' + ('is stopped' if self.kind == 'stop' else f'computes for {COMPUTE_S} s')


def watch_nccl(case, job):
    for rank, line in job.nccl_said():
        if case.nccl_at is None:
            case.nccl_at, case.nccl_line = time.monotonic(), f'rank {rank}: {line[line.find("WARN"):].strip()}'


def watch(case, bed, job, dry):
    """Until the verdict is right and has stayed so, or patience ends.  Prints what the correlator says."""
    printed = 0
    end = time.monotonic() + (COMPUTE_S + 1 if case.kind == 'compute' else 10 if dry else PATIENCE_S)
    while time.monotonic() < end:
        bed.heard.wait(0.2)
        watch_nccl(case, job)
        lines = bed.heard.since(case.begin)
        for moment, who, what in lines[printed:]:
            if who == 'correlate' and what.get('type') in ('incident', 'wait'):
                say(f'   correlator, {case.since_fault(moment):.1f} s: {what.get("line")}  [{what.get("state", what["type"])}]')
        printed = len(lines)
        case.first = judge.first_right(case.kind, case.place, lines)
        if case.kind != 'compute' and case.first and time.monotonic() > case.first + SETTLE_S:
            break
    lines = bed.heard.since(case.begin)
    case.right, case.why = judge.verdict(case.kind, case.place, lines)
    case.first = judge.first_right(case.kind, case.place, lines)
    return lines


def single_nodes(bed, lines):
    say('   what each node alone could say:')
    for host in range(bed.hosts):
        own = [what for _, who, what in lines if who == f'host{host}' and what.get('line')]
        say(f'     host{host}: ' + (own[-1]['line'] if own else 'nothing'))


def run_case(case, bed, job, chance, dry):
    time.sleep(chance.uniform(2, 5))
    job.nccl_said()   # what it said before is not about this
    before = job.slowest()[1]
    case.begin = time.monotonic()
    say(f'-- {case.kind}: {case.truth()}')
    bed.inject(case.kind, case.place, job)
    case.command_s = time.monotonic() - case.begin
    say(f'   injected within {case.command_s:.1f} s')
    lines = watch(case, bed, job, dry)
    moment, number, _ = job.slowest()
    stalled = time.monotonic() - moment
    if case.kind == 'blackhole' and not dry:
        single_nodes(bed, lines)
    case.repair = time.monotonic()
    bed.heal(case.kind, case.place, job)
    resumed = job.wait_for_iterations(2, RESUME_S)
    watch_nccl(case, job)
    nccl = f'{case.since_fault(case.nccl_at):.1f} s: {case.nccl_line[:100]}' if case.nccl_at else 'nothing'
    say(f'   NCCL itself: {nccl}')
    resume = 'does not resume' if resumed is None else f'resumes {resumed - case.repair:.1f} s after the repair'
    say(f'   job: {number - before} iterations during the fault, stalled for {stalled:.1f} s; {resume}')
    if dry:
        case.right, case.why = resumed is not None, 'job does not resume'
    took = f'after {case.since_fault(case.first):.1f} s' if case.first else ''
    say(f'   {"right" if case.right else "WRONG: " + case.why} {took}')
    return resumed is not None


def wait_for_calm(bed, seconds=30):
    """Until the correlator has closed every incident it opened, so that the next fault meets a quiet room."""
    end = time.monotonic() + seconds
    while (standing := judge.incidents(bed.heard.since(0))) and time.monotonic() < end:
        bed.heard.wait(0.5)
    for incident in standing:
        say(f'   still open: {judge.describe(incident)}')


def tell_taken_back(case, bed):
    """Until now: a wrong suspicion is sometimes dropped only after the repair."""
    case.taken_back = judge.taken_back(bed.heard.since(case.begin), case.repair)
    for what in case.taken_back:
        say(f'   taken back: {judge.describe(what)}')


def make_cases(a, chance):
    kinds = list(a.only or judge.FAULTS)
    chance.shuffle(kinds)
    places = chance.sample([(host, rail) for host in range(HOSTS) for rail in range(RAILS)], len(kinds))
    return [Case(kind, beds.Place(*place, a.mode)) for kind, place in zip(kinds, places)]


def environment(a):
    if a.mode == 'ofi':
        return {'NCCL_NET_PLUGIN': a.plugin, 'RAILWITNESS_MODE': 'ofi', 'RAILWITNESS_OFI_IFNAME': 'h'}  # not eth0
    return {} if a.dry else {'NCCL_NET_PLUGIN': a.plugin}


def inside(a):
    chance = random.Random(a.seed)
    bed = beds.Bed(a.out, HOSTS)
    job = beds.Job(a.mode, a.programs, HOSTS, ['--bytes', a.bytes, '--compute-seconds', str(COMPUTE_S)])
    cases = make_cases(a, chance)
    try:
        bed.start_fabric()
        say('lldpd: every host knows its switch ports')
        if not a.dry:
            bed.start_railwitness(a.program)
            say('railwitness: a sidecar on every host, the correlator on mgmt')
        if not job.start(environment(a)):
            say('the job does not start')
            return 1
        begin = job.slowest()
        job.wait_for_iterations(5, RESUME_S)
        now = job.slowest()
        say(f'job: {HOSTS} ranks, an iteration of {a.bytes} takes {(now[0] - begin[0]) / max(1, now[1] - begin[1]):.2f} s')
        for case in cases:
            resumed = run_case(case, bed, job, chance, a.dry)
            if resumed:
                wait_for_calm(bed)
            tell_taken_back(case, bed)
            if not resumed:
                break
        wrong = max(job.progress(rank)[2] for rank in range(HOSTS))
        ended = job.stop()
        say(f'job: {job.slowest()[1] + 1} iterations, {wrong} wrong elements, {"ended well" if ended else "did NOT end well"}')
    finally:
        bed.stop()
        subprocess.run(['cp', '-r', job.directory, a.out])
    return summary(cases, a)


def summary(cases, a):
    print()
    for case in cases:
        took = f'{case.since_fault(case.first):5.1f} s' if case.first else '      -'
        nccl = f'{case.since_fault(case.nccl_at):.1f} s' if case.nccl_at else 'silent'
        back = '' if a.dry else f'  {len(case.taken_back)} taken back'
        print(f'{case.kind:10} {took}{back}  NCCL: {nccl:8} {case.truth()}{"" if case.right else "   WRONG: " + case.why}')
    command_s = max(case.command_s for case in cases)
    print(f'Seconds count from the start of the command that injects the fault (it took {command_s:.1f} s at most, and is part of them)')
    print('to the arrival of the line that names it and stayed right; "taken back" are verdicts that the correlator withdrew or changed.')
    print(f'demo: {whereabouts(a)}')
    right = sum(case.right for case in cases)
    print(f'demo: {right} of {len(cases)} ' + ('faults survived' if a.dry else 'verdicts right'), flush=True)
    return 0 if right == len(cases) else 1


def main():
    a = parse()
    return inside(a) if os.path.exists('/run/rdma-vm/ports') else boot(a)


if __name__ == '__main__':
    sys.exit(main())
