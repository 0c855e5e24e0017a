#!/usr/bin/env python3
"""Counts the instructions that the tap adds to a verbs call, exactly, with callgrind; fails above the budget.

    instructions.py TAP_CALLS

Each figure is (tapped - plain) / calls, collected within the loop of calls alone. The provider is a function that returns
at once; the first post of a flow, a rare and slow one, lies before the loop.
"""
import re
import subprocess
import sys

BUDGET = [('empty poll', 0, 12), ('post_send, 1 WR signalled', 1, 90), ('post_send + poll with 1 completion', 2, 180)]
SHOWN = [('post_send, 2 WRs, last signalled', 3, None), ('post_recv, 1 WR', 4, None)]
CALLS = 100  # stays within the ring of 128 records: a queue pair with more outstanding is not the steady state


def instructions(program, case, mode, calls):
    run = subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null',
                          '--toggle-collect=measured', program, str(case), mode,
                          str(calls)], text=True, stderr=subprocess.PIPE, check=True)
    return int(re.search(r'Collected : (\d+)', run.stderr).group(1))


def main():
    program = sys.argv[1]
    right = 0
    for name, case, budget in BUDGET + SHOWN:
        added = (instructions(program, case, 'tapped', CALLS) - instructions(program, case, 'plain', CALLS)) / CALLS
        if budget is None:
            print(f'{name}: {added:.1f} instructions added')
            continue
        print(f'{name}: {added:.1f} instructions added, budget {budget}')
        right += added <= budget
    print(f'instructions: {right} of {len(BUDGET)} right')
    return 0 if right == len(BUDGET) else 1


sys.exit(main())
