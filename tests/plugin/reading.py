#!/usr/bin/env python3
"""What reading busy jobs costs the sidecar, and what its one thread costs an idle job.

    reading.py RAILWITNESS BUSY_JOBS FLOW_COST RING_READING [--short]

Ends with `reading: N of M right`, exit 1 unless N = M, against the budgets of docs/cost.md. Processor time is what is judged,
so that other programs of the machine make it larger by their use of the caches and of the clock rate, not by their turns.
That is still too much for a test beside others: --short, which CTest runs, takes a second for each row instead of 20 and
judges that everything is read, that there is one thread, and times by four times the budgets.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cost import Job, Sidecar  # noqa: E402

MOST_SHARE = 0.02
LEAST_RECORDS_A_SECOND = 50e6
MOST_THREAD_SHARE = 0.001
SHORT_SLACK = 4
results = []


def row(what, value, budget, right, detail=''):
    results.append(bool(right))
    print(f'| {what} | {value} | {budget} | {"yes" if right else "NO"} | {detail} |', flush=True)


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for program in ('railwitness', 'busy_jobs', 'flow_cost', 'ring_reading'):
        parser.add_argument(program)
    parser.add_argument('--short', action='store_true')
    options = parser.parse_args()
    railwitness, busy_jobs, flow_cost = options.railwitness, options.busy_jobs, options.flow_cost
    seconds, slack, repetitions, least_s = (1, SHORT_SLACK, 2, 0.1) if options.short else (20, 1, 5, 0.5)
    most_share, least_records, most_thread = MOST_SHARE * slack, LEAST_RECORDS_A_SECOND / slack, MOST_THREAD_SHARE * slack
    print('| what | measured | budget | right | |\n|---|---|---|---|---|')
    said = json.loads(subprocess.run([options.ring_reading, '--benchmark_format=json', f'--benchmark_min_time={least_s}',
                                      f'--benchmark_repetitions={repetitions}'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
    rates = {name: max(b['items_per_second'] for b in said['benchmarks'] if b['run_name'] == name and b['run_type'] == 'iteration')
             for name in ('read_records', 'read_flows', 'facts_to_text')}
    row('records read, a second of a core', f"{rates['read_records'] / 1e6:.1f} M", f'{least_records / 1e6:g} M at least',
        rates['read_records'] >= least_records, f'best of {repetitions}: the machine is busy')
    row('flows read', f"{1e9 / rates['read_flows']:.0f} ns each", '-', True, '')
    row('facts to text', f"{1e9 / rates['facts_to_text']:.0f} ns a flow", '-', True, '')
    for with_bus in ((True,) if options.short else (False, True)):
        share, seen, _, right, itself, wrong = busy(railwitness, busy_jobs, 8, 256, 95_000, seconds, with_bus)
        row(f'8 jobs of 256 flows, 95 000 transfers a second each way{", NATS" if with_bus else ""}', f'{share:.4f} of a core',
            f'{most_share}', right and share <= most_share and seen == [256] * 8, f"longest turn {itself['longest_turn_cpu_ns'] / 1e6:.1f} ms {wrong}")
    share, seen, status, right, itself, wrong = busy(railwitness, busy_jobs, 100, 1000, 95_000, seconds, False)
    all_told = len(seen) == 100 and seen.count(1000) == 64  # notes tell the totals of 64
    row('100 jobs of 1000 flows: all are read', f'{share:.3f} of a core', 'right', right and all_told,
        f"{status['rss_kib'] >> 10} MiB, longest turn {itself['longest_turn_cpu_ns'] / 1e6:.1f} ms {wrong}")
    share, threads = idle_job(railwitness, flow_cost, seconds)
    row('our threads in an idle job', f'{share:.6f} of a core, {threads} thread', f'{most_thread}',
        threads == 1 and share <= most_thread, '')
    print(f'reading: {sum(results)} of {len(results)} right')
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
