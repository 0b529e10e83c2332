"""Damaged models: each is loaded and, if that succeeds, run for one step, in child processes.

A file is damaged byte by byte or as the tree that its format is; where the format carries checksums
they are made to fit, mostly, so that damage goes further than them. A child has little memory and
counts what came of it; no signal may end it, nothing may take long, every error is typed, and a
scope is untouched where loading failed::

    PYTHONPATH=. python tests/fuzz_files.py 100000             # so many models, from all formats
    PYTHONPATH=. python tests/fuzz_files.py 100000 --first 7   # going on from there
    PYTHONPATH=. python tests/fuzz_files.py 100000 --blocks    # models with loops and choices alone
    PYTHONPATH=. python tests/fuzz_files.py --one NUMBER       # one of them, in this process
"""

import argparse
import collections
import contextlib
import functools
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

import dygraph
import fuzz_models
import fuzzing
import test_fuzz_files
import wire_tree
from dygraph import _core, static
from dygraph.errors import DygraphError

TURNS = 20  # of a loop, which damage may make endless
SECONDS = 20  # of processor time that one model may take
BATCH = 2500  # models of one child
KINDS = [f"{net}/{name}" for net in fuzz_models.NETS for name in fuzz_models.OF_PROGRAMS]
KINDS += [f"layer/{name}" for name in fuzz_models.OF_LAYERS]
WITH_BLOCKS = [kind for kind in KINDS if kind.split("/")[0] in fuzz_models.WITH_BLOCKS]
PROGRAMS = ("__model__", "m", "program", "net.pdmodel")
MANIFEST = b"\xc2\x3e\x20DGM1"

_written, _pools = {}, []


def written(kind):
    """The sound files of a format: name -> bytes."""
    if kind not in _written:
        net, name = kind.split("/")
        with tempfile.TemporaryDirectory() as folder:
            if net == "layer":
                fuzz_models.OF_LAYERS[name][0](folder)
            else:
                fuzz_models.OF_PROGRAMS[name][0](net, folder)
            _written[kind] = {f: Path(folder, f).read_bytes() for f in sorted(os.listdir(folder))}
    return _written[kind]


def pool():
    if not _pools:
        programs = [written(f"{net}/{kind}") for net in fuzz_models.NETS
                    for kind in ("blocks", "inference")]  # fmt: skip
        programs = [bare(next(files[n] for n in PROGRAMS if n in files)) for files in programs]
        _pools.append(wire_tree.Pool(programs, _core.op_names()))
    return _pools[0]


# Damage -------------------------------------------------------------------------------------------


def bare(model):
    """A program without the manifest in front of it."""
    return model[35:] if model.startswith(MANIFEST) else model


def with_manifest(program, weights):
    head = MANIFEST + struct.pack(
        "<QIQI", len(program), zlib.crc32(program), len(weights), zlib.crc32(weights)
    )
    return head + struct.pack("<I", zlib.crc32(head)) + program


_parse = functools.lru_cache(64)(wire_tree.parse)


def damaged_program(r, data):
    tree = wire_tree.copied(_parse(data))
    change = r.choice([wire_tree.edit, wire_tree.edit, wire_tree.mutate])
    for _ in range(r.choice([1, 1, 1, 2, 3, 6])):
        change(r, tree, pool())
    return wire_tree.unparse(tree)


def damaged_json(r, value):
    """A header of JSON with something changed."""
    places = []

    def walk(at):
        for key in at if isinstance(at, dict) else range(len(at)):
            places.append((at, key))
            if isinstance(at[key], (dict, list)):
                walk(at[key])

    walk(value)
    at, key = r.choice(places)
    other, name = r.choice(places)
    kind = r.random()
    if kind < 0.3:
        at[key] = r.choice([*wire_tree.NUMBERS, 1.5, 1e400, None, True, "", "x", [], {}, [[]]])
    elif kind < 0.5:
        at[key] = json.loads(json.dumps(other[name]))
    elif kind < 0.65:
        del at[key]
    elif kind < 0.8 and isinstance(at, dict):
        at[r.choice(["$tensor", "$tuple", "x", "a" * 1025, "__metadata__"])] = at.pop(key)
    elif isinstance(at, list):
        at.insert(0, r.choice(wire_tree.NUMBERS))
    elif isinstance(at[key], str):
        at[key] = at[key][: r.randrange(len(at[key]) + 1)]


