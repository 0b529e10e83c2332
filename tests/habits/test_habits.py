"""What users of other libraries type first means here what it means there, or raises with ours."""

import importlib

import numpy as np
import pytest

import dygraph
from habits.habit_table import ARRAYS, LIBRARIES, OURS, habits, plain, recorded, run

# New arrays have our default type where NumPy's have float64, and JAX's integers have 32 bits.
SAME_TYPES = {
    "numpy": {"float64": "float32"},
    "jax": {"int32": "int64"},
    "keras": {"int32": "int64"},
}
CASES = [(library, habit) for library in LIBRARIES for habit in habits(library)]
RECORDED = {library: recorded(library) for library in LIBRARIES}


def names_of(library):
    made = {name: dygraph.to_variable(value.copy()) for name, value in ARRAYS.items()}
    if library in ("keras", "fluid"):
        made = {name: value.copy() for name, value in ARRAYS.items()}
    elif library in ("torch", "paddle"):
        made["w"].stop_gradient = False
    modules = {name: importlib.import_module(ours) for name, ours in OURS[library].items()}

    def fill(net, value=0.1):
        for p in net.parameters():
            p.set_value(np.full(p.shape, value, str(p.dtype)))
        return net

    def fetch(function, *arrays):
        """What a program gives that Fluid's scripts describe."""
        fluid = dygraph.static
        main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
        with fluid.program_guard(main, startup), fluid.unique_name.guard():
            inputs = [
                fluid.data(f"x{i}", list(x.shape), str(x.dtype)) for i, x in enumerate(arrays)
            ]
            out = function(*inputs)
        executor = fluid.Executor(fluid.CPUPlace())
        with fluid.scope_guard(scope):
            executor.run(startup)
            feed = {f"x{i}": x for i, x in enumerate(arrays)}
            results = executor.run(main, feed=feed, fetch_list=[out])
        return results[0]

    more = {"fill": fill, "fetch": fetch, "net": dygraph.nn.Linear(3, 2)}
    return {"np": np, "numpy": np, "dygraph": dygraph, **modules, **made, **more}


def agree(got, expected, same):
    assert type(got) is type(expected)
    if isinstance(expected, dict) and "values" in expected:
        assert got["shape"] == expected["shape"]
        assert same.get(got["dtype"], got["dtype"]) == same.get(
            expected["dtype"], expected["dtype"]
        )
        np.testing.assert_allclose(got["values"], expected["values"], rtol=1e-5, atol=1e-6)
    elif isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for key in expected:
            agree(got[key], expected[key], same)
    elif isinstance(expected, list):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            agree(one, other, same)
    elif isinstance(expected, float):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    else:
        assert same.get(got, got) == same.get(expected, expected)


@pytest.fixture(autouse=True)
def default_types():
    """The default type that a line sets lasts for its test."""
    yield
    dygraph.set_default_dtype(None)


@pytest.mark.parametrize(
    ("library", "habit"), CASES, ids=[f"{library}: {habit.code}" for library, habit in CASES]
)
def test_habit(library, habit):
    names, same = names_of(library), SAME_TYPES.get(library, {})
    expected = RECORDED[library].get(habit.code)
    code = habit.code
    if habit.other:
        with pytest.raises(AssertionError):
            agree(plain(run(code, names)), expected, same)
        names, code = names_of(library), habit.here
    if habit.hint:
        with pytest.raises(Exception) as raised:
            run(code, names)
        assert habit.hint in str(raised.value)
        if not habit.here:
            return
        names, code = names_of(library), habit.here
    if isinstance(expected, dict) and "raises" in expected:
        with pytest.raises(Exception):  # noqa: B017
            run(code, names)
        return
    agree(plain(run(code, names)), expected, same)


def test_there_are_400_and_no_twins():
    lines = [(library, habit.code) for library, habit in CASES]
    assert len(lines) >= 400 and len(set(lines)) == len(lines)
