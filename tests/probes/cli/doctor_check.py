#!/usr/bin/env python3
"""Runs `railwitness env` and `railwitness doctor` as their users do: exit statuses, what is said, docs/knobs.md.

    doctor_check.py SOURCE_DIR RAILWITNESS      Ends with `doctor_check: N of M right`, exit 1 unless N = M.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
logs = root / 'tests/probes/joblog/data'
right = wrong = 0


def run(*arguments, given=None, **variables):
    environment = {'HOME': '/nowhere', 'PATH': os.environ['PATH'], **variables}
    return subprocess.run([program, *map(str, arguments)], env=environment, input=given, capture_output=True, timeout=60)


def check(what, done, status, *parts):
    global right, wrong
    text = (done.stdout + done.stderr).decode(errors='replace')
    fine = done.returncode == status and all(part in text for part in parts)
    right, wrong = right + fine, wrong + (not fine)
    if not fine:
        print(f'wrong: {what}: exit status {done.returncode}, {status} is meant; {parts} in:\n{text}')


USED = b'h:1:1 [0] NCCL INFO railwitness 0.1.0: tap by stub, sidecar connected\nh:1:1 [0] NCCL INFO Using network IB\n'

check('docs/knobs.md is what the program prints', run('env', '--markdown'), 0, (root / 'docs/knobs.md').read_text())
for text in 'version', 'env --json':  # short, and longer than what is held back until the end
    with open('/dev/full', 'w') as full:
        done = subprocess.run([program, *text.split()], stdout=full, stderr=subprocess.PIPE, timeout=60)
    done.stdout = b''
    check(f'{text} to a full disk', done, 3, 'standard output cannot be written: No space left on device')
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([program, *text.split()], stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    done.stdout = b''
    check(f'{text} to a reader that has gone', done, 0, *(['?'] if done.stderr else []))
check('nothing set', run('env'), 0, 'RAILWITNESS_SOCKET', "none of NCCL's variables")
said = json.loads(run('env', '--json').stdout)
names = [row['name'] for row in said['variables']]
check('text, JSON and Markdown have every variable', run('env'), 0, *names)
check('and so has the table', run('env', '--markdown'), 0, *names, *([] if len(names) == len(set(names)) > 15 else ['?']))
check('lists in JSON are there though empty', run('env', '--json'), 0, '"problems":[]', '"nccl":[]')
check('a slip', run('env', RAILWITNESS_SOKET='/x'), 1, 'wrong: RAILWITNESS_SOKET is not known; RAILWITNESS_SOCKET is meant?')
check('a wrong value', run('env', RAILWITNESS_MODE='tapp'), 1, "RAILWITNESS_MODE is 'tapp'; one of ")
check('a wrong number', run('env', RAILWITNESS_INTERVAL_MS='1'), 1, 'a whole number of ms from 50 to 60000 is meant')
check('a wrong number of another command', run('ls', RAILWITNESS_INTERVAL_MS='1', RAILWITNESS_CONTROL_SOCKET='/nowhere/c'), 3, 'no sidecar')
SLIP = {'RAILWITNESS_READ_INTERVALL_MS': '1'}
MEANT = 'warning: RAILWITNESS_READ_INTERVALL_MS is not known; RAILWITNESS_READ_INTERVAL_MS is meant?'
check('a slip of the sidecar', run('sidecar', '--rail', 'no interface', **SLIP), 2, 'railwitness sidecar: ' + MEANT)
check('a slip of the correlator', run('correlate', '--nats', 'http://x', **SLIP), 2, 'railwitness correlate: ' + MEANT)
check('a slip of ls', run('ls', RAILWITNESS_CONTROL_SOCKET='/nowhere/c', **SLIP), 3, 'railwitness ls: ' + MEANT)
check('a slip of version', run('version', **SLIP), 0, 'railwitness version: ' + MEANT)
check('a slip where a log is read', run('doctor', '-', given=USED, **SLIP), 0, 'railwitness doctor: ' + MEANT)
check('what is known is no slip', run('version', RAILWITNESS_JOB='x', RAILWITNESS_SERVICE_HOST='10.0.0.1'), 0,
      *(['?'] if run('version', RAILWITNESS_JOB='x', RAILWITNESS_SERVICE_HOST='10.0.0.1').stderr else []))
check('NCCL_NET=railwitness in mode tap', run('env', NCCL_NET='railwitness'), 1, 'way out: unset NCCL_NET')
check('NCCL_NET=railwitness in mode ofi', run('env', NCCL_NET='railwitness', RAILWITNESS_MODE='ofi'), 0, 'forbids NCCL')
PLUGIN = {'NCCL_NET_PLUGIN': 'railwitness'}
check('what NCCL forgets', run('env', RAILWITNESS_MODE='ofi', **PLUGIN), 0, 'unless NCCL_NET_PLUGIN_REF_COUNT=1')
kept = run('env', RAILWITNESS_MODE='ofi', NCCL_NET_PLUGIN_REF_COUNT='1', **PLUGIN)
check('what NCCL keeps', kept, 0, *(['?'] if b'unless NCCL_NET' in kept.stdout else []))
check('another process', run('env', '--pid', os.getpid()), run('env', '--pid', os.getpid()).returncode, 'environment of process')
check('a process that is not', run('env', '--pid', 4194304), 3, 'there is no such process')
check('both at once', run('env', '--pid', 1, '--markdown'), 2)

check('a log of use', run('doctor', '-', given=USED), 0, 'railwitness is used')
PART = USED + b'h:1:1 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 commId 0x1 - Init COMPLETE\n'
REST = PART.replace(b'h:1:1', b'h:2:2').replace(b' rank 0 ', b' rank 1 ')
check('a log that misses a rank', run('doctor', '-', given=PART), 0, 'used, as far as the log shows', 'shows 1 of 2 ranks')
check('and the same with that rank', run('doctor', '-', given=PART + REST), 0, 'railwitness is used\n', '2 of 2 ranks')
check('a log that misses a rank, and shows one without', run('doctor', '-', logs / 'plugin_none.log', given=PART), 1)
check('a log without', run('doctor', logs / 'plugin_none.log'), 1, 'railwitness is NOT used, NCCL 2.28.9')
check('several files are one job', run('doctor', '-', logs / 'plugin_none.log', given=USED), 1, 'NOT used by every rank')
check('no log', run('doctor', '/nowhere/job.log'), 3, 'cannot open /nowhere/job.log', 'name logs of a job')
check('a folder is no log', run('doctor', '/'), 3, 'cannot read /: Is a directory', 'name logs of a job')
with tempfile.NamedTemporaryFile(suffix='.gz') as packed:
    packed.write(b'\x1f\x8b\x08\0 packed')
    packed.flush()
    check('a packed log', run('doctor', packed.name), 3, 'zcat')
said = json.loads(run('doctor', '--json', logs / 'path_wrong.log').stdout)
check('the same in JSON', run('doctor', '--json', logs / 'path_wrong.log'), 1, *([] if said['use'] == 'not used' else ['?']))



# --- what real NCCLs said: the table of data/versions

def version(text):
    return tuple(map(int, text.split('.')))


def wanted_of(case, of):
    rows = (line.split('\t') for line in (logs / 'versions/expected.tsv').read_text().splitlines() if not line.startswith('#'))
    return [row for row in rows if row[0] == case and version(row[1]) <= version(of) <= version(row[2])]


for path in sorted((logs / 'versions').glob('*.log'), key=lambda path: version(path.stem)):
    for section in path.read_text().split('=== ')[1:]:
        case, log = section.split('\n', 1)
        rows = wanted_of(case, path.stem)
        use, *parts = rows[0][3:] if len(rows) == 1 else ['', f'one row of expected.tsv, not {len(rows)}']
        done = run('doctor', '-', given=log.encode())
        check(f'{case} of NCCL {path.stem}', done, 0 if use == 'used' else 1, f'  {use:<9} ' if use != 'unknown' else 'does not say',
              f'NCCL {path.stem}' if 'NCCL version' in log else '', *parts)

nowhere = ('--plugin', '/nowhere/libnccl-net-railwitness.so', '--socket', '/nowhere/s', '--control-socket', '/nowhere/c',
           '--lldp-command', '')
host = run('doctor', '--json', *nowhere)
checks = json.loads(host.stdout)['checks']
helpless = [c['what'] for c in checks if c['state'] == 'bad' and not c['way_out']]
check('a host without anything', host, 1)
check('whatever is bad has a way out', host, 1, *(['?'] if helpless or len(checks) < 14 else []))

print(f'doctor_check: {right} of {right + wrong} right')
sys.exit(1 if wrong or not right else 0)
