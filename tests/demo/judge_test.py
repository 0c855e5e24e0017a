#!/usr/bin/env python3
"""Tests of judge.py.  Ends with `demo_judge: N of M right`, exit 1 unless N = M."""
import copy
import pathlib
import sys
import types

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import judge  # noqa: E402

PLACE = types.SimpleNamespace(host=2, rail=1, node='host2', device='rxe_h2r1', switch='leaf-r1', switch_port='swp3')
EDGE = dict(kind='edge', node='host2', rail=1, device='rxe_h2r1', port=1, switch='leaf-r1', switch_port='swp3', rank=None)
LINK = {'type': 'incident', 'id': 'i1', 'class': 'LINK', 'subclass': 'silent_loss', 'state': 'confirmed', 'culprit': [EDGE], 'line': 'x'}
HUNG = {'type': 'incident', 'id': 'i2', 'class': 'RANK_HUNG', 'subclass': 'stopped', 'state': 'confirmed',
        'culprit': [dict(kind='rank', rank=2, node='host2')], 'line': 'y'}
WAIT = {'type': 'wait', 'class': 'WAIT', 'culprit': [dict(kind='rank', rank=2, node='host2')], 'line': 'waiting for rank 2'}


def but(what, **changes):
    return {**copy.deepcopy(what), **changes}


def edge(**changes):
    return but(LINK, culprit=[but(EDGE, **changes)])


def lines(*what, speaker='correlate'):
    """Said one a second; '-' is a second in which nothing was said."""
    return [(float(i), speaker, w) for i, w in enumerate(what) if w != '-']


CASES = [
    ('the port', 'blackhole', lines(LINK), True, 0.0),
    ('the port, suspected', 'carrier', lines(but(LINK, state='suspected')), True, 0.0),
    ('nothing said', 'carrier', lines(), False, None),
    ('a node alone does not count', 'blackhole', lines(LINK, speaker='host2'), False, None),
    ('another port of the switch', 'blackhole', lines(edge(switch_port='swp2')), False, None),
    ('another switch', 'blackhole', lines(edge(switch='leaf-r0')), False, None),
    ('another device', 'blackhole', lines(edge(device='rxe_h2r0')), False, None),
    ('another node', 'blackhole', lines(edge(node='host1')), False, None),
    ('two culprits', 'blackhole', lines(but(LINK, culprit=[EDGE, EDGE])), False, None),
    ('another class', 'carrier', lines(but(LINK, **{'class': 'SWITCH'})), False, None),
    ('right at last', 'blackhole', lines(edge(node='host1'), LINK), True, 1.0),
    ('right, then wrong', 'blackhole', lines(LINK, edge(node='host1')), False, None),
    ('right, then taken back', 'blackhole', lines(LINK, but(LINK, state='withdrawn')), False, None),
    ('a wrong one taken back', 'blackhole', lines(but(HUNG, state='suspected'), but(HUNG, state='withdrawn'), LINK), True, 2.0),
    ('a wrong one that stands beside it', 'blackhole', lines(but(HUNG, state='suspected'), LINK), False, None),
    ('a rank called hung beside a stopped one', 'stop',
     lines(HUNG, but(HUNG, id='i3', culprit=[dict(kind='rank', rank=1, node='host1')])), False, None),
    ('the rank', 'stop', lines(WAIT, HUNG), True, 1.0),
    ('another rank', 'stop', lines(but(HUNG, culprit=[dict(kind='rank', rank=1, node='host1')])), False, None),
    ('a stopped rank blamed on a link', 'stop', lines(HUNG, LINK), False, None),
    ('a wait alone is no hung rank', 'stop', lines(WAIT), False, None),
    ('computing', 'compute', lines(WAIT), True, 0.0),
    ('computing, told by nodes', 'compute', lines(WAIT, speaker='host0'), True, 0.0),
    ('computing, nobody named', 'compute', lines(), False, None),
    ('computing, another named', 'compute', lines(but(WAIT, culprit=[dict(kind='rank', rank=1, node='host1')])), False, None),
    ('computing called hung', 'compute', lines(WAIT, HUNG), False, 0.0),
    ('computing called hung and taken back', 'compute', lines(WAIT, HUNG, but(HUNG, state='withdrawn')), False, 0.0),
]

REPAIR = 5.0
TAKEN_BACK = [
    ('nothing said', lines(), 0),
    ('one that stands', lines(LINK), 0),
    ('a sharper word is no other one', lines(edge(switch_port=''), but(LINK, state='suspected'), LINK), 0),
    ('a switch, then its port', lines(but(LINK, **{'class': 'SWITCH'}), LINK), 0),
    ('one that nobody is accused in, then the port', lines(but(LINK, **{'class': 'UNKNOWN'}), LINK), 0),
    ('one that is over after the repair', lines(LINK, *['-'] * 9, but(LINK, state='recovered'), but(LINK, state='closed')), 0),
    ('one that is over before the repair', lines(LINK, but(LINK, state='recovered'), but(LINK, state='closed')), 1),
    ('one that is withdrawn after the repair', lines(LINK, *['-'] * 9, but(LINK, state='withdrawn')), 1),
    ('one that is withdrawn', lines(but(HUNG, state='suspected'), but(HUNG, state='withdrawn'), LINK), 1),
    ('one that was over before it was withdrawn', lines(LINK, but(LINK, state='recovered'), but(LINK, state='withdrawn')), 1),
    ('another class in the same incident', lines(but(HUNG, state='suspected'), but(LINK, id='i2')), 1),
    ('twice the same', lines(*[but(HUNG, state='suspected', id=i) for i in 'ab'], *[but(HUNG, state='withdrawn', id=i) for i in 'ab']), 2),
    ('a node alone does not count', lines(HUNG, but(HUNG, state='withdrawn'), speaker='host2'), 0),
]

right = 0
for name, kind, said, wanted, moment in CASES:
    got = judge.verdict(kind, PLACE, said)[0], judge.first_right(kind, PLACE, said)
    if got == (wanted, moment):
        right += 1
    else:
        print(f'WRONG {name}: {got}, wanted {(wanted, moment)}')
for name, said, wanted in TAKEN_BACK:
    got = len(judge.taken_back(said, REPAIR))
    if got == wanted:
        right += 1
    else:
        print(f'WRONG taken back, {name}: {got}, wanted {wanted}')
print(f'demo_judge: {right} of {len(CASES) + len(TAKEN_BACK)} right')
sys.exit(0 if right == len(CASES) + len(TAKEN_BACK) else 1)
