"""Lists of any length are given to an operator, and come back."""

import numpy as np
import pytest

import dygraph
from dygraph import _core, static
from dygraph import ops as F

MANY = 70_000  # more than 2^16


def variables(count, size=1):
    made = [dygraph.to_variable(np.full(size, i % 7, "float32")) for i in range(count)]
    for v in made:
        v.stop_gradient = False
    return made


CALLS = {
    "sum": lambda xs: F.sum(xs),
    "stack": lambda xs: F.stack(xs) * 3.0,
    "concat": lambda xs: F.concat(xs) * 3.0,
    "dygraph.stack": lambda xs: dygraph.stack(xs) * 3.0,
}


@pytest.mark.parametrize("name", CALLS)
def test_more_than_65536_variables(name):
    xs = variables(MANY)
    out = CALLS[name](xs)
    factor = 1.0 if name == "sum" else 3.0
    assert out.numpy().sum() == factor * sum(i % 7 for i in range(MANY))
    F.reduce_sum(out * 2.0).backward()
    for i in (0, 1, 65_535, 65_536, 65_537, MANY - 1):
        assert xs[i].grad.tolist() == [2.0 * factor], i


def test_gradients_of_many_inputs_at_once():
    xs = variables(MANY)
    grads = dygraph.grad([F.sum(xs)], xs)
    assert len(grads) == MANY and grads[65_537].tolist() == [1.0]


def test_operators_keep_no_recipes_of_long_lists():
    """Each length would be another one, for good: 93 MB of a list of 300,000."""

    def play(count):
        xs = variables(count)
        F.reduce_sum(F.concat(xs) * 2.0).backward()
        assert [x.grad.tolist() for x in (xs[0], xs[-1])] == [[2.0], [2.0]]

    play(3)
    before = _core.kept_recipes("concat")
    play(5000)
    assert _core.kept_recipes("concat") == before
    for count in range(200, 300):
        play(count)
    assert _core.kept_recipes("concat") <= before + 4096 // 200
    for bits in range(1, 600):  # which of the inputs want a gradient
        xs = variables(10)
        for i, x in enumerate(xs):
            x.stop_gradient = not bits >> i & 1
        F.reduce_sum(F.concat(xs) * 2.0).backward()
        got = [x.grad is not None and x.grad.tolist() == [2.0] for x in xs]
        assert got == [bool(bits >> i & 1) for i in range(10)]
    assert _core.kept_recipes("concat") <= 512 + 4096 // 11


def test_nodes_of_long_lists_hold_their_recipes():
    """Graphs of several lengths, played in another order than they were made, twice."""
    graphs = [(xs := variables(count), F.reduce_sum(F.stack(xs) ** 2)) for count in (70, 90, 80)]
    for xs, total in reversed(graphs):
        first = dygraph.grad([total], xs, create_graph=True)
        assert [g.item() for g in first] == [2.0 * (i % 7) for i in range(len(xs))]
        second = dygraph.grad([F.sum(first)], [xs[1]])[0]
        assert second.item() == 2.0


def test_lists_in_programs():
    count = 5000
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [2], "float32")
        x.stop_gradient = False
        parts = [static.layers.scale(x, float(i % 3)) for i in range(count)]
        total = static.layers.sum(parts)
        (gradient,) = static.gradients(total, x)
    out, grad = static.Executor().run(program, {"x": np.ones(2, "float32")}, [total, gradient])
    expected = float(sum(i % 3 for i in range(count)))
    assert out.tolist() == grad.tolist() == [expected] * 2


def test_a_list_that_another_thread_empties():
    """The inputs of a call are held until it ends, whatever becomes of the list."""
    import sys
    import threading

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(10):
            xs = variables(8, 300_000)
            gone = threading.Event()

            def empty(xs=xs, gone=gone):
                gone.wait()
                xs.clear()
                for _ in range(16):
                    dygraph.to_variable(np.zeros(300_000, "float32"))

            thread = threading.Thread(target=empty)
            thread.start()
            try:
                gone.set()
                out = F.sum(xs)
            except ValueError:  # it was empty already
                continue
            finally:
                thread.join()
            assert out.numpy()[[0, -1]].tolist() == [21.0] * 2
            F.mean(out).backward()
    finally:
        sys.setswitchinterval(before)


def test_an_attribute_that_empties_the_list():
    """Reading an attribute runs Python code, which may drop what the call was given."""
    xs = [dygraph.to_variable(np.full(3, i, "float32")) for i in range(4)]

    class Axis:
        def __index__(self):
            xs.clear()
            [dygraph.to_variable(np.zeros(3, "float32")) for _ in range(300)]
            return 0

    assert dygraph._core.ops.stack(xs, axis=Axis()).numpy()[:, 0].tolist() == [0, 1, 2, 3]
