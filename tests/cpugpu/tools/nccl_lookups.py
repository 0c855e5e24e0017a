#!/usr/bin/env python3
"""What a libnccl looks up: plugin symbols and libraries, in NCCL's own order, as tables for docs/nccl-versions.md.

    nccl_lookups.py --programs BUILD/tests/cpugpu LIBNCCL...                     prints the tables
    nccl_lookups.py --programs BUILD/tests/cpugpu --write DOCUMENT LIBNCCL...    replaces these rows in DOCUMENT
    nccl_lookups.py --programs BUILD/tests/cpugpu --check DOCUMENT LIBNCCL...    fails if DOCUMENT says otherwise

Nothing is read out of NCCL's source. Each library runs on the emulated GPU (one rank, up to a finished communicator)
while lookup_recorder.c notes every dlopen and dlsym that comes from libnccl:
    defaults   no plugin, no libibverbs in sight, nothing set: the default names and their fallbacks
    named      every NCCL_*_PLUGIN names a library without any symbol: all versions that are asked for, newest first
    net only   NCCL_NET_PLUGIN names a net plugin without devices: what else NCCL looks for in its library
    verbs      libibverbs is there (without devices), NCCL_IBVERBS_LIB is set to a name where NCCL knows the variable
The symbol names that are asked for are compared with the strings in .rodata; a version that is in there and was not
asked for is marked with `?`. Sections come from readelf and objcopy (binutils).
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BEGIN, END = '<!-- tables of tests/cpugpu/tools/nccl_lookups.py: begin -->', '<!-- end -->'
KINDS = ('Net', 'CollNet', 'Tuner', 'Profiler', 'Gin', 'Rma', 'Env', 'Log')
SYMBOL = re.compile(r'^nccl(' + '|'.join(KINDS) + r')(?:Plugin)?_v(\d+)$')
VARIABLES = [f'NCCL_{kind.upper()}_PLUGIN' for kind in KINDS if kind != 'CollNet']
HIDDEN = 'libibverbs libmlx5 libnccl-'


def sections(library):
    return subprocess.run(['readelf', '-SW', library], check=True, capture_output=True, text=True).stdout


def read_only_data(library):
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(['objcopy', '-O', 'binary', '--only-section=.rodata', library, file.name], check=True)
        return pathlib.Path(file.name).read_bytes()


class Recording:
    """One start of NCCL under the recorder."""

    def __init__(self, programs, library, hide, environment):
        with tempfile.TemporaryDirectory() as directory:
            record = pathlib.Path(directory) / 'record'
            env = {name: value for name, value in os.environ.items() if not name.startswith('NCCL_')}
            env.update(LD_LIBRARY_PATH=str(library.parent), LD_PRELOAD=str(programs / 'liblookup_recorder.so'),
                       LOOKUP_RECORDER_OUT=str(record), LOOKUP_RECORDER_HIDE=hide, NCCL_SOCKET_IFNAME='lo', **environment)
            run = subprocess.run([programs / 'coll_perf', '-n', '1', '-b', '8', '-e', '8', '-i', '1'], env=env, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
            if '# all ranks finished, 0 wrong' not in run.stdout or not record.exists():
                raise SystemExit(f'nccl_lookups: {library} does not start on the emulated GPU:\n{run.stdout}')
            self.lines = [line.split(' ')[:3] for line in record.read_text().splitlines()]
        self.opened = [line[1:] for line in self.lines if line[0] == 'open' and 'nvidia-ml' not in line[1]]

    def names(self):
        return list(dict.fromkeys(name for name, _ in self.opened))

    def versions(self):
        """Kind of plugin -> versions, in the order in which they were asked for. A library may be asked for some of
        them only (2.31 accepts one old GIN version as RMA plugin), so the one that was asked for most of them counts."""
        found, asked = {}, {}
        for what, name, _ in self.lines:
            match = SYMBOL.match(name)
            if what == 'open':
                asked = {}
            elif match:
                versions = asked.setdefault(match[1], [])
                if int(match[2]) not in versions:
                    versions.append(int(match[2]))
                if len(versions) >= len(found.get(match[1], [])):
                    found[match[1]] = versions
        return found


def ranges(versions):
    """[12, 11, 10, 8] -> v12…v10, v8"""
    parts = []
    for version in versions:
        if parts and parts[-1][1] == version + 1:
            parts[-1][1] = version
        else:
            parts.append([version, version])
    return ', '.join(f'v{a}' if a == b else f'v{a}, v{b}' if a == b + 1 else f'v{a}…v{b}' for a, b in parts)


class Nccl:
    """What is found about one libnccl."""

    def __init__(self, programs, library):
        rodata = read_only_data(library)
        self.version, self.cuda = re.search(rb'NCCL version ([\d.]+)\+cuda([\d.]+)', rodata).group(1, 2)
        self.version, self.cuda = self.version.decode(), self.cuda.decode()
        table = sections(library)
        self.has_symbols, self.has_debug = ' .symtab ' in table, ' .debug_info ' in table
        self.variables = [name for name in VARIABLES + ['NCCL_IBVERBS_LIB'] if name.encode() + b'\0' in rodata]
        in_data = {tuple(m) for m in re.findall(rb'\0nccl(%s)(?:Plugin)?_v(\d+)(?=\0)' % '|'.join(KINDS).encode(), rodata)}

        blank, idle = str(programs / 'libblank_plugin.so'), str(programs / 'libidle_net_plugin.so')
        with tempfile.TemporaryDirectory() as directory:
            # Up to 2.20 a net plugin's path is not accepted, only X for libnccl-net-X.so; by a fault in 2.27.3 no path is.
            faulty = self.version == '2.27.3'
            by_name = faulty or tuple(map(int, self.version.split('.')))[:2] < (2, 21)
            if by_name:
                for name, target in (('net-idle', idle), *((f'{kind.lower()}-blank', blank) for kind in KINDS)):
                    (pathlib.Path(directory) / f'libnccl-{name}.so').symlink_to(target)
                (pathlib.Path(directory) / 'libnccl.so.2').symlink_to(library)
                library = pathlib.Path(directory) / 'libnccl.so.2'
            self.defaults = Recording(programs, library, HIDDEN, {}).names()
            hide = 'libibverbs libmlx5' if by_name else HIDDEN
            short = {name: faulty or (by_name and 'NET' in name) for name in VARIABLES}
            named = Recording(programs, library, hide, {name: 'blank' if short[name] else blank for name in VARIABLES})
            net_only = Recording(programs, library, hide, {'NCCL_NET_PLUGIN': 'idle' if by_name else idle})
            verbs = Recording(programs, library, 'libnccl-', {'NCCL_IBVERBS_LIB': 'named.so'})
        self.versions = {kind: max(named.versions().get(kind, []), net_only.versions().get(kind, []), key=len)
                         for kind in KINDS}
        self.in_net_library = [kind for kind in KINDS if kind in net_only.versions() and kind not in ('Net', 'CollNet')]
        self.verbs = [(name, result) for name, result in verbs.opened if not name.startswith('libnccl')]
        for kind, number in in_data:
            if int(number) not in self.versions.get(kind.decode(), []):
                self.versions.setdefault(kind.decode() + '?', []).append(int(number))

    def cell(self, *kinds):
        parts = []
        for kind in kinds:
            label = '' if len(kinds) == 1 else kind.upper() if len(kind) == 3 and kind != 'Env' else kind
            if self.versions.get(kind):
                parts.append(f'{label} {ranges(self.versions[kind])}'.strip())
            if self.versions.get(kind + '?'):
                parts.append(f'{label} {ranges(sorted(self.versions[kind + "?"], reverse=True))}?'.strip())
        return ', '.join(parts) or '–'

    def rows(self):
        yes = {True: 'yes', False: 'no'}
        return {
            'symbols': f'| {self.version} | {self.cuda} | {yes[self.has_symbols]}, {yes[self.has_debug]} | {self.cell("Net")} | '
                       f'{self.cell("CollNet")} | {self.cell("Tuner")} | {self.cell("Profiler")} | {self.cell("Gin")} | '
                       f'{self.cell("Rma")} | {self.cell("Env")} | {self.cell("Log")} |',
            'libraries': f'| {self.version} | {", ".join(f"`{n}`" for n in self.defaults)} | '
                         f'{", ".join(f"`{n}`" for n in self.variables)} | {", ".join(self.in_net_library) or "–"} |',
            'verbs': f'| {self.version} | {", ".join(f"`{name}` {result}" for name, result in self.verbs) or "–"} |'}


TABLES = {
    'symbols': ('Symbols, in the order in which NCCL asks for them; the first that is there wins.',
                '| NCCL | CUDA | .symtab, DWARF | net `ncclNetPlugin_` | `ncclCollNetPlugin_` | `ncclTunerPlugin_` | '
                '`ncclProfiler_` | `ncclGinPlugin_` | `ncclRmaPlugin_` | `ncclEnvPlugin_` | `ncclLogPlugin_` |\n' + '|---' * 11 + '|'),
    'libraries': ('Libraries that are opened if nothing is set and none of them exists, in order; variables that are read; '
                  'further plugins that are looked for in the net plugin\'s library.',
                  '| NCCL | opens | variables | looked for in the net library |\n|---|---|---|---|'),
    'verbs': ('What is opened where libibverbs is installed, with its `.so` for developers, and `NCCL_IBVERBS_LIB=named.so`.',
              '| NCCL | opens |\n|---|---|')}


def version_in(row):
    return tuple(map(int, row.split('|')[1].strip().split('.')))


def render(found, document=''):
    """The tables, with the rows of `document` for versions that are not among those found."""
    text = [BEGIN]
    for name, (title, head) in TABLES.items():
        kept = re.findall(r'^\| \d.*$', document.partition(head)[2].partition('\n\n')[0], re.M)
        rows = {version_in(row): row for row in kept + [nccl.rows()[name] for nccl in found]}
        text += ['', title, '', head] + [rows[version] for version in sorted(rows)]
    return '\n'.join(text + ['', END])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--programs', required=True, type=pathlib.Path, help='where coll_perf and liblookup_recorder.so are')
    parser.add_argument('--write', type=pathlib.Path, metavar='DOCUMENT')
    parser.add_argument('--check', type=pathlib.Path, metavar='DOCUMENT')
    parser.add_argument('libraries', nargs='+', type=pathlib.Path)
    args = parser.parse_args()
    args.programs = args.programs.resolve()
    found = []
    for library in args.libraries:
        found.append(Nccl(args.programs, library.absolute()))
        print(f'{found[-1].version}: ' + found[-1].rows()['symbols'], file=sys.stderr)
    if args.write:
        text = args.write.read_text()
        before, rest = text.split(BEGIN, 1)
        args.write.write_text(before + render(found, text) + rest.split(END, 1)[1])
    elif args.check:
        lines = args.check.read_text().splitlines()
        expected = [row for nccl in found for row in nccl.rows().values()]
        missing = [row for row in expected if row not in lines]
        for row in missing:
            print(f'{args.check} does not have this row:\n    {row}\n  and has instead:')
            print('\n'.join('    ' + line for line in lines if line.startswith('|' + row.split('|')[1] + '|')))
        print(f'nccl lookups: {len(expected) - len(missing)} of {len(expected)} right')
        return 1 if missing else 0
    else:
        print(render(found))
    return 0


if __name__ == '__main__':
    sys.exit(main())
