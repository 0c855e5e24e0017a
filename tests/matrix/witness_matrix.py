#!/usr/bin/env python3
"""Collectives of the real libnccl over its own net_ib on Soft-RoCE, with the tap and without: every element checked,
and the bytes in the witness segments compared with the bytes NCCL itself says it sent.

Runs inside the virtual machine (tests/rdma_vm), all devices in sight:
    rdma_vm --hosts 4 --rails 2 --mem 4000 --out DIR -- witness_matrix.py --build BUILD --out DIR [--quick] [--fresh]

A case is operation x ranks x queue pairs per connection x tap on or off; sizes 8 B to 4 MiB in one communicator. With
the tap off the elements are checked. With the tap on also, for each rank and byte for byte:
    data bytes witnessed posted    = bytes of the send steps, as NCCL's profiler interface reports them
    data bytes witnessed completed = the same
    bytes witnessed received       = bytes of the receive steps
and no flow or event unwitnessed. Results are kept in DIR/matrix.jsonl: a run that was ended goes on where it was.
Ends with `matrix: N of M right`, exit 1 unless N = M.
"""
import argparse
import glob
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import soft_roce  # noqa: E402
from segment_reader import read_segment  # noqa: E402


def sum_segments(pattern):
    segments = [read_segment(pathlib.Path(f).read_bytes()) for f in glob.glob(pattern)]
    if len(segments) != 1:
        return None, f'{len(segments)} segments at {pattern}'
    return segments[0], ''


def check_witness(directory, ranks):
    """Problems, and the sums for the record."""
    problems, sums = [], []
    for rank in range(ranks):
        segment, why = sum_segments(f'{directory}/segment.{rank}.*')
        counts = directory / f'nccl.{rank}'
        if why or not counts.exists():
            problems.append(f'rank {rank}: ' + (why or 'no counts of NCCL'))
            continue
        nccl = dict(re.findall(r'^(sent_bytes|received_bytes) (\d+)', counts.read_text(), re.M))
        sent, received = int(nccl['sent_bytes']), int(nccl['received_bytes'])
        row = dict(rank=rank, nccl_sent=sent, nccl_received=received, posted=segment['data_bytes_posted'],
                   completed=segment['data_bytes_completed'], received=segment['data_bytes_received'])
        sums.append(row)
        if not (row['posted'] == row['completed'] == sent and row['received'] == received):
            problems.append(f'rank {rank}: {row}')
        if segment['unwitnessed_flows'] or segment['unwitnessed_events'] or any(f['errors'] for f in segment['flows']):
            problems.append(f'rank {rank}: unwitnessed flows or events, or errors')
    if not sum(row['nccl_sent'] for row in sums):
        problems.append('NCCL counted nothing')
    return problems, sums


def run_case(args, case):
    operation, ranks, queue_pairs, tap = case
    directory = pathlib.Path('/tmp/matrix') / '-'.join(map(str, case))
    subprocess.run(['rm', '-rf', directory], check=True)
    directory.mkdir(parents=True)
    env = dict(os.environ, **soft_roce.environment(directory, ranks), NCCL_IB_QPS_PER_CONNECTION=str(queue_pairs), NCCL_DEBUG='WARN')
    if tap == 'on':
        env.update(NCCL_NET_PLUGIN=f'{args.build}/lib/libnccl-net-railwitness.so',
                   NCCL_PROFILER_PLUGIN=f'{args.build}/tests/cpugpu/libcount_profiler.so', COUNT_PROFILER_OUT=f'{directory}/nccl')
        for rank in range(ranks):
            env[f'RANK{rank}_RAILWITNESS_SEGMENT_FILE'] = f'{directory}/segment.{rank}'
    command = [f'{args.build}/tests/cpugpu/coll_perf', '-n', str(ranks), '-c', operation, '-b', '8', '-e', '4M', '-f', '2',
               '-i', '1', '-w', '0', '-T', '200']
    start = time.monotonic()
    try:
        run = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400)
        output, rc = run.stdout, run.returncode
    except subprocess.TimeoutExpired as error:
        output, rc = (error.stdout or b'').decode(errors='replace'), 124
    sizes = len(re.findall(r'^ +\d+ +\d+ +float', output, re.M))
    problems = []
    if rc != 0 or '# all ranks finished, 0 wrong elements' not in output or sizes < 18:
        problems.append(f'exit {rc}, {sizes} sizes: ' + output[-400:])
    sums = []
    if tap == 'on' and not problems:
        problems, sums = check_witness(directory, ranks)
    return dict(case=case, right=not problems, problems=problems, sizes=sizes, seconds=round(time.monotonic() - start, 1), sums=sums)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True, help='build directory, absolute')
    parser.add_argument('--out', required=True, help='where matrix.jsonl is kept')
    parser.add_argument('--quick', action='store_true', help='4 cases that touch every value once')
    parser.add_argument('--fresh', action='store_true', help='forget earlier results')
    args = parser.parse_args()
    cases = [list(c) for c in itertools.product(('allreduce', 'allgather', 'broadcast', 'alltoall'), (2, 3, 4), (1, 2), ('on', 'off'))]
    if args.quick:
        cases = [['allreduce', 4, 1, 'on'], ['allgather', 3, 2, 'on'], ['broadcast', 2, 1, 'on'], ['alltoall', 2, 2, 'on']]
    results_file = pathlib.Path(args.out) / 'matrix.jsonl'
    if args.fresh:
        results_file.unlink(missing_ok=True)
    done = {}
    if results_file.exists():
        for line in results_file.read_text().splitlines():
            result = json.loads(line)
            if result['right']:
                done[tuple(result['case'])] = result
    right = 0
    for number, case in enumerate(cases, 1):
        result = done.get(tuple(case)) or run_case(args, case)
        if tuple(case) not in done:
            with results_file.open('a') as file:
                file.write(json.dumps(result) + '\n')
        right += result['right']
        sent = sum(r['nccl_sent'] for r in result['sums'])
        print(f'[{number}/{len(cases)}] {case[0]:10} {case[1]} ranks, {case[2]} QPs a connection, tap {case[3]:3}: '
              f'{"right" if result["right"] else "WRONG"}, {result["sizes"]} sizes, {result["seconds"]} s'
              + (f', {sent} bytes by NCCL, {sum(r["posted"] for r in result["sums"])} witnessed' if sent else ''), flush=True)
        for problem in result['problems']:
            print('    ' + problem.replace('\n', '\n    '), flush=True)
    print(f'matrix: {right} of {len(cases)} right')
    return 0 if right == len(cases) else 1


sys.exit(main())
