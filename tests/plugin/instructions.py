#!/usr/bin/env python3
"""Counts the instructions of every event of every mode, exactly, with callgrind; fails above the budgets.

    instructions.py TAP_CALLS NET_CALLS          of a build: BUILD/bench/tap_calls BUILD/bench/net_calls

added      what a call costs more than on the plain provider or plugin: (with us - plain) / calls
recording  of these, what the witness writes, for each event: instructions that come from plugin/witness or are a stamp, a
           store or a count of its. Each executed instruction is asked for the functions that were inlined into its place
           (addr2line, from the line tables), so it is the built code that is split, and both parts sum up to `added`.
stamps     how often a call reads the time stamp counter

The provider and the plugin behind are functions that return at once; the first call of a flow, a rare and slow one, lies
before. docs/hot-path.md shows the table. Ends with `instructions: N of M right`, exit 1 unless N = M.
"""
import collections
import functools
import os
import re
import subprocess
import sys
import tempfile

RECORDING = 45  # of an event; see docs/hot-path.md
CALLS = 100     # stays within the ring of 128 records: a queue pair with more outstanding is not the steady state

# Event, its number (enum Verbs of bench/micro/verbs_events.h), budget of what is added to a call, events a call.
TAP = [('poll_cq, empty', 0, 12, 1), ('post_send, 1 request, signalled', 1, 90, 1),
       ('post_send, 1 request, unsignalled', 2, 90, 1), ('post_send, 2 requests, last signalled', 3, 190, 1),
       ('post_recv, 1 request', 4, 60, 1), ('poll_cq, 1 send done', 5, 90, 1), ('poll_cq, 4 sends done', 6, 360, 4),
       ('poll_cq, 1 receive done', 7, 90, 1), ('post_send + poll_cq, 1 send done', 8, 180, 2)]
# enum Net of bench/micro/net_events.h.
NET = [('isend', 0, 45, 1), ('isend, not taken', 1, 45, 1), ('irecv', 2, 45, 1), ('irecv, not taken', 3, 45, 1),
       ('test, not done', 4, 45, 1), ('test, send done', 5, 45, 1), ('test, receive done', 6, 45, 1),
       ('isend + test, nothing else outstanding', 7, 95, 2)]

Profile = collections.namedtuple('Profile', 'total by_address')


@functools.cache
def profile(program, event, mode, calls):
    """Instructions within the calls: all of them, and those in the program's own code by address."""
    with tempfile.NamedTemporaryFile('r') as out:
        run = subprocess.run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={out.name}', '--dump-instr=yes',
                              '--compress-pos=no', '--toggle-collect=measured', program, str(event), mode, str(calls)],
                             text=True, stderr=subprocess.PIPE, check=True)
        by_address, is_call = collections.Counter(), False
        for line in out:
            if line.startswith('calls='):
                is_call = True  # the next line has what the called function took
            elif cost := re.match(r'(0x[0-9a-f]+) (?:\d+ )?(\d+)$', line):
                if not is_call:
                    by_address[int(cost[1], 16)] += int(cost[2])
                is_call = False
    return Profile(int(re.search(r'Collected : (\d+)', run.stderr)[1]), by_address)


def inlined(program, addresses):
    """Of each address the functions whose code it is, innermost first, as (function, file)."""
    run = subprocess.run(['addr2line', '-aCfi', '-e', program], text=True, stdout=subprocess.PIPE, check=True,
                         input=''.join(f'{a:#x}\n' for a in addresses))
    chains, chain = {}, None
    lines = iter(run.stdout.splitlines())
    for line in lines:
        if re.fullmatch(r'0x[0-9a-f]+', line):
            chain = chains.setdefault(int(line, 16), [])
        else:
            chain.append((line, next(lines)))
    return chains


def stamps_of(program):
    listing = subprocess.run(['objdump', '-d', '--no-show-raw-insn', program], text=True, stdout=subprocess.PIPE, check=True)
    return {int(a, 16) for a in re.findall(r'^ *([0-9a-f]+):\s+rdtsc\b', listing.stdout, re.M)}


def is_recording(chain):
    return any('plugin/witness/' in file or re.search(r'\b(read_tsc|add_relaxed|store_(relaxed|release|word))\b', function)
               for function, file in chain)


def is_ours(chain):
    return any(re.search(r'(^|/)(plugin/|include/railwitness/)', file) for _, file in chain)


def split(program, with_us):
    """Recording and the rest of ours, stamps; all of all calls."""
    chains, stamps = inlined(program, with_us.by_address), stamps_of(program)
    sums = collections.Counter()
    for address, count in with_us.by_address.items():
        sums['stamps'] += count if address in stamps else 0
        if is_ours(chains[address]):
            sums['recording' if is_recording(chains[address]) else 'around'] += count
    return sums


def main():
    if len(sys.argv) != 3 or not all(map(os.path.isfile, sys.argv[1:])):
        sys.exit(__doc__)
    wrong = []
    judged = 0
    print(f'{"":5} {"event":40} {"added":>6} {"budget":>6} {"recording":>9} {"stamps":>6}')
    for program, mode, events in (sys.argv[1], 'tap', TAP), (sys.argv[2], 'chain', NET), (sys.argv[2], 'ofi', NET):
        for name, event, budget, count in events:
            calls = CALLS // count
            with_us, plain = profile(program, event, mode, calls), profile(program, event, 'plain', calls)
            sums = split(program, with_us)
            added = (with_us.total - plain.total) / calls
            recording, stamps = sums['recording'] / calls / count, sums['stamps'] / calls
            print(f'{mode:5} {name:40} {added:6.1f} {budget:6} {recording:9.1f} {stamps:6.2f}')
            checks = {'more is added than the budget': added > budget,
                      f'recording takes more than {RECORDING}': recording > RECORDING,
                      'a call reads the clock more than once': stamps > count,
                      'nothing was recorded': recording == 0,
                      f'the split is not whole: {sums}': abs(sums['recording'] + sums['around'] - added * calls) > calls}
            judged += len(checks)
            wrong += [f'{mode}, {name}: {text}' for text, is_wrong in checks.items() if is_wrong]
    print(''.join(f'wrong: {text}\n' for text in wrong), end='')
    print(f'instructions: {judged - len(wrong)} of {judged} right')
    return 1 if wrong else 0


sys.exit(main())
