#!/usr/bin/env python3
"""A second, independent decoder of the witness segment (layout 0), for tests: docs/segment-abi.md in Python.

    segment_reader.py FILE...      prints each segment's flows and sums as JSON, one line a file
"""
import json
import struct
import sys

MAGIC = 0x304745534E575752
DIRECTIONS = ('unknown', 'send', 'recv')
ROLES = ('unknown', 'data', 'cts', 'flush')
STATE = ('posted completed posted_bytes completed_bytes last_post_ticks last_completion_ticks oldest_post_ticks records '
         'receives_posted receives_completed received_bytes receive_wait_ticks first_post_ticks first_error_ticks').split()


def read_segment(data):
    (magic, major, _minor, _header_bytes, segment_bytes, _features, threads, rails, comms, flows, records, control,
     _generation, _reserved, writer_at, threads_at, rails_at, comms_at, identities_at, states_at, _histograms_at,
     _records_at, _control_at) = struct.unpack_from('<QHHIQQ8I9Q', data)
    if magic != MAGIC or major != 0:
        raise ValueError(f'not a witness segment of layout 0: magic {magic:#x}, major {major}')
    if segment_bytes > len(data):
        raise ValueError(f'{len(data)} bytes of {segment_bytes}')
    (_pid, clock, attach, contexts, threads_used, rails_used, comms_used, flows_used, unwitnessed_flows,
     unwitnessed_events) = struct.unpack_from('<8I2Q', data, writer_at)
    result = dict(clock=clock, attach=attach, contexts=contexts, unwitnessed_flows=unwitnessed_flows,
                  unwitnessed_events=unwitnessed_events, flows=[], comms=[], threads=[], rails=[])
    for i in range(min(rails_used, rails)):
        device, = struct.unpack_from('<64s', data, rails_at + 128 * i)
        result['rails'].append(device.split(b'\0')[0].decode(errors='replace'))
    for i in range(min(comms_used, comms)):
        result['comms'].append(dict(zip(('hash', 'rank', 'nranks', 'nnodes'), struct.unpack_from('<Q3i', data, comms_at + 128 * i))))
    for i in range(min(threads_used, threads)):
        result['threads'].append(dict(zip(('tid', '_', 'posts', 'polls', 'completions'), struct.unpack_from('<2I3Q', data, threads_at + 64 * i))))
    for i in range(min(flows_used, flows)):
        sequence, port, _layer, direction, role, qpn, peer = struct.unpack_from('<I4B2I', data, identities_at + 128 * i)
        if sequence == 0 or sequence % 2:
            continue
        rail, = struct.unpack_from('<I', data, identities_at + 128 * i + 52)
        flow = dict(zip(STATE, struct.unpack_from('<14Q', data, states_at + 128 * i)))
        status, errors, vendor = struct.unpack_from('<HHI', data, states_at + 128 * i + 112)
        flow.update(qpn=qpn, peer_qpn=peer, port=port, direction=DIRECTIONS[direction], role=ROLES[role], status=status,
                    errors=errors, vendor=vendor, device=result['rails'][rail] if rail < len(result['rails']) else None)
        result['flows'].append(flow)
    data_flows = [f for f in result['flows'] if f['role'] == 'data']
    result['data_bytes_posted'] = sum(f['posted_bytes'] for f in data_flows)
    result['data_bytes_completed'] = sum(f['completed_bytes'] for f in data_flows)
    result['data_bytes_received'] = sum(f['received_bytes'] for f in result['flows'] if f['direction'] == 'recv')
    return result


if __name__ == '__main__':
    for name in sys.argv[1:]:
        with open(name, 'rb') as file:
            print(json.dumps(dict(file=name, **read_segment(file.read()))))
