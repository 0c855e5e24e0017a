#!/usr/bin/env python3
"""Writes the seeds of the fuzzers: an honest input of each kind and the classes of lies that are known.

usage: make_corpus.py FOLDER    (layout: include/railwitness/abi, with the capacities of segment_decode_fuzzer.cc)
"""
import os
import struct
import sys

THREADS, RAILS, COMMS, FLOWS = 2, 2, 2, 3
MAX32, MAX64 = 2**32 - 1, 2**64 - 1


def writer(clock=1, threads=1, rails=1, comms=1, flows=2, alone=(0, 0), forward=0, cost=b''):
    line = struct.pack('<8I', 42, clock, 1, 1, threads, rails, comms, flows)
    line += struct.pack('<5QII', 0, 0, 3, *alone, 0x100, forward) + cost
    return line.ljust(128, b'\0')


def cost(ppm=2800, limit=20, detail=0, since=0):
    return struct.pack('<2QIHHQ3I', 640, 9600, ppm, limit, detail, since, detail, 15, ppm)


def identity(sequence=2, direction=1, role=1, rail=0):
    line = struct.pack('<I4B2I', sequence, 1, 1, direction, role, 17, 18) + b'\xfe\x80' + b'\1' * 30
    line += struct.pack('<2HI2Q4B', 0, 0, rail, 50_000_000_000, 0, 3, 14, 7, 5)
    return line.ljust(128, b'\0')


def state(posted=9, completed=4, stamp=50_000_000_000):
    line = struct.pack('<8Q', posted, completed, posted * 100, completed * 100, stamp, stamp, stamp, posted)
    line += struct.pack('<6Q2HIQ', 5, 4, 400, stamp, stamp, stamp, 12, 1, 0x81, stamp)
    return line


def segment(head, identities, states, rank=(1, 2), name=b'mlx5_0'):
    out = b'\0' * 256 + head
    out += struct.pack('<2I4Q', 7, 0, 1, 2, 3, 50_000_000_000).ljust(64, b'\0') + b'\0' * 64 * (THREADS - 1)
    out += name.ljust(64, b'\0') + struct.pack('<Q', 9) + b'\1\2\4' + b'\0' * 53 + b'\0' * 128 * (RAILS - 1)
    out += struct.pack('<Q3iI2Q', 0xfeed, *rank, 2, 1, 50_000_000_000, 0).ljust(128, b'\0') + b'\0' * 128 * (COMMS - 1)
    return out + b''.join(identities).ljust(128 * FLOWS, b'\0') + b''.join(states)


def records(count):
    return struct.pack('<QQ', count, count) + b''.join(
        struct.pack('<7QHBBHH', i + 1, 50_000_000_000, 50_000_000_001, 64, i, i, i, 1, 0, 1, 0, 0) for i in range(6))


def hello(magic=0x4F4C4C4548575752, major=0, size=128, job=b'job-1'):
    return struct.pack('<QHHIIIQ', magic, major, 1, size, 7, 0x100, 0) + job.ljust(64, b'\0') + b'\0' * 32


def sealed(body):
    """With the FNV-1a of what is before, as docs/wire.md has it."""
    total = 2166136261
    for byte in body:
        total = (total ^ byte) * 16777619 & MAX32
    return body + struct.pack('<I', total)


def handle(version=1, family=2, group=8, requests=32, provider=b'net', magic=b'RW_OFI_1'):
    address = struct.pack('<H', family) + b'\x10\x92\x7f\0\0\1'
    return sealed(address.ljust(32, b'\0') + magic + struct.pack('<HHIQQII', version, group, requests, 7, 9, 0x10011, 0x100)
                  + provider.ljust(32, b'\0') + b'eth0'.ljust(16, b'\0') + struct.pack('<I', 4242))


