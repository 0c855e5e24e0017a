"""Compares what railwitness said during a fault with the truth.  Pure functions over JSON objects.

    right, why = verdict(kind, place, lines)

lines: (moment, speaker, object) that arrived between the fault and its repair.  What counts is the correlator's last
word on each incident.
"""

FAULTS = ('carrier', 'blackhole', 'stop', 'compute')
STANDING = ('suspected', 'confirmed')


def incidents(lines, speaker='correlate'):
    """The last state of every incident of a speaker, in the order in which they first came up."""
    last = {}
    for _, who, what in lines:
        if who == speaker and what.get('type') == 'incident':
            last[what.get('id')] = what
    return [what for what in last.values() if what.get('state') in STANDING]


def waits(lines):
    """Who was said to be waited for: (moment, speaker, rank, node)."""
    return [(moment, who, culprit.get('rank'), culprit.get('node'))
            for moment, who, what in lines if what.get('type') == 'wait' for culprit in what.get('culprit', [])]


def is_port(incident, place):
    """True if the incident names exactly the port `place`."""
    culprit = incident.get('culprit', [])
    want = {'kind': 'edge', 'node': place.node, 'device': place.device, 'switch': place.switch, 'switch_port': place.switch_port}
    return incident.get('class') == 'LINK' and len(culprit) == 1 and all(culprit[0].get(k) == v for k, v in want.items())


def is_rank(incident, place):
    culprit = incident.get('culprit', [])
    return (incident.get('class') == 'RANK_HUNG' and len(culprit) == 1 and culprit[0].get('kind') == 'rank'
            and culprit[0].get('rank') == place.host and culprit[0].get('node') == place.node)


def describe(incident):
    return f"{incident.get('class')}/{incident.get('subclass')} {incident.get('state')}: {incident.get('line')}"


def verdict(kind, place, lines):
    standing = incidents(lines)
    if kind in ('carrier', 'blackhole'):
        if not standing:
            return False, 'no incident'
        return (True, '') if is_port(standing[-1], place) else (False, describe(standing[-1]))
    if kind == 'stop':
        links = [i for i in standing if i.get('class') in ('LINK', 'SWITCH')]
        if links:
            return False, describe(links[0])
        hung = [i for i in standing if i.get('class') == 'RANK_HUNG']
        if not hung:
            return False, describe(standing[-1]) if standing else 'no incident'
        return (True, '') if is_rank(hung[-1], place) else (False, describe(hung[-1]))
    # A rank that computes is no incident, not even one that was taken back.
    raised = [what for _, who, what in lines
              if who == 'correlate' and what.get('type') == 'incident' and what.get('state') in STANDING]
    if raised:
        return False, describe(raised[0])
    named = waits(lines)
    if not any(rank == place.host and node in (None, place.node) for _, _, rank, node in named):
        return False, 'waited for ' + (', '.join(sorted({f'rank {rank}' for _, _, rank, _ in named})) or 'nobody')
    return True, ''


def first_right(kind, place, lines):
    """When the first line arrived with which the verdict became what it stayed, or None."""
    if kind == 'compute':
        named = [moment for moment, _, rank, _ in waits(lines) if rank == place.host]
        return named[0] if named else None
    moment = None
    for n in range(1, len(lines) + 1):
        if lines[n - 1][1] != 'correlate':
            continue
        right = verdict(kind, place, lines[:n])[0]
        moment = (moment or lines[n - 1][0]) if right else None
    return moment
