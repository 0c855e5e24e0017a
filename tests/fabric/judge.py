"""What `railwitness fabric --json` said against what was planted."""



def problems(answer, expected):
    """Empty: every expected finding is there, named in full, and no other is."""
    left, out = list(answer['findings']), []
    if not answer['fabric_seen']:
        out.append('no fabric was seen')
    for want in expected:
        if want.kind == 'note':
            if not any(all(word in note for word in want.words) for note in answer['notes']):
                out.append(f'no note says {want.words}')
            continue
        same = [f for f in left if f['kind'] == want.kind and frozenset(f['components']) == want.components]
        if len(same) != 1:
            out.append(f'{len(same)} findings of {want.kind} {sorted(want.components)}')
            continue
        found = same[0]
        left.remove(found)
        if want.wanted and frozenset(found['wanted']) != want.wanted:
            out.append(f'{want.kind} {sorted(want.components)} wants {found["wanted"]}, right is {sorted(want.wanted)}')
        if want.rails and tuple(found['rails']) != want.rails:
            out.append(f'{want.kind} {sorted(want.components)} is of rails {found["rails"]}, right is {list(want.rails)}')
        out += [f'"{found["text"]}" does not say {word}' for word in want.words if word not in found['text']]
    out += [f'said too much: {f["kind"]} {f["components"]}: {f["text"]}' for f in left]
    return out


def places(answer, rows):
    """Problems of `railwitness ports --json` against (host, nic, switch port, rail) of every NIC."""
    said = {(p['host'], p['nic'], p['switch_port'], p['rail']) for p in answer['ports']}
    return [f'{what} {sorted(which)[:3]}' for what, which in (('not said:', rows - said), ('wrong:', said - rows)) if which]
