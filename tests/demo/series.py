#!/usr/bin/env python3
"""The demo many times in a row, with other seeds each time: are the verdicts right, and after how many seconds?

    tests/demo/series.py [--runs 10] [--out build/series] [-- OPTIONS OF demo.py, such as --mode ofi]

A run that is there already (OUT/N.log with its end) is not repeated, so a series that was ended goes on. Prints a table by
fault: right verdicts, seconds from fault to right verdict (median, worst), verdicts that were taken back, seconds until
NCCL itself logged anything.
Ends with `demo-series: N of M right`, M verdicts in all; exit 1 unless N = M.
"""
import argparse
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CASES = 4
ROW = re.compile(r'^(carrier|blackhole|stop|compute) +(?:([\d.]+) s|-) +(\d+) taken back +NCCL: (silent|[\d.]+ s)(.*WRONG)?', re.M)
END = re.compile(r'^demo: (\d+) of \d+ verdicts right$', re.M)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--runs', type=int, default=10)
    parser.add_argument('--out', default=str(HERE.parent.parent / 'build' / 'series'))
    parser.add_argument('options', nargs='*', help='for demo.py')
    args = parser.parse_args()
    out = pathlib.Path(args.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    seconds, back, nccl, right = {}, {}, {}, 0
    for number in range(1, args.runs + 1):
        log = out / f'{number}.log'
        if not log.exists() or not END.search(log.read_text()):
            with log.open('w') as file:
                subprocess.run([sys.executable, HERE / 'demo.py', '--out', out / str(number), *args.options], stdout=file, stderr=subprocess.STDOUT)
        text = log.read_text()
        end = END.search(text)
        right += int(end[1]) if end else 0
        print(f'run {number}: ' + (end[0] if end else 'no end: ' + text.strip().splitlines()[-1][:150]), flush=True)
        for case, after, taken, said, wrong in ROW.findall(text):
            back[case] = back.get(case, 0) + int(taken)
            seconds.setdefault(case, []).append(float(after) if after and not wrong else None)
            nccl.setdefault(case, []).append(None if said == 'silent' else float(said.split()[0]))
    print(f'\n{"fault":10} {"right":>8} {"median s":>9} {"worst s":>8} {"taken back":>11}   NCCL itself')
    for case, values in sorted(seconds.items()):
        good = [v for v in values if v is not None]
        said = [v for v in nccl[case] if v is not None]
        print(f'{case:10} {len(good):3} of {len(values):<2} {statistics.median(good) if good else float("nan"):8.1f} '
              f'{max(good, default=float("nan")):8.1f} {back[case]:11}   ' + (f'{len(said)} of {len(values)} times, median {statistics.median(said):.1f} s' if said else 'silent'))
    print(f'demo-series: {right} of {args.runs * CASES} right')
    return 0 if right == args.runs * CASES else 1


sys.exit(main())
