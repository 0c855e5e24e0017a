#!/usr/bin/env python3
"""`railwitness probe rail` over Soft-RoCE, many times: is each fault of a rail told, and no good rail accused?

    tests/probes/cli/probe_series.py RAILWITNESS [--runs 20] [--seed 1] [--out build/probe_series]

Boots the virtual machine of tests/rdma_vm once, with 3 hosts on 3 rails, a sidecar on each and a nats-server. Each run draws a
fault (none, all packets lost, some lost, delay, no carrier), a host and a rail, and probes host0 and host1; a fault at host2 must
leave all their rails good. A run that is there already (OUT/N.json) is not repeated, so a series that was ended goes on. Ends with
`probe: N of M right`, exit 1 unless N = M. By hand: about 10 s a run where nothing else runs.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BUS = 'nats://192.168.77.254:4222'
HOSTS, RAILS = 3, 3
FAULTS = {'none': ([], 'good'), 'drop': (['drop'], 'no answer'), 'loss': (['netem', 'loss', '40%'], 'lossy'),
          'delay': (['netem', 'delay', '200ms'], 'slow'), 'down': (['down'], 'no answer')}


def draw(seed, number):
    """Fault, host and rail of a run. The first runs take each fault once."""
    chance = random.Random(f'{seed}/{number}')
    fault = list(FAULTS)[number - 1] if number <= len(FAULTS) else chance.choice(list(FAULTS))
    return fault, chance.randrange(2) if number <= len(FAULTS) else chance.randrange(HOSTS), chance.randrange(RAILS)


def rail(action, host, number, *more):
    subprocess.run(['rail', action, str(host), str(number), *more], check=True, stdin=subprocess.DEVNULL)


def probe(program, rounds='5'):
    done = subprocess.run(['onmgmt', program, 'probe', 'rail', 'host0', 'host1', '--nats', BUS, '--rounds', rounds, '--json'],
                          stdin=subprocess.DEVNULL, text=True, capture_output=True)
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = {}
    return done.returncode, said, done.stderr


def start(program):
    scratch = pathlib.Path('/tmp/probe_series')
    scratch.mkdir(exist_ok=True)
    subprocess.Popen(['onmgmt', 'nats-server', '-js', '-a', '192.168.77.254', '-p', '4222', '-sd', str(scratch / 'nats')],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for host in range(HOSTS):
        subprocess.Popen(['onhost', str(host), 'bash', '-c', 'mkdir -p /run/railwitness; exec "$@"', '-', program, 'sidecar',
                          '--nats', BUS, '--lldp-command', ''], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=open(scratch / f'sidecar{host}.log', 'w'))
    for _ in range(30):
        code, said, errors = probe(program, '1')
        if code == 0 and len(said['rails']) == RAILS:
            return
    raise SystemExit(f'the sidecars do not get ready: {code} {said.get("line", "")} {errors}')


def one_run(program, seed, number):
    fault, host, bad_rail = draw(seed, number)
    action, word = FAULTS[fault]
    if action:
        rail(action[0], host, bad_rail, *action[1:])
        time.sleep(2.5)   # a sidecar reads states once a second
    code, said, errors = probe(program)
    if action:
        rail('up' if fault == 'down' else 'clear', host, bad_rail)
        time.sleep(2)
    wanted = ['good'] * RAILS
    if host < 2:
        wanted[bad_rail] = word
    got = [r['verdict'] for r in said.get('rails', [])]
    right = got == wanted and code == (0 if set(wanted) == {'good'} else 1)
    return {'run': number, 'fault': fault, 'host': host, 'rail': bad_rail, 'wanted': wanted, 'got': got, 'code': code, 'right': right,
            'line': said.get('line', errors.strip()), 'said': said}


def inside(args):
    out = pathlib.Path(os.environ['RDMA_VM_OUT'])
    start(args.program)
    for number in range(1, args.runs + 1):
        if (out / f'{number}.json').exists():
            continue
        result = one_run(args.program, args.seed, number)
        beside = out / f'{number}.new'
        beside.write_text(json.dumps(result) + '\n')
        beside.rename(out / f'{number}.json')
        tell(result)


def tell(result):
    print(f'run {result["run"]:2}  {result["fault"]:5} at host{result["host"]} rail {result["rail"]}  {"right" if result["right"] else "WRONG"}  '
          f'{result["line"]}', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('--runs', type=int, default=20)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--out', default=str(HERE.parents[2] / 'build' / 'probe_series'))
    parser.add_argument('--inside', action='store_true', help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.program = str(pathlib.Path(args.program).resolve())
    if args.inside:
        return inside(args)
    out = pathlib.Path(args.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    there = [number for number in range(1, args.runs + 1) if (out / f'{number}.json').exists()]
    for number in there:
        tell(json.loads((out / f'{number}.json').read_text()))
    if len(there) < args.runs:
        subprocess.run([str(HERE.parents[1] / 'rdma_vm' / 'rdma_vm'), '--hosts', str(HOSTS), '--rails', str(RAILS), '--out', str(out),
                        '--timeout', str(300 + 120 * args.runs), '--', sys.executable, str(HERE / 'probe_series.py'), args.program,
                        '--inside', '--runs', str(args.runs), '--seed', str(args.seed)], check=False)
    results = [json.loads((out / f'{number}.json').read_text()) for number in range(1, args.runs + 1) if (out / f'{number}.json').exists()]
    right = sum(result['right'] for result in results)
    print(f'probe: {right} of {args.runs} right')
    return 0 if right == args.runs else 1


sys.exit(main())
