"""Gradients through the programs of random functions, beside eager ones: the first have the same
bits, those of second order nearly always.

``python tests/static/ways/test_random_second_order.py 0 1000`` runs more of them.
"""

import collections
import sys
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[n]) for n in (1, 3)]

import pytest

import dygraph
from dygraph import static
from dygraph.static.ways.emit import emit
from dygraph.static.ways.explore import Input
from dygraph.static.ways.graph import Refused
from ways import graph_runner
from ways.random_functions import INPUTS, Writer, made, parts


def penalty(results, x, gradient):
    """The mean square of the results and of its gradient, and that one's gradient."""
    floats = [r for r in results if r.dtype.is_floating and not r.stop_gradient]
    loss = sum(((r * r).mean() for r in floats[1:]), (floats[0] * floats[0]).mean())
    first = gradient(loss, x)
    return first, gradient(loss + (first * first).mean(), x)


def eager(function, x):
    """First and second gradients, or None where the function raises."""
    x = dygraph.to_variable(x)
    x.stop_gradient = False
    try:
        results = parts(function(x))
    except Exception:
        return None
    return [
        g.numpy()
        for g in penalty(
            results, x, lambda y, of: dygraph.grad(y, of, create_graph=True, allow_unused=True)[0]
        )
    ]


def check(seed, small=True):
    """What became of it: same, close, refused, or raises for all inputs."""
    function = made(Writer(seed, small).function(), f"<random function {seed}>")
    try:
        explorer = graph_runner.explored(
            function, Input("x", [None, 3], "float32", stop_gradient=False)
        )
    except Refused:
        return "refused"
    except AssertionError:  # the function's own, before any question
        return "raises"
    emitted = emit(explorer)
    with static.program_guard(emitted.program, static.Program()):
        block = emitted.program.global_block()
        results = [block.var(f) if isinstance(f, str) else f for f in emitted.fetches]
        x = block.var("x")
        wanted = penalty(results, x, lambda y, of: static.gradients(y, of)[0])
    executor, kinds = static.Executor(), set()
    for array in INPUTS:
        want = eager(function, array)
        if want is None:
            continue
        got = executor.run(emitted.program, feed={"x": array}, fetch_list=list(wanted))
        assert got[0].tobytes() == want[0].tobytes(), f"seed {seed}: the first gradient differs"
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4, err_msg=f"seed {seed}")
            kinds.add("same" if a.tobytes() == b.tobytes() else "close")
    return "close" if "close" in kinds else "same" if kinds else "raises"


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_second_gradients_of_random_functions(first):
    kinds = collections.Counter(check(seed) for seed in range(first, first + 20))
    assert kinds["same"] >= 18, kinds


if __name__ == "__main__":
    print(collections.Counter(check(seed) for seed in range(*map(int, sys.argv[1:3]))))