def refitted(header, data):
    """A safetensors file of a header and data with checksums that fit, where there is a place."""
    meta = header.get("__metadata__")
    if isinstance(meta, dict) and "dygraph.checksums" in meta:
        sums = {}
        for name, facts in header.items():
            try:
                begin, end = facts["data_offsets"]
                sums[name] = zlib.crc32(data[begin:end])
            except (TypeError, ValueError, KeyError):
                continue
        meta["dygraph.checksums"] = json.dumps(sums)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    start = b'{"__metadata__":{"dygraph.header":"%08x"'
    if text.startswith(start[:-7]):
        zeros = start % 0 + text[len(start % 0) :]
        text = start % zlib.crc32(zeros) + text[len(start % 0) :]
    return len(text).to_bytes(8, "little") + text + data


def damaged_safetensors(r, whole):
    size = int.from_bytes(whole[:8], "little")
    header, data = json.loads(whole[8 : 8 + size]), whole[8 + size :]
    if r.random() < 0.3:
        data = test_fuzz_files.damaged(r, data, data)
    for _ in range(r.choice([1, 1, 2, 3])):
        inner = header.get("__metadata__")
        inner = [k for k, v in inner.items() if v[:1] in "[{"] if isinstance(inner, dict) else []
        if inner and r.random() < 0.4:  # JSON in JSON: how the tensors nest
            name = r.choice(inner)
            with contextlib.suppress(ValueError):  # no JSON any more
                value = json.loads(header["__metadata__"][name])
                if value:
                    damaged_json(r, value)
                header["__metadata__"][name] = json.dumps(value)
        else:
            damaged_json(r, header)
        inner = header.get("__metadata__", {})
        if not isinstance(inner, dict) or not all(isinstance(v, str) for v in inner.values()):
            break
    return refitted(header, data)


def damaged_files(r, kind):
    """The files of a kind, one or two of them damaged."""
    files = dict(written(kind))
    program = next((n for n in PROGRAMS if n in files), None)
    manifest = program is not None and files[program].startswith(MANIFEST)
    if manifest:
        files[program] = bare(files[program])
    for _ in range(r.choice([1, 1, 1, 2])):
        victim = program if program and r.random() < 0.6 else r.choice(list(files))
        data = files[victim]
        if not data or (victim == program and len(data) < 30):
            continue
        if r.random() < 0.25:
            other = r.choice(list(files.values()))
            files[victim] = test_fuzz_files.damaged(r, data, other or data)
        elif victim == program and data == bare(written(kind)[program]):
            files[victim] = damaged_program(r, data)
        elif data[8:9] == b"{" and data == written(kind)[victim]:
            files[victim] = damaged_safetensors(r, data)
        else:
            files[victim] = test_fuzz_files.damaged(r, data, data)
    if manifest:
        (weights,) = (data for name, data in files.items() if name != program)
        if r.random() < 0.1:
            weights = written(kind)[next(n for n in files if n != program)]
        files[program] = with_manifest(files[program], weights)
    return files


# What is done with them ---------------------------------------------------------------------------


def tools(program):
    """What else a user does with a program that came from elsewhere."""
    static.diff(program, program.clone(for_test=True))
    static.debugger.pprint_program_codes(program)
    static.draw_graph(program, path=None)
    static.to_code(program)
    program._repr_html_()
    str(program)


