#!/usr/bin/env python3
"""Simulated InfiniBand fabrics with planted faults, asked by the real tools, read by `railwitness fabric`.

    fabric_check.py --build BUILD --out DIR [--hosts 8 64 288] [--seeds N] [--quick] [--fresh]

A bed is a number of hosts x scene x seed: ibsim and opensm with that fabric (ibsim_bed), asked by ibnetdiscover,
iblinkinfo and ibqueryerrors (collect.sh). A row is a bed in one form: right if every planted fault is found and named
(host, NIC, rail, switch port) and nothing else is said. Every form of a bed has to give one answer, identities included.
Then two files that ibsim has no part in: 5008 nodes and 4096 hosts, healthy and with faults, with bounds on time and memory.

What is in DIR/results.jsonl is not run again, unless --fresh or the program has changed; the tools are asked again only where
the fabric has changed. Ends with `ibsim: N of M right`,
exit 1 unless N = M, 77 with the reason where ibsim is missing.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import db_csv  # noqa: E402
import judge  # noqa: E402
from fabrics import LARGE, SHAPES, Fabric  # noqa: E402
from faults import EVERYWHERE, SCENES, WITH_UNITS, Scene  # noqa: E402

# Files of one form. The first says cables and what they run at; errors are in ibqueryerrors' alone, and in db_csv.
FORMS = {'ibnetdiscover': ('ibnetdiscover.txt', 'errors.txt'), 'ibnetdiscover -p': ('ports.txt', 'errors.txt'),
         'iblinkinfo': ('iblinkinfo.txt', 'details.txt'), 'iblinkinfo -l': ('lines.txt', 'reported.txt'),
         'ibdiagnet, rewritten': ('ibdiagnet2.db_csv',),
         'perfquery': ('iblinkinfo.txt', '0x*.out'),
         'all of them': ('errors.txt', 'iblinkinfo.txt', 'ibdiagnet2.db_csv', 'ports.txt', 'ibnetdiscover.txt', 'lines.txt', 'details.txt'),
         'without counters': ('ibnetdiscover.txt',)}
MOST_S, MOST_MIB = 2.0, 512  # of the file of 5008 nodes


def run_railwitness(args, command, files, directory, options=()):
    run = subprocess.run([sys.executable, '-S', HERE / 'measure.py', args.program, command, *options, '--json', *files], cwd=directory,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    said = run.stderr.splitlines()
    if run.returncode not in (0, 1) or not run.stdout or not said:
        return None, {}, [f'railwitness {command} ended with {run.returncode}: {run.stderr[-300:]}']
    answer, used = json.loads(run.stdout), json.loads(said[-1])
    if command == 'fabric' and run.returncode != bool(answer['findings']):
        return answer, used, [f'exit status {run.returncode} with {len(answer["findings"])} findings']
    return answer, used, []


def make_bed(args, hosts, name, seed):
    """The scene and the folder of what the tools said of it."""
    directory = args.out / f'{hosts}-{name.replace(" ", "_")}-{seed}'
    directory.mkdir(parents=True, exist_ok=True)
    shape = SHAPES[hosts]
    fabric = Fabric(shape if seed % 2 == 0 else type(shape)(**{**shape.__dict__, 'shuffled': True}), seed)
    scene = Scene(name, fabric, seed)
    SCENES[name](scene)
    question = '\n'.join([fabric.ibsim_text(), *scene.commands])
    asked = directory / 'asked'  # the program may have changed; what the tools say of the same fabric has not
    is_asked = not args.fresh and asked.exists() and asked.read_text() == question
    asked.unlink(missing_ok=True)
    (directory / 'topology').write_text(fabric.ibsim_text())
    if scene.plan:
        (directory / 'plan.csv').write_text(scene.plan)
    before = [word for command in scene.commands for word in ('--before', command)]
    if not is_asked:
        ask(directory, before)
    (directory / 'ibdiagnet2.db_csv').write_text(db_csv.text(*((directory / f).read_text() for f in ('ibnetdiscover.txt', 'errors.txt'))))
    said = (directory / 'errors.txt').stat().st_mtime  # errors that stand still for ten minutes from file to file are old ones
    os.utime(directory / 'ibdiagnet2.db_csv', (said, said))
    asked.write_text(question)
    return scene, directory


def ask(directory, before):
    """On a machine that is busy with other things MADs time out, and ibqueryerrors has crashed of that: tried again, and told."""
    for attempt in range(3):
        bed = subprocess.run([HERE / 'ibsim_bed', '--topology', directory / 'topology', *before, '--', HERE / 'collect.sh', directory],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        if bed.returncode == 0:
            return
        print(f'       the bed {directory.name} ended with {bed.returncode}: {bed.stdout[-1000:].strip()}', flush=True)
    sys.exit('fabric_check: the bed cannot be made')


def check_bed(args, hosts, name, seed, table):
    forms = ['ibnetdiscover', 'all of them'] if name == 'two ports of one leaf' else FORMS
    keys = [f'{hosts} x 8, {name}, seed {seed}: {form}' for form in forms]
    places = f'{hosts} x 8, {name}, seed {seed}: place of every NIC'
    if all(table.is_done(key) for key in [*keys, places]):
        for key in [*keys, places]:
            table.again(key)
        return
    scene, directory = make_bed(args, hosts, name, seed)
    options = ['--plan', 'plan.csv'] if scene.plan else []
    identities = None
    for key, form in zip(keys, forms):
        files = [f.name for pattern in FORMS[form] for f in sorted(directory.glob(pattern))]
        answer, used, wrong = run_railwitness(args, 'fabric', files, directory, options)
        is_whole = form != 'without counters'
        if answer:
            wrong += judge.problems(answer, [e for e in scene.expected if is_whole or not e.is_counter])
            said = sorted(f['id'] for f in answer['findings'])
            identities = identities or said
            if is_whole and said != identities:
                wrong.append('other identities than in the first form')
        table.add(key, wrong, used)
    answer, used, wrong = run_railwitness(args, 'ports', ['ibnetdiscover.txt'], directory)
    for port in scene.unplugged:
        scene.fabric.pull(port)
    rows = scene.fabric.place_rows()
    table.add(places, wrong + (judge.places(answer, rows) if answer else []), used)


def check_large(args, name, table):
    for scene_name in ('healthy', 'planted', 'a leaf without cables'):
        key = f'{name}, {scene_name}: a file as of ibnetdiscover'
        if table.is_done(key):
            table.again(key)
            continue
        fabric = Fabric(LARGE[name])
        scene = Scene(scene_name, fabric, 0)
        SCENES[scene_name](scene)
        for port in scene.unplugged:
            fabric.pull(port)
        path = args.out / f'{name.replace(" ", "-")}-{scene_name}.txt'
        path.write_text(fabric.ibnetdiscover_text())
        answer, used, wrong = run_railwitness(args, 'fabric', [path], args.out)
        if answer:
            wrong += judge.problems(answer, [e for e in scene.expected if not e.is_counter])
        if name == '5008 nodes' and used and (used['cpu_s'] > MOST_S or used['peak_mib'] > MOST_MIB):
            wrong.append(f'more than {MOST_S} s or {MOST_MIB} MiB')
        table.add(key, wrong, used)


class Table:
    """Rows as they are judged, kept in a file so that a run that was ended goes on."""

    def __init__(self, path, program, is_fresh):
        self.path, self.right, self.all = path, 0, 0
        self.stamp = f'{program.stat().st_mtime_ns}'
        old = [] if is_fresh or not path.exists() else [json.loads(line) for line in path.read_text().splitlines()]
        self.done = {row['key']: row for row in old if row['stamp'] == self.stamp and not row['wrong']}
        path.write_text(''.join(json.dumps(row) + '\n' for row in self.done.values()))

    def is_done(self, key):
        return key in self.done

    def again(self, key):
        self.show(self.done[key], ' (before)')

    def add(self, key, wrong, used):
        row = dict(key=key, wrong=wrong, stamp=self.stamp, **used)
        with self.path.open('a') as out:
            out.write(json.dumps(row) + '\n')
        self.show(row)

    def show(self, row, when=''):
        self.all += 1
        self.right += not row['wrong']
        figures = f'{row.get("cpu_s", 0):6.2f} s of processor {row.get("peak_mib", 0):6.1f} MiB'
        print(f'{"right" if not row["wrong"] else "WRONG"}  {figures}  {row["key"]}{when}', flush=True)
        for line in row['wrong'][:5]:
            print(f'       {line}', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, required=True, help='with bin/railwitness')
    parser.add_argument('--out', type=pathlib.Path, required=True, help='results and what the tools said')
    parser.add_argument('--hosts', type=int, nargs='+', choices=SHAPES, default=list(SHAPES))
    parser.add_argument('--seeds', type=int, default=2, help='draws of places; odd ones also of leaf ports (default 2)')
    parser.add_argument('--quick', action='store_true', help='8 hosts, one draw, the scenes with all faults and with none, no large file')
    parser.add_argument('--fresh', action='store_true', help='forget earlier results')
    args = parser.parse_args()
    check = subprocess.run([HERE / 'ibsim_bed', '--check'], stderr=subprocess.PIPE, text=True)
    if check.returncode:
        print(f'skipped, nothing is proven: {check.stderr.strip()}')
        return check.returncode
    args.out = args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    args.program = (args.build / 'bin/railwitness').resolve()
    table = Table(args.out / 'results.jsonl', args.program, args.fresh)
    for hosts in [8] if args.quick else args.hosts:
        scenes = EVERYWHERE[:2] if args.quick else [*EVERYWHERE, *WITH_UNITS] if hosts > 8 else [s for s in SCENES if s not in WITH_UNITS]
        for name in scenes:
            for seed in range(1 if args.quick else args.seeds):
                check_bed(args, hosts, name, seed, table)
    for name in [] if args.quick else LARGE:
        check_large(args, name, table)
    print(f'ibsim: {table.right} of {table.all} right')
    return 0 if table.right == table.all and table.all else 1


if __name__ == '__main__':
    sys.exit(main())
