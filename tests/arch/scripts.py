#!/usr/bin/env python3
"""A script that says who runs it (#!) can be run, as the documents show it, and one that can be run says so.

    scripts.py SOURCE_DIR          Ends with `scripts: N of M right`, exit 1 unless N = M.
    scripts.py --self-test         shows that either is found
"""
import os
import pathlib
import sys
import tempfile

TOP = ('plugin', 'probes', 'bench', 'tests', 'cmake')


def judge(root):
    """(how many scripts, what is wrong)"""
    count, wrong = 0, []
    inputs = {root / 'tests/fuzz/corpus', root / 'tests/fuzz/findings'}  # of fuzzers: they may begin with anything
    for file in (f for top in TOP for f in sorted((root / top).rglob('*')) if f.is_file() and not f.is_symlink()):
        if inputs & set(file.parents):
            continue
        with open(file, 'rb') as opened:
            names_its_program = opened.read(2) == b'#!' and file.suffix in {'.py', '.sh', ''}
        can_be_run = os.access(file, os.X_OK) if os.geteuid() else bool(file.stat().st_mode & 0o111)
        count += names_its_program or can_be_run
        if names_its_program and not can_be_run:
            wrong.append(f'{file.relative_to(root)} begins with #! and cannot be run: chmod +x, or drop the line')
        if can_be_run and not names_its_program:
            wrong.append(f'{file.relative_to(root)} can be run and does not begin with #!: chmod -x, or add the line')
    return count, wrong


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, 'tests')
        root.mkdir()
        for name, text, mode in (('fine.py', '#!x', 0o755), ('plain.py', 'x', 0o644), ('still.sh', '#!x', 0o644), ('mute', 'x', 0o755)):
            (root / name).write_text(text)
            (root / name).chmod(mode)
        count, wrong = judge(pathlib.Path(folder))
    right = count == 3 and [w.split()[0] for w in wrong] == ['tests/mute', 'tests/still.sh']
    print(f'scripts_self_test: {int(right)} of 1 right')
    return 0 if right else 1


if sys.argv[1:] == ['--self-test']:
    sys.exit(self_test())
scripts, faults = judge(pathlib.Path(sys.argv[1]))
print(''.join(f'{fault}\n' for fault in faults), end='')
print(f'scripts: {scripts - len(faults)} of {scripts} right')
sys.exit(1 if faults or not scripts else 0)
