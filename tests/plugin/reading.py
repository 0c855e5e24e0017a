#!/usr/bin/env python3
"""What reading busy jobs costs the sidecar, and what its one thread costs an idle job.

    reading.py RAILWITNESS BUSY_JOBS FLOW_COST RING_READING [--short] [--let-sleep]

Ends with `reading: N of M right`, exit 1 unless N = M, against the budgets of docs/cost.md. Processor time is what is judged,
so that other programs of the machine make it larger by their use of the caches and of the clock rate, not by their turns.
Meanwhile a loop of the lowest priority keeps every processor awake: a sleeping one, a virtual one above all, comes back with
cold caches, and costs the same work up to eight times the time; --let-sleep measures that. No time is a test on a machine of
others: --short, which CTest runs, takes a second for each row instead of 20, judges that everything is read, that there is
one thread, and the instructions a flow and a record take, which callgrind counts exactly, and only prints the times.
"""
import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cost import Job, Sidecar  # noqa: E402

MOST_SHARE = 0.02
LEAST_RECORDS_A_SECOND = 50e6
MOST_THREAD_SHARE = 0.001
MOST_INSTRUCTIONS = {'read': ('flow', 650), 'read_records': ('record', 125)}
FLOWS, RECORDS = 256, 128  # a segment, a flow
results = []


def row(what, value, budget, right, detail=''):
    results.append(bool(right))
    print(f'| {what} | {value} | {budget} | {"yes" if right else "NO"} | {detail} |', flush=True)


