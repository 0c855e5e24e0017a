#!/usr/bin/env python3
"""Records what real NCCLs say of the plugin: data/versions/VERSION.log, for `railwitness doctor` to be tested with.

    record_logs.py --build BUILD --raw DIR [--write] VERSION...

Rank 0 of `coll_perf -n 2` on the emulated GPU (tests/cpugpu), each case of CASES with each libnccl of fetch_nccl.sh's cache.
The whole logs stay in DIR and are not made again, so that a run that was ended goes on. --write keeps of them the lines
that tell of nets, plugins, ranks and warnings, with paths and host as everywhere in data/, and replaces VERSION.log.
Releases before 2.22 end with an error at the first kernel, which the emulated GPU has not; all that is looked at is before.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess

CACHE = pathlib.Path(os.environ.get('XDG_CACHE_HOME', pathlib.Path.home() / '.cache')) / 'railwitness/nccl'
DATA = pathlib.Path(__file__).resolve().parent / 'data/versions'
TOLD = re.compile(r'NCCL (WARN|ATTN|version)|NET/|NCCL_NET|PROFILER/|lugin|railwitness|Using network|Init START')
UNTOLD = re.compile(r'TUNER/|ENV/|\bGIN|\bRMA|via NET|NET/Socket|Initialized|Assigned')
ONE, THREE = '', '-C 3'             # communicators one after another
OFI, CHAIN, LOST = {'RAILWITNESS_MODE': 'ofi'}, {'RAILWITNESS_MODE': 'chain:{probe}'}, {'RAILWITNESS_MODE': 'chain:nosuch'}
FORCED, WARN = {'NCCL_NET': 'railwitness'}, {'NCCL_DEBUG': 'WARN'}
DEAF = ['setpriv', '--inh-caps=-dac_override,-dac_read_search', '--bounding-set=-dac_override,-dac_read_search']

# name: (folder of the plugin, further variables, further arguments)
CASES = {
    'tap': ('lib', {}, ONE), 'ofi': ('lib', OFI, ONE), 'chain': ('lib', CHAIN, ONE),
    'path': ('nowhere', {'NCCL_NET_PLUGIN': '{lib}/libnccl-net-railwitness.so'}, ONE),
    'none': ('lib', {'NCCL_NET_PLUGIN': 'none'}, ONE), 'unset': ('lib', {'NCCL_NET_PLUGIN': None}, ONE),
    'misspelt': ('lib', {'NCCL_NET_PLUGIN': 'railwitnes'}, ONE),
    'missing': ('nowhere', {}, ONE), 'missing_net': ('nowhere', FORCED, ONE),
    'missing_path': ('lib', {'NCCL_NET_PLUGIN': '/opt/nowhere/libnccl-net-railwitness.so'}, ONE),
    'broken': ('broken', {}, ONE), 'unreadable': ('unreadable', {}, ONE),
    'tap_net': ('lib', FORCED, ONE), 'off_net': ('lib', {'RAILWITNESS_MODE': 'off', **FORCED}, ONE),
    'wrong_net': ('lib', {**OFI, 'NCCL_NET': 'railwitnes'}, ONE),
    'chain_missing': ('lib', LOST, ONE), 'chain_missing_net': ('lib', {**LOST, **FORCED}, ONE),
    'ofi_nonsense': ('lib', {**OFI, 'RAILWITNESS_OFI_PROVIDER': 'nonsense'}, ONE),
    'ofi_c3': ('lib', OFI, THREE), 'chain_c3': ('lib', CHAIN, THREE), 'tap_c3': ('lib', {}, THREE),
    'ofi_c3_net': ('lib', {**OFI, **FORCED}, THREE),
    'ofi_c3_kept': ('lib', {**OFI, 'NCCL_NET_PLUGIN_REF_COUNT': '1'}, THREE), 'ofi_c3_alias': ('alias', OFI, THREE),
    'warn': ('lib', {**OFI, **WARN}, ONE), 'warn_missing': ('nowhere', WARN, ONE),
    'warn_chain_missing': ('lib', {**LOST, **WARN}, ONE), 'warn_tap_net': ('lib', {**FORCED, **WARN}, ONE)}


def make_folders(raw, build):
    """The folders in which the plugin may lie."""
    plugin = build / 'lib/libnccl-net-railwitness.so'
    for name in ('broken', 'unreadable', 'alias'):
        (raw / name).mkdir(parents=True, exist_ok=True)
    (raw / 'broken' / plugin.name).write_text('no library\n')
    shutil.copy(plugin, raw / 'unreadable')
    (raw / 'unreadable' / plugin.name).chmod(0)
    for link, to in ((plugin.name, plugin), ('libnccl-net.so', plugin), ('tap-verbs.so', plugin.parent / 'tap-verbs.so')):
        (raw / 'alias' / link).unlink(missing_ok=True)
        (raw / 'alias' / link).symlink_to(to)


def record(raw, build, version, case):
    target = raw / f'{case}_{version}.log'
    if target.exists():
        return
    folder, variables, further = CASES[case]
    lib = build / 'lib'
    env = {name: value for name, value in os.environ.items() if not name.startswith(('NCCL_', 'RAILWITNESS_'))}
    env.update(NCCL_NET_PLUGIN='railwitness', NCCL_SOCKET_IFNAME='lo', NCCL_DEBUG='INFO', RAILWITNESS_SOCKET='/nowhere',
               RANK1_NCCL_DEBUG_FILE='/dev/null', NCCL_DEBUG_FILE=str(target) + '.part',
               LD_LIBRARY_PATH=f'{CACHE}/{version}/lib:{lib if folder == "lib" else raw / folder}')
    for name, value in variables.items():
        if value is None:
            env.pop(name)
        else:
            env[name] = value.format(lib=lib, probe=build / 'tests/cpugpu/libprobe_plugin.so')
    command = f'{build}/tests/cpugpu/coll_perf -n 2 -c allreduce -b 64K -e 64K -f 2 -i 1 -w 0 {further}'.split()
    subprocess.run((DEAF if folder == 'unreadable' else []) + command, env=env, timeout=300, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    os.replace(str(target) + '.part', target)
    print(target.name, flush=True)


def shortened(raw, build, case, text):
    """The lines that tell, once each communicator; with paths and host of nobody."""
    for path, name in ((str(build / 'tests/cpugpu'), '/opt/probe'), (str(build / 'lib'), '/opt/railwitness/lib'),
                       (str(raw), '/opt/railwitness')):
        text = text.replace(path, name)
    pid = (re.search(r':(\d+):\d+ \[0\] NCCL', text) or [0, '1'])[1]
    lines = [line for line in text.splitlines() if TOLD.search(line) and not UNTOLD.search(line)]
    return f'=== {case}\n' + ''.join(re.sub(rf'\S+:{pid}:', f'vm:{pid}:', line) + '\n' for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, required=True)
    parser.add_argument('--raw', type=pathlib.Path, required=True)
    parser.add_argument('--write', action='store_true')
    parser.add_argument('versions', nargs='+')
    args = parser.parse_args()
    raw, build = args.raw.resolve(), args.build.resolve()
    make_folders(raw, build)
    for version in args.versions:
        for case in CASES:
            record(raw, build, version, case)
        if args.write:
            texts = (shortened(raw, build, case, (raw / f'{case}_{version}.log').read_text(errors='replace')) for case in CASES)
            (DATA / f'{version}.log').write_text(''.join(texts))


main()
