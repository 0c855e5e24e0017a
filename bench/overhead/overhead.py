#!/usr/bin/env python3
"""What the witness costs a job: the same run without it and with it, in turns, and the ratio by size.

    overhead.py --build BUILD --out DIR [--rounds N] [--only NAME...] [--json] [--svg FILE] [--fresh]

Experiments:
    chain     bench/collective (ring): the probe plugin of tests/cpugpu, and railwitness in mode chain before it
    ofi       bench/collective (ring): the transport of mode ofi alone, and as railwitness offers it
    nccl      the real libnccl on the emulated GPU (coll_perf, all-reduce): the same two as in chain
    control   bench/collective (ring): the transport of mode ofi alone, twice: what this machine takes for a difference
Two ranks on this host; a sidecar runs beside all of it, and reads what the witness writes. bench/collective has both at once and
runs them in turns of milliseconds, up to 20 pairs for each size; a round is one such run, and counts with the medians of its pairs, in which now one begins, now the other. Of
nccl a round is a run without and one with. Over the rounds the mean of the logarithms and Student's 95 % interval are shown, of:
bus bandwidth with / without, and processor time (all threads of all ranks, user and system) with / without.

The goal for bandwidth is that the lower bound is 0.995 from 1 MiB on and 0.98 below. A row says `reached`; `missed`, if even
the upper bound is below; or `open`, if the interval is too wide to say. That is a finding and no verdict: on a machine that
others use, time proves little, and tests judge instructions (tests/plugin/instructions.py).

Runs are kept in DIR/runs.jsonl: what was ended goes on where it was. Ends with `overhead: N of M right`, of rounds in which all
elements were right; exit 1 unless N = M. Needs scipy, and matplotlib for --svg: apt-get install python3-scipy python3-matplotlib
"""
import argparse
import collections
import json
import math
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / 'tests/probes/sidecar'))
from sidecar_process import Sidecar  # noqa: E402

GOALS = ((1 << 20, 0.995), (0, 0.98))  # from this size on: lower bound of the ratio of bandwidths
EXPERIMENTS = ('control', 'chain', 'ofi', 'nccl')
SIZES = ['8', '16M', '8']  # smallest, largest, factor
# The same for NCCL with the number of operations: small ones are many, so that the first moments of a run weigh little.
NCCL_SIZES = (('8', '4K', '2000'), ('32K', '16M', '30'))


def middle(row, key):
    """Who begins a pair is the faster of both here and there, so pairs of either order count the same."""
    ratios = [pair[key] for pair in row['beside_by_first']]
    return math.sqrt(statistics.median(ratios[0::2]) * statistics.median(ratios[1::2]))


def collective(build, first, beside, mode, socket):
    done = run_once([f'{build}/bench/collective', '--json', '--schedule', 'ring', '--seconds', '0.05', '--min', SIZES[0], '--max',
                     SIZES[1], '--factor', SIZES[2], '--plugin', first, '--beside', beside], {'RAILWITNESS_MODE': mode}, socket)
    if not done['right']:
        return done
    return {'right': True, 'rows': [
        {'bytes': r['bytes'], 'busbw': r['busbw_mbps'], 'cpu': r['cpu_ns_per_transfer'],
         'busbw_ratio': middle(r, 'busbw'), 'cpu_ratio': middle(r, 'cpu')}
        for r in json.loads(done['output'])['rows'] if len(r['beside_by_first']) >= 2]}


def nccl(build, without, with_us, mode, socket):
    sides = ([], [])
    for smallest, largest, times in NCCL_SIZES:
        for side, plugin in zip(sides, (without, with_us)):
            done = run_once([f'{build}/tests/cpugpu/coll_perf', '-U', '-n', '2', '-c', 'allreduce', '-i', times, '-w', '2', '-b',
                             smallest, '-e', largest, '-f', SIZES[2]],
                            {'NCCL_NET_PLUGIN': plugin, 'RAILWITNESS_MODE': mode}, socket)
            if not done['right']:
                return done
            side += read_coll_perf(done['output'])
    return {'right': True, 'rows': [
        {'bytes': a['bytes'], 'busbw': a['busbw'], 'cpu': a['cpu'], 'busbw_ratio': b['busbw'] / a['busbw'],
         'cpu_ratio': b['cpu'] / a['cpu']} for a, b in zip(*sides)]}


