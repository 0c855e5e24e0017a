"""Cases beside the real `railwitness sidecar`: a job with a forked child, each ended in turn."""
import json
import os
import signal
import socket
import subprocess
import tempfile
import time


class Sidecar:
    def __init__(self, railwitness, folder):
        self.socket, self.control = f'{folder}/sidecar.sock', f'{folder}/control.sock'
        self.process = subprocess.Popen(
            [railwitness, 'sidecar', '--json', '--socket', self.socket, '--control-socket', self.control, '--lldp-command', ''],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not eventually(lambda: os.path.exists(self.control), 30):
            raise AssertionError('the sidecar does not start')

    def processes(self):
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(5)
            control.connect(self.control)
            text = b''.join(iter(lambda: control.recv(1 << 16), b''))
        return json.loads(text)['processes'] if text else []

    def find(self, pid):
        return next((p for p in self.processes() if p['pid'] == pid), None)

    def end(self):
        self.process.kill()
        self.process.wait()


def eventually(holds, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.05)
    return False


def posted(process):
    return sum(flow['posted'] for flow in process['flows'])


def fork_beside_the_sidecar(options, environment):
    """What was wrong (empty: nothing), and what was seen."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        sidecar = Sidecar(options.railwitness, folder)
        environment = {**environment, 'RAILWITNESS_SOCKET': sidecar.socket}
        job = subprocess.Popen([options.lifecycle, '--family', options.plugin], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True)
        line = job.stdout.readline().split()
        if len(line) != 2 or line[0] != 'child':
            return ['the job does not start'], ''
        child = int(line[1])
        try:
            if not eventually(lambda: (p := sidecar.find(job.pid)) and posted(p) == 50, 5):
                wrong.append(f'the sidecar shows {sidecar.find(job.pid)}')
            if (state := sidecar.find(job.pid)['state']) == 'gone':
                wrong.append(f'the job is shown as {state} while it lives')
            shown = [p['pid'] for p in sidecar.processes()]
            if shown != [job.pid]:
                wrong.append(f'it shows processes {shown}, the job is {job.pid}')
            job.send_signal(signal.SIGKILL)
            job.wait()
            killed = time.monotonic()
            gone = eventually(lambda: (p := sidecar.find(job.pid)) is None or p['state'] == 'gone', 5)
            took_s = time.monotonic() - killed
            if not gone:
                wrong.append('the sidecar does not see that the job has ended')
            if not os.path.exists(f'/proc/{child}'):
                wrong.append('the child ended with its parent')
            if sidecar.process.poll() is not None:
                wrong.append('the sidecar ended')
        finally:
            os.kill(child, signal.SIGKILL)
            if job.poll() is None:
                job.kill()
            sidecar.end()
    return wrong, (f"the sidecar shows the job's 50 transfers and none of the 100 of its child, which it does not show; it sees the "
                   f"job's end {took_s:.1f} s after the kill, with the child alive")


CASES = [('fork_beside_the_sidecar', 'tap', 'a job with a forked child beside the real sidecar; the job is killed', fork_beside_the_sidecar)]
