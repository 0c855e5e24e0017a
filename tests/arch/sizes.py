#!/usr/bin/env python3
"""Files of code stay at 600 lines or fewer, so that a reader can hold one in mind.

    sizes.py SOURCE_DIR          Ends with `sizes: N of M right`, exit 1 unless N = M.
"""
import pathlib
import sys

LIMIT = 600
SUFFIXES = {'.h', '.c', '.cc', '.cpp', '.py', '.sh', '.cmake', '.def', ''}
TOP = ('include', 'plugin', 'tuner', 'probes', 'bench', 'tests', 'cmake')

root = pathlib.Path(sys.argv[1])
files = [f for top in TOP for f in sorted((root / top).rglob('*'))
         if f.is_file() and f.suffix in SUFFIXES and '__pycache__' not in f.parts]
code = []
for f in files:
    try:
        code.append((f, f.read_text().count('\n')))
    except UnicodeDecodeError:
        pass  # a corpus entry
long = [(f, n) for f, n in code if n > LIMIT]
for f, n in long:
    print(f'{f.relative_to(root)}: {n} lines, {LIMIT} is the limit; split it where its parts differ in purpose')
print(f'sizes: {len(code) - len(long)} of {len(code)} right')
sys.exit(1 if long or not code else 0)
