#!/usr/bin/env python3
"""Reads the machine code of the functions on the hot path: nothing in them may wait, lock, divide or leave.

    hot_path.py PLUGIN ARCHIVE...    disassembles the built plugin, and what it is linked from
    hot_path.py --self-test CC       compiles functions that break one rule each; every one must be found

A function on the hot path calls the original once, through a pointer that it was given, and nothing else. What is rare
leaves it through one of the exits below: functions that are compiled apart as cold ones and named `..._slowly` and the
like. Whole files are held to one rule more: what stands in HOT_FILES divides nowhere. Ends with `hot path: N of M right`, exit 1 unless N = M.
"""
import collections
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile


@dataclasses.dataclass(frozen=True)
class Hot:
    functions: str   # of the demangled name without arguments
    forwards: int    # calls or jumps through a pointer
    exits: tuple = ()
    count: int = 1   # functions of that name: a slot has its own


TAP = 'int railwitness::tap::(anonymous namespace)::'
SLOTS = 64
# The list. docs/hot-path.md says which event comes along which function. `<N, true>`: with the time stamp counter; where
# there is none the clock is a function, and those are not fast.
HOT = (
    Hot(TAP + r'post_send<\d+, true>', 1, ('tap::note_post_send_list',), SLOTS),
    Hot(TAP + r'post_recv<\d+>', 1, ('tap::note_post_recv_slowly', 'witness::read_mono_ticks'), SLOTS),
    Hot(TAP + r'poll_cq<\d+, true>', 1, ('tap::(anonymous namespace)::note_poll',), SLOTS),
    Hot(TAP + r'note_poll<\d+, true>', 0, ('tap::note_completions',), SLOTS),
    Hot('railwitness::tap::note_completions', 0,
        ('tap::(anonymous namespace)::note_one_slowly', 'tap::(anonymous namespace)::note_completions_slowly', 'witness::read_mono_ticks')),
    Hot('railwitness::tap::note_post_send_list', 0,
        ('tap::(anonymous namespace)::note_post_send_slowly', 'witness::make_room')),
    Hot('railwitness::engine::isend', 1,
        ('engine::isend_slowly', 'engine::(anonymous namespace)::note_not_taken', 'engine::fail_post')),
    Hot(r'railwitness::engine::(anonymous namespace)::note_not_taken', 0),
    Hot('railwitness::engine::irecv', 1, ('engine::irecv_slowly', 'engine::fail_post')),
    Hot('railwitness::engine::test', 1, ('engine::complete_slowly', 'engine::fail_test')),
)
HOT_FILES = {'transfer.cc.o', 'progress.cc.o', 'wait.cc.o', 'witnessed.cc.o', 'context.cc.o', 'calls.cc.o'}
DIVISION = re.compile(r'^(i?div[bwlq]?|[us]div)\b')
FORBIDDEN = (
    ('a locked instruction', re.compile(r'^lock\b')),
    ('an exchange with memory, which locks', re.compile(r'^xchg\w*\s.*\(')),
    ('a division', DIVISION),
    ('a system call', re.compile(r'^(syscall|sysenter|int)\b')),
    ('a fence', re.compile(r'^([mls]fence|cpuid|rdtscp|serialize)\b')),
)
BRANCH = re.compile(r'^(?:bnd )?(call|jmp|j\w+)\s+(.*)$')
FILE = re.compile(r'^(\S.*):\s+file format')
FUNCTION = re.compile(r'^([0-9a-f]+) <(.*)>:$')


def without_arguments(name):
    """`int a::f<1, true>(b, c) [clone .cold]` without `(b, c)` and the clone."""
    name = re.sub(r'( \[clone [^]]*\])+$', '', name).replace('(anonymous namespace)', '\1')
    return name.split('(')[0].replace('\1', '(anonymous namespace)')


def disassemble(path):
    """Of each file (the members of an archive) the instructions of each function; what the compiler laid apart as cold
    counts with its function."""
    run = subprocess.run(['objdump', '-dC', '--no-show-raw-insn', path], text=True, stdout=subprocess.PIPE, check=True)
    files, functions, body = {}, {}, None
    for line in run.stdout.splitlines():
        if start := FILE.match(line):
            functions, body = files.setdefault(start[1], collections.defaultdict(list)), None
        elif start := FUNCTION.match(line):
            body = functions[without_arguments(start[2])]
        elif body is not None and '\t' in line:
            body.append(line.split('\t')[-1].split(' #')[0].strip())
    return files


def goes_out(instruction):
    """None: stays; '*': through a pointer; else the name of the function it goes to."""
    branch = BRANCH.match(instruction)
    if not branch:
        return None
    if branch[2].startswith('*'):
        return '*'
    target = re.search(r'<(.*)>$', branch[2])
    return without_arguments(re.sub(r'\+0x[0-9a-f]+$', '', target[1])) if target else branch[2]


