#!/usr/bin/env python3
"""What the sidecar says of refusals, end to end: the real process, real jobs, `railwitness ls` as text and as JSON.

    refusals_check.py SOURCE_DIR RAILWITNESS LATER_CLOCK_LIBRARY

A sidecar of four seats gives one user three. Who asks beyond that, for a further segment out of order, or with another
version, is refused, and `ls` says so for five minutes. The sidecar's clock is put forward by a preloaded library, so that
nobody waits for them. Ends with `refusals_check: N of M right`, exit 1 unless N = M.
"""
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'sidecar'))
from sidecar_process import Sidecar  # noqa: E402

source, program, clock_library = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
header = (source / 'include/railwitness/abi/segment.h').read_text()
MAJOR, MINOR = (int(re.search(rf'define RAILWITNESS_ABI_{word} (\d+)', header)[1]) for word in ('MAJOR', 'MINOR'))
HELLO, REQUEST = 0x4F4C4C4548575752, 0x3054524150575752
OK, VERSION, FULL = 0, 2, 3
NOTES = {'seat': 'processes were refused a segment', 'further': 'processes were refused a further segment',
         'version': 'another segment version asked'}
right = wrong = 0


def check(what, is_fine, seen=''):
    global right, wrong
    right, wrong = right + bool(is_fine), wrong + (not is_fine)
    print(f'{"right" if is_fine else "WRONG"}  {what}{"" if is_fine else f": {seen}"}', flush=True)


class Job:
    """A process that asks for a segment and stays; a process of its own, because each process has one seat."""

    def __init__(self, path, major=MAJOR, further=None):
        told, tells = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.write(tells, bytes(self.ask(path, major, further)))
            signal.pause()
        os.close(tells)
        self.answers = list(os.read(told, 16))
        os.close(told)

    def ask(self, path, major, further):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(10)
        self.socket.connect(path)
        messages = [struct.pack('<QHHIIIQ64s32x', HELLO, major, MINOR, 128, os.getpid(), 0, 0, b'train')]
        if further is not None:
            messages.append(struct.pack('<QII48x', REQUEST, 64, further))
        for message in messages:
            self.socket.send(message)
            yield struct.unpack_from('<I', self.socket.recv(64), 12)[0]

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def ls(control, *options):
    done = subprocess.run([program, 'ls', '--control-socket', control, *options], capture_output=True, text=True, timeout=30)
    return done.stdout


def notes_become(control, wanted):
    """Waits until `ls` has exactly the wanted notes of NOTES, in text and in JSON."""
    end, seen = time.monotonic() + 15, None
    while seen != (wanted, wanted) and time.monotonic() < end:
        time.sleep(0.1)
        text, notes = ls(control), ls(control, '--json')
        if text and notes:
            seen = tuple({name for name, words in NOTES.items() if words in said}
                         for said in (text, '\n'.join(json.loads(notes).get('notes', []))))
    return seen == (wanted, wanted), seen


def main():
    with tempfile.TemporaryDirectory() as folder:
        clock = pathlib.Path(folder, 'clock')
        clock.write_text('0')
        env = {'PATH': os.environ['PATH'], 'HOME': folder, 'LD_PRELOAD': clock_library, 'LATER_CLOCK': str(clock)}
        sidecar = Sidecar(program, folder, '--max-processes', '4', env=env)
        try:
            run(sidecar.socket, sidecar.control, clock)
        finally:
            sidecar.end()
        log = sidecar.log()
    check('the refusal is logged once each time it begins', log.count(NOTES['seat']) == 2, log)


def run(sockets, control, clock):
    check('no note at first', *notes_become(control, set()))
    jobs = [Job(sockets) for _ in range(3)]
    check('three processes of one user get a segment', all(job.answers == [OK] for job in jobs), [j.answers for j in jobs])
    check('and no note', *notes_become(control, set()))
    late = Job(sockets)
    check('the fourth is refused', late.answers == [FULL], late.answers)
    check('and ls says so', *notes_become(control, {'seat'}))
    late.end()
    jobs.pop().end()
    check('the note stays for a while when a seat is free', *notes_become(control, {'seat'}))
    clock.write_text('200')
    time.sleep(1)
    check('three minutes later as well', *notes_become(control, {'seat'}))
    jobs.append(Job(sockets, further=5))
    check('a further segment out of order is refused', jobs[-1].answers == [OK, FULL], jobs[-1].answers)
    other = Job(sockets, major=MAJOR + 1)
    check('another version is refused', other.answers == [VERSION], other.answers)
    check('all of it is said', *notes_become(control, set(NOTES)))
    clock.write_text('310')
    check('the first note goes, the later ones stay', *notes_become(control, {'further', 'version'}))
    clock.write_text('600')
    check('then they go too', *notes_become(control, set()))
    check('the processes are served all the time', len(json.loads(ls(control, '--json'))['processes']) >= 3)
    again = Job(sockets)
    check('and a new refusal is said anew', *notes_become(control, {'seat'}))
    for job in (*jobs, other, again):
        job.end()


main()
print(f'refusals_check: {right} of {right + wrong} right')
sys.exit(1 if wrong or not right else 0)
