#!/usr/bin/env python3
"""Reads the built libraries: what they need, what they show, what they would do at unload.

    built.py PLUGIN STUB     Ends with `built: N of M right`, exit 1 unless N = M.
"""
import re
import subprocess
import sys

# A job's container may be as old as this. GLIBCXX: none, the plugin is linked without it today.
NEWEST = {'GLIBC': (2, 34), 'GLIBCXX': (3, 4, 29), 'CXXABI': (1, 3, 13), 'GCC': (3, 5)}
MAY_NEED = {'libc.so.6', 'libm.so.6', 'libstdc++.so.6', 'libgcc_s.so.1', 'ld-linux-x86-64.so.2'}
STUB_FUNCTIONS = {'ibv_open_device', 'ibv_close_device', 'ibv_create_qp', 'ibv_modify_qp', 'ibv_destroy_qp',
                  'ibv_get_async_event', 'railwitness_stub_start'}
TABLES = {'railwitness_plugin', *(f'ncclProfiler_v{v}' for v in range(1, 6)), *(f'ncclNetPlugin_v{v}' for v in range(6, 13)),
          *(f'ncclCollNetPlugin_v{v}' for v in range(6, 12))}
checks = []


def check(text, condition, detail=''):
    checks.append(bool(condition))
    if not condition:
        print(f'wrong: {text} {detail}')


def run(*command):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True).stdout


def needed(path):
    return set(re.findall(r'\(NEEDED\).*\[(.*)\]', run('readelf', '-dW', path)))


def shown(path):
    """Symbols that others can bind to, without the names of versions."""
    rows = [line.split() for line in run('readelf', '--dyn-syms', '-W', path).splitlines()]
    return {r[7].split('@')[0] for r in rows if len(r) > 7 and r[6] not in ('UND', 'Ndx', 'ABS') and r[4] in ('GLOBAL', 'WEAK')}


def too_new(path):
    wanted = re.findall(r'\b(GLIBC|GLIBCXX|CXXABI|GCC)_([0-9.]+)\b', run('objdump', '-T', path))
    return sorted({f'{name}_{v}' for name, v in wanted if tuple(map(int, v.split('.'))) > NEWEST[name]})


def sections_called_at_unload(path):
    """Functions in .fini_array beyond the compiler's own one."""
    sizes = re.search(r'\(FINI_ARRAYSZ\)\s+(\d+)', run('readelf', '-dW', path))
    return int(sizes.group(1)) // 8 - 1 if sizes else 0


def main():
    plugin, stub = sys.argv[1:]
    for path in (plugin, stub):
        dynamic = run('readelf', '-dW', path)
        check(f'{path} is never unloaded', 'NODELETE' in dynamic)
        check(f'{path} needs no newer symbol', not too_new(path), too_new(path))
        check(f'{path} runs nothing at unload', sections_called_at_unload(path) == 0)
        check(f'{path} has no text relocations', 'TEXTREL' not in dynamic)
        check(f'{path} has no executable stack', not re.search(r'GNU_STACK.*RWE', run('readelf', '-lW', path)))
    check('plugin needs nothing else', needed(plugin) <= MAY_NEED, needed(plugin) - MAY_NEED)
    check('stub needs nothing else', needed(stub) <= MAY_NEED | {'libibverbs.so.1'}, needed(stub) - MAY_NEED)
    check('stub needs the real libibverbs', 'libibverbs.so.1' in needed(stub))
    check('stub has the name', re.search(r'\(SONAME\).*\[libibverbs\.so\]', run('readelf', '-dW', stub)))
    check('stub is called otherwise', not stub.rsplit('/', 1)[-1].startswith('lib'))
    check('plugin shows its tables only', shown(plugin) == TABLES, shown(plugin))
    check('stub shows its functions only', shown(stub) == STUB_FUNCTIONS, shown(stub))
    print(f'built: {sum(checks)} of {len(checks)} right')
    return 0 if all(checks) else 1


sys.exit(main())
