"""Passes that keep every bit: random programs, training and control flow, before and after."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import random_programs

import fuzz_models
from dygraph import errors, static
from dygraph.static import passes

KEEPING = [*passes.DEFAULT, "fuse_fc", "fuse_layer_norm", "early_updates"]


def bytes_of(value):
    if isinstance(value, list):  # an array
        return [None if v is None else bytes_of(v) for v in value]
    return value.dtype, value.shape, value.tobytes()


def outcome(main, startup, feed, wanted, steps=2):
    """What is fetched in each step and what the scope holds afterwards; or the error."""
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    try:
        fetched = [
            [bytes_of(v) for v in executor.run(main, feed, wanted, scope=scope)]
            for _ in range(steps)
        ]
    except errors.DygraphError as error:
        return type(error)
    held = [v.name for v in main.list_vars() if v.persistable and str(v.type) == "LOD_TENSOR"]
    found = {name: scope.find_var(name) for name in sorted(held)}
    kept = {n: bytes_of(v.get().numpy()) for n, v in found.items() if v and not v.is_empty()}
    return fetched, kept


def check(main, startup, feed, wanted, lists=None):
    """The number of operators that the default passes took out."""
    before, want = main.serialize_to_string(), outcome(main, startup, feed, wanted)
    lists = [[name] for name in KEEPING] + [[*KEEPING]] if lists is None else lists
    for names in lists:
        less = passes.apply(main, names, keep=wanted)
        less.random_seed = main.random_seed
        assert main.serialize_to_string() == before
        assert outcome(less, startup, feed, wanted) == want, names
        again = static.Program.parse_from_string(less.serialize_to_string())
        again.random_seed = main.random_seed
        assert outcome(again, startup, feed, wanted) == want, names
        assert str(passes.graph(less).to_program()) == str(less)
    count = lambda program: sum(len(block.ops) for block in program.blocks)  # noqa: E731
    return count(main) - count(less)


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_random_programs(first):
    gone = [check(*random_programs.made(seed)) for seed in range(first, first + 20)]
    assert min(gone) >= 0 and sum(gone) > 100


@pytest.mark.parametrize("net", fuzz_models.NETS)
def test_training_and_control_flow(net):
    main, result, loss, feed, scope = fuzz_models.described(net)
    values = {n: scope.find_var(n).get() for n in scope.local_var_names()}

    def outcome_of(program):
        program.random_seed = 3
        own = static.Scope()
        for name, value in values.items():
            own.var(name).set(value.numpy())
        steps = [static.Executor().run(program, feed, [result, loss], scope=own) for _ in range(2)]
        held = {n: own.find_var(n).get().numpy() for n in values}
        return [[bytes_of(v) for v in step] for step in steps], {
            n: bytes_of(v) for n, v in held.items()
        }

    before, want = main.serialize_to_string(), outcome_of(main)
    for names in [*[[n] for n in KEEPING], KEEPING]:
        assert outcome_of(passes.apply(main, names, keep=[result, loss])) == want, names
    assert main.serialize_to_string() == before
