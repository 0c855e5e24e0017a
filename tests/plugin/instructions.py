#!/usr/bin/env python3
"""Counts the instructions that are added to a verbs call by the tap, and to a net call by mode chain, exactly, with
callgrind; fails above the budget.

    instructions.py TAP_CALLS NET_CALLS

Each figure is (with us - plain) / calls, collected within the calls alone. The provider and the plugin behind are functions
that return at once; the first post of a flow, a rare and slow one, lies before.
"""
import re
import subprocess
import sys

# Case, its number, budget (None: shown only).
TAP = [('empty poll', 0, 12), ('post_send, 1 WR signalled', 1, 90), ('post_send + poll with 1 completion', 2, 180),
       ('post_send, 2 WRs, last signalled', 3, None), ('post_recv, 1 WR', 4, None)]
CHAIN = [('isend', 0, 45), ('irecv', 1, 45), ('test, not done', 2, 45), ('test, send done', 3, 45),
         ('test, receive done', 4, 45), ('isend + test done, nothing else outstanding', 5, None)]
CALLS = 100  # stays within the ring of 128 records: a queue pair with more outstanding is not the steady state


def instructions(program, case, mode, calls):
    run = subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null',
                          '--toggle-collect=measured', program, str(case), mode,
                          str(calls)], text=True, stderr=subprocess.PIPE, check=True)
    return int(re.search(r'Collected : (\d+)', run.stderr).group(1))


def main():
    right = judged = 0
    for program, mode, cases in (sys.argv[1], 'tapped', TAP), (sys.argv[2], 'chained', CHAIN):
        for name, case, budget in cases:
            added = (instructions(program, case, mode, CALLS) - instructions(program, case, 'plain', CALLS)) / CALLS
            if budget is None:
                print(f'{name}: {added:.1f} instructions added')
                continue
            print(f'{name}: {added:.1f} instructions added, budget {budget}')
            judged += 1
            right += added <= budget
    print(f'instructions: {right} of {judged} right')
    return 0 if right == judged else 1


sys.exit(main())
