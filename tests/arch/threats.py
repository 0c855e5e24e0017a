#!/usr/bin/env python3
"""Every promise of docs/threat-model.md names its tests, and each of them exists.

    threats.py SOURCE_DIR BUILD_DIR CTEST    Ends with `threats: N of M right`, exit 1 unless N = M.
    threats.py --self-test                   shows that a promise without a test, and a test that is not, are found
"""
import pathlib
import re
import subprocess
import sys

GTEST = re.compile(r'^\s*(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)', re.M)


def known_tests(root, build, ctest):
    said = subprocess.run([ctest, '--test-dir', build, '-N'], text=True, stdout=subprocess.PIPE, check=True).stdout
    known = set(re.findall(r'Test +#\d+: (\S+)', said))
    for file in (root / 'tests').rglob('*_test.cc'):
        for suite, name in GTEST.findall(file.read_text()):
            known |= {suite, f'{suite}.{name}'}
    attacks = (root / 'tests/faults/hostile_job.cc').read_text() + (root / 'tests/faults/hostile_jobs.py').read_text()
    known |= {f'attacks:{name}' for name in re.findall(r'[{(]["\'](\w+)["\'],', attacks)}
    known |= {f'attacks:{name}' for name in re.findall(r'^def (\w+)\(', (root / 'tests/faults/socket_attacks.py').read_text(), re.M)}
    for file in (root / 'tests/plugin/lifecycle').glob('cases_*.cc'):
        known |= {f'lifecycle:{name}' for name in re.findall(r'{"(\w+)", +"', file.read_text())}
    return known


def wrong_of(text, known):
    """Of each promise ("- ..."): nothing, or what is wrong with it."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith('- '):
            continue
        promise, _, tests = line.partition(' → ')
        names = re.findall(r'`([^`]+)`', tests)
        wrong = [f'{name} does not exist' for name in names if name not in known]
        if not names or re.search(r'[.!?] ', promise):
            wrong.append('one sentence, and its tests behind an arrow')
        found.append((number, wrong))
    return found


def self_test():
    text = '# Head\n\n- All is well. → `a`\n- Nobody looks.\n- Two. Sentences. → `a`\n- Not there. → `b`\n'
    got = [bool(wrong) for _, wrong in wrong_of(text, {'a'})]
    right = got == [False, True, True, True]
    print(f'threats_self_test: {int(right)} of 1 right')
    return 0 if right else 1


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    root = pathlib.Path(sys.argv[1])
    rows = wrong_of((root / 'docs/threat-model.md').read_text(), known_tests(root, *sys.argv[2:]))
    for number, wrong in rows:
        for what in wrong:
            print(f'docs/threat-model.md:{number}: {what}')
    right = sum(not wrong for _, wrong in rows)
    print(f'threats: {right} of {len(rows)} right')
    return 0 if rows and right == len(rows) else 1


if __name__ == '__main__':
    sys.exit(main())
