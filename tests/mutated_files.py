"""Damaged model files through all that takes one: the predictor, ONNX's importer, the C emitter.

A child with little memory plays many files and notes which one it is at, so that a signal, a file
that takes more than SECONDS or an error without a type is reported with its number::

    python tests/mutated_files.py --count 200000                    # so many for each way
    python tests/mutated_files.py --count 5000 --way c --first 7    # one way, from a number on
    python tests/mutated_files.py --way c --one NUMBER              # one file, in this process

Of the C files that come out, one in COMPILED is compiled with warnings as errors and run under
the sanitizers on the inputs that the sound model had.
"""

import argparse
import collections
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import c_case
import dygraph
import fuzz_files
import fuzz_models
import fuzzing
import onnx_fuzz
from dygraph import _core, codegen
from dygraph.errors import DygraphError
from inference import fuzz_predictor

TURNS = 20  # of a loop, which damage may make endless
SECONDS = 10  # of processor time that one file may take
BATCH = 5000  # files of one child
COMPILED = 400
SANITIZERS = ["-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
NETS = list(fuzz_models.NETS)


def emit(number):
    """What came of one damaged model that is written as C."""
    net, r = NETS[number % len(NETS)], random.Random(f"c:{number}")
    options = {"exact": r.random() < 0.4, "embed": r.choice([None, False])}
    if r.random() < 0.2:
        options = {"cuda": True}
    with tempfile.TemporaryDirectory() as folder:
        for name, data in fuzz_files.damaged_files(r, f"{net}/inference").items():
            Path(folder, name).write_bytes(data)
        try:
            made = codegen.emit_c(folder, **options)
        except DygraphError as error:
            return f"refused: {type(error).__name__}"
        if r.randrange(COMPILED) or "cuda" in options:
            return "written"
        return run_c(made, net, folder)


def run_c(made, net, folder):
    """Compiles the C file as a program and runs it."""
    command = made.build(Path(folder, "net"), shared=False, flags=[*c_case.WARNINGS, *SANITIZERS])
    Path(folder, "net.weights").write_bytes(made.weights)
    given, command = fuzz_models.described(net)[3], [str(command)]
    for i, name in enumerate(made.model.feeds):
        value = given.get(name, np.ones([2, 3], "float32"))
        value = value if isinstance(value, _core.Variable) else dygraph.to_variable(value)
        Path(folder, f"in{i}").write_bytes(value.numpy().tobytes())
        offsets = "".join(":" + ",".join(map(str, level)) for level in _core.lod(value))
        command.append(f"in{i}@{'x'.join(map(str, value.shape))}{offsets}")
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=SECONDS, preexec_fn=_unlimited
        )  # the sanitizer reserves more than there is
    except subprocess.TimeoutExpired:
        assert "while" in made.text, "a program without a loop has no end"
        return "run, without end"
    assert done.returncode in (0, 1, 2), done.stderr[-2000:].decode()
    return "run, with values" if done.returncode == 0 else "run, with a status"


def _unlimited():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)


def sound():
    for net in NETS:
        fuzz_files.written(f"{net}/inference")
        fuzz_predictor.packed_of(net)
    fuzz_files.pool()
    onnx_fuzz.sound()


WAYS = {"predictor": fuzz_predictor.play, "onnx": onnx_fuzz.play, "c": emit}


def child(way, path, first, end):
    """Plays numbers; the file holds the one that is played, and from byte 30 the counts."""
    sound()
    if os.path.isdir("/dev/shm"):
        tempfile.tempdir = "/dev/shm"  # in memory: a folder costs less than the model in it
    dygraph.set_flags({"FLAGS_while_turns": TURNS})
    fuzzing.limit_memory()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process with this signal
    counts, progress = collections.Counter(), os.open(path, os.O_WRONLY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, end):
            os.pwrite(progress, f"{number}\n".ljust(30).encode(), 0)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            counts[WAYS[way](number)] += 1
            if number % 50 == 0 or number == end - 1:
                os.pwrite(progress, json.dumps(counts).encode(), 30)
    signal.setitimer(signal.ITIMER_PROF, 0)


def run(way, first, count, report=lambda text: None):
    """(counts of outcomes, failures) of so many files; report is called with each batch's."""
    counts, failures, at, end = collections.Counter(), [], first, first + count
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    while at < end:
        stop = min(at + BATCH, end)
        with tempfile.NamedTemporaryFile() as progress:
            command = [sys.executable, __file__, "--way", way]
            command += ["--child", progress.name, str(at), str(stop)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            number, _, outcomes = progress.read().decode().partition("\n")
        counts.update(json.loads(outcomes or "{}"))
        if done.returncode:
            stop = int(number or at) + 1
            failures.append(f"{way} {stop - 1}: exit {done.returncode}: {done.stderr[-1500:]}")
            report(failures[-1])
        at = stop
        report(f"{way}: {at - first} of {count}")
    return counts, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=200000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--way", choices=list(WAYS))
    parser.add_argument("--one", type=int)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.way, given.child[0], int(given.child[1]), int(given.child[2]))
    elif given.one is not None:
        sound()
        dygraph.set_flags({"FLAGS_while_turns": TURNS})
        fuzzing.limit_memory()
        print(WAYS[given.way](given.one))
    else:
        failed = 0
        for way in [given.way] if given.way else WAYS:
            start = time.time()
            counts, failures = run(
                way, given.first, given.count, lambda text: print(text, flush=True)
            )
            print(f"{way}: {given.count} files, {len(failures)} failures, "
                  f"{(time.time() - start) / given.count * 1e3:.2f} ms each")  # fmt: skip
            for outcome, n in counts.most_common():
                print(f"{n:8} {outcome}", flush=True)
            failed += len(failures)
        sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
