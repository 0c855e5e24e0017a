#!/usr/bin/env python3
"""The test hosts of all NCCL versions against the plugin in all modes: one line a case, right or wrong.

    net_host_matrix.py --build BUILD [--version N]... [--mode MODE]... [--case NAME]... [--results FILE] [--json]
                       [--cycles N] [--seconds N]

MODE is one of
    loop            the loop plugin itself, without ours: checks the host
    probe           tests/cpugpu's probe plugin itself (v11 only)
    tap, off, ofi   RAILWITNESS_MODE of our plugin
    chain           our plugin before the loop plugin, which speaks every version
    chain_v6 ... chain_v12   before the loop plugin that speaks that version only
    chain_probe     before the probe plugin

What is right in FILE is not run again, so that a series that was stopped goes on, and one that was mended is completed. Ends with `net_host: N of M right`, exit 1
unless N = M. A case that does not apply to a mode or version is not counted.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

VERSIONS = list(range(6, 13))
CHAINS = {f'chain_v{v}': f'libnccl-net-loop_v{v}.so' for v in VERSIONS}
MODES = ['loop', 'probe', 'tap', 'off', 'ofi', 'chain', *CHAINS, 'chain_probe']
# The probe plugin does no more than NCCL asks of it: it takes any handle, knows no tags, and its memory needs no keys.
BEYOND_PROBE = {'properties_are_all_set', 'handle_of_another_transport', 'tags_tell_operations_apart',
                'registered_while_data_moves', 'communicators_side_by_side'}
LINE = re.compile(r'^(right|WRONG|skipped)\s+(\S+)\s+([0-9.]+) s\s*(.*)$')


class Bed:
    def __init__(self, build):
        self.host = build / 'tests/plugin/net_host/net_host'
        self.ours = build / 'lib/libnccl-net-railwitness.so'
        self.loops = build / 'tests/plugin/net_host/loop'
        self.probe = build / 'tests/cpugpu/libprobe_plugin.so'

    def arguments(self, mode):
        """Which plugin, and which RAILWITNESS_MODE."""
        behind = {'chain': self.loops / 'libnccl-net-loop.so', 'chain_probe': self.probe}
        behind.update({name: self.loops / file for name, file in CHAINS.items()})
        if mode == 'loop':
            return ['--plugin', str(self.loops / 'libnccl-net-loop.so')]
        if mode == 'probe':
            return ['--plugin', str(self.probe)]
        return ['--plugin', str(self.ours), '--mode', f'chain:{behind[mode]}' if mode in behind else mode]

    def lacks(self, mode):
        needed = [self.host] + ([self.probe] if 'probe' in mode else []) + ([self.ours] if mode not in ('loop', 'probe') else [])
        return next((path for path in needed if not path.exists()), None)

    def cases(self, mode, version):
        text = subprocess.run([self.host, '--list', '--version', str(version), *self.arguments(mode)], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        return [line.split()[0] for line in text.splitlines()]

    def run(self, mode, version, case, options):
        command = [self.host, '--version', str(version), *self.arguments(mode), '--case', case, *options]
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors='replace')
        for line in done.stdout.splitlines():
            if match := LINE.match(line):
                word, _, seconds, text = match.groups()
                return {'result': word.lower(), 'seconds': float(seconds), 'text': text}
        return {'result': 'wrong', 'seconds': 0, 'text': f'exit {done.returncode}: {done.stdout[-300:]}'}


def load(path):
    return json.loads(path.read_text()) if path and path.exists() else {}


def save(path, results):
    if not path:
        return
    with tempfile.NamedTemporaryFile('w', dir=path.parent, delete=False) as out:
        json.dump(results, out, indent=0, sort_keys=True)
    os.replace(out.name, path)


def table(results, modes, versions):
    """Right cases of those that apply, a row a mode, a column a version."""
    count = collections.Counter()
    for key, result in results.items():
        mode, version, _ = key.split('/')
        count[mode, int(version), result['result']] += 1
    rows = ['mode         ' + ''.join(f'{"v" + str(v):>9}' for v in versions)]
    for mode in modes:
        cells = []
        for v in versions:
            right, wrong = count[mode, v, 'right'], count[mode, v, 'wrong']
            cells.append(f'{right}/{right + wrong}' if right + wrong else '-')
        rows.append(f'{mode:13}' + ''.join(f'{cell:>9}' for cell in cells))
    return '\n'.join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, required=True)
    parser.add_argument('--version', type=int, action='append', choices=VERSIONS)
    parser.add_argument('--mode', action='append', choices=MODES)
    parser.add_argument('--case', action='append')
    parser.add_argument('--results', type=pathlib.Path)
    parser.add_argument('--json', action='store_true', help='all results, at the end')
    parser.add_argument('--cycles', default='1000')
    parser.add_argument('--seconds', default='1')
    arguments = parser.parse_args()
    bed = Bed(arguments.build.resolve())
    results = load(arguments.results)
    chosen, modes = {}, []
    for mode in arguments.mode or MODES:
        if missing := bed.lacks(mode):
            print(f'{mode}: not run, {missing} is not built')
            continue
        modes.append(mode)
        for version in arguments.version or VERSIONS:
            for case in bed.cases(mode, version):
                if arguments.case and case not in arguments.case:
                    continue
                key = f'{mode}/{version}/{case}'
                if 'probe' in mode and case in BEYOND_PROBE:
                    results[key] = {'result': 'skipped', 'seconds': 0, 'text': 'the probe plugin is simpler than that'}
                if results.get(key, {'result': 'wrong'})['result'] == 'wrong':
                    results[key] = bed.run(mode, version, case, ['--cycles', arguments.cycles, '--seconds', arguments.seconds])
                    save(arguments.results, results)
                chosen[key] = result = results[key]
                if result['result'] == 'wrong':
                    print(f'wrong: {mode} v{version} {case}: {result["text"]}', flush=True)
    print(table(chosen, modes, arguments.version or VERSIONS))
    if arguments.json:
        print(json.dumps(chosen, indent=1, sort_keys=True))
    counted = [r for r in chosen.values() if r['result'] != 'skipped']
    right = sum(r['result'] == 'right' for r in counted)
    print(f'net_host: {right} of {len(counted)} right')
    return 0 if counted and right == len(counted) else 1


sys.exit(main())