@contextlib.contextmanager
def processors_awake():
    loops = [subprocess.Popen([sys.executable, '-c', 'import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nparent = os.getppid()\nwhile os.getppid() == parent: pass'])
             for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def counted(ring_reading, function, seconds):
    """Instructions within all calls of a function of SegmentReader, and how many calls those were."""
    benchmark = {'read': 'read_flows'}.get(function, function)
    with tempfile.NamedTemporaryFile('r') as out:
        run = subprocess.run(['valgrind', '--tool=callgrind', '--compress-strings=no', f'--callgrind-out-file={out.name}',
                              f'--toggle-collect=railwitness::ring::SegmentReader::{function}(*', ring_reading,
                              f'--benchmark_filter=^{benchmark}$', f'--benchmark_min_time={seconds}'],
                             text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
        calls = re.findall(rf'^cfn=railwitness::ring::SegmentReader::{function}\(.*\ncalls=(\d+)', out.read(), re.M)
    return int(re.search(r'Collected : (\d+)', run.stderr)[1]), sum(map(int, calls))


def count_instructions(ring_reading):
    for function, (what, most) in MOST_INSTRUCTIONS.items():
        first, more = counted(ring_reading, function, 0.001), counted(ring_reading, function, 0.1)
        things = (more[1] - first[1]) * (FLOWS if what == 'flow' else RECORDS)
        each = (more[0] - first[0]) / things if things else float('inf')
        row(f'instructions to read a {what}', f'{each:.1f}', f'{most}', each <= most, f'{things} of them, the first round not counted')


def nats_server(folder):
    port = 14222 + os.getpid() % 10000
    process = subprocess.Popen(['nats-server', '-js', '-a', '127.0.0.1', '-p', str(port), '-sd', folder],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    return process, f'nats://127.0.0.1:{port}'


def busy(railwitness, busy_jobs, jobs, flows, rate, seconds, with_bus):
    with tempfile.TemporaryDirectory() as folder:
        bus, url = nats_server(folder) if with_bus else (None, None)
        sidecar = Sidecar(railwitness, folder, *(['--nats', url] if url else []))
        load = subprocess.Popen([busy_jobs, sidecar.socket, str(jobs), str(flows), str(rate)], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        said = load.stdout.readline().strip()
        time.sleep(2)
        share = sidecar.share(seconds)
        seen, _ = sidecar.seen()
        facts = sidecar.facts()
        status = sidecar.status()
        load.stdin.close()
        load.wait()
        sidecar.end()
        if bus:
            bus.terminate()
            bus.wait()
    not_read = [n for n in facts['notes'] if 'not read' in n]
    problems = [p['segment_problem'] for p in facts['processes'] if p.get('segment_problem')]
    right = said == f'ready: {jobs} of {jobs}' and not not_read and not problems
    return share, sorted(seen.values()), status, right, facts['self'], not_read + problems


def idle_job(railwitness, flow_cost, seconds):
    """Share of a core that threads of ours take in a job that does nothing, and how many they are."""
    with tempfile.TemporaryDirectory() as folder:
        sidecar = Sidecar(railwitness, folder)
        job = Job(flow_cost, sidecar.socket, 256)
        job.wait_until('full')
        time.sleep(2)  # the last lines are settled
        tasks = [t for t in os.listdir(f'/proc/{job.process.pid}/task')
                 if open(f'/proc/{job.process.pid}/task/{t}/comm').read().strip() == 'railwitness']
        used = lambda: sum(int(open(f'/proc/{job.process.pid}/task/{t}/schedstat').read().split()[0]) for t in tasks)
        before = used()
        time.sleep(seconds)
        share = (used() - before) / 1e9 / seconds
        job.end()
        sidecar.end()
    return share, len(tasks)


def measure(options, seconds, repetitions, least_s):
    railwitness, busy_jobs, flow_cost = options.railwitness, options.busy_jobs, options.flow_cost
    in_time = (lambda right: True) if options.short else bool
    said = json.loads(subprocess.run([options.ring_reading, '--benchmark_format=json', f'--benchmark_min_time={least_s}',
                                      f'--benchmark_repetitions={repetitions}'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
    rates = {name: max(b['items_per_second'] for b in said['benchmarks'] if b['run_name'] == name and b['run_type'] == 'iteration')
             for name in ('read_records', 'read_flows', 'facts_to_text')}
    row('records read, a second of a core', f"{rates['read_records'] / 1e6:.1f} M", f'{LEAST_RECORDS_A_SECOND / 1e6:g} M at least',
        in_time(rates['read_records'] >= LEAST_RECORDS_A_SECOND), f'best of {repetitions}: the machine is busy')
    row('flows read', f"{1e9 / rates['read_flows']:.0f} ns each", '-', True, '')
    row('facts to text', f"{1e9 / rates['facts_to_text']:.0f} ns a flow", '-', True, '')
    for with_bus in ((True,) if options.short else (False, True)):
        share, seen, _, right, itself, wrong = busy(railwitness, busy_jobs, 8, 256, 95_000, seconds, with_bus)
        row(f'8 jobs of 256 flows, 95 000 transfers a second each way{", NATS" if with_bus else ""}', f'{share:.4f} of a core',
            f'{MOST_SHARE}', right and in_time(share <= MOST_SHARE) and seen == [256] * 8,
            f"longest turn {itself['longest_turn_cpu_ns'] / 1e6:.1f} ms {wrong}")
    share, seen, status, right, itself, wrong = busy(railwitness, busy_jobs, 100, 1000, 95_000, seconds, False)
    all_told = len(seen) == 100 and seen.count(1000) == 64  # notes tell the totals of 64
    row('100 jobs of 1000 flows: all are read', f'{share:.3f} of a core', 'right', right and all_told,
        f"{status['rss_kib'] >> 10} MiB, longest turn {itself['longest_turn_cpu_ns'] / 1e6:.1f} ms {wrong}")
    share, threads = idle_job(railwitness, flow_cost, seconds)
    row('our threads in an idle job', f'{share:.6f} of a core, {threads} thread', f'{MOST_THREAD_SHARE}',
        threads == 1 and in_time(share <= MOST_THREAD_SHARE), '')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for program in ('railwitness', 'busy_jobs', 'flow_cost', 'ring_reading'):
        parser.add_argument(program)
    parser.add_argument('--short', action='store_true')
    parser.add_argument('--let-sleep', action='store_true', help='leave the processors as they are between the turns')
    options = parser.parse_args()
    seconds, repetitions, least_s = (1, 2, 0.1) if options.short else (20, 5, 0.5)
    print('| what | measured | budget | right | |\n|---|---|---|---|---|')
    count_instructions(options.ring_reading)
    with contextlib.nullcontext() if options.let_sleep else processors_awake():
        measure(options, seconds, repetitions, least_s)
    print(f'reading: {sum(results)} of {len(results)} right')
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
