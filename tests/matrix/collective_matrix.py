#!/usr/bin/env python3
"""Collectives of real libnccl binaries, every element checked: NCCL version x mode of the plugin x case.

    collective_matrix.py --build BUILD --out DIR [--nccl LIBNCCL...] [--mode MODE...] [--case WORD...] [--quick]
                         [--plugin FOLDER] [--fresh]

A version is a libnccl.so.2, run on the emulated GPU (tests/cpugpu): by default all of fetch_nccl.sh's cache, 2.22 or
later, or else the one that the build uses. Modes:
    none    no plugin: NCCL's own sockets. What is wrong here is not the plugin's fault
    probe   the probe plugin of tests/cpugpu, loaded by NCCL itself (2.28 or later)
    tap     railwitness, mode tap: reports no device, NCCL goes on with its own transport. Here that is sockets
    chain   railwitness, mode chain: the probe plugin behind it
    ofi     railwitness, mode ofi: libfabric over TCP
    verbs   railwitness, mode tap, over NCCL's own net_ib on Soft-RoCE. Only inside the virtual machine, when asked for:
            rdma_vm --hosts 4 --rails 2 --mem 4000 --out DIR -- collective_matrix.py --mode verbs ...; without the two
            cases that are too big for it
In mode tap it is also checked which library answered NCCL when it opened libibverbs: it must have been the tap's.
The plugin is BUILD's, or the one in FOLDER: one built with asan and ubsan gets their libraries preloaded, and a case in
which they report anything is wrong. (Not tsan: it does not see how libnccl's threads synchronise.)
A case is right if all elements are right (or a fault ends as it must: every surviving rank gets an error and can
abort), if NCCL's log says that the transport of the mode was in use on every rank, and if the plugin was loaded.
Results are kept in DIR/collectives.jsonl: a run that was ended goes on where it was, and wrong cases are run again.
Ends with `collectives: N of M right`, exit 1 unless N = M.
"""
import argparse
import dataclasses
import glob
import json
import mmap
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import soft_roce  # noqa: E402

KERNELS_SINCE = (2, 22)        # tests/cpugpu/README.md: Versions
VERBS_RANKS = 4                # hosts of the virtual machine
PROBE_SINCE = (2, 28)          # the probe plugin speaks net v11
# Up to 2.25 ncclCommAbort may never come back after a peer is gone, with NCCL's own sockets as well: the progress
# thread tries its failed operation again for ever, and the abort waits for that thread.
ABORT_SINCE = (2, 26)
TOLD_SINCE = (2, 28)           # before, NCCL's own sockets did not always report a peer that is gone
LOG_LIMIT = 256 << 20          # bytes: that thread writes a log line each time; NCCL needs files of up to 70 MB
CACHE = pathlib.Path(os.environ.get('RAILWITNESS_NCCL_CACHE') or
                     pathlib.Path(os.environ.get('XDG_CACHE_HOME', pathlib.Path.home() / '.cache')) / 'railwitness/nccl')


# --- cases ----------------------------------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    arguments: str               # of coll_perf
    choice: str = ''             # NCCL_ALGO/NCCL_PROTO; empty: NCCL chooses
    fault: str = ''              # killed, stopped or aborted: rank 1, the others must get an error and abort
    quick: bool = False

    def since(self):
        return ABORT_SINCE if self.fault in ('killed', 'aborted') else KERNELS_SINCE

    def ranks(self):
        return int(re.search(r'-n (\d+)', self.arguments)[1])

    def fits(self, mode):
        """Emulated processors and NICs are slow."""
        return mode.network != 'IB' or (self.ranks() <= VERBS_RANKS and '64M' not in self.arguments)

    def rows(self):
        """Lines in coll_perf's table."""
        size, end, factor = (parse_bytes(re.search(rf'-{o} (\S+)', self.arguments)[1]) for o in 'bef')
        count = 0
        while size <= end:
            size, count = size * factor, count + 1
        return count * int((re.search(r'-C (\d+)', self.arguments) or [0, 1])[1])


def parse_bytes(text):
    return int(text.rstrip('KM')) << {'K': 10, 'M': 20}.get(text[-1], 0)


OPERATIONS = ('allreduce', 'allgather', 'reducescatter', 'broadcast', 'reduce', 'alltoall', 'sendrecv')
COLLECTIVES = OPERATIONS[:5]
PROTOCOLS = ('LL', 'LL128', 'Simple')
SWEEP = '-b 8 -e 2M -f 512 -i 1 -w 0'          # 8 B, 4 KiB, 2 MiB
ONE = '-b 64K -e 64K -f 2 -i 1'


