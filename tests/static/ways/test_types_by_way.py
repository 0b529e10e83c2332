"""Variables whose type or sizes depend on the way: eager's bits, or refused with line and fix."""

import numpy as np
import pytest

import dygraph
from dygraph import jit
from dygraph.static.ways.graph import Refused

X = np.abs(np.random.default_rng(7).normal(size=(4, 3))).astype("float32")


def joined(x):
    if x.sum() > 0:
        y = x
    else:
        y = x.astype("float64")
    return y * 2


def one_way(x):
    y = x * 3
    if x.sum() > 0:
        y = x.astype("float64")
    return y, x + 1


def early(x):
    if x.sum() > 0:
        return x * x
    return (x * 2).astype("float64")


def whole(x):
    if x.sum() > 0:
        return x.astype("int64")
    return x * 2


def rank(x):
    return x.sum() if x.sum() > 0 else x * 2


def inner(x):
    y = x if x.sum() > 0 else x.astype("float64")
    return (y * 2).astype("float32") * x


def into_a_loop(x):
    y = x if x.sum() > 0 else x.astype("float64")
    n = x.sum()
    while n < 5:
        y = y * 2
        n = n + 1
    return y


def by_rows(x):
    total = x.sum()
    for row in x:
        s = row.sum() if row[0] > 0 else row.sum().astype("float64") * 2
        total = total + s.astype("float32")
    return total


def left_early(x):
    y = x
    for row in x:
        if row.sum() > 1:
            y = y.astype("float64")
            break
        y = y + row
    return y * 2


def in_a_dict(x):
    kept = {"a": x}
    if x.sum() > 0:
        kept["a"] = x.astype("float64")
    for _ in range(x.shape[0]):
        kept["a"] = kept["a"] * 2
    return kept["a"], x + 1


def none_or_other(x):
    y = x.astype("float64") if x.sum() > 0 else None
    return x * 2 if y is None else y * 2


def raised(x):
    if x.sum() > 100:
        raise ValueError("too large")
    y = x.astype("float64")
    if x.max() > 1:
        y = y.astype("float32")
    return y * 2


def fewer_rows(x):
    y = x.mean(axis=0, keepdim=True)
    return x * 2 if x.sum() > 0 else y


def more_rows(x):
    y = dygraph.ones([1, 3])
    for row in x:
        y = y * row if row.sum() > 100 else y + x
    return y * x


RIGHT = [
    joined, one_way, early, whole, rank, inner, into_a_loop, by_rows, left_early, in_a_dict,
    none_or_other, raised, fewer_rows, more_rows,
]  # fmt: skip


def outcome(call, array, trains):
    """Results and the gradient of the sum of those that have one, as types, shapes and bits."""
    x = dygraph.to_variable(array)
    x.stop_gradient = not trains
    results = call(x)
    results = results if isinstance(results, tuple) else (results,)
    floats = [r for r in results if not r.stop_gradient]
    wanted = []
    if floats:
        loss = sum((r.astype("float64") * 1.5).sum() for r in floats)
        wanted = dygraph.grad(loss, [x])
    return [(str(v.dtype), v.shape, v.numpy().tobytes()) for v in (*results, *wanted)]


@pytest.mark.parametrize("trains", [False, True])
@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_bits_of_eager_calls(function, trains):
    captured = jit.to_static(function)
    for scale in (1, -1, 0.1, 3, -0.2):
        for rows in (4, 2):
            array = X[:rows] * np.float32(scale)
            assert outcome(captured, array, trains) == outcome(function, array, trains)


def test_what_the_proof_says():
    captured = jit.to_static(joined)
    x = dygraph.to_variable(X)
    x.stop_gradient = False
    assert captured(x).dtype == "float32"
    assert captured.proof.compared > 0
    assert "gradients (a result has another type or other axes on another path, so an eager " \
        "call computes them)" in captured.proof.not_compared  # fmt: skip


def carried(x):
    y = x
    while y.sum() < 5:
        y = (y + 1).astype("float64")
    return y


def carried_on_one_way(x):
    y, n = x, x.sum()
    while n < 5:
        if n > 0:
            y = y.astype("float64") * 2
        n = n + 1
    return y


def swapped(x):
    a, b = x * 1, x.astype("float64")
    n = x.sum()
    while n < 3:
        a, b = b, a
        n = n + 1
    return a + 1


def appended(x):
    rows = []
    for row in x:
        rows.append(row if row.sum() > 0 else row.astype("float64"))
    return dygraph.stack(rows)


LOOPS = [
    (carried, "'y'", 2, 3),
    (carried_on_one_way, "'y'", 2, 4),
    (swapped, "'a'", 3, 1),
]


@pytest.mark.parametrize("trains", [False, True])
@pytest.mark.parametrize(("function", "name", "loop", "made"), LOOPS)
def test_a_turn_that_changes_a_type_is_refused(function, name, loop, made, trains):
    x = dygraph.to_variable(X)
    x.stop_gradient = not trains
    first = function.__code__.co_firstlineno
    file = "test_types_by_way.py"
    with pytest.raises(Refused) as refusal:
        jit.to_static(function)(x)
    assert str(refusal.value) == (
        f"to_static: {name} is float32 before the loop at {file}:{first + loop} and float64 after "
        f"an iteration (made at {file}:{first + made}). Give both one type with astype()"
    )


@pytest.mark.parametrize("trains", [False, True])
def test_elements_of_two_types_are_refused(trains):
    x = dygraph.to_variable(X)
    x.stop_gradient = not trains
    line = appended.__code__.co_firstlineno + 3
    with pytest.raises(Refused) as refusal:
        jit.to_static(appended)(x)
    assert str(refusal.value) == (
        "to_static: a list that grows in a loop must hold Variables of one type and rank, got "
        f"float32 [3] and float64 [3] at test_types_by_way.py:{line} in appended. Convert them "
        "with astype() or reshape() before append()"
    )
