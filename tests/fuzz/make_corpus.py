#!/usr/bin/env python3
"""Writes the seeds of the fuzzers: an honest input of each kind and the classes of lies that are known.

usage: make_corpus.py FOLDER    (layout: include/railwitness/abi, with the capacities of segment_decode_fuzzer.cc)
"""
import os
import struct
import sys

THREADS, RAILS, COMMS, FLOWS = 2, 2, 2, 3
MAX32, MAX64 = 2**32 - 1, 2**64 - 1


def writer(clock=1, threads=1, rails=1, comms=1, flows=2, alone=(0, 0), forward=0):
    line = struct.pack('<8I', 42, clock, 1, 1, threads, rails, comms, flows)
    line += struct.pack('<5QII', 0, 0, 3, *alone, 0x100, forward)
    return line.ljust(128, b'\0')


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


SEEDS = {
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