def frame(kind=1, version=1, name=16, text=b'', group=8, size=512):
    return sealed(b'RW_FRM_1' + struct.pack('<HHIQ', version, kind, size, 9) + text.ljust(168, b'\0')
                  + struct.pack('<QIIHHIII', 7, 4242, 0x10921234, group, 32, 0x10011, 0x100, 0) + b'net'.ljust(32, b'\0')
                  + b'eth0'.ljust(16, b'\0') + struct.pack('<I', name) + b'\2\0\x10\x92\x7f\0\0\1'.ljust(232, b'\0'))


def clear_to_send(count=2, slots=2):
    return struct.pack('<IHH', 5, count, 0) + struct.pack('<iIQ', 3, 0, 1 << 20) * slots


def messages(*rows):
    """Rows of (flags, subject, payload), as bus_fuzzer.cc reads them."""
    return b''.join(struct.pack('<BBH', flags, len(subject), len(payload)) + subject + payload for flags, subject, payload in rows)


def facts(name):
    """A seed of the facts fuzzer: those are real ones, kept by hand."""
    with open(os.path.join(sys.argv[1], 'facts', name), 'rb') as file:
        return file.read()


PING = (b'[{"id":7,"from_node":"host1","device":"rxe_0","to_node":"host2","to":{"device":"rxe_0","port":1,'
        b'"gid":"0000:0000:0000:0000:0000:ffff:0a00:0002","qpn":17}}]')
NODE = b'{"node":"host1","boot_id":"b","sequence":%d,"sidecar_start_mono_ns":5,"taken_mono_ns":%d}'
OURS, REPLAYED, REQUEST, BY_NAME, A_SECOND = 4, 1, 2, 8, 2 << 4

