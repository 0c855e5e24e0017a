#!/usr/bin/env python3
"""The program as a process: signals and standard descriptors.

    process_check.py RAILWITNESS          ends with `process_check: N of M right`, exit 1 unless N = M
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'sidecar'))
from sidecar_process import wait_until  # noqa: E402

program = sys.argv[1]
right = wrong = 0


def check(what, is_fine, seen=''):
    global right, wrong
    right, wrong = right + bool(is_fine), wrong + (not is_fine)
    print(f'{"right" if is_fine else "WRONG"}  {what}{"" if is_fine else f": {seen}"}', flush=True)


def end_of(process, seconds=10):
    """Its exit status; None: it went on, and was killed."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def waits(pid):
    with open(f'/proc/{pid}/syscall', encoding='utf-8') as file:
        return file.read().split()[0] == '0'  # in read(2)


for number in (signal.SIGINT, signal.SIGTERM):
    doctor = subprocess.Popen([program, 'doctor', '-'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    wait_until(lambda: waits(doctor.pid), 10)
    doctor.send_signal(number)
    status = end_of(doctor)
    check(f'{number.name} ends a doctor that waits for a log', status == -number, status)

with tempfile.TemporaryDirectory() as folder:
    sockets = [f'{folder}/sidecar.sock', f'{folder}/control.sock']
    sidecar = subprocess.Popen(['sh', '-c', 'exec "$0" "$@" <&- >&- 2>&-', program, 'sidecar', '--socket', sockets[0],
                                '--control-socket', sockets[1], '--lldp-command', ''])
    wait_until(lambda: os.path.exists(sockets[1]) or sidecar.poll() is not None, 10)
    time.sleep(0.2)
    held = [os.readlink(f'/proc/{sidecar.pid}/fd/{fd}') for fd in range(3)]
    check('a sidecar with closed standard descriptors has no socket in their place', held == ['/dev/null'] * 3, held)
    sidecar.terminate()
    status = end_of(sidecar)
    check('and SIGTERM ends it as it should', status in (0, 3), status)

print(f'process_check: {right} of {right + wrong} right')
sys.exit(wrong > 0)
