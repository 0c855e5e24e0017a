#!/usr/bin/env python3
"""What a job can do to the hand-over socket. hostile_jobs.py runs these beside a sidecar, as another user.

    socket_attacks.py ATTACK SOCKET CONTROL_SOCKET SECONDS COUNT      prints what came of it
"""
import array
import os
import socket
import struct
import sys
import time

NOBODY = 65534
MAGIC, REQUEST, MAJOR, MINOR = 0x4F4C4C4548575752, 0x3054524150575752, 0, 3


def hello(job=b'hostile', magic=MAGIC, major=MAJOR, size=128, pid=1):
    return struct.pack('<QHHIIIQ64s32x', magic, major, MINOR, size, pid, 0, 0, job)


def connect(path):
    """A connection, waiting while the queue of the socket is full; None: nobody is there."""
    for _ in range(2000):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.settimeout(5)
        try:
            client.connect(path)
            return client
        except BlockingIOError:
            time.sleep(0.001)
        except OSError:
            time.sleep(0.01)
        client.close()
    return None


def send(client, message):
    try:
        client.send(message)
        return True
    except OSError:
        return False


def receive(client):
    """Message and whether a descriptor came with it."""
    try:
        message, fds, _, _ = socket.recv_fds(client, 64, 4)
    except OSError:
        return b'', False
    for fd in fds:
        os.close(fd)
    return message, bool(fds)


def each(path, count, act):
    done = 0
    for i in range(count):
        client = connect(path)
        if client:
            done += bool(act(client, i))
            client.close()
    return done


def connects(path, _control, _seconds, count):
    return f'{each(path, count, lambda c, i: True)} connections opened and closed'


def halves(path, _control, _seconds, count):
    return f'{each(path, count, lambda c, i: send(c, hello()[:i % 128]))} half hellos'


def long(path, _control, _seconds, count):
    """Longer than what is read of it; nonsense behind a hello of the right size; and 100 KiB."""
    messages = [hello() + b'x' * 400, hello(size=0xFFFFFFFF), b'\xff' * 100_000]
    return f'{each(path, count, lambda c, i: send(c, messages[i % 3]))} messages that are too long'


def versions(path, _control, _seconds, count):
    def act(client, i):
        send(client, hello(major=i % 65534 + 1) if i % 2 else hello(magic=i))
        return not receive(client)[1]
    return f'{each(path, count, act)} hellos of other versions, none got a segment'


def silent(path, _control, seconds, count):
    kept = [connect(path) for _ in range(count)]
    time.sleep(seconds)
    return f'{sum(c is not None for c in kept)} connections that said nothing'


def liar(path, control, seconds, _count):
    """A hello with another's process number; the driver looks whose facts there are."""
    for _ in range(100):
        client = connect(path)
        send(client, hello(job=b'liar', pid=1))
        if got := receive(client)[1]:
            break
        time.sleep(0.05)
    time.sleep(seconds)
    return f'segment given: {got}, to process {os.getpid()}'


def descriptors(path, _control, _seconds, count):
    """Of files whose closing may take for ever; here a pipe, a socket full of sockets, memory."""
    reading, writing = os.pipe()
    ends = socket.socketpair()
    pushed = [reading, writing, ends[0].fileno(), ends[1].fileno(), os.memfd_create('x')] * 10
    refused = arrived = 0
    for i in range(min(count, 1000)):
        client = connect(path)
        try:
            client.sendmsg([hello()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', pushed))])
            arrived += 1
        except OSError:
            refused += 1
        client.close()
    how = f'{refused} refused by the kernel' if refused else f'{arrived} sent, and dropped by plain recv()'
    return f'descriptors pushed: {how}; none arrived'


def deaf(path, _control, seconds, count):
    """Takes segments, as far as they are given, and never reads an answer."""
    kept = []
    for _ in range(count):
        client = connect(path)
        if client and send(client, hello(b'deaf')):
            kept.append(client)
    time.sleep(seconds)
    return f'{len(kept)} that do not read their answer'


def chatter(path, _control, _seconds, count):
    """Talks on after its hello, without pause, until it is hung up on, and again."""
    def act(client, _):
        send(client, hello(b'chatter'))
        receive(client)
        return all(send(client, os.urandom(64)) for _ in range(4))
    return f'{each(path, count // 10, act)} that talked on'


def flood(path, _control, _seconds, count):
    def act(client, _):
        send(client, hello(b'flood'))
        return receive(client)[1]
    return f'{each(path, count, act)} of {count} hand-overs, one after the other'


def requests(path, _control, seconds, _count):
    """Further segments out of order, without end."""
    end, hung_up, sent = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        client = connect(path)
        send(client, hello(b'requests'))
        receive(client)
        while send(client, struct.pack('<QII48x', REQUEST, 64, 0xFFFFFFFF - sent % 3)) and time.monotonic() < end:
            sent += 1
            if not receive(client)[0]:
                hung_up += 1
                break
        client.close()
    return f'{sent} requests out of order, hung up on {hung_up} times'


def control(_path, control_path, seconds, count):
    """Asks for facts and does not read them."""
    kept = []
    try:
        for _ in range(count):
            client = socket.socket(socket.AF_UNIX)
            client.connect(control_path)
            kept.append(client)
    except OSError as error:
        return f'control socket: {error.strerror}'
    time.sleep(seconds)
    return f'control socket: {len(kept)} that do not read'


def remove(path, _control, _seconds, _count):
    """No job can; somebody who cleans /run does."""
    os.unlink(path)
    for i in range(300):
        time.sleep(0.01)
        if os.path.exists(path):
            return f'socket removed, there again after {10 * i} ms'
    return 'socket removed, and it stays so'


ATTACKS = {f.__name__: f for f in (connects, halves, long, versions, silent, liar, descriptors, deaf, chatter, flood, requests,
                                   control, remove)}

if __name__ == '__main__':
    if os.geteuid() == 0 and sys.argv[1] != 'remove':
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    print(ATTACKS[sys.argv[1]](sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5])))
