"""Pointwise operators in a row run block by block, and give the bits of eager calls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dygraph
from dygraph import ops as F
from dygraph import static

WIDTH = 24


def plan_of(exe):
    (plan,) = exe._prepared.values()
    return plan.program


def run_often(describe, feeds, times=4):
    """The results of each run, and how many operators the last one ran in blocks."""
    main = static.Program()
    with static.program_guard(main):
        inputs = {n: static.data(n, [None, *a.shape[1:]], str(a.dtype)) for n, a in feeds.items()}
        results = describe(**inputs)
    exe, scope = static.Executor(), static.Scope()
    runs = [exe.run(main, feeds, results, scope=scope) for _ in range(times)]
    return runs, plan_of(exe).operators_in_chains


def eager(describe, feeds):
    with dygraph.guard():
        return [
            v.numpy() for v in describe(**{n: dygraph.to_variable(a) for n, a in feeds.items()})
        ]


def assert_same_bits(describe, feeds, in_chains):
    expected = [v.tobytes() for v in eager(describe, feeds)]
    runs, count = run_often(describe, feeds)
    for values in runs:
        assert [v.tobytes() for v in values] == expected
    assert count == in_chains


def numbers(*shape, dtype="float32", seed=0):
    return np.random.RandomState(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [1, 85, 86, 9000])
def test_one_shape(rows, dtype, threads):
    x = numbers(rows, WIDTH, dtype=dtype)

    def gelu(x):
        inner = F.tanh(0.8 * (x + 0.04 * x * x * x))
        return [0.5 * x * (1.0 + inner), inner]

    before = dygraph.num_threads()
    dygraph.set_num_threads(threads)
    try:
        assert_same_bits(gelu, {"x": x}, 9)
        (y, _), *_ = run_often(gelu, {"x": x})[0]
    finally:
        dygraph.set_num_threads(before)
    wide = x.astype("float64")
    expected = 0.5 * wide * (1 + np.tanh(0.8 * (wide + 0.04 * wide**3)))
    np.testing.assert_allclose(y, expected, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-6)


def test_rows_columns_and_numbers_are_broadcast():
    feeds = {
        "x": numbers(700, 4, WIDTH),
        "row": numbers(1, WIDTH, seed=1),
        "page": numbers(4, WIDTH, seed=2),
        "column": numbers(700, 1, 1, seed=3),
        "number": numbers(1, seed=4),
    }

    def described(x, row, page, column, number):
        return [F.sigmoid((x + row) * page - column) / number]

    assert_same_bits(described, feeds, 5)


def test_operands_laid_along_an_axis():
    x, y = numbers(50, 6, 9), numbers(6, seed=1)

    def described(x, y):
        return [F.relu(F.elementwise_add(x, y, axis=1))]

    assert_same_bits(described, {"x": x, "y": y}, 2)

    def by_rows(x, y):  # along the axis that blocks cut
        return [F.relu(F.elementwise_add(x, y, axis=0))]

    assert_same_bits(by_rows, {"x": numbers(6, 9), "y": y}, 0)


def test_an_operator_of_another_shape_parts_the_chain():
    x, y = numbers(300, 1), numbers(300, WIDTH, seed=1)

    def described(x, y):
        narrow = F.exp(F.tanh(x))
        return [F.relu(F.tanh(narrow * y)), narrow]

    assert_same_bits(described, {"x": x, "y": y}, 5)


def test_comparisons_and_choices():
    x, y = numbers(500, WIDTH), numbers(500, WIDTH, seed=1)
    x[3, 4] = np.nan

    def described(x, y):
        smaller = F.less_than(x, y)
        return [F.where(smaller, F.exp(x), F.abs(y)), F.logical_not(smaller)]

    assert_same_bits(described, {"x": x, "y": y}, 5)


def test_integers_run_one_by_one():
    x = np.arange(12, dtype="int64").reshape(3, 4)
    assert_same_bits(lambda x: [(x + x) * x - x], {"x": x}, 0)


def test_other_sizes_are_learned_anew():
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [None, WIDTH])
        y = F.exp(F.tanh(x) * x)
    exe = static.Executor()
    for rows in (3, 3, 3, 500, 500, 500, 3, 7, 0, 0, 0):
        value = numbers(rows, WIDTH, seed=rows)
        (got,) = exe.run(main, {"x": value}, [y])
        (expected,) = eager(lambda x: [F.exp(F.tanh(x) * x)], {"x": value})
        assert got.tobytes() == expected.tobytes() and got.shape == value.shape


def test_levels_of_detail_pass():
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [None, 2], lod_level=1)
        y = F.relu(F.tanh(x))
    value = static.create_lod_tensor(numbers(5, 2), [[2, 3]], static.CPUPlace())
    exe = static.Executor()
    for _ in range(4):
        (got,) = exe.run(main, {"x": value}, [y], return_numpy=False)
        assert got.recursive_sequence_lengths() == [[2, 3]]


def test_a_profiler_sees_each_operator():
    main = static.Program()
    with static.program_guard(main):
        y = F.exp(F.tanh(static.data("x", [None, 2])))
    exe, x = static.Executor(), numbers(3, 2)
    for _ in range(3):
        exe.run(main, {"x": x}, [y])
    with dygraph.profiler.Profiler() as watched:
        exe.run(main, {"x": x}, [y])
    seen = str(watched.summary())
    assert "tanh" in seen and "exp" in seen


def test_gradients_and_results_in_place():
    x = numbers(4000, WIDTH)
    main = static.Program()
    with static.program_guard(main):
        v = static.data("x", [None, WIDTH])
        v.stop_gradient = False
        y = F.sigmoid(v) * F.tanh(v)
        (g,) = static.gradients([F.mean(F.exp(y) * y)], [v])
    exe = static.Executor()
    runs = [exe.run(main, {"x": x}, [g])[0] for _ in range(4)]
    with dygraph.guard():
        v = dygraph.to_variable(x)
        v.stop_gradient = False
        y = F.sigmoid(v) * F.tanh(v)
        F.mean(F.exp(y) * y).backward()
        expected = v.gradient()
    for got in runs:
        assert got.tobytes() == expected.tobytes()
    assert plan_of(exe).operators_in_chains >= 6


UNARY = [F.tanh, F.relu, F.exp, F.abs, F.sigmoid, lambda v: v * 0.5, lambda v: 1.0 - v]
BINARY = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, F.elementwise_max]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 9), st.integers(0, 9)), min_size=2,
                max_size=14), st.sampled_from([1, 2, 100, 1000]), st.data())  # fmt: skip
def test_random_chains(steps, rows, data):
    feeds = {
        "x": numbers(rows, WIDTH),
        "y": numbers(rows, WIDTH, seed=1),
        "row": numbers(1, WIDTH, seed=2),
        "column": numbers(rows, 1, seed=3),
    }
    fetched = data.draw(st.sets(st.integers(0, len(steps) - 1), min_size=1))

    def described(**inputs):
        values = list(inputs.values())
        for kind, a, b in steps:
            a, b = values[a % len(values)], values[b % len(values)]
            values.append(UNARY[kind](a) if kind < 7 else BINARY[kind - 7](a, b))
        return [values[4 + k] for k in sorted(fetched)]

    expected = [v.tobytes() for v in eager(described, feeds)]
    for values in run_often(described, feeds)[0]:
        assert [v.tobytes() for v in values] == expected
