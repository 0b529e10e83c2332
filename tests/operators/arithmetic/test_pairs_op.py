"""atan2, fmax, fmin, heaviside, lerp and isclose: functions of pairs that broadcast."""

import math

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand

INF, NAN = math.inf, math.nan


def grid(shape):
    """Tenths: with another offset on either side no two are equal, and none is 0."""
    return np.round(rand(*shape), 1)


def pair(function, first="X", second="Y"):
    def reference(inputs, attrs):
        with np.errstate(all="ignore"):
            return {"Out": function(inputs[first], inputs[second])}

    return reference


for op_type, function, first, second in [
    ("atan2", np.arctan2, "X1", "X2"),
    ("elementwise_fmax", np.fmax, "X", "Y"),
    ("elementwise_fmin", np.fmin, "X", "Y"),
    ("elementwise_heaviside", np.heaviside, "X", "Y"),
]:
    for suffix, x, y in [
        ("", (3, 4), (3, 4)),
        ("Broadcast", (2, 1, 4), (3, 1)),
        ("Image", (2, 3, 2, 3), (2, 3, 2, 3)),
        ("ByChannel", (2, 3, 2, 3), (3, 1, 1)),
    ]:

        def inputs(x=x, y=y, first=first, second=second):
            return {first: grid(x) + 0.03, second: grid(y) - 0.02}

        name = class_name(op_type, suffix)
        globals()[name] = op_case(
            name, op_type, inputs, {}, pair(function, first, second), grad=[first, second],
            elementwise=suffix == "",
        )  # fmt: skip


def lerp(inputs, attrs):
    x, y, w = (inputs[slot] for slot in ("X", "Y", "Weight"))
    return {"Out": (1 - w) * x + w * y}


for suffix, x, y, w in [
    ("", (3, 4), (3, 4), (3, 4)),
    ("Number", (3, 4), (3, 4), ()),
    ("Broadcast", (2, 1, 4), (3, 1), (4,)),
    ("WideWeight", (4,), (4,), (3, 1)),
    ("Image", (2, 3, 2, 3), (2, 3, 2, 3), (2, 3, 2, 3)),
]:

    def lerp_inputs(x=x, y=y, w=w):
        return {"X": rand(*x), "Y": rand(*y), "Weight": rand(*w, low=-0.5, high=1.5)}

    name = class_name("lerp", suffix)
    globals()[name] = op_case(
        name, "lerp", lerp_inputs, {}, lerp, grad=["X", "Y", "Weight"], elementwise=suffix == ""
    )


def isclose(inputs, attrs):
    given = {name: float(attrs.get(name, v)) for name, v in [("rtol", 1e-5), ("atol", 1e-8)]}
    equal_nan = attrs.get("equal_nan", False)
    return {"Out": np.isclose(inputs["Input"], inputs["Other"], equal_nan=equal_nan, **given)}


for suffix, attrs in [("", {}), ("Wide", {"rtol": "0.2", "atol": "0.1"})]:

    def isclose_inputs():
        x = rand(3, 4)
        return {"Input": x, "Other": x + rand(3, 4) * np.array([0, 1e-9, 0.1, 1])}

    name = class_name("isclose", suffix)
    globals()[name] = op_case(name, "isclose", isclose_inputs, attrs, isclose)


def run(op_type, *values, dtype="float64", **attrs):
    values = [_core.to_variable(np.array(v, dtype)) for v in values]
    return getattr(_core.ops, op_type)(*values, **attrs).numpy()


def test_isclose_of_what_is_not_finite():
    x, y = [INF, INF, NAN, 1.0, -INF], [INF, -INF, NAN, INF, 1.0]
    assert run("isclose", x, y).tolist() == [True, False, False, False, False]
    assert run("isclose", x, y, equal_nan=True).tolist() == [True, False, True, False, False]
    with pytest.raises(ValueError, match="rtol must be a number of at least 0"):
        run("isclose", x, y, rtol="-1")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_number_wins_over_a_nan(dtype):
    x, y = [NAN, 1, NAN, 2], [3, NAN, NAN, 2]
    for op_type in ("elementwise_fmax", "elementwise_fmin"):
        np.testing.assert_array_equal(run(op_type, x, y, dtype=dtype), [3, 1, NAN, 2])


def gradients(op_type, *values):
    values = [_core.to_variable(np.array(v)) for v in values]
    for v in values:
        v.stop_gradient = False
    getattr(_core.ops, op_type)(*values).backward()
    return [v.gradient().tolist() for v in values]


def test_where_gradients_go():
    """To the number beside a NaN, of ties to the first; recorded from torch 2.13."""
    x, y = [NAN, 1.0, 2.0, 5.0], [3.0, NAN, 2.0, 4.0]
    assert gradients("elementwise_fmax", x, y) == [[0, 1, 1, 1], [1, 0, 0, 0]]
    assert gradients("elementwise_fmin", x, y) == [[0, 1, 1, 0], [1, 0, 0, 1]]
    assert gradients("elementwise_heaviside", [-1.0, 0.0, 2.0], [3.0, 4.0, 5.0]) == [
        [0, 0, 0],
        [0, 1, 0],
    ]


def test_heaviside_at_its_step():
    x = [-INF, -0.0, 0.0, INF, NAN]
    np.testing.assert_array_equal(run("elementwise_heaviside", x, [0.5]), [0, 0.5, 0.5, 1, NAN])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_angles_of_the_axes(dtype):
    y = [0.0, -0.0, 0.0, -0.0, 1, -1, INF, -INF, INF, 1, NAN]
    x = [1, 1, -1, -1, 0.0, 0.0, INF, INF, -INF, -INF, 1]
    with np.errstate(invalid="ignore"):
        expected = np.arctan2(np.array(y, dtype), np.array(x, dtype))
    got = run("atan2", y, x, dtype=dtype)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got[:4]), [False, True, False, True])


@pytest.mark.parametrize("dtype, digits", [("float32", 1.2e-7), ("float64", 5e-16)])
def test_angles_of_all_sizes_and_quadrants(dtype, digits):
    info = np.finfo(dtype)
    small = info.smallest_subnormal
    sizes = [
        3 * small,
        7 * small,
        1e-30,
        0.3,
        0.41421356,
        0.9999,
        1,
        1.5,
        1e30,
        info.max / 1.7,
        info.max,
    ]
    sizes = np.array([*sizes, *(-np.array(sizes))], dtype)
    y, x = (v.ravel() for v in np.meshgrid(sizes, sizes))
    expected = np.arctan2(y.astype("longdouble"), x.astype("longdouble"))
    got = run("atan2", y, x, dtype=dtype)
    least = np.finfo(dtype).smallest_normal
    np.testing.assert_allclose(got, expected, rtol=digits, atol=least)


def test_slopes_of_angles_neither_overflow_nor_vanish():
    by_y, by_x = gradients("atan2", [3e200, 3e-200, 0.0], [4e200, 4e-200, 0.0])
    np.testing.assert_allclose(by_y, [0.16e-200, 0.16e200, 0], rtol=1e-14)
    np.testing.assert_allclose(by_x, [-0.12e-200, -0.12e200, 0], rtol=1e-14)


def test_lerp_meets_both_ends():
    x, y = rand(50, low=-1e9, high=1e9), rand(50)
    np.testing.assert_array_equal(run("lerp", x, y, 0.0), x)
    np.testing.assert_array_equal(run("lerp", x, y, 1.0), y)
    np.testing.assert_array_equal(run("lerp", x, y, np.ones(50)), y)
