#!/usr/bin/env python3
"""Documents name only files that exist, and every relative link leads somewhere, to a heading if it names one.

    documents.py SOURCE_DIR          Ends with `documents: N of M right`, exit 1 unless N = M.
"""
import pathlib
import re
import sys

LINK = re.compile(r'\]\(([^)#:\s]+)(?:#[^)]*)?\)')
ANCHOR = re.compile(r'\]\(([^)#:\s]*)#([^)\s]+)\)')
TREE = re.compile(r'`((?:include|plugin|probes|tuner|bench|tests|cmake|docs)/[\w./-]+)`')

def anchors(document):
    """What GitHub makes of the headings of a document."""
    text = re.sub(r'^( {4}|```).*', '', document.read_text(), flags=re.M)
    heads = re.findall(r'^#+ +(.+?) *$', text, re.M)
    return {re.sub(r'[^\w\- ]', '', head.lower()).replace(' ', '-') for head in heads}


root = pathlib.Path(sys.argv[1]).resolve()
right, wrong = 0, []
for document in [*root.glob('*.md'), *(root / 'docs').rglob('*.md'), *(root / 'tests').rglob('*.md'), *(root / 'tuner').glob('*.md')]:
    text = document.read_text()
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, base in ((LINK, document.parent), (TREE, root)):
            for name in pattern.findall(line):
                if (base / name).exists():
                    right += 1
                else:
                    wrong.append(f'{document.relative_to(root)}:{number}: {name} does not exist')
        for name, anchor in ANCHOR.findall(line):
            target = document.parent / name if name else document
            if target.suffix == '.md' and target.exists():
                if anchor in anchors(target):
                    right += 1
                else:
                    wrong.append(f'{document.relative_to(root)}:{number}: {name} has no heading #{anchor}')
print('\n'.join(wrong))
print(f'documents: {right} of {right + len(wrong)} right')
sys.exit(1 if wrong or not right else 0)
