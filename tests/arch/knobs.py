#!/usr/bin/env python3
"""Every RAILWITNESS_* variable that the tree reads from the environment has a row in include/railwitness/base/knobs.h.

    knobs.py SOURCE_DIR          Ends with `knobs: N of M right`, exit 1 unless N = M.
    knobs.py --self-test         Finds a variable without a row in a tree made for it.

What counts as reading: in code of C and C++ the variable's name as a string by itself (in tests, which also set
variables, getenv alone), in Python os.environ and getenv, in shell $NAME and ${NAME}, in CMake $ENV{NAME}. And every
row is read somewhere.
"""
import pathlib
import re
import sys
import tempfile

TABLE = 'include/railwitness/base/knobs.h'
NAME = r'(RAILWITNESS_[A-Z0-9_]+)'
READS = {
    ('.cc', '.cpp', '.c', '.h'): [r'"' + NAME + r'"'],
    ('.py',): [r'environ(?:\.get)?[\[(]\s*[\'"]' + NAME, r'getenv\(\s*[\'"]' + NAME],
    ('.sh', ''): [r'\$\{?' + NAME],
    ('.cmake', '.txt'): [r'\$ENV\{' + NAME],
}
TOP = ('include', 'plugin', 'tuner', 'probes', 'bench', 'tests', 'cmake', 'Makefile', '.ci')
# Names in strings that are no variables: streams and subjects of the bus.
NOT_VARIABLES = {'RAILWITNESS_FACTS', 'RAILWITNESS_INCIDENTS'}


def rows(root):
    return set(re.findall(r'^\s*\{"' + NAME + '",', (root / TABLE).read_text(), re.M))


def files_of(root):
    for top in TOP:
        path = root / top
        yield from [path] if path.is_file() else sorted(f for f in path.rglob('*') if f.is_file())


def reads(root):
    """(variable, where) for each place."""
    for f in files_of(root):
        patterns = next((p for suffixes, p in READS.items() if f.suffix in suffixes), None)
        if patterns is None or f == root / TABLE or f.name == 'knobs.py':
            continue
        if f.suffix in ('.cc', '.cpp', '.c', '.h') and f.relative_to(root).parts[0] == 'tests':
            patterns = [r'getenv\("' + NAME + r'"']
        try:
            text = f.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for pattern in patterns:
                yield from ((v, f'{f.relative_to(root)}:{number}') for v in re.findall(pattern, line))


def check(root):
    known, found, wrong = rows(root), {}, []
    for variable, where in reads(root):
        if variable not in NOT_VARIABLES:
            found.setdefault(variable, where)
    for variable, where in sorted(found.items()):
        if variable not in known:
            wrong.append(f'{where}: {variable} has no row in {TABLE}; add one, then `railwitness env --markdown > docs/knobs.md`')
    wrong += [f'{TABLE}: {v} is read nowhere; remove its row' for v in sorted(known - set(found))]
    return len(known | set(found)), wrong


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / TABLE).parent.mkdir(parents=True)
        (root / TABLE).write_text('    {"RAILWITNESS_A", kJob,\n    {"RAILWITNESS_DEAD", kJob,\n')
        (root / 'plugin').mkdir()
        (root / 'plugin/a.cc').write_text('getenv("RAILWITNESS_A"); getenv("RAILWITNESS_B"); "RAILWITNESS_FACTS"\n')
        (root / 'tests').mkdir()
        (root / 'tests/a.py').write_text('os.environ.get("RAILWITNESS_C")\n')
        (root / 'tests/a.sh').write_text('echo ${RAILWITNESS_D:-} $RAILWITNESS_A\n')
        total, wrong = check(root)
        return total == 5 and [w.split(': ')[1].split(' ')[0][-1] for w in wrong] == ['B', 'C', 'D', 'D']


def main():
    if sys.argv[1] == '--self-test':
        right = self_test()
        print(f'knobs: {int(right)} of 1 right')
        return 0 if right else 1
    total, wrong = check(pathlib.Path(sys.argv[1]).resolve())
    print('\n'.join(wrong))
    print(f'knobs: {total - len(wrong)} of {total} right')
    return 1 if wrong or not total else 0


sys.exit(main())