def run_round(name, build, socket):
    probe, railwitness = f'{build}/tests/cpugpu/libprobe_plugin.so', f'{build}/lib/libnccl-net-railwitness.so'
    if name == 'control':
        return collective(build, 'ofi', 'ofi', 'off', socket)
    if name == 'ofi':
        return collective(build, 'ofi', railwitness, 'ofi', socket)
    return (nccl if name == 'nccl' else collective)(build, probe, railwitness, f'chain:{probe}', socket)


def read_coll_perf(text):
    # Of two ranks the bus bandwidth of an all-reduce is bytes by time; the table's own column has too few digits for 8 B.
    table = {int(m[1]): int(m[1]) / float(m[2]) for m in re.finditer(r'^ +(\d+) +\d+ +float +\S+ +(\S+)', text, re.M)}
    cpu = {int(m[1]): int(m[2]) for m in re.finditer(r'^# (\d+) bytes: (\d+) CPU ns', text, re.M)}
    return [{'bytes': size, 'busbw': table[size], 'cpu': cpu[size]} for size in sorted(table)]


def run_once(command, environment, socket):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('NCCL_', 'RAILWITNESS_', 'PROBE_'))}
    env.update(NCCL_SOCKET_IFNAME='lo', RAILWITNESS_SOCKET=socket, **environment)
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=600)
    right = done.returncode == 0
    return {'right': right, 'output': done.stdout if right else (done.stdout + done.stderr)[-2000:]}


def measure(args, kept, file):
    with tempfile.TemporaryDirectory() as folder:
        sidecar = Sidecar(f'{args.build}/bin/railwitness', folder)
        try:
            for number in range(args.rounds):
                for name in args.only:
                    if kept.get((name, number), {}).get('right'):
                        continue
                    run = kept[name, number] = run_round(name, args.build, sidecar.socket)
                    file.write(json.dumps({'name': name, 'round': number, **run}) + '\n')
                    file.flush()
                    if not run['right']:
                        print(f'wrong: {name}, round {number}: {run["output"]}')
        finally:
            sidecar.end()


def interval(ratios):
    """Mean and 95 % interval of ratios, by their logarithms."""
    from scipy import stats
    logs = [math.log(r) for r in ratios]
    low, high = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    return {'ratio': math.exp(sum(logs) / len(logs)), 'low': math.exp(low), 'high': math.exp(high)}


def judge(size, bandwidth):
    goal = next(g for least, g in GOALS if size >= least)
    return 'reached' if bandwidth['low'] >= goal else 'missed' if bandwidth['high'] < goal else 'open'


def evaluate(args, kept):
    rows = []
    for name in args.only:
        by_size = collections.defaultdict(list)
        for number in range(args.rounds):
            for row in kept.get((name, number), {}).get('rows', []):
                by_size[row['bytes']].append(row)
        for size, found in sorted(by_size.items()):
            if len(found) < 3:
                continue
            bandwidth = interval([r['busbw_ratio'] for r in found])
            rows.append({'experiment': name, 'bytes': size, 'rounds': len(found), 'busbw': bandwidth,
                         'cpu': interval([r['cpu_ratio'] for r in found]), 'goal': judge(size, bandwidth),
                         'busbw_without_mbps': statistics.median(r['busbw'] for r in found),
                         'cpu_without_ns': statistics.median(r['cpu'] for r in found)})
    return rows


def size_text(size):
    for unit, name in ((1 << 20, 'MiB'), (1 << 10, 'KiB')):
        if size >= unit:
            return f'{size / unit:g} {name}'
    return f'{size} B'


