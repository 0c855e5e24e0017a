#!/usr/bin/env python3
"""What the built plugin does to the process that it is in, and what that process may do to it: every case of lifecycle.

    lifecycle.py LIFECYCLE PLUGIN LOOP FAKE_NCCL VERBS TAKEN [RAILWITNESS] [--only CASE,...] [--results FILE] [--jobs N]
    lifecycle.py --self-test             shows that a case can be wrong

VERBS is the folder of the tests' libibverbs.so.1, TAKEN one in which it is also called libibverbs.so; RAILWITNESS the
program, for the cases beside a real sidecar. A case runs in processes of its own. As root there are a few more cases: they
mount, or change the user.

Ends with `lifecycle: N of M right`, exit 1 unless N = M; cases that cannot be had here are not among the M, and say why.
--results keeps rows; the same command goes on from there.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import real_sidecar  # noqa: E402

LIMIT_S = 100


def judge(status, output):
    """'right', 'wrong' or 'skipped', and what was seen."""
    said = {key: [line[len(key) + 2:] for line in output.splitlines() if line.startswith(key + ': ')]
            for key in ('seen', 'wrong', 'skip', 'job')}
    if status == 77 and said['skip']:
        return 'skipped', said['skip'][-1]
    if status == 0 and said['seen'] and not said['wrong']:
        return 'right', said['seen'][-1]
    how = 'does not end' if status is None else f'exit {status}'
    return 'wrong', '; '.join([how, *said['wrong'], *said['job'][:3], *said['seen']])


def environment_of(case, mode, options):
    libraries = {'ofi': []}.get(mode, [options.verbs])  # libfabric needs the real ones
    if case.endswith('_name_taken'):
        libraries.append(options.taken)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(('RAILWITNESS_', 'NCCL_'))}
    environment['LD_LIBRARY_PATH'] = ':'.join([*libraries, *filter(None, [os.environ.get('LD_LIBRARY_PATH')])])
    return environment


def run(case, mode, options):
    environment = environment_of(case, mode, options)
    for name, _, _, beside in real_sidecar.CASES:
        if name == case:
            if not options.railwitness:
                return 77, 'skip: the program is not built with a sanitizer\n'
            wrong, seen = beside(options, environment)
            return int(bool(wrong)), ''.join(f'wrong: {w}\n' for w in wrong) + f'seen: {seen}\n'
    command = [options.lifecycle, case, mode, options.plugin, options.loop, options.fake_nccl]
    with tempfile.TemporaryFile('w+') as output:
        try:
            status = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                    timeout=LIMIT_S, start_new_session=True).returncode
        except subprocess.TimeoutExpired:
            status = None
        output.seek(0)
        return status, output.read()


def row_of(case, mode, done, options):
    begin = time.monotonic()
    status, output = run(case, mode, options)
    verdict, seen = judge(status, output)
    return {'case': case, 'mode': mode, 'done': done, 'verdict': verdict, 'seen': seen, 's': time.monotonic() - begin,
            'output': output if verdict == 'wrong' else ''}


def print_row(row):
    print(f"| {row['case']} | {row['mode']} | {row['done']} | {row['verdict']} | {row['seen'][:500]} | {row['s']:.1f} |", flush=True)
    if row['output']:
        print(row['output'], flush=True)


def self_test():
    cases = [(0, 'seen: x\n', 'right'), (0, 'seen: x\nwrong: y\n', 'wrong'), (0, '', 'wrong'), (1, 'seen: x\n', 'wrong'),
             (-11, 'seen: x\n', 'wrong'), (None, 'seen: x\n', 'wrong'), (77, 'skip: no root\n', 'skipped'), (77, '', 'wrong'),
             (99, 'job: bed.cc:1: x\n', 'wrong')]
    found = sum(judge(status, output)[0] == verdict for status, output, verdict in cases)
    print(f'lifecycle_self_test: {found} of {len(cases)} right')
    return 0 if found == len(cases) else 1


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('lifecycle', 'plugin', 'loop', 'fake_nccl', 'verbs', 'taken'):
        parser.add_argument(name)
    parser.add_argument('railwitness', nargs='?', default='')
    parser.add_argument('--only', default='')
    parser.add_argument('--results', default='')
    parser.add_argument('--jobs', type=int, default=2)
    options = parser.parse_args()
    listed = subprocess.run([options.lifecycle, '--list'], stdout=subprocess.PIPE, text=True, check=True).stdout
    plan = [line.split(' ', 2) for line in listed.splitlines()] + [case[:3] for case in real_sidecar.CASES]
    plan = [p for p in plan if not options.only or p[0] in options.only.split(',')]
    kept = {}
    if options.results and os.path.exists(options.results):
        kept = {(r['case'], r['mode']): r for r in map(json.loads, open(options.results))}
    print('| case | mode | what was done | | what was seen | s |\n|' + '---|' * 6, flush=True)
    count = {'right': 0, 'wrong': 0, 'skipped': 0}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = [kept[(c, m)] if (c, m) in kept else pool.submit(row_of, c, m, done, options) for c, m, done in plan]
        for row in rows:
            if not isinstance(row, dict):
                row = row.result()
                if options.results:
                    print(json.dumps(row), file=open(options.results, 'a'))
            count[row['verdict']] += 1
            print_row(row)
    if count['skipped']:
        print(f"{count['skipped']} cases cannot be had here: see `skipped`")
    print(f"lifecycle: {count['right']} of {count['right'] + count['wrong']} right")
    return 0 if count['right'] and not count['wrong'] else 1


if __name__ == '__main__':
    sys.exit(main())
