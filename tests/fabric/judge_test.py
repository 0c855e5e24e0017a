#!/usr/bin/env python3
"""The judge of simulated fabrics itself: what is missing, too much, or named wrongly has to be seen.

Ends with `judge: N of M right`, exit 1 unless N = M.
"""
import copy
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import judge  # noqa: E402
from fabrics import SHAPES, Fabric  # noqa: E402
from faults import SCENES, Scene  # noqa: E402

scene = Scene('planted', Fabric(SHAPES[64]), 0)
SCENES['planted'](scene)
scene.expect('note', [], (), ['a word'])
RIGHT = {'fabric_seen': True, 'notes': ['a note of a word'],
         'findings': [dict(kind=e.kind, components=sorted(e.components), wanted=sorted(e.wanted), rails=list(e.rails), text=' '.join(e.words))
                      for e in scene.expected if e.kind != 'note']}


def changed(change):
    answer = copy.deepcopy(RIGHT)
    change(answer)
    return answer


def first(kind, answer):
    return next(f for f in answer['findings'] if f['kind'] == kind)


WRONG = {
    'one is missing': lambda a: a['findings'].pop(),
    'one is said twice': lambda a: a['findings'].append(a['findings'][0]),
    'one too much': lambda a: a['findings'].append(dict(kind='slow', components=['x'], wanted=[], rails=[], text='')),
    'another kind': lambda a: first('narrow', a).update(kind='slow'),
    'another NIC': lambda a: first('missing-link', a).update(components=['host01 mlx5_99']),
    'another switch port': lambda a: first('wrong-leaf', a)['components'].sort() or first('wrong-leaf', a)['components'].__setitem__(1, 'leaf-u9-r0:1'),
    'another place wanted': lambda a: first('other-unit', a).update(wanted=['leaf-u0-r0:40']),
    'another rail': lambda a: first('cable-errors', a).update(rails=[99]),
    'a line that does not name it': lambda a: first('swapped', a).update(text='two NICs are swapped'),
    'no note': lambda a: a.update(notes=['another']),
    'no fabric': lambda a: a.update(fabric_seen=False)}

PLACES = scene.fabric.place_rows()
PORTS = [dict(zip(('host', 'nic', 'switch_port', 'rail'), row)) for row in PLACES]
rows = [('a right answer', not judge.problems(RIGHT, scene.expected)),
        *((name, bool(judge.problems(changed(change), scene.expected))) for name, change in WRONG.items()),
        ('right places', not judge.places({'ports': PORTS}, PLACES)),
        ('a place too few', bool(judge.places({'ports': PORTS[1:]}, PLACES))),
        ('a place on another rail', bool(judge.places({'ports': [{**PORTS[0], 'rail': '9'}, *PORTS[1:]]}, PLACES)))]
for name, is_right in rows:
    print(f'{"right" if is_right else "WRONG"}  {name}')
print(f'judge: {sum(r for _, r in rows)} of {len(rows)} right')
sys.exit(0 if all(r for _, r in rows) else 1)
