#!/usr/bin/env python3
"""The installed unit under a real systemd, in a virtual machine: started, killed, restarted, stopped, with a job beside it.

    systemd_check.py SOURCE_DIR BUILD_DIR CMAKE    Ends with `systemd: N of M right`, exit 1 unless N = M.

Installs into a temporary prefix and boots the guest of tests/rdma_vm, where systemd runs as the first process of a pid namespace
with the unit, its settings file, and targets without anything else in them.
"""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
UNIT = 'railwitness-sidecar.service'
LOG = '/var/tmp/sidecar.log'
checks = []


def check(text, condition, detail=''):
    checks.append(bool(condition))
    print(f'{"right" if condition else "WRONG"}: {text}{"" if condition else ": " + str(detail)}', flush=True)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pathlib.Path(path).write_text(text)


def prepare(prefix):
    system = '/etc/systemd/system'
    write(f'{system}/{UNIT}', pathlib.Path(f'{prefix}/lib/systemd/system/{UNIT}').read_text())
    # There is no journal here.
    write(f'{system}/{UNIT}.d/log.conf', f'[Service]\nStandardOutput=append:{LOG}\nStandardError=append:{LOG}\n')
    write('/etc/railwitness/sidecar.env', 'OPTIONS=--no-pings\n')
    for target in ('sysinit', 'basic', 'network-online', 'shutdown'):
        write(f'{system}/{target}.target', '[Unit]\nDefaultDependencies=no\n')
    write(f'{system}/bed.target', f'[Unit]\nWants={UNIT}\n')


class Systemd:
    def __init__(self):
        script = ('mount -t tmpfs run /run; mkdir -p /run/systemd/system; mount -t cgroup2 cgroup /sys/fs/cgroup; '
                  'exec /lib/systemd/systemd --system --log-target=console --show-status=no --unit=bed.target')
        self.outer = subprocess.Popen(['unshare', '-pfm', '--mount-proc', '--propagation', 'private', 'bash', '-c', script],
                                      stdout=open('/var/tmp/systemd.log', 'w'), stderr=subprocess.STDOUT)
        self.pid = 0

    def run(self, *command):
        if not self.pid:
            children = pathlib.Path(f'/proc/{self.outer.pid}/task/{self.outer.pid}/children').read_text().split()
            self.pid = int(children[0]) if children else 0
        return subprocess.run(['nsenter', '-t', str(self.pid), '-p', '-m', *command], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)

    def popen(self, *command):
        return subprocess.Popen(['nsenter', '-t', str(self.pid), '-p', '-m', *command])

    def show(self, what):
        return self.run('systemctl', 'show', UNIT, '--value', '-p', what).stdout.strip()

    def facts(self):
        done = self.run('railwitness', 'ls', '--json')
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def jobs(self):
        return {p['pid']: p for p in self.facts().get('processes', []) if p.get('job') == 'restarts'}


def wait_for(condition, seconds=90):  # an emulated machine; what it takes is not judged
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    return condition()


def start_job(systemd, job):
    known = set(systemd.jobs())
    process = systemd.popen(job, '/run/railwitness/sidecar.sock', f'/var/tmp/truth{len(known)}')
    pid = wait_for(lambda: next(iter(p for p, facts in systemd.jobs().items() if p not in known and len(facts['flows']) >= 20), 0))
    return process, pid


def log():
    return pathlib.Path(LOG).read_text() if os.path.exists(LOG) else 'no log'


def in_guest(prefix, job):
    os.environ['PATH'] += f':{prefix}/bin'
    prepare(prefix)
    systemd = Systemd()
    time.sleep(2)
    check('the service says that it is ready', wait_for(lambda: systemd.show('SubState') == 'running', 240),
          systemd.run('systemctl', 'status', UNIT).stdout + pathlib.Path('/var/tmp/systemd.log').read_text()[-2000:])
    check('the facts can be read', wait_for(systemd.facts), log())
    _, first = start_job(systemd, job)
    check('a job gets its segment, which systemd keeps', first and systemd.show('NFileDescriptorStore') == '1',
          systemd.show('NFileDescriptorStore'))

    before = systemd.show('MainPID')
    folder = systemd.run('stat', '-c', '%i', '/run/railwitness').stdout
    systemd.run('systemctl', 'kill', '-s', 'KILL', UNIT)
    check('killed, it is started again', wait_for(lambda: systemd.show('SubState') == 'running' and systemd.show('MainPID') != before))
    check('it reads the segment of before', wait_for(lambda: '1 segments of the sidecar before are read on' in log()), log())
    told = lambda: [n for n in systemd.facts().get('notes', []) if re.match(rf'process {first} was unwitnessed for', n)]
    check('it tells the span that nobody saw', wait_for(told), systemd.facts().get('notes'))
    check('the folder that containers mount is the same', systemd.run('stat', '-c', '%i', '/run/railwitness').stdout == folder)
    check('the job comes over, and one segment is kept',
          wait_for(lambda: log().count('got a segment') == 2 and systemd.show('NFileDescriptorStore') == '1'), log())

    second_process, second = start_job(systemd, job)
    systemd.run('systemctl', 'kill', '-s', 'KILL', UNIT)
    systemd.run('kill', '-9', str(second))
    second_process.wait()
    gone = wait_for(lambda: systemd.jobs().get(second, {}).get('state') == 'gone')
    left = [f for f in systemd.jobs().get(second, {}).get('flows', []) if f.get('posted') == 3 and f.get('completed') == 1]
    check('a process that ended meanwhile is told as gone, with what it left', gone and len(left) == 4, (second, left, log()))
    check('and leaves the store', wait_for(lambda: systemd.show('NFileDescriptorStore') == '1'), systemd.show('NFileDescriptorStore'))

    systemd.run('systemctl', 'restart', UNIT)
    check('systemctl restart keeps the segment', wait_for(lambda: first in systemd.jobs() and systemd.show('NFileDescriptorStore') == '1'),
          log())
    systemd.run('systemctl', 'stop', UNIT)
    check('systemctl stop gives it up', systemd.show('NFileDescriptorStore') == '0', systemd.show('NFileDescriptorStore'))
    check('the job runs on', systemd.run('kill', '-0', str(first)).returncode == 0)
    check('the socket is gone or refuses', not connects(systemd))
    print(f'systemd: {sum(checks)} of {len(checks)} right')
    return 0 if all(checks) else 1


def connects(systemd):
    path = f'/proc/{systemd.pid}/root/run/railwitness/sidecar.sock'
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        try:
            probe.connect(path)
            return True
        except OSError:
            return False


def main():
    if len(sys.argv) == 4 and sys.argv[1] == '--in-guest':
        return in_guest(sys.argv[2], sys.argv[3])
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    source, build, cmake = sys.argv[1:]
    if not os.path.exists('/lib/systemd/systemd'):
        raise SystemExit('systemd_check.py: no /lib/systemd/systemd here (Debian: apt-get install systemd)')
    with tempfile.TemporaryDirectory(prefix='railwitness-systemd-', dir=build) as folder:
        os.chmod(folder, 0o755)
        prefix = f'{folder}/prefix'
        subprocess.run([cmake, '--install', build, '--prefix', prefix], check=True, stdout=subprocess.DEVNULL)
        out = f'{folder}/out'
        os.mkdir(out)
        return subprocess.run([f'{source}/tests/rdma_vm/rdma_vm', '--hosts', '1', '--rails', '1', '--timeout', '240', '--out', out,
                               '--', sys.executable, str(HERE), '--in-guest', prefix, f'{build}/tests/faults/restart_job']).returncode


if __name__ == '__main__':
    sys.exit(main())