def faults_of(name, body, hot):
    faults = [f'{what}: {i}' for i in body for what, pattern in FORBIDDEN if pattern.match(i)]
    targets = collections.Counter(goes_out(i) for i in body)
    if targets['*'] != hot.forwards:
        faults.append(f'{targets["*"]} calls through a pointer, {hot.forwards} are its own')
    for target in set(targets) - {None, '*', name}:
        if not any(f'railwitness::{e}' in target.split('<')[0] for e in hot.exits):
            faults.append(f'it calls {target}')
    return faults


def check(path, hot_list):
    [functions] = disassemble(path).values()
    right, wrong = 0, []
    for hot in hot_list:
        # The names are C++ with brackets; only \d+ in them is a pattern.
        regex = re.compile(r'\d+'.join(re.escape(part) for part in hot.functions.split(r'\d+')))
        found = [n for n in functions if regex.fullmatch(n)]
        if len(found) != hot.count:
            wrong.append(f'{hot.functions}: {len(found)} functions have this name, {hot.count} are expected')
        for name in found:
            faults = faults_of(name, functions[name], hot)
            right += not faults
            wrong += [f'{name}: {f}' for f in faults]
    return right, wrong


def check_files(archives, hot_files):
    files = {name: functions for archive in archives for name, functions in disassemble(archive).items()
             if name in hot_files}
    right, wrong = 0, [f'{name}: no archive has it, so the hot path is elsewhere' for name in sorted(hot_files - files.keys())]
    for name, functions in files.items():
        dividing = [f'{name}: {f} divides' for f, body in functions.items() if any(map(DIVISION.match, body))]
        right, wrong = right + (not dividing), wrong + dividing
    return right, wrong


BAD = {
    'locks': ('a locked instruction', '__atomic_fetch_add(p, 1, __ATOMIC_RELAXED)'),
    'exchanges': ('an exchange with memory', '__atomic_exchange_n(p, 1, __ATOMIC_RELAXED)'),
    'divides': ('a division', '(*p / (long)forward)'),
    'asks_the_kernel': ('a system call', '({ long r = 39; __asm__ volatile("syscall" : "+a"(r) : : "rcx", "r11"); r; })'),
    'fences': ('a fence', '({ __asm__ volatile("mfence"); 0L; })'),
    'allocates': ('it calls malloc', '(long)malloc((size_t)*p)'),
    'forwards_twice': ('2 calls through a pointer', 'forward(p)'),
    'is_good': (None, '(*p += 1)'),
}


def self_test(compiler):
    source = '#include <stdlib.h>\n' + ''.join(
        f'long {name}(long *p, long (*forward)(long *)) {{ long r = {what}; return forward(p) + r; }}\n'
        for name, (_, what) in BAD.items())
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, 'bad.c')
        file.write_text(source)
        library = f'{folder}/bad.so'
        subprocess.run([compiler, '-std=gnu11', '-O2', '-fPIC', '-shared', '-o', library, file], check=True)
        right, wrong = 0, []
        for name, (expected, _) in BAD.items():
            _, faults = check(library, (Hot(name, 1),))
            if (expected is None and not faults) or (expected and len(faults) == 1 and expected in faults[0]):
                right += 1
            else:
                wrong.append(f'{name}: expected {expected}, found {faults}')
        _, faults = check(library, (Hot('is_not_there', 1),))
        right, wrong = right + bool(faults), wrong + ([] if faults else ['a function that is not there is not missed'])
        subprocess.run([compiler, '-std=gnu11', '-O2', '-c', '-o', f'{folder}/bad.o', file], check=True)
        subprocess.run(['ar', 'rc', f'{folder}/bad.a', f'{folder}/bad.o'], check=True)
        _, faults = check_files([f'{folder}/bad.a'], {'bad.o', 'gone.o'})
        expected = ['gone.o: no archive has it, so the hot path is elsewhere', 'bad.o: divides divides']
        right, wrong = right + (faults == expected), wrong + ([] if faults == expected else [f'of an archive: {faults}'])
    return right, wrong


def main():
    if len(sys.argv) < 3 or sys.argv[1] == '--help':
        sys.exit(__doc__)
    if sys.argv[1] == '--self-test':
        right, wrong = self_test(sys.argv[2])
    else:
        right, wrong = check(sys.argv[1], HOT)
        in_files = check_files(sys.argv[2:], HOT_FILES)
        right, wrong = right + in_files[0], wrong + in_files[1]
    print(''.join(f'wrong: {w}\n' for w in wrong), end='')
    print(f'hot path: {right} of {right + len(wrong)} right')
    return 1 if wrong or not right else 0


if __name__ == '__main__':
    sys.exit(main())