def all_cases():
    cases = [Case('8 B to 64 MiB', '-n 2 -c allreduce -b 8 -e 64M -f 8388608 -i 1 -w 0')]
    cases += [Case(f'{o}', f'-n 3 -c {o} {SWEEP}', quick=o in ('allreduce', 'alltoall')) for o in OPERATIONS]
    cases += [Case(f'{o}, in place', f'-n 3 -c {o} {SWEEP} -p') for o in COLLECTIVES]
    cases += [Case(f'{o}, Ring {p}', f'-n 4 -c {o} {SWEEP}', f'Ring/{p}') for o in COLLECTIVES for p in PROTOCOLS]
    cases += [Case(f'allreduce, Tree {p}', f'-n 4 -c allreduce {SWEEP}', f'Tree/{p}', quick=p == 'LL128')
              for p in PROTOCOLS]
    cases += [Case(f'{o}, registered buffers', f'-n 3 -c {o} {SWEEP} -R')
              for o in ('allreduce', 'allgather', 'alltoall')]
    cases += [Case(f'{o}, 8 ranks', f'-n 8 -c {o} -b 8 -e 4K -f 512 -i 1 -w 0') for o in ('allreduce', 'alltoall')]
    cases += [Case('split into 2 groups', f'-n 4 -c allreduce {SWEEP} -G 2'),
              Case('3 communicators in turn', f'-n 2 -c allreduce {ONE} -C 3', quick=True)]
    cases += [Case('rank 1 killed', f'-n 3 -c allreduce {ONE} -T 30 -K 1', fault='killed', quick=True),
              Case('rank 1 stopped', f'-n 3 -c allreduce {ONE} -T 5 -S 1', fault='stopped'),
              Case('rank 1 aborts', f'-n 3 -c allreduce {ONE} -T 30 -A 1', fault='aborted')]
    return cases


# --- modes ----------------------------------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Mode:
    name: str
    plugin: str                  # '', 'probe' or 'railwitness'
    environment: dict            # {build} stands for the build directory
    network: str                 # how NCCL's log names the transport
    since: tuple = KERNELS_SINCE


# 2.28.3 to 2.29.7 close the library with the last communicator and forget its name: without this the second communicator
# runs over NCCL's own transport, and says so at INFO only.
KEEP = {'NCCL_NET_PLUGIN_REF_COUNT': '1'}

MODES = {mode.name: mode for mode in (
    Mode('none', '', {}, 'Socket'),
    Mode('probe', 'probe', KEEP, 'probe', PROBE_SINCE),
    Mode('tap', 'railwitness', {'RAILWITNESS_MODE': 'tap'}, 'Socket'),
    Mode('chain', 'railwitness', {'RAILWITNESS_MODE': 'chain:{build}/tests/cpugpu/libprobe_plugin.so', **KEEP}, 'railwitness'),
    Mode('ofi', 'railwitness', {'RAILWITNESS_MODE': 'ofi', **KEEP}, 'railwitness'),
    Mode('verbs', 'railwitness', {'RAILWITNESS_MODE': 'tap'}, 'IB'))}
ASKED_FOR = ('verbs',)


def environment(args, nccl, mode, case, directory):
    env = {name: value for name, value in os.environ.items() if not name.startswith(('NCCL_', 'RAILWITNESS_'))}
    library_path = f'{nccl.parent}:{args.plugin}'
    env.update(LD_LIBRARY_PATH=library_path, NCCL_SOCKET_IFNAME='lo', NCCL_DEBUG='INFO',
               NCCL_DEBUG_SUBSYS='INIT,NET,ENV', NCCL_DEBUG_FILE=f'{directory}/log.%p', RAILWITNESS_SEGMENT_FILE=f'{directory}/segment')
    env.update({name: value.format(build=args.build) for name, value in mode.environment.items()})
    if mode.network == 'IB':
        env.update(soft_roce.environment(pathlib.Path(directory), case.ranks()))
    preload = list(args.sanitizers)
    if preload:
        env.update(ASAN_OPTIONS=f'detect_leaks=0:verify_asan_link_order=0:log_path={directory}/report',
                   UBSAN_OPTIONS=f'log_path={directory}/report')
    if mode.name in ('tap', 'verbs'):
        preload.insert(0, f'{args.build}/tests/cpugpu/liblookup_recorder.so')   # before asan's dlopen: it goes by the caller
        env['LOOKUP_RECORDER_OUT'] = f'{directory}/lookups'
    if preload:
        env['LD_PRELOAD'] = ':'.join(preload)
    if mode.plugin == 'probe':
        env['NCCL_NET_PLUGIN'] = f'{args.build}/tests/cpugpu/libprobe_plugin.so'
    elif mode.plugin:
        env['NCCL_NET_PLUGIN'] = 'railwitness'      # by name, as every version takes it
    if case.choice:
        env['NCCL_ALGO'], env['NCCL_PROTO'] = case.choice.split('/')
    return env


