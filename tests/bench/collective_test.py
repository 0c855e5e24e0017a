#!/usr/bin/env python3
"""bench/collective over plugins of several kinds: all elements right, and a message that arrives wrong is noticed.

    collective_test.py COLLECTIVE PLUGIN LOOP_PLUGIN LOOP_V6_PLUGIN

Ends with `collective test: N of M right`, exit 1 unless N = M.
"""
import json
import os
import subprocess
import sys

collective, plugin, loop, loop_v6 = sys.argv[1:5]
FEW = ['--min', '8', '--max', '2M', '--factor', '512', '--iterations', '2']
SCHEDULES = ('ring', 'tree', 'alltoall')
results = []


def check(text, condition, detail=''):
    results.append(bool(condition))
    if not condition:
        print(f'wrong: {text} {detail}')


def run(library, ranks, environment, arguments=()):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(('NCCL_', 'RAILWITNESS_', 'LOOP_'))}
    return subprocess.run([collective, '--plugin', library, '--json', '-n', str(ranks), '--timeout', '20', *FEW, *arguments],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                          env={**clean, 'NCCL_SOCKET_IFNAME': 'lo', 'RAILWITNESS_SOCKET': '/nonexistent/socket', **environment})


def check_right(name, library, ranks, environment, sends):
    """`sends`: of all ranks in one run of a schedule, while everything fits into one piece."""
    done = run(library, ranks, environment)
    rows = json.loads(done.stdout)['rows'] if done.stdout else []
    check(f'{name}: exit 0', done.returncode == 0, done.stderr[-600:])
    check(f'{name}: all sizes of all schedules, none wrong',
          [(r['schedule'], r['bytes'], r['wrong']) for r in rows] == [(s, b, 0) for s in SCHEDULES for b in (8, 4096, 2 << 20)], rows)
    check(f'{name}: as many transfers as the schedule has', [r['transfers'] for r in rows if r['bytes'] == 8]
          == [2 * sends[s] for s in SCHEDULES], rows)  # two iterations


def sends_of(ranks):
    return {'ring': ranks * 2 * (ranks - 1), 'tree': 2 * (ranks - 1), 'alltoall': ranks * (ranks - 1)}


for name, library, ranks, environment in (
        ('a plugin by itself', loop, 2, {}),
        ('a plugin of v6', loop_v6, 3, {}),
        ('chain', plugin, 3, {'RAILWITNESS_MODE': f'chain:{loop}'}),
        ('ofi', plugin, 2, {'RAILWITNESS_MODE': 'ofi'}),
        ('ofi without the witness', 'ofi', 3, {})):
    check_right(name, library, ranks, environment, sends_of(ranks))

done = run('ofi', 2, {'RAILWITNESS_MODE': 'ofi'}, ['--beside', plugin, '--schedule', 'ring'])
rows = json.loads(done.stdout)['rows']
check('two plugins in turns: both right', done.returncode == 0 and rows[0]['wrong'] == 0, done.stderr[-600:])
check('and every pair is told', 1 <= len(rows[0]['beside_by_first']) <= 20
      and all(pair['busbw'] > 0 for pair in rows[0]['beside_by_first']), rows)
done = run('ofi', 2, {'RAILWITNESS_MODE': f'chain:{loop}', 'LOOP_CORRUPT': '1'},
           ['--beside', plugin, '--schedule', 'ring'])
check('and what is wrong in the second is noticed', done.returncode == 1 and json.loads(done.stdout)['rows'][0]['wrong'] > 0, done)

for schedule in SCHEDULES:
    done = run(loop, 2, {'LOOP_CORRUPT': '1'}, ['--schedule', schedule])
    check(f'a flipped bit is noticed, {schedule}', done.returncode == 1 and json.loads(done.stdout)['rows'][0]['wrong'] > 0, done)
done = run(plugin, 2, {'RAILWITNESS_MODE': 'tap'})
check('a plugin without devices is refused', done.returncode == 1 and 'offers no devices' in done.stderr, done)
done = run('/nonexistent/plugin.so', 2, {})
check('a plugin that is not there is refused', done.returncode == 1 and 'nonexistent' in done.stderr, done)
print(f'collective test: {sum(results)} of {len(results)} right')
sys.exit(0 if all(results) else 1)