def print_table(rows):
    print('| experiment | size | rounds | busbw without, MB/s | with / without (95 %) | goal | CPU ns without | with / without (95 %) |')
    print('|---|---|---|---|---|---|---|---|')
    for r in rows:
        text = lambda i: f'{i["ratio"]:.3f} ({i["low"]:.3f} to {i["high"]:.3f})'
        print(f'| {r["experiment"]} | {size_text(r["bytes"])} | {r["rounds"]} | {r["busbw_without_mbps"]:.4g} | {text(r["busbw"])} | '
              f'{r["goal"]} | {r["cpu_without_ns"]:.0f} | {text(r["cpu"])} |')
    print()
    for name in dict.fromkeys(r['experiment'] for r in rows):
        told = collections.Counter(r['goal'] for r in rows if r['experiment'] == name)
        print(f'{name}: goal reached at {told["reached"]} sizes, missed at {told["missed"]}, open at {told["open"]}')


def draw(rows, path):
    import matplotlib
    matplotlib.use('svg')
    matplotlib.rcParams.update({'svg.fonttype': 'none', 'svg.hashsalt': 'overhead', 'font.size': 9})
    from matplotlib import pyplot
    figure, panels = pyplot.subplots(1, 2, figsize=(9.5, 3.6), sharex=True, layout='constrained')
    for panel, key, title in zip(panels, ('busbw', 'cpu'), ('bus bandwidth, with / without', 'processor time, with / without')):
        for i, name in enumerate(dict.fromkeys(r['experiment'] for r in rows)):
            mine = [r for r in rows if r['experiment'] == name]
            at = [r['bytes'] * 2 ** (0.3 * (i - 1.5)) for r in mine]  # side by side
            middle = [r[key]['ratio'] for r in mine]
            panel.errorbar(at, middle, yerr=([m - r[key]['low'] for m, r in zip(middle, mine)],
                                             [r[key]['high'] - m for m, r in zip(middle, mine)]),
                           label=name, marker='o', markersize=3, linewidth=1, capsize=2)
        panel.axhline(1, color='black', linewidth=0.6)
        if key == 'busbw':
            panel.step([8, 1 << 20, 16 << 20], [0.98, 0.995, 0.995], where='post', color='gray', linestyle=':', label='goal')
        panel.set_xscale('log', base=2)
        panel.set_xticks([8, 512, 32 << 10, 2 << 20, 16 << 20], ['8 B', '512 B', '32 KiB', '2 MiB', '16 MiB'])
        panel.set_title(title)
        panel.grid(alpha=0.3)
    panels[0].legend(loc='best', fontsize=8)
    figure.savefig(path, metadata={'Date': None})


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument('--out', required=True, type=pathlib.Path)
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--only', nargs='+', choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument('--json', action='store_true', help='rows as JSON instead of the table')
    parser.add_argument('--svg', type=pathlib.Path, help='draw the curves into this file')
    parser.add_argument('--fresh', action='store_true', help='forget the runs of before')
    return parser.parse_args()


def main():
    args = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit('overhead: ended; a next run goes on here'))  # and ends the sidecar
    try:
        interval([1, 1.1, 0.9])  # better asked before than after
    except ModuleNotFoundError as missing:
        sys.exit(f'overhead: {missing}: apt-get install python3-scipy, and run it with the Python that has it (/usr/bin/python3)')
    args.out.mkdir(parents=True, exist_ok=True)
    path, kept = args.out / 'runs.jsonl', {}
    if args.fresh:
        path.unlink(missing_ok=True)
    if path.exists():
        for line in path.read_text().splitlines():
            run = json.loads(line)
            kept[run['name'], run['round']] = run
    with open(path, 'a') as file:
        measure(args, kept, file)
    rows = evaluate(args, kept)
    if args.json:
        print(json.dumps(rows, indent=1))
    else:
        print_table(rows)
    if args.svg:
        draw(rows, args.svg)
    wanted = [(name, number) for name in args.only for number in range(args.rounds)]
    right = sum(kept.get(key, {}).get('right', False) for key in wanted)
    print(f'overhead: {right} of {len(wanted)} right', file=sys.stderr if args.json else sys.stdout)
    return 0 if right == len(wanted) else 1


if __name__ == '__main__':
    sys.exit(main())