def use_program(r, net, name, folder):
    """What came of loading and one step."""
    scope = static.Scope()
    try:
        program, fetches = fuzz_models.OF_PROGRAMS[name][1](net, folder, scope)
    except (DygraphError, MemoryError) as error:
        assert scope.local_var_names() == [], "a scope was changed though loading failed"
        return f"refused: {type(error).__name__}"
    try:
        if r.random() < 0.1:
            tools(program)
        feed = fuzz_models.feed_of(r, net, program)
        static.Executor().run(program, feed, fetches, scope=scope)
    except (DygraphError, MemoryError) as error:
        return f"loaded, the step refused: {type(error).__name__}"
    return "loaded, the step ran"


def use_layer(name, folder):
    try:
        fuzz_models.OF_LAYERS[name][1](folder)
    except (DygraphError, MemoryError) as error:
        return f"refused: {type(error).__name__}"
    return "loaded, the step ran"


def play(number, kinds):
    """Make, load and run one damaged model; gives what came of it."""
    kind = kinds[number % len(kinds)]
    r = random.Random(f"{kind}:{number}")
    net, name = kind.split("/")
    folder = tempfile.mkdtemp()
    try:
        for f, data in damaged_files(r, kind).items():
            with open(os.path.join(folder, f), "wb") as file:
                file.write(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if net == "layer":
                return use_layer(name, folder)
            return use_program(r, net, name, folder)
    finally:
        shutil.rmtree(folder)


# Children -----------------------------------------------------------------------------------------


def child(path, first, end, kinds):
    """Play numbers; the file holds the one that is being played, and from byte 30 the counts."""
    for kind in kinds:
        written(kind)
    pool()
    dygraph.set_flags({"FLAGS_while_turns": TURNS})
    fuzzing.limit_memory()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process with this signal
    counts = collections.Counter()
    progress = os.open(path, os.O_WRONLY)
    for number in range(first, end):
        os.pwrite(progress, f"{number}\n".ljust(30).encode(), 0)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        counts[play(number, kinds)] += 1
        os.pwrite(progress, json.dumps(counts).encode(), 30)
    signal.setitimer(signal.ITIMER_PROF, 0)


def run(first, count, report=lambda text: None, blocks=False):
    """(counts of outcomes, failures) of so many models, of those with blocks alone or of all."""
    kinds, more = (WITH_BLOCKS, ["--blocks"]) if blocks else (KINDS, [])
    counts, failures, at, end = collections.Counter(), [], first, first + count
    while at < end:
        stop = min(at + BATCH, end)
        with tempfile.NamedTemporaryFile() as progress:
            command = [
                sys.executable,
                __file__,
                "--child",
                progress.name,
                str(at),
                str(stop),
                *more,
            ]
            env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
            done = subprocess.run(command, env=env, capture_output=True, text=True)
            number, _, outcomes = progress.read().decode().partition("\n")
        counts.update(json.loads(outcomes or "{}"))
        if done.returncode == 0:
            at = stop
        else:
            number = int(number or at)
            failures.append(
                f"--one {number} ({kinds[number % len(kinds)]}): exit {done.returncode} "
                f"{done.stderr[-800:]}"
            )
            report(failures[-1])
            counts["failed"] += 1
            at = number + 1
        report(f"{at - first} of {count}")
    return counts, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=100000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--one", type=int)
    parser.add_argument("--blocks", action="store_true")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    kinds = WITH_BLOCKS if given.blocks else KINDS
    if given.child:
        child(given.child[0], int(given.child[1]), int(given.child[2]), kinds)
    elif given.one is not None:
        dygraph.set_flags({"FLAGS_while_turns": TURNS})
        fuzzing.limit_memory()
        print(kinds[given.one % len(kinds)], play(given.one, kinds))
    else:
        counts, failures = run(
            given.first, given.count, lambda text: print(text, flush=True), given.blocks
        )
        for outcome, n in counts.most_common():
            print(f"{n:8} {outcome}")
        sys.exit(f"{len(failures)} failures" if failures else 0)


if __name__ == "__main__":
    main()
