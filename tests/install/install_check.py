#!/usr/bin/env python3
"""Installs into a temporary prefix and asks whether what lies there works, without the build folder.

    install_check.py SOURCE_DIR BUILD_DIR CMAKE C_COMPILER     Ends with `install: N of M right`, exit 1 unless N = M.

Also: docs/operator.md names exactly the Debian packages that the installed files are linked to.
"""
import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM, PLUGINS = 'bin/railwitness', 'lib/railwitness'
PLUGIN, PROFILER, STUB = (f'{PLUGINS}/{name}' for name in
                          ('libnccl-net-railwitness.so', 'libnccl-profiler-railwitness.so', 'tap-verbs.so'))
HEADERS = 'include/railwitness/abi'
UNIT = 'lib/systemd/system/railwitness-sidecar.service'
DOCUMENTS = 'share/doc/railwitness'
checks = []


def check(text, condition, detail=''):
    checks.append(bool(condition))
    if not condition:
        print(f'wrong: {text}: {detail}')


def run(*command, **more):
    environment = {'PATH': os.environ['PATH'], 'HOME': '/nowhere', **more}
    return subprocess.run([str(word) for word in command], env=environment, text=True, capture_output=True, timeout=120)


def check_files(source, prefix):
    there = {str(p.relative_to(prefix)) for p in prefix.rglob('*') if not p.is_dir()}
    meant = {PROGRAM, PLUGIN, PROFILER, STUB, UNIT}
    meant |= {f'{HEADERS}/{p.name}' for p in (source / HEADERS).glob('*.h')}
    meant |= {f'{DOCUMENTS}/{name}' for name in ('README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE')}
    meant |= {f'{DOCUMENTS}/{p.relative_to(source)}' for p in (source / 'docs').rglob('*') if p.is_file()}
    check('exactly what is meant is installed', there == meant, there ^ meant)
    check('nothing of it names the build folder', run('readelf', '-dW', prefix / PROGRAM, prefix / PLUGIN, prefix / STUB)
          .stdout.find('RUNPATH') < 0)


def check_program(prefix):
    done = run(prefix / PROGRAM, '--version')
    check('--version', done.returncode == 0 and re.search(r'\d+\.\d+\.\d+', done.stdout), done)
    done = run(prefix / PROGRAM, 'doctor')
    check('doctor says where the plugin lies', done.returncode == 1 and f'it lies in {prefix / PLUGINS}:' in done.stdout, done.stdout)


def doctor(prefix, **environment):
    """By name, what `railwitness doctor` says: (state, what was seen)."""
    said = json.loads(run(prefix / PROGRAM, 'doctor', '--json', **environment).stdout)
    return {c['what']: (c['state'], c['seen']) for c in said['checks']}


def check_plugin(prefix):
    for how, environment in (('by its path', {'NCCL_NET_PLUGIN': str(prefix / PLUGIN)}),
                             ('by its name', {'NCCL_NET_PLUGIN': 'railwitness', 'LD_LIBRARY_PATH': str(prefix / PLUGINS)})):
        said = doctor(prefix, **environment)
        state, seen = said['plugin']
        check(f'the plugin loads {how}', state == 'ok' and seen.startswith(f'{prefix / PLUGIN} loads; net v6'), said['plugin'])
        state, seen = said['tap-verbs.so']
        check(f'its stub lies beside it, {how}', state == 'ok' and seen.startswith(str(prefix / STUB)), said['tap-verbs.so'])
    library = ctypes.CDLL(str(prefix / PROFILER))
    check('NCCL before 2.28 finds the profiler under its name', all(hasattr(library, f'ncclProfiler_v{v}') for v in range(1, 5)))
    (prefix / STUB).unlink()
    said = doctor(prefix, NCCL_NET_PLUGIN=str(prefix / PLUGIN))
    check('a stub that is missing is told', said['tap-verbs.so'][0] == 'warn', said['tap-verbs.so'])


def check_headers(prefix, compiler, scratch):
    source = scratch / 'user.c'
    source.write_text('#include <railwitness/abi/segment.h>\n#include <railwitness/abi/handover.h>\n')
    done = run(compiler, '-std=c11', '-Wall', '-Werror', '-I', prefix / 'include', '-c', source, '-o', scratch / 'user.o')
    check('the headers compile alone', done.returncode == 0, done.stderr)


def check_unit(prefix):
    text = (prefix / UNIT).read_text()
    check('the unit starts the installed program', f'\nExecStart={prefix / PROGRAM} sidecar' in text, text)
    check('nothing of the unit was left open', not re.search(r'@\w+@', text))
    if not shutil.which('systemd-analyze'):
        print('NOT CHECKED: the unit, by systemd-analyze, which is not here')
        return
    done = run('systemd-analyze', 'verify', prefix / UNIT)
    check('systemd takes the unit', done.returncode == 0 and not done.stderr, done.stderr)


def linked_packages(prefix):
    names = {name for path in (PROGRAM, PLUGIN, STUB)
             for name in re.findall(r'\(NEEDED\).*\[(.*)\]', run('readelf', '-dW', prefix / path).stdout)}
    files = {line.split()[-2] for path in (PROGRAM, PLUGIN, STUB) for line in run('ldd', prefix / path).stdout.splitlines()
             if line.split()[0] in names and '=>' in line}
    # dpkg knows the file where it was put, which with a merged /usr is not always where the loader sees it.
    packages = set()
    for file in files:
        for name in (file, os.path.realpath(file), '/usr' + file):
            if owner := run('dpkg-query', '-S', name).stdout:
                packages.add(owner.split(':')[0])
                break
        else:
            packages.add(f'none owns {file}')
    return packages


def check_packages(source, prefix):
    if not shutil.which('dpkg-query'):
        print('NOT CHECKED: the Debian packages of docs/operator.md, as there is no dpkg here')
        return
    line = re.search(r'<!-- linked packages -->\n\n +apt-get install --no-install-recommends (.+)', (source / 'docs/operator.md').read_text())
    named, linked = set(line[1].split()), linked_packages(prefix)
    check('docs/operator.md names the packages that are linked', named == linked, f'{sorted(linked)} are, {sorted(named)} is said')


def main():
    source, build, cmake, compiler = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        prefix = scratch / 'prefix'
        done = run(cmake, '--install', build, '--prefix', prefix)
        check('cmake --install', done.returncode == 0, done.stderr)
        check_files(source, prefix)
        check_program(prefix)
        check_headers(prefix, compiler, scratch)
        check_unit(prefix)
        check_packages(source, prefix)
        check_plugin(prefix)   # the last one: it takes the stub away
        staged = scratch / 'staged'
        done = run(cmake, '--install', build, '--prefix', '/opt/railwitness', DESTDIR=staged)
        unit = staged / 'opt/railwitness' / UNIT
        check('DESTDIR is where it lies, not where it runs', done.returncode == 0
              and 'ExecStart=/opt/railwitness/bin/railwitness' in unit.read_text(), done.stderr)
    print(f'install: {sum(checks)} of {len(checks)} right')
    return 0 if all(checks) else 1


sys.exit(main())
