#!/usr/bin/env python3
"""Compares every #include of the tree with the arrows that CMakeLists.txt declares.

    arrows.py SOURCE_DIR ARROWS_FILE      ARROWS_FILE: "room: room room ...", "*" for anything
    arrows.py --self-test                 shows that a broken arrow is found

Ends with `arrows: N of M right`, exit 1 unless N = M. M counts the project's own includes.
"""
import pathlib
import re
import sys
import tempfile

SOURCES = {'.h', '.hpp', '.c', '.cc', '.cpp', '.inl', '.def'}
TOP = ('include', 'plugin', 'tuner', 'probes', 'bench', 'tests')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*([<"])([^>"]+)[>"]', re.M)


def read_arrows(path):
    arrows = {}
    for line in path.read_text().splitlines():
        room, _, allowed = line.partition(':')
        arrows[room.strip()] = set(allowed.split())
    return arrows


def room_of(arrows, path):
    """The innermost declared room that `path` (relative to the source directory) lies in; None if there is none."""
    for folder in path.parents:
        if str(folder) in arrows:
            return str(folder)
    return None


def resolve(root, includer, name):
    """The project's file that an include names, relative to the root; None for somebody else's header."""
    for base in (includer.parent, root, root / 'include'):
        target = (base / name).resolve()
        if target.is_file() and target.is_relative_to(root):
            return target.relative_to(root)
    return None


def check(root, arrows):
    right, wrong = 0, []
    files = [f for top in TOP for f in sorted((root / top).rglob('*')) if f.suffix in SOURCES and f.is_file()]
    for file in files:
        relative = file.relative_to(root)
        room = room_of(arrows, relative)
        if room is None:
            wrong.append(f'{relative}:1: lies in no declared room; declare its folder in CMakeLists.txt or move it')
            continue
        text = file.read_text(errors='replace')
        for match in INCLUDE.finditer(text):
            place = f'{relative}:{text.count(chr(10), 0, match.start()) + 1}'
            target = resolve(root, file, match[2])
            if target is None:
                if match[2].split('/')[0] in TOP + ('railwitness',):
                    wrong.append(f'{place}: "{match[2]}" is not in the tree')
                continue
            to = room_of(arrows, target)
            if to == room or '*' in arrows[room] or to in arrows[room]:
                right += 1
            else:
                wrong.append(f'{place}: {room} may not include {to} ("{match[2]}"); it may include: '
                             + (' '.join(sorted(arrows[room])) or 'nothing but itself'))
    return right, wrong


def self_test():
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory).resolve()
        for name, text in {'probes/model/facts.h': '', 'probes/ring/a.cc': '#include "probes/model/facts.h"\n',
                           'probes/model/b.cc': '#include "probes/ring/r.h"\n', 'probes/ring/r.h': '',
                           'plugin/x.cc': '  #  include "../probes/ring/r.h"\n', 'probes/stray.h': ''}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        arrows = {'probes/model': set(), 'probes/ring': {'probes/model'}, 'plugin': set()}
        right, wrong = check(root, arrows)
        expected = ['plugin/x.cc:1: plugin may not include probes/ring',
                    'probes/model/b.cc:1: probes/model may not include probes/ring', 'probes/stray.h:1: lies in no']
        found = [e for e in expected if any(w.startswith(e) for w in wrong)]
        print('\n'.join(wrong))
        print(f'arrows-self-test: {len(found) + (right == 1)} of {len(expected) + 1} right')
        return 0 if len(found) == len(expected) == len(wrong) and right == 1 else 1


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    right, wrong = check(pathlib.Path(sys.argv[1]).resolve(), read_arrows(pathlib.Path(sys.argv[2])))
    for line in wrong:
        print(line)
    print(f'arrows: {right} of {right + len(wrong)} right')
    return 1 if wrong or right == 0 else 0


sys.exit(main())
