"""Random bad calls of every operator: errors must be Python's, nothing may crash the process.

Half of the calls are made up, half are sound ones that were damaged (`fuzz_calls`), gradient
operators of every order among them. Each group of operators runs in a child process that may take
little memory beyond the import's. A call follows from the operator's name and a number alone::

    PYTHONPATH=. python tests/test_fuzz_operators.py TYPE NUMBER         this call again
    PYTHONPATH=. python tests/test_fuzz_operators.py --all 300 [TYPE]    300 calls of every operator

The second is what runs under the sanitizers.
"""

import random

import numpy as np
import pytest

import fuzz_calls
import fuzzing
from dygraph import _core
from fuzzing import (
    ALLOWED,
    DTYPES,
    FLOATS,
    GARBAGE,
    TEXTS,
    some_number,
    some_shape,
    some_variable,
)

GROUPS = 2
COUNT = 20  # calls of each operator; `--all` plays more


def some_attr(r, attr):
    if r.random() < 0.08:
        return r.choice(GARBAGE)
    if attr["is_dtype"]:
        return r.choice([*DTYPES, "nonsense", 5, 99, -1, np.float32])
    kind = attr["type"]
    one = {
        "bool": lambda: r.random() < 0.5,
        "float": lambda: r.choice(FLOATS),
        "string": lambda: r.choice(TEXTS),
    }.get(kind.rstrip("s"), lambda: some_number(r))
    if not isinstance(attr["default"], list):
        return one()
    lengths = [0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 12, r.choice(fuzz_calls.LONG)]
    return [one() for _ in range(r.choice(lengths))]


def make_call(op, number):
    """(inputs, attrs, outputs, rest of the randomness)."""
    r = random.Random(f"{op}:{number}")
    if r.random() < 0.5:
        call = fuzz_calls.damaged_call(r, op, some_attr)
        if call is not None:
            return *call, r
    info = _core.describe_op(op)
    dtype = r.choice(["float32", "float64", *DTYPES])
    shape = some_shape(r)

    def variable():
        return some_variable(
            r,
            shape if r.random() < 0.5 else some_shape(r),
            dtype if r.random() < 0.85 else r.choice(DTYPES),
        )

    inputs = {}
    for slot in info["inputs"]:
        p = r.random()
        if p < 0.03 or (slot["dispensable"] and p < 0.4):
            continue
        if p < 0.06:
            inputs[slot["name"]] = r.choice(GARBAGE)
        elif slot["duplicable"] or r.random() < 0.05:
            inputs[slot["name"]] = [variable() for _ in range(r.choice([0, 1, 2, 3, 17]))]
        else:
            inputs[slot["name"]] = variable()
    if r.random() < 0.02:
        inputs["NoSuchSlot"] = variable()
    attrs = {a["name"]: some_attr(r, a) for a in info["attrs"] if r.random() < 0.5}
    if r.random() < 0.02:
        attrs["no_such_attribute"] = 1
    outputs = None
    if r.random() < 0.3 or any(s["duplicable"] for s in info["outputs"]):
        outputs = {
            s["name"]: r.choice([-1, 0, 1, 1, 2, 3, 10**9, "x"])
            if r.random() < 0.1
            else (r.choice([0, 1, 2, 3]) if s["duplicable"] else 1)
            for s in info["outputs"]
            if r.random() < 0.7
        }
    return inputs, attrs, outputs, r


def play(op, number):
    """Makes and runs one call; anything but an allowed exception passes through."""
    try:
        inputs, attrs, outputs, r = make_call(op, number)
        results = _core.run_op(op, inputs, attrs, outputs)
        flat = []
        for value in results.values():
            flat += value if isinstance(value, list) else [value]
        for v in flat:
            if v is not None and v.size < 10**6:
                v.numpy()
        tops = [v for v in flat if v is not None and not v.stop_gradient]
        if tops and r.random() < 0.7:
            _core.backward(tops, [], False, r.random() < 0.3)
    except ALLOWED:
        pass


def describe(op, number):
    inputs, attrs, outputs, _ = make_call(op, number)
    given = {k: fuzzing.show(v) for k, v in inputs.items()}
    return f"{op}: inputs {given}, attributes {attrs}, outputs {outputs}"


def groups():
    names = _core.op_names()
    return [names[i::GROUPS] for i in range(GROUPS)]


@pytest.mark.parametrize("group", range(GROUPS))
def test_bad_calls(group):
    fuzzing.run_group(__file__, describe, groups()[group], COUNT, 60)


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_many_bad_calls(group):
    fuzzing.run_group(__file__, describe, groups()[group], 450, 240)


if __name__ == "__main__":
    fuzz_calls.cases()  # before memory is limited
    fuzzing.main(play, describe, _core.op_names)
