"""What the turns of a loop keep for its gradient, and until when; without a gradient, nothing."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.static import layers

SIZE = 100_000  # float32 numbers of one value
BYTES = 4 * SIZE


def product(state, x):
    """Its gradient reads the state and what tanh gives."""
    return layers.tanh(state * x)


def rearranged(state, x):
    """Its gradient reads sizes alone."""
    rows = layers.reshape(state + x, [100, -1])
    return layers.reshape(layers.concat([rows, rows], axis=1) * 0.5, [2 * SIZE])[:SIZE]


def described(turn, turns, trains, is_test=False):
    """What is fetched of a loop of such turns."""
    x = static.data("x", [SIZE])
    x.stop_gradient = False
    i, n = (layers.fill_constant([1], "int64", k) for k in (0, turns))
    state = layers.assign(x)
    state.stop_gradient = False
    more = layers.less_than(i, n)
    loop = layers.While(more, is_test=is_test)
    with loop.block():
        layers.assign(turn(state, x), output=state)
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    loss = layers.reduce_sum(state)
    return static.gradients(loss, x) if trains else [loss]


def peak(turns, trains, runs=1, turn=product, **more):
    """(bytes that a run takes at most, bytes that stay after several) beyond those of the first."""
    program, executor = static.Program(), static.Executor()
    with static.program_guard(program):
        wanted = described(turn, turns, trains, **more)
    feed = {"x": dygraph.to_variable(np.full(SIZE, 0.5, "float32"))}
    scope = static.Scope()
    executor.run(program, feed, wanted, scope=scope)
    before = dygraph.memory.used()
    dygraph.memory.reset_peak()
    for _ in range(runs):
        executor.run(program, feed, wanted, scope=scope)
    return dygraph.memory.peak() - before, dygraph.memory.used() - before


@pytest.mark.parametrize("more", [{"trains": False}, {"trains": False, "is_test": True}])
def test_a_loop_without_gradient_keeps_one_turn(more):
    few, many = peak(2, **more)[0], peak(30, **more)[0]
    assert many == few < 6 * BYTES


def test_a_loop_with_gradient_keeps_what_it_reads():
    """What tanh gave, which is the state as the next turn began: one value a turn."""
    few, many = peak(10, trains=True)[0], peak(30, trains=True)[0]
    assert many - few == pytest.approx(20 * BYTES, rel=0.01)


def test_of_what_is_read_for_its_sizes_no_data_is_kept():
    few, many = (peak(turns, trains=True, turn=rearranged)[0] for turns in (10, 30))
    assert many - few < 0.1 * BYTES


@pytest.mark.parametrize("trains", [False, True])
def test_all_is_freed_after_the_run(trains):
    assert peak(30, trains, runs=3)[1] == 0


def test_a_captured_loop_frees_its_turns_with_its_graph():
    def function(x):
        i = dygraph.zeros([1], "int64")
        state = x
        while i < 30:
            state = dygraph.tanh(state * x)
            i = i + 1
        return state.sum()

    x = dygraph.to_variable(np.full(SIZE, 0.5, "float32"))
    x.stop_gradient = False
    call = dygraph.jit.to_static(function)
    call(x).backward()
    x.clear_gradient()
    before = dygraph.memory.used()
    loss = call(x)
    assert dygraph.memory.used() - before == pytest.approx(30 * BYTES, rel=0.05)
    loss.backward()
    assert dygraph.memory.used() - before < 3 * BYTES  # the gradient of x
    x.clear_gradient()
    del loss
    loss = call(x)
    del loss
    assert dygraph.memory.used() - before < 2 * BYTES
