"""Cases beside the real `railwitness sidecar`: a job with a forked child, each ended in turn."""
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../probes/sidecar'))
from sidecar_process import Sidecar, wait_until  # noqa: E402


def find(sidecar, pid):
    return next((p for p in sidecar.facts()['processes'] if p['pid'] == pid), None)


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
            if not wait_until(lambda: (p := find(sidecar, job.pid)) and posted(p) == 50, 5):
                wrong.append(f'the sidecar shows {find(sidecar, job.pid)}')
            if (state := find(sidecar, job.pid)['state']) == 'gone':
                wrong.append(f'the job is shown as {state} while it lives')
            shown = [p['pid'] for p in sidecar.facts()['processes']]
            if shown != [job.pid]:
                wrong.append(f'it shows processes {shown}, the job is {job.pid}')
            job.send_signal(signal.SIGKILL)
            job.wait()
            killed = time.monotonic()
            gone = wait_until(lambda: (p := find(sidecar, job.pid)) is None or p['state'] == 'gone', 5)
            took_s = time.monotonic() - killed
            if not gone:
                wrong.append('the sidecar does not see that the job has ended')
            if not os.path.exists(f'/proc/{child}'):
                wrong.append('the child ended with its parent')
            if not sidecar.is_alive():
                wrong.append('the sidecar ended')
        finally:
            os.kill(child, signal.SIGKILL)
            if job.poll() is None:
                job.kill()
            sidecar.end()
    return wrong, (f"the sidecar shows the job's 50 transfers and none of the 100 of its child, which it does not show; it sees the "
                   f"job's end {took_s:.1f} s after the kill, with the child alive")


CASES = [('fork_beside_the_sidecar', 'tap', 'a job with a forked child beside the real sidecar; the job is killed', fork_beside_the_sidecar)]
