#!/usr/bin/env python3
"""Does NCCL find the plugin again, for each of three communicators in turn? Version x mode x what helps.

    communicators_in_turn.py --build BUILD --out DIR [--nccl LIBNCCL...] [--mode MODE...] [--cure CURE...]

2.28.3 to 2.29.7 close the plugin with a process' last communicator and forget its name: the next communicator looks for
NCCL's default, libnccl-net.so. Cures:
    none      nothing: in modes chain and ofi these releases go on over NCCL's own transport. That they do is checked too
    kept      NCCL_NET_PLUGIN_REF_COUNT=1
    alias     a link libnccl-net.so to the plugin, in its folder
    stranger  no cure: another vendor's libnccl-net.so is found, and taken
Looked at is the log of every rank: the network of each communicator, and how often the plugin was loaded as profiler.
Ends with `communicators: N of M right`, exit 1 unless N = M. Each case takes a few seconds; nothing is kept but the last log.
"""
import argparse
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys

from collective_matrix import find_libraries

FORGETS = ((2, 28, 3), (2, 29, 7))
PROFILER_SINCE = (2, 28, 3)          # looked for in the net plugin's library
TAP_IS_CLOSED = ((2, 28, 3), (2, 28, 3))   # and with it the profiler; later ones keep a plugin that has no devices
MODES = {'tap': 'tap', 'chain': 'chain:{probe}', 'ofi': 'ofi'}
CURES = ('none', 'kept', 'alias', 'stranger')
RANKS = TIMES = 3


def is_in(version, span):
    return span[0] <= version <= span[1]


def wanted(version, mode, cure):
    """The network of each communicator, and the number of times that the profiler is ours."""
    ours = 'Socket' if mode == 'tap' else 'railwitness'
    later = ours
    if is_in(version, FORGETS) and cure in ('none', 'stranger') and mode != 'tap':
        later = 'probe' if cure == 'stranger' else 'Socket'
    profilers = TIMES if version >= PROFILER_SINCE else 0
    if later != ours:
        profilers = 1
    if mode == 'tap' and is_in(version, TAP_IS_CLOSED) and cure in ('none', 'stranger'):
        later, profilers = ('probe' if cure == 'stranger' else 'Socket'), 1
    return [ours] + [later] * (TIMES - 1), profilers


def make_folders(build, out):
    """The plugin with its alias; a stranger under NCCL's default name."""
    lib, probe = f'{build}/lib', f'{build}/tests/cpugpu/libprobe_plugin.so'
    links = {'alias': {name: f'{lib}/{name}' for name in ('libnccl-net-railwitness.so', 'tap-verbs.so')},
             'stranger': {'libnccl-net.so': probe}}
    links['alias']['libnccl-net.so'] = f'{lib}/libnccl-net-railwitness.so'
    for folder, files in links.items():
        shutil.rmtree(out / folder, ignore_errors=True)
        (out / folder).mkdir(parents=True)
        for name, target in files.items():
            (out / folder / name).symlink_to(target)
    return {'none': lib, 'kept': lib, 'alias': f'{out}/alias', 'stranger': f'{lib}:{out}/stranger'}


def run(build, out, nccl, mode, folder, cure):
    """Of each rank the networks and the number of profilers; or what went wrong."""
    for old in glob.glob(f'{out}/log.*'):
        os.unlink(old)
    env = {name: value for name, value in os.environ.items() if not name.startswith(('NCCL_', 'RAILWITNESS_'))}
    env.update(LD_LIBRARY_PATH=f'{nccl.parent}:{folder}', NCCL_NET_PLUGIN='railwitness', NCCL_SOCKET_IFNAME='lo',
               NCCL_DEBUG='INFO', NCCL_DEBUG_FILE=f'{out}/log.%p', RAILWITNESS_SOCKET='/nowhere',
               RAILWITNESS_MODE=MODES[mode].format(probe=f'{build}/tests/cpugpu/libprobe_plugin.so'))
    if cure == 'kept':
        env['NCCL_NET_PLUGIN_REF_COUNT'] = '1'
    command = f'{build}/tests/cpugpu/coll_perf -n {RANKS} -c allreduce -b 64K -e 64K -f 2 -i 1 -w 0 -C {TIMES}'
    done = subprocess.run(command.split(), env=env, text=True, errors='replace', timeout=300, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0 or '0 wrong elements' not in done.stdout:
        return f'exit {done.returncode}: {done.stdout[-400:]}'
    logs = [pathlib.Path(path).read_text(errors='replace') for path in glob.glob(f'{out}/log.*')]
    seen = [(re.findall(r'Using network (\S+)', log), len(re.findall(r'PROFILER/Plugin: Loaded railwitness ', log)))
            for log in logs if 'Using network' in log]
    return seen if len(seen) == RANKS else f'{len(seen)} logs of {RANKS} ranks'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument('--out', required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument('--nccl', nargs='+', metavar='LIBNCCL', help='libnccl.so.2 files; default: the cache')
    parser.add_argument('--mode', nargs='+', choices=MODES, default=list(MODES))
    parser.add_argument('--cure', nargs='+', choices=CURES, default=list(CURES))
    args = parser.parse_args()
    folders = make_folders(args.build, args.out)
    right = count = 0
    for version, nccl in find_libraries(args).items():
        for mode in args.mode:
            for cure in args.cure:
                seen, want = run(args.build, args.out, nccl, mode, folders[cure], cure), wanted(version, mode, cure)
                fine = isinstance(seen, list) and all(one == want for one in seen)
                right, count = right + fine, count + 1
                print(f'{".".join(map(str, version)):7} {mode:6} {cure:9} {"right" if fine else "WRONG"}  {" ".join(want[0])}, '
                      f'profiler {want[1]} times', flush=True)
                if not fine:
                    print(f'    seen: {seen}', flush=True)
    print(f'communicators: {right} of {count} right')
    return 0 if count and right == count else 1


if __name__ == '__main__':
    sys.exit(main())
