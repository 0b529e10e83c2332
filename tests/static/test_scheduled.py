"""Operators of a compiled program beside each other: overlapping events, equal bits."""

import numpy as np
import pytest

import dygraph
from dygraph import static

NUMBERS = np.random.default_rng(0).standard_normal((2, 300_000)).astype("float32")
SORTED = np.sort(NUMBERS, axis=1)


def two_slow_ones():
    """Two sorts that do not depend on each other, and what follows both."""
    main = static.Program()
    with static.program_guard(main):
        x, y = static.data("x", [None]), static.data("y", [None])
        one, two = dygraph.sort(x), dygraph.sort(y)
        total = one + two
    return main, total


def run(program, total, executor):
    return executor.run(program, {"x": NUMBERS[0], "y": NUMBERS[1]}, [total])[0]


@pytest.fixture
def two_threads():
    before = dygraph.num_threads()
    dygraph.set_num_threads(2)
    yield
    dygraph.set_num_threads(before)


def overlap(events):
    slow = sorted((e.start, e.start + e.duration) for e in events if e.name in ("argsort", "sort"))
    assert len(slow) == 2
    return slow[1][0] < slow[0][1]


def test_independent_slow_operators_overlap(two_threads):
    main, total = two_slow_ones()
    executor, overlapping = static.Executor(), False
    for _ in range(10):  # beside other processes the helper may come late
        compiled = static.CompiledProgram(main.clone())
        run(compiled, total, executor)  # notes
        for _ in range(6):  # three run one after the other, three together
            with dygraph.profiler.Profiler() as profile:
                value = run(compiled, total, executor)
            np.testing.assert_array_equal(value, SORTED.sum(0))
            overlapping = overlapping or overlap(profile.events)
        if overlapping:
            break
    alone = static.BuildStrategy()
    alone.enable_sequential_execution = True
    compiled = static.CompiledProgram(main, alone)
    for _ in range(8):
        run(compiled, total, executor)
    with dygraph.profiler.Profiler() as profile:
        run(compiled, total, executor)
    assert not overlap(profile.events)
    assert overlapping


def test_bits_do_not_depend_on_the_schedule(two_threads):
    """A wide graph whose places in the arena are reused, with random operators."""

    def values(strategy, count):
        main = static.Program()
        main.random_seed = 4
        with static.program_guard(main):
            x = static.data("x", [64, 64])
            parts = []
            for k in range(6):
                y = static.layers.dropout(x * float(k + 1), 0.3)
                for _ in range(4):
                    y = static.layers.tanh(static.layers.matmul(y, x) * 0.1)
                parts.append(y)
            total = static.layers.sums(parts)
        compiled, executor = static.CompiledProgram(main, strategy), static.Executor()
        feed = {"x": NUMBERS[0, :4096].reshape(64, 64)}
        return [executor.run(compiled, feed, [total])[0].tobytes() for _ in range(count)]

    alone = static.BuildStrategy()
    alone.enable_sequential_execution, alone.memory_optimize = True, False
    assert values(None, 12) == values(alone, 12)


def test_an_error_beside_others_names_its_operator(two_threads):
    main = static.Program()
    with static.program_guard(main):
        x, i = static.data("x", [None]), static.data("i", [None], "int64")
        one, two = dygraph.sort(x), dygraph.sort(x * 2.0)
        three = static.layers.gather(x, i)
        total = one + two
    compiled, executor = static.CompiledProgram(main), static.Executor()
    for index in ([0, 1], [1, 2]) * 5:
        feed = {"x": NUMBERS[0], "i": np.array(index)}
        executor.run(compiled, feed, [total, three])
    with pytest.raises(IndexError, match="gather"):
        executor.run(compiled, {"x": NUMBERS[0], "i": np.array([0, 999_999])}, [total, three])
    feed = {"x": NUMBERS[0], "i": np.array([2, 0])}
    got = executor.run(compiled, feed, [total, three])
    np.testing.assert_array_equal(got[1], NUMBERS[0, [2, 0]])
    np.testing.assert_array_equal(got[0], SORTED[0] + np.sort(NUMBERS[0] * 2))