# --- judging --------------------------------------------------------------------------------------------------------

def check_data(case, rc, output):
    rows = len(re.findall(r'^ +\d+ +\d+ +float', output, re.M))
    if rc != 0 or '# all ranks finished, 0 wrong elements' not in output or rows != case.rows():
        return [f'exit {rc}, {rows} of {case.rows()} sizes:\n{output[-800:]}']
    return []


def check_fault(case, mode, version, rc, output):
    """Every survivor has an error of its own (a stopped peer: its own timeout) and comes back from the abort."""
    problems = []
    for rank in (0, 2):
        reason = r'no completion within' if case.fault == 'stopped' else r'asynchronous error|no completion within'
        if not re.search(rf'^rank {rank}: (?:{reason})', output, re.M):
            problems.append(f'rank {rank} got no error')
        if not re.search(rf'^rank {rank}: ncclCommAbort returned "no error"', output, re.M):
            problems.append(f'rank {rank} did not come back from ncclCommAbort')
    # Over verbs a dead peer is only found out by who has something on its way to it.
    if case.fault != 'stopped' and version >= TOLD_SINCE and mode.network != 'IB' and 'asynchronous error' not in output:
        problems.append('no rank was told about the fault by NCCL')
    if rc != 1 or '# FAILED, 0 wrong elements' not in output:
        problems.append(f'exit {rc}')
    return problems + [output[-800:]] if problems else []


def check_transport(mode, case, directory):
    logs = []
    for path in glob.glob(f'{directory}/log.*'):
        with open(path, errors='replace') as file:
            logs.append(file.read(1 << 20))       # the beginning; after a fault some versions write gigabytes
    logs = [log for log in logs if 'Init START' in log or 'Using network' in log]
    problems = []
    if len(logs) != case.ranks():
        problems.append(f'{len(logs)} logs of NCCL, not {case.ranks()}')
    for log in logs:
        used = set(re.findall(r'Using network (\S+)', log)) | set(re.findall(r'via NET/([^/\s]+)', log))
        if not {name.lower() for name in used} == {mode.network.lower()}:
            problems.append(f'network {", ".join(sorted(used)) or "unknown"} in use, not {mode.network}')
        if mode.plugin == 'railwitness' and not re.search(r'NCCL INFO railwitness [\w.-]+: ', log):   # its banner
            lines = [line for line in log.splitlines() if 'lugin' in line]
            problems.append('NCCL did not take railwitness:\n' + '\n'.join(lines[:4]))
    return list(dict.fromkeys(problems))


def check_tap(case, directory):
    """Every rank's libnccl has opened libibverbs and got the tap's."""
    lookups = pathlib.Path(directory, 'lookups')
    text = lookups.read_text() if lookups.exists() else ''
    answers = re.findall(r'^open (libibverbs\S*) (.*)', text, re.M)
    strangers = [f'{name} {answer}' for name, answer in answers if not answer.endswith('/tap-verbs.so')]
    if len(answers) < case.ranks() or strangers:
        return [f'{len(answers)} times libibverbs was opened by {case.ranks()} ranks, not answered by the tap: {strangers[:3]}']
    return []


def check_sanitizers(directory):
    return [pathlib.Path(path).read_text(errors='replace')[:4000] for path in sorted(glob.glob(f'{directory}/report*'))]


def run_case(args, version, nccl, mode, case):
    kept = pathlib.Path('/tmp' if mode.network == 'IB' else args.out)   # a guest cannot map files of the host's folder
    directory = kept / f'case.{os.getpid()}'     # of the latest case, to look at
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    start = time.monotonic()
    command = [f'{args.build}/tests/cpugpu/coll_perf', *case.arguments.split()]
    run = subprocess.Popen(command, env=environment(args, nccl, mode, case, directory), text=True, errors='replace',
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, restore_signals=False,   # keeps SIGXFSZ ignored
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LOG_LIMIT, LOG_LIMIT)))
    try:
        output, rc = run.communicate(timeout=args.timeout)[0], run.returncode
    except subprocess.TimeoutExpired:
        run.kill()               # its ranks die with it
        output, rc = run.communicate()[0], 124
    problems = check_fault(case, mode, version, rc, output) if case.fault else check_data(case, rc, output)
    problems += check_transport(mode, case, directory)
    if mode.name in ('tap', 'verbs'):
        problems += check_tap(case, directory)
    problems += check_sanitizers(directory)
    return dict(right=not problems, problems=problems, seconds=round(time.monotonic() - start, 1))


# --- the run --------------------------------------------------------------------------------------------------------

