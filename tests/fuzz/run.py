#!/usr/bin/env python3
"""Searches with every fuzzer, keeps what it learns, and says which have been searched for long enough.

    run.py [--build build/fuzz] [--only NAME...] [--cpu SECONDS] [--jobs N]     `make fuzz` builds and calls it
    run.py --smoke SECONDS     each for so long, two at a time; corpus and ledger stay as they are (stage `fuzz` of tests/run.sh)
    run.py --status            says only how things stand
    run.py --self-test

Each fuzzer runs (libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer) for `--cpu` seconds of processor time; without it for
what it lacks to ten minutes since one of its sources changed last: the files of this repository that were compiled into it.
LEDGER.json has the sums and travels with the repository; it is written after each half minute, so a run that is ended goes on
where it was. Inputs that reach new code are added to corpus/NAME, what breaks a fuzzer goes to findings/NAME and stays open
until it breaks it no longer; then it is a seed. Ends with `fuzz: N of M right`, exit 1 unless N = M: right is ten minutes on the
present sources and no finding open.
"""
import argparse
import concurrent.futures
import fcntl
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ENOUGH_S = 600
SLICE_S = 30             # of wall time, between two entries in the ledger
MOST_BYTES = 4096        # of an input that is kept
MOST_NEW, MOST_FOLDER_BYTES = 24, 48 << 10  # inputs added by one run, bytes of them
CRASH = re.compile(r'(crash|leak|timeout|oom|slow-unit)-[0-9a-f]+$')


# --- the ledger

def present_entry(ledger, name, source_hash):
    """The entry of this fuzzer, begun anew if its sources are others; what is open stays open."""
    entry = ledger.get(name)
    if not entry or entry['sources'] != source_hash:
        entry = ledger[name] = {'sources': source_hash, 'cpu_seconds': 0.0, 'runs': 0,
                                'findings': entry['findings'] if entry else []}
    return entry


def is_right(entry):
    return entry['cpu_seconds'] >= ENOUGH_S and not entry['findings']


def tell(name, entry):
    return (f'{name:15} {entry["cpu_seconds"] / 60:6.1f} CPU min  {entry["runs"]:>12} runs  '
            f'{len(entry["findings"])} findings open  {"right" if is_right(entry) else f"not yet right: {ENOUGH_S // 60} CPU min without a finding are"}')


def read_ledger(path):
    return json.loads(path.read_text()) if path.exists() else {}


