"""Passes over malformed programs and damaged files, in child processes that no signal may end.

A pass raises an error of ours or gives a program, and the one given stays as it is. Where that one
runs, the other gives the same bits. This makes one again, and plays many::

    PYTHONPATH=tests:tests/static python tests/passes/test_hostile.py NAME NUMBER
    PYTHONPATH=tests:tests/static python tests/passes/test_hostile.py --all 40
"""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "static"))

import numpy as np
import test_fuzz_programs

import fuzz_files
import fuzz_models
import fuzzing
from dygraph import _core, static
from dygraph.static import passes
from fuzzing import ALLOWED

NAMES = [*passes.DEFAULT, "fuse_fc", "fuse_layer_norm", "early_updates", "fuse_attention"]
KEEPING = NAMES[:-1]
FILES = [f"file:{net}" for net in fuzz_models.NETS]


def made(name, number):
    """(program, feed, fetch, values of the scope) of a net's damaged bytes or of an operator."""
    r = random.Random(f"passes:{name}:{number}")
    if name.startswith("file:"):
        net = name[len("file:") :]
        main, result, loss, _, scope = fuzz_models.described(net)
        data = fuzz_files.damaged_program(r, main.serialize_to_string())
        program = static.Program.parse_from_string(data)
        values = {n: scope.find_var(n).get().numpy() for n in scope.local_var_names()}
        return program, fuzz_models.feed_of(r, net, program), [result, loss], values
    program, inputs, outputs = test_fuzz_programs.describe_program(r, name)
    feed = {n: test_fuzz_programs.some_feed(r, program, n) for n in inputs}
    held = {v.name for v in program.list_vars() if v.persistable}
    values = {n: feed.pop(n).numpy() for n in inputs if n in held}
    return program, feed, [r.choice([*inputs, *outputs]) for _ in range(2)], values


def outcome(program, feed, fetch, values):
    """Bytes of what is fetched and of what the scope then holds; None where the run fails."""
    program.random_seed = 3
    scope = static.Scope()
    for name, value in values.items():
        scope.var(name).set(np.array(value))
    try:
        fetched = static.Executor().run(program, feed, fetch, scope=scope)
        held = [scope.find_var(name).get() for name in values]
        flat = [a for v in fetched for a in (v if isinstance(v, list) else [v])]
        bits = [a if a is None else a.tobytes() for a in flat]
        return bits + [v.numpy().tobytes() for v in held if v is not None]
    except ALLOWED:
        return None


def play(name, number):
    try:
        program, feed, fetch, values = made(name, number)
    except ALLOWED:
        return
    before, want = str(program), outcome(program, feed, fetch, values)
    for pass_name in [*NAMES, KEEPING]:
        try:
            keep = [n for n in fetch if program.core.declares(n)]
            names = pass_name if isinstance(pass_name, list) else [pass_name]
            less = passes.apply(program, names, keep=keep)
        except ALLOWED:
            less = None
        assert str(program) == before, pass_name
        if less is None or want is None:
            continue
        got = outcome(less, feed, fetch, values)
        assert got is not None, (pass_name, "no longer runs")
        assert got == want or pass_name == "fuse_attention", pass_name


def describe(name, number):
    try:
        return f"{name} {number}: {made(name, number)[0]}"
    except ALLOWED as error:
        return f"{name} {number}: {error}"


def test_damaged_files():
    fuzzing.run_group(__file__, describe, FILES, 15, 300)


@pytest.mark.parametrize("group", range(2))
def test_malformed_programs(group):
    fuzzing.run_group(__file__, describe, _core.op_names()[group::6], 1, 300)


if __name__ == "__main__":
    fuzzing.main(play, describe, lambda: [*FILES, *_core.op_names()])
