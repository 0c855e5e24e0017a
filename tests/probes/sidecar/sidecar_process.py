"""The real sidecar, started for a test or a measurement: its sockets, what it says, what it takes."""
import json
import os
import re
import socket
import subprocess
import time

STARTS_WITHIN_S = 30


def wait_until(condition, seconds):
    """What the condition is last."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def ask(control_socket):
    """What `railwitness ls --json` would say; None: nobody answers, or not whole."""
    with socket.socket(socket.AF_UNIX) as control:
        control.settimeout(5)
        try:
            control.connect(control_socket)
            text = b''.join(iter(lambda: control.recv(1 << 16), b''))
            return json.loads(text) if text else None
        except (OSError, ValueError):
            return None


class Sidecar:
    """Runs in `folder`, where its sockets and its outputs lie, until end(). `env`: the whole environment, if not ours."""

    def __init__(self, program, folder, *options, env=None):
        self.socket, self.control = f'{folder}/sidecar.sock', f'{folder}/control.sock'
        self.out_path, self.log_path = f'{folder}/sidecar.out', f'{folder}/sidecar.log'
        with open(self.out_path, 'wb') as out, open(self.log_path, 'wb') as log:
            self.process = subprocess.Popen(
                [program, 'sidecar', '--socket', self.socket, '--control-socket', self.control, '--lldp-command', '',
                 *options], stdout=out, stderr=log, env=env)
        end = time.monotonic() + STARTS_WITHIN_S
        while not (os.path.exists(self.socket) and os.path.exists(self.control)):
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                raise SystemExit(f'the sidecar does not start: {self.log()}')
            time.sleep(0.05)

    @property
    def pid(self):
        return self.process.pid

    def is_alive(self):
        return self.process.poll() is None

    def end(self):
        """Its exit status."""
        self.process.terminate()
        return self.process.wait()

    def out(self):
        with open(self.out_path, encoding='utf-8') as file:
            return file.read()

    def log(self):
        with open(self.log_path, encoding='utf-8') as file:
            return file.read()

    def facts(self):
        """What `railwitness ls --json` would say. Others may have taken all places at the control socket for a moment."""
        for _ in range(20):
            if facts := ask(self.control):
                return facts
            time.sleep(0.05)
        raise SystemExit('the sidecar does not answer')

    def seen(self):
        """By pid: how many flows the sidecar reads; and how many are said to be unwitnessed in all."""
        facts = self.facts()
        flows = {p['pid']: len(p.get('flows', [])) for p in facts.get('processes', [])}
        for note in facts.get('notes', []):  # facts hold 800 flows a node; the total is a note
            if told := re.match(r'process (\d+) has (\d+) flows, of which', note):
                flows[int(told.group(1))] = int(told.group(2))
        return flows, sum(p.get('unwitnessed_flows', 0) for p in facts.get('processes', []))

    def status(self):
        with open(f'/proc/{self.pid}/status', encoding='utf-8') as file:
            text = file.read()
        number = lambda name: int(re.search(rf'{name}:\s+(\d+)', text).group(1))
        return {'rss_kib': number('VmRSS'), 'peak_kib': number('VmHWM'), 'threads': number('Threads'),
                'cpu_s': self.cpu_seconds(), 'descriptors': len(os.listdir(f'/proc/{self.pid}/fd'))}

    def cpu_seconds(self):
        with open(f'/proc/{self.pid}/stat', encoding='utf-8') as file:
            fields = file.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def share(self, seconds=5):
        """Of one core, while nothing happens but reading."""
        before, start = self.cpu_seconds(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu_seconds() - before) / (time.monotonic() - start)