def save(path, name, entry):
    """The entry of this fuzzer alone: others may be searched meanwhile, by other runs too."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        ledger = read_ledger(path)
        ledger[name] = entry
        beside = path.with_suffix('.new')
        beside.write_text(json.dumps(dict(sorted(ledger.items())), indent=1) + '\n')
        beside.replace(path)
    finally:
        os.close(folder)


# --- what a fuzzer is made of

def sources_of(build, program):
    """Files of this repository that were compiled into the program, headers too."""
    units = subprocess.run(['objdump', '--dwarf=info', '--dwarf-depth=1', program], text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, check=True).stdout
    mains = {(build / name).resolve() for name in re.findall(r'DW_AT_name\s*:.*?(\S+\.(?:cc|c|cpp))$', units, re.M)}
    deps = subprocess.run(['ninja', '-C', build, '-t', 'deps'], text=True, stdout=subprocess.PIPE, check=True).stdout
    found = set()
    for block in deps.split('\n\n'):
        files = {(build / line.strip()).resolve() for line in block.splitlines()[1:]}
        if files & mains:
            found |= {f for f in files if f.is_relative_to(ROOT) and not f.is_relative_to(build)}
    if not found:
        raise SystemExit(f'{program}: no sources found; build it with ninja and debug information (preset fuzz)')
    return sorted(found)


def hash_of(files, root=ROOT):
    digest = hashlib.sha256()
    for file in files:
        digest.update(f'{file.relative_to(root)}\0'.encode() + file.read_bytes() + b'\0')
    return digest.hexdigest()[:16]


# --- running one

def run(program, arguments, folder):
    """Return code, output, processor seconds."""
    with tempfile.TemporaryFile('w+', errors='replace') as out:
        child = subprocess.Popen([program, *arguments], stdout=out, stderr=out, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return child.returncode, out.read(), usage.ru_utime + usage.ru_stime


class Fuzzer:
    def __init__(self, name, program, work, here=HERE, findings=None):
        self.name, self.program = name, str(program)
        self.corpus, self.work = here / 'corpus' / name, work / name
        self.open = (findings or here / 'findings') / name
        for folder in self.corpus, self.work:
            folder.mkdir(parents=True, exist_ok=True)

    def search(self, seconds):
        """One slice: processor seconds, runs, names of what broke it."""
        with tempfile.TemporaryDirectory() as folder:
            code, text, cpu = run(self.program, [
                f'-max_total_time={seconds}', f'-max_len={MOST_BYTES}', '-timeout=25', '-rss_limit_mb=2048', '-print_final_stats=1',
                f'-artifact_prefix={folder}/', str(self.work), str(self.corpus)], folder)
            broke = [f for f in pathlib.Path(folder).iterdir() if CRASH.match(f.name) and not f.name.startswith('slow')]
            for file in broke:
                self.open.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, self.open / file.name)
            if code and not broke:
                raise SystemExit(f'{self.name} ended with {code} and left nothing:\n{text[-2000:]}')
            runs = re.search(r'number_of_executed_units: (\d+)', text) or re.search(r'^#(\d+)\s+DONE', text, re.M)
            return cpu, int(runs[1]) if runs else 0, sorted(f.name for f in broke)

    def look_again(self):
        """Findings that still break it; the others become seeds."""
        still = []
        for file in sorted(self.open.iterdir()) if self.open.is_dir() else []:
            with tempfile.TemporaryDirectory() as folder:
                code, _, _ = run(self.program, ['-runs=1', '-timeout=25', '-rss_limit_mb=2048', str(file)], folder)
            if code:
                still.append(file.name)
            else:
                shutil.move(file, self.corpus / file.name)
        return still

    def keep(self):
        """Adds to the corpus, smallest first, what the work reached and the corpus does not. Returns how many."""
        with tempfile.TemporaryDirectory() as folder:
            both = pathlib.Path(folder, 'both')
            shutil.copytree(self.corpus, both)
            before = {f.name for f in both.iterdir()}
            run(self.program, ['-merge=1', '-use_counters=0', f'-max_len={MOST_BYTES}', str(both), str(self.work)], folder)
            new = sorted((f for f in both.iterdir() if f.name not in before), key=lambda f: f.stat().st_size)
            room = MOST_FOLDER_BYTES
            kept = [f for f in new[:MOST_NEW] if (room := room - f.stat().st_size) >= 0]
            for file in kept:
                shutil.copy(file, self.corpus / file.name)
            return len(kept)


# --- all of them

def fuzzers_of(build, only):
    rows = (build / 'fuzzed.txt').read_text().splitlines() if (build / 'fuzzed.txt').exists() else []
    names = [row for row in rows if not only or row in only]
    cache = (build / 'CMakeCache.txt').read_text() if names else ''
    if names and 'RAILWITNESS_FUZZ:BOOL=ON' not in cache:
        raise SystemExit(f'{build} is not instrumented for libFuzzer: cmake --preset fuzz')
    if not rows:
        raise SystemExit(f'no fuzzers in {build}: cmake --preset fuzz && cmake --build --preset fuzz')
    if set(only or ()) - set(rows):
        raise SystemExit(f'no fuzzer {" ".join(sorted(set(only) - set(rows)))}; there are: {" ".join(rows)}')
    return {name: build / 'tests/fuzz' / f'{name}_fuzzer' for name in names}


def smoke(programs, seconds, work, findings):
    def one(name):
        cpu, runs, broke = Fuzzer(name, programs[name], pathlib.Path(work), findings=findings).search(seconds)
        print(f'{name:15} {cpu:5.1f} CPU s  {runs:>9} runs  {" ".join(broke) or "nothing found"}'
              + (f' in {findings / name}' if broke else ''), flush=True)
        return not broke
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        right = list(pool.map(one, programs))
    print(f'fuzz: {sum(right)} of {len(right)} right')
    return 0 if all(right) else 1


def search_all(programs, hashes, cpu_s, ledger_path, work, here=HERE, jobs=1):
    def one(name):
        program, entry = programs[name], present_entry(read_ledger(ledger_path), name, hashes[name])
        fuzzer = Fuzzer(name, program, work, here)
        entry['findings'] = fuzzer.look_again()
        goal = entry['cpu_seconds'] + cpu_s if cpu_s is not None else ENOUGH_S
        searched = entry['cpu_seconds'] < goal
        while entry['cpu_seconds'] < goal and not entry['findings']:
            cpu, runs, broke = fuzzer.search(max(1, min(SLICE_S, round(goal - entry['cpu_seconds']))))
            entry['cpu_seconds'] = round(entry['cpu_seconds'] + cpu, 1)
            entry['runs'] += runs
            entry['findings'] = broke
            save(ledger_path, name, entry)
        new = fuzzer.keep() if searched else 0
        save(ledger_path, name, entry)
        print(tell(name, entry) + (f'  {new} inputs kept' if new else ''), flush=True)
        for finding in entry['findings']:
            print(f'    {name}_fuzzer {(fuzzer.open / finding).relative_to(here.parent.parent)}', flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, programs))
    return read_ledger(ledger_path)


def conclude(ledger, names):
    right = [n for n in names if n in ledger and is_right(ledger[n])]
    print(f'fuzz: {len(right)} of {len(names)} right')
    return 0 if len(right) == len(names) else 1


STUB = '''#!/usr/bin/env python3
# Behaves to run.py as a libFuzzer program would: it is broken by what begins with BUG, and finds that after a second run.
import os, pathlib, sys, time
options = dict(a[1:].split('=', 1) for a in sys.argv[1:] if a[0] == '-')
paths = [pathlib.Path(a) for a in sys.argv[1:] if a[0] != '-']
is_fixed = os.environ.get('STUB_FIXED') == '1'
if 'runs' in options:
    sys.exit(0 if is_fixed or not paths[0].read_bytes().startswith(b'BUG') else 77)
if 'merge' in options:
    for f in paths[1].iterdir():
        (paths[0] / f.name).write_bytes(f.read_bytes())
    sys.exit(0)
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
(paths[0] / f'new{len(list(paths[0].iterdir()))}').write_bytes(b'x' * 10)
(paths[0] / 'huge').write_bytes(b'x' * 200000)
print('stat::number_of_executed_units: 1000')
if not is_fixed and len(list(paths[0].iterdir())) > 2:
    pathlib.Path(options['artifact_prefix'] + 'crash-0a').write_bytes(b'BUG')
    sys.exit(77)
'''


def self_test():
    results = []

    def check(text, condition, detail=''):
        results.append(bool(condition))
        if not condition:
            print(f'wrong: {text}: {detail}')

    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder, 'tests/fuzz')
        base.mkdir(parents=True)
        stub, path = base / 'stub', base / 'LEDGER.json'
        stub.write_text(STUB)
        stub.chmod(0o755)

        def search(source_hash, cpu_s, fixed):
            os.environ['STUB_FIXED'] = '1' if fixed else '0'
            return search_all({'a': stub}, {'a': source_hash}, cpu_s, path, base / 'work', base)['a']

        entry = search('one', 5, False)
        check('what broke it is open, and the search ends', entry['findings'] == ['crash-0a'] and entry['cpu_seconds'] < 2, entry)
        check('it lies where people look', (base / 'findings/a/crash-0a').exists())
        check('a fuzzer with an open finding is not right', not is_right(dict(entry, cpu_seconds=1e6)))
        again = search('one', 5, False)
        check('an open finding stays open and is not searched over', again['findings'] and again['cpu_seconds'] == entry['cpu_seconds'], again)
        before = again['cpu_seconds']
        fixed = search('one', 0.5, True)
        check('one that breaks it no longer is a seed', not fixed['findings'] and (base / 'corpus/a/crash-0a').exists(), fixed)
        check('time adds up', before + 0.5 <= fixed['cpu_seconds'] < before + 3 and fixed['runs'] >= 3000, fixed)
        kept = {f.name for f in (base / 'corpus/a').iterdir()}
        check('new inputs are kept, but none that is huge', 'new0' in kept and 'huge' not in kept, kept)
        check('the ledger is what the next run begins with', json.loads(path.read_text())['a'] == fixed)
        check('other sources begin at zero', search('two', 0.3, True)['cpu_seconds'] < fixed['cpu_seconds'])
        check('ten minutes without a finding are right', is_right({'cpu_seconds': 600, 'findings': []}) and
              not is_right({'cpu_seconds': 599, 'findings': []}))
        other = base / 'x.cc'
        other.write_text('1')
        first = hash_of([other], base)
        other.write_text('2')
        check('the hash is that of the content', first != hash_of([other], base))
        names = [f'f{i}' for i in range(8)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: [save(path, n, {'runs': i}) for i in range(20)], names))
        check('many at a time lose no entry', all(read_ledger(path).get(n) == {'runs': 19} for n in names))
    print(f'run: {sum(results)} of {len(results)} right')
    return 0 if all(results) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default=ROOT / 'build/fuzz', type=pathlib.Path)
    parser.add_argument('--only', nargs='+')
    parser.add_argument('--cpu', type=float)
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='fuzzers at a time (default: all processors)')
    parser.add_argument('--smoke', type=int)
    parser.add_argument('--status', action='store_true')
    parser.add_argument('--self-test', action='store_true')
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    build = options.build.resolve()
    programs = fuzzers_of(build, options.only)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if options.smoke:
        with tempfile.TemporaryDirectory() as work:
            return smoke(programs, options.smoke, work, build / 'findings')
    hashes = {name: hash_of(sources_of(build, program)) for name, program in programs.items()}
    path = HERE / 'LEDGER.json'
    if options.status:
        ledger = read_ledger(path)
        for name in programs:
            print(tell(name, present_entry(ledger, name, hashes[name])))
    else:
        ledger = search_all(programs, hashes, options.cpu, path, build / 'work', jobs=options.jobs)
    return conclude(ledger, programs)


if __name__ == '__main__':
    sys.exit(main())