SEEDS = {
    'bus': {
        'two_seconds': messages(*[(OURS | A_SECOND, b'', facts('port_down'))] * 2),
        'replayed_then_said': messages((OURS | REPLAYED, b'', NODE % (1, 10)), (OURS | A_SECOND, b'', NODE % (2, 20))),
        'said_again': messages(*[(OURS, b'', NODE % (3, 10))] * 3),
        'of_another_node': messages((BY_NAME, b'host2', NODE % (1, 10)), (0, b'railwitness.facts.host1', NODE % (1, 10))),
        'node_with_wildcards': messages((OURS, b'', b'{"node":"a.b *>\\u00e9","sequence":1}')),
        'two_sidecars': messages(*[(OURS | A_SECOND, b'', (NODE % (i, 10)).replace(b'"b"', b'"%d"' % (i % 2))) for i in range(1, 6)]),
        'probe_request': messages((REQUEST, b'host1', PING), (REQUEST, b'host2', PING)),
        'url': messages((0, b'', b'nats://user:secret@host:4222,tls://[::1]:4443')),
        'url_with_two_secrets': messages((0, b'', b'user:secret@nats://other:word@host')),
        'cut': messages((OURS, b'', facts('stopped')))[:-700], 'no_subject': messages((0, b'', b'')),
    },
    'knobs': {
        'known': b'RAILWITNESS_MODE=chain:/opt/x.so\0RAILWITNESS_COST_MAX_PERMILLE=50\0RAILWITNESS_JOB=train 1\0PATH=/bin',
        'misspelt': b'RAILWITNES_MODE=tap\0RAILWITNESS_SOKET=/x\0railwitness_job=a\0RAILWITNESS_COST_MAX=1\0RAILWITNESS_=',
        'wrong_values': b'RAILWITNESS_COST_MAX_PERMILLE=1001\0RAILWITNESS_OFI_CONNECT_TIMEOUT=-1\0RAILWITNESS_OFI_WAIT=soon',
        'unprintable': b'RAILWITNESS_\xff\n=\x1b[31m\0RAILWITNESS_MODE=\xe2\x80\xa6\n\0RAILWITNESS_JOB=\x01\xff/a:b',
        'kubernetes': b'RAILWITNESS_SERVICE_HOST=10.0.0.1\0RAILWITNESS_PORT=tcp://10.0.0.1:1\0RAILWITNESS_NATS_PORT_4222_TCP=x',
        'long': b'RAILWITNESS_SOCKET=/' + b'a' * 200 + b'\0RAILWITNESS_' + b'B' * 100 + b'=1\0RAILWITNESS_JOB=' + b'j' * 100,
        'interfaces': b'RAILWITNESS_OFI_IFNAME=^=eth0,,lo\0NCCL_SOCKET_FAMILY=AF_INET6\0RAILWITNESS_OFI_WAIT=SPIN',
    },
    'handshake': {
        'handle': handle(), 'handle_of_another_version': handle(version=9), 'handle_without_address': handle(family=0),
        'handle_with_nonsense': handle(group=0, requests=MAX32, provider=b'\xff\n' * 16),
        'handle_damaged': handle()[:-1] + b'\0', 'handle_of_nccl': handle(magic=b'\1\2\3\4\5\6\7\x08'), 'zeros': b'\0' * 128,
        'hello_frame': frame(), 'welcome': frame(2), 'refusal': frame(3, name=0, text=b'wire version 1 here, 2 there'),
        'refusal_of_another_version': frame(3, version=9, text=b'\xff\n\x1b[31m' * 24)[:-4] + b'\0\0\0\0', 'bye': frame(4, name=0),
        'frame_with_endless_name': frame(name=MAX32), 'frame_with_nonsense': frame(kind=77, group=65535),
        'frame_of_another_size': frame(size=513), 'frame_cut': frame()[:100],
        'clear_to_send': clear_to_send(), 'clear_to_send_of_none': clear_to_send(0), 'clear_to_send_cut': clear_to_send(8, 2),
    },
    'segment_decode': {
        'honest': segment(writer(), [identity()] * 2, [state()] * 2),
        'counts_beyond_tables': segment(writer(1, MAX32, MAX32, MAX32, MAX32), [identity()] * 3, [state()] * 3),
        'line_being_written': segment(writer(), [identity(3), identity(0)], [state()] * 2),
        'unknown_values': segment(writer(99), [identity(2, 200, 77, MAX32)] * 2, [state()] * 2),
        'future_and_past': segment(writer(2, alone=(MAX64, 1), forward=1), [identity()] * 2,
                                   [state(stamp=MAX64), state(stamp=1)]),
        'completed_beyond_posted': segment(writer(), [identity()] * 2, [state(3, 8), state(0, MAX64 // 100)]),
        'rank_that_cannot_be': segment(writer(), [identity()], [state()], (-1, 2**31 - 1)),
        'name_without_end': segment(writer(), [identity()], [state()], name=b'\xff<script>' * 8),
        'cost': segment(writer(cost=cost()), [identity()] * 2, [state()] * 2),
        'counters_only': segment(writer(cost=cost(81000, 20, 1, 50_000_000_000)), [identity()] * 2, [state()] * 2),
        'cost_of_nonsense': segment(writer(cost=b'\xff' * 48), [identity()] * 2, [state()] * 2),
        'cut': segment(writer(), [identity()] * 2, [])[:-60],
        'records': records(6),
        'records_at_the_end_of_counting': struct.pack('<QQ', MAX64, MAX64) + records(6)[16:],
    },
    'hello': {
        'honest': hello(), 'half': hello()[:64], 'other_magic': hello(1), 'other_major': hello(major=7),
        'other_size': hello(size=MAX32), 'job_without_end': hello(job=b'\xff"' * 32), 'longer': hello(size=160) + b'\0' * 32,
    },
    'proc_stat': {
        'ordinary': b'4242 (python3) S 1 4242 4242 0 -1 4194560 2503 0 0 0 1234 567 0 0 20 0 12 0 987654 21876736 1036',
        'parentheses': b'1 (a) R (b) T 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20', 'cut': b'1 (x) S 1 2',
    },
}

for kind, seeds in SEEDS.items():
    folder = os.path.join(sys.argv[1], kind)
    os.makedirs(folder, exist_ok=True)
    for name, data in seeds.items():
        with open(os.path.join(folder, name), 'wb') as out:
            out.write(data)
