"""Compares what railwitness said during a fault with the truth.  Pure functions over JSON objects.

    right, why = verdict(kind, place, lines)

lines: (moment, speaker, object) that arrived between the fault and its repair.  What counts is the correlator's last
word on each incident: all that stand must be right.  taken_back(lines) has what it had said otherwise before.
"""

FAULTS = ('carrier', 'blackhole', 'stop', 'compute')
STANDING = ('suspected', 'confirmed')
FABRIC = ('LINK', 'SWITCH')
ACCUSES_NOBODY = ('UNKNOWN', 'WAIT', 'NONE')


def incidents(lines, speaker='correlate'):
    """The last state of every incident of a speaker, in the order in which they first came up."""
    last = {}
    for _, who, what in lines:
        if who == speaker and what.get('type') == 'incident':
            last[what.get('id')] = what
    return [what for what in last.values() if what.get('state') in STANDING]


def is_other(before, after):
    """True if an incident that goes on says something else than before, not only something sharper."""
    was, now = before.get('class'), after.get('class')
    return was != now and was not in ACCUSES_NOBODY and not (was in FABRIC and now in FABRIC)


def taken_back(lines, repair, speaker='correlate'):
    """The verdicts that did not last, as they were said: withdrawn at any time, replaced by another in the same incident, or
    over before `repair`, the moment at which the fault was undone."""
    last, gone = {}, []
    for moment, who, what in lines:
        if who != speaker or what.get('type') != 'incident':
            continue
        before, now = last.get(what.get('id')), what
        is_over = now.get('state') == 'withdrawn' or (now.get('state') not in STANDING and moment < repair)
        if before is not None and (is_over or is_other(before, now)):
            gone.append(before)
        if now.get('state') in STANDING:
            last[what.get('id')] = now
        else:
            last.pop(what.get('id'), None)
    return gone


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
    if kind != 'compute':
        is_it = is_rank if kind == 'stop' else is_port
        wrong = [i for i in standing if not is_it(i, place)]
        if wrong:
            return False, describe(wrong[-1])
        return (True, '') if standing else (False, 'no incident')
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
