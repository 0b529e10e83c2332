"""Random malformed programs: described, checked and run in child processes that no signal may end.

A program follows from an operator's name and a number alone, and this makes it again::

    PYTHONPATH=. python tests/static/test_fuzz_programs.py TYPE NUMBER
"""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fuzzing
from dygraph import _core, static
from fuzzing import ALLOWED, DTYPES, GARBAGE, some_shape, some_variable
from test_fuzz_operators import some_attr

GROUPS = 4
COUNT = 2  # programs of each operator, 1,100 in all


def described_shape(r):
    return [-1 if r.random() < 0.3 else size for size in some_shape(r)]


def arguments(r, names, slots):
    """Names by slot, now and then none, several, an unknown one or none of the operator's."""
    given = {}
    for slot in slots:
        count = r.choice([1, 1, 1, 1, 2, 3]) if slot["duplicable"] or r.random() < 0.05 else 1
        if r.random() < (0.5 if slot["dispensable"] else 0.04):
            continue
        given[slot["name"]] = [
            r.choice(["absent", "", "@EMPTY@"]) if r.random() < 0.05 else r.choice(names)
            for _ in range(count)
        ]
    if r.random() < 0.03:
        given[r.choice(["X", "Nothing", ""])] = [r.choice(names)]
    return given


def describe_program(r, op):
    """(program, names of what is fed) of a few operators around `op`, whose parts may not fit."""
    program = static.Program()
    block = program.global_block()
    shape, dtype, inputs, outputs = described_shape(r), r.choice(["float32", *DTYPES]), [], []
    for i in range(r.choice([1, 2, 3, 5])):
        kind = "LOD_TENSOR" if r.random() < 0.95 else r.choice(["SELECTED_ROWS", "RAW", "READER"])
        if r.random() < 0.3:
            shape = described_shape(r)
        if r.random() < 0.1:
            dtype = r.choice(DTYPES)
        layout = {"shape": shape, "dtype": dtype} if kind == "LOD_TENSOR" else {}
        stop, keep = r.random() < 0.3, r.random() < 0.1
        block.create_var(name=f"v{i}", type=kind, stop_gradient=stop, persistable=keep, **layout)
        inputs.append(f"v{i}")
    for type in (op, *(r.choice(_core.op_names()) for _ in range(r.choice([0, 0, 1, 2])))):
        info = _core.describe_op(type)
        results = []
        for _ in range(r.choice([1, 2, 4])):
            results.append(f"o{len(outputs) + len(results)}")
            block.create_var(name=results[-1])
        given = arguments(r, inputs + outputs if r.random() < 0.3 else inputs, info["inputs"])
        made = arguments(r, results if r.random() < 0.9 else inputs, info["outputs"])
        outputs += results
        attrs = {a["name"]: some_attr(r, a) for a in info["attrs"] if r.random() < 0.2}
        try:
            block.append_op(type, given, made, attrs)
        except ALLOWED:
            if r.random() < 0.3:  # as it stands, then
                block.append_described(type, given, made, {"n": ("INT", 3)})
    return program, inputs, outputs


def some_feed(r, program, name):
    """A value that fits the variable, or nearly."""
    variable = program.global_block().var(name)
    if variable.shape is None or r.random() < 0.1:
        return some_variable(r, some_shape(r), r.choice(DTYPES))
    sizes = tuple(r.choice([0, 1, 2, 3, 5]) if n < 0 else n for n in variable.shape)
    return some_variable(r, sizes, str(variable.dtype))


def play(op, number):
    r = random.Random(f"program:{op}:{number}")
    try:
        program, inputs, outputs = describe_program(r, op)
        names = inputs + outputs
        if r.random() < 0.3:
            block = program.global_block()
            wanted = [block.var(name) for name in inputs]
            static.gradients([block.var(r.choice(names))], wanted)
        scope = static.Scope()
        for name in names:
            if r.random() < 0.2:
                scope.var(name).set(some_variable(r, some_shape(r), r.choice(DTYPES)))
        feed = {n: some_feed(r, program, n) for n in inputs if r.random() < 0.95}
    except ALLOWED:
        return
    if r.random() < 0.05:
        feed[r.choice(["", "absent", *names])] = r.choice(GARBAGE)
    fetch = [r.choice([*names, "absent"]) for _ in range(r.choice([0, 1, 2]))]
    for again in (program, None):
        try:
            again = again or static.Program.parse_from_string(program.serialize_to_string())
            again.clone(for_test=r.random() < 0.5)
            static.Executor().run(again, feed, fetch, scope=scope)
        except ALLOWED:
            pass


def describe(op, number):
    r = random.Random(f"program:{op}:{number}")
    try:
        return str(describe_program(r, op)[0])
    except ALLOWED as error:
        return f"{op} {number}: {error}"


@pytest.mark.parametrize("group", range(GROUPS))
def test_programs_end_with_errors(group):
    fuzzing.run_group(__file__, describe, _core.op_names()[group::GROUPS], COUNT, 300)


if __name__ == "__main__":
    fuzzing.main(play, describe)