def version_of(library):
    with open(library, 'rb') as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        text = re.search(rb'\0NCCL version ([\d.]+)\+cuda', data)[1].decode()
    return tuple(map(int, text.split('.')))


def sanitizers_of(plugin):
    """The sanitizers' libraries that the plugin needs: they must be the first in a process."""
    library = pathlib.Path(plugin, 'libnccl-net-railwitness.so')
    if not library.exists():
        sys.exit(f'{library} is not there: build the plugin (cmake --build --preset release, or asan)')
    linked = subprocess.run(['ldd', library], capture_output=True, text=True, check=True).stdout
    return re.findall(r'lib(?:asan|ubsan)\.so\S* => (\S+)', linked)


def find_libraries(args):
    """Version -> library, oldest first."""
    libraries = [pathlib.Path(l).absolute() for l in args.nccl or sorted(CACHE.glob('[0-9]*.[0-9]*.[0-9]/lib/libnccl.so.2'))]
    if not libraries:
        linked = subprocess.run(['ldd', f'{args.build}/tests/cpugpu/coll_perf'], capture_output=True, text=True, check=True).stdout
        libraries = [pathlib.Path(re.search(r'libnccl\.so\.2 => (\S+)', linked)[1])]
    found = {version_of(library): library for library in libraries}
    return {version: found[version] for version in sorted(found) if version >= KERNELS_SINCE}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True, type=lambda p: str(pathlib.Path(p).resolve()), help='build directory')
    parser.add_argument('--out', required=True, type=lambda p: str(pathlib.Path(p).resolve()), help='where results are kept')
    parser.add_argument('--nccl', nargs='+', metavar='LIBNCCL', help='libnccl.so.2 files; default: the cache')
    parser.add_argument('--mode', nargs='+', choices=MODES, default=[name for name in MODES if name not in ASKED_FOR],
                        help='default: all but verbs')
    parser.add_argument('--case', nargs='+', metavar='WORD', help='only cases whose name has one of these words')
    parser.add_argument('--quick', action='store_true', help='5 cases that touch what differs most')
    parser.add_argument('--fresh', action='store_true', help='forget earlier results')
    parser.add_argument('--timeout', type=float, default=300, help='seconds per case, default 300')
    parser.add_argument('--plugin', metavar='FOLDER', type=lambda p: str(pathlib.Path(p).resolve()),
                        help="where libnccl-net-railwitness.so is, default BUILD/lib")
    args = parser.parse_args()
    args.plugin = args.plugin or f'{args.build}/lib'
    args.sanitizers = sanitizers_of(args.plugin)

    cases = [c for c in all_cases() if (c.quick or not args.quick) and (not args.case or any(w in c.name for w in args.case))]
    table = [(version, library, MODES[name], case) for version, library in find_libraries(args).items()
             for name in args.mode for case in cases if version >= max(MODES[name].since, case.since()) and case.fits(MODES[name])]
    pathlib.Path(args.out).mkdir(parents=True, exist_ok=True)
    results = pathlib.Path(args.out) / 'collectives.jsonl'
    if args.fresh:
        results.unlink(missing_ok=True)
    done = {}
    if results.exists():
        done = {result['key']: result for result in map(json.loads, results.read_text().splitlines()) if result['right']}
    right, tally = 0, {}
    for number, (version, library, mode, case) in enumerate(table, 1):
        text = '.'.join(map(str, version))
        key = f'{text} | {mode.name} | {case.name} | {case.arguments} | {case.choice}' + (' | sanitized' if args.sanitizers else '')
        result = done.get(key)
        if result is None:
            result = dict(key=key, **run_case(args, version, library, mode, case))
            with results.open('a') as file:
                file.write(json.dumps(result) + '\n')
        right += result['right']
        counts = tally.setdefault((text, mode.name), [0, 0])
        counts[0] += result['right']
        counts[1] += 1
        print(f'[{number}/{len(table)}] {text:7} {mode.name:6} {case.name:28} {"right" if result["right"] else "WRONG"}'
              f'  {result["seconds"]:6.1f} s', flush=True)
        for problem in result['problems']:
            print('    ' + problem.replace('\n', '\n    '), flush=True)

    print('\n' + 'NCCL'.ljust(10) + ''.join(name.rjust(10) for name in args.mode))
    for text in dict.fromkeys(text for text, _ in tally):
        cells = (tally.get((text, name)) for name in args.mode)
        print(text.ljust(10) + ''.join((f'{c[0]}/{c[1]}' if c else '-').rjust(10) for c in cells))
    print(f'collectives: {right} of {len(table)} right')
    return 0 if table and right == len(table) else 1


if __name__ == '__main__':
    sys.exit(main())
