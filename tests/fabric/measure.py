#!/usr/bin/env python3
"""measure.py COMMAND [ARG...]: runs it and prints, as the last line of stderr, its seconds and peak memory as JSON.

A process of its own, as the peak that the kernel tells of a child begins at that of the process it was forked from.
"""
import json
import os
import resource
import sys
import time

start = time.monotonic()
status = os.spawnvp(os.P_WAIT, sys.argv[1], sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({'s': round(time.monotonic() - start, 3), 'cpu_s': round(used.ru_utime + used.ru_stime, 3),
                  'peak_mib': round(used.ru_maxrss / 1024, 1)}), file=sys.stderr)
sys.exit(status)
