"""Runs: what they keep while they last, and numbers that are none."""

import numpy as np
import pytest

import dygraph
from dygraph import static


def chain(length):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        y = static.data("x", [None, 1000])
        for _ in range(length):
            y = static.layers.relu(y)
        return main, static.layers.mean(y)


def test_temporaries_end_with_their_last_use():
    peaks = []
    for length in (5, 50):
        main, out = chain(length)
        executor, feed = static.Executor(), {"x": np.ones((250, 1000), "float32")}
        executor.run(main, feed, [out])
        dygraph.memory.reset_peak()
        before = dygraph.memory.used()
        executor.run(main, feed, [out])
        peaks.append(dygraph.memory.peak() - before)
        assert dygraph.memory.used() == before
    assert peaks[0] == peaks[1] < 4 * 250 * 1000 * 4


def test_only_what_is_fetched_runs_if_asked():
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    start = static.initializer.Constant(2.0)
    with static.program_guard(main, startup):
        x, label = static.data("x", [None, 1]), static.data("label", [None, 1])
        out = static.layers.fc(x, 1, param_attr=static.ParamAttr("w", start), bias_attr=False)
        loss = static.layers.mean(static.layers.square_error_cost(out, label))
        static.optimizer.SGD(0.5).minimize(loss)
    executor = static.Executor()
    executor.run(startup, scope=scope)
    one = np.ones((1, 1), "float32")
    for feed in ({"x": one}, {"x": one, "label": one}):
        (got,) = executor.run(main, feed, [out], scope=scope, use_prune=True)
        assert got.item() == 2.0
    assert scope.find_var("w").get().item() == 2.0
    executor.run(main, {"x": one, "label": one}, [out], scope=scope)  # 2 - 0.5 * 2 * (2 - 1)
    assert scope.find_var("w").get().item() == 1.0


@pytest.fixture
def checking():
    dygraph.set_flags({"FLAGS_check_nan_inf": True})
    yield
    dygraph.set_flags({"FLAGS_check_nan_inf": False})


def test_the_first_operator_that_gives_no_number_is_named(checking):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [None, 2])
        out = static.layers.mean(static.layers.log(x))  # the line
    executor = static.Executor()
    assert executor.run(main, {"x": np.ones((1, 2), "float32")}, [out])[0] == 0
    with pytest.raises(dygraph.errors.NonFiniteError) as error:
        executor.run(main, {"x": np.array([[1, -1]], "float32")}, [out])
    line = next(
        n for n, text in enumerate(open(__file__, encoding="utf-8"), 1) if "# the line" in text
    )
    for part in ("log: Output(Out)", "1 NaN", "[0, 1]", f"{__file__}:{line}"):
        assert part in str(error.value)
