#!/usr/bin/env python3
"""Compiles every header alone: the shared ABI as C11, C++17 and C++20 with -Wpadded -Werror, all others as C++20.

    headers.py SOURCE_DIR [CC CXX]

Ends with `headers: N of M right`, exit 1 unless N = M.
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def commands(root, header, cc, cxx):
    includes = ['-I', '.', '-I', 'include', '-c']
    warnings = ['-Wall', '-Wextra', '-Wshadow', '-Wconversion', '-Werror']
    header = header.relative_to(root)
    if 'abi' in header.parts:
        warnings.append('-Wpadded')
        yield [cc, '-std=c11', '-xc', *warnings, *includes, str(header)]
        yield [cxx, '-std=c++17', '-xc++', *warnings, *includes, str(header)]
    yield [cxx, '-std=c++20', '-xc++', *warnings, *includes, str(header)]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    cc, cxx = (sys.argv[2:4] + ['cc', 'c++'])[:2] if len(sys.argv) > 3 else ('cc', 'c++')
    headers = [h for top in ('include', 'plugin', 'probes') for h in sorted((root / top).rglob('*.h'))]
    jobs = [c for h in headers for c in commands(root, h, cc, cxx)]
    again = [shutil.which('ccache')] if shutil.which('ccache') else []  # it knows objects only, so objects are made
    right = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        run = lambda n: subprocess.run([*again, *jobs[n], '-o', f'{folder}/{n}.o'], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       cwd=root)  # so that no path is in the commands
        for command, result in zip(jobs, pool.map(run, range(len(jobs)))):
            right += result.returncode == 0
            if result.returncode:
                print(' '.join(command), result.stdout, sep='\n')
    print(f'headers: {right} of {len(jobs)} right')
    return 0 if right == len(jobs) > 0 else 1


sys.exit(main())
