"""Special functions: lgamma, digamma, polygamma, erfinv, the Bessel functions, and the inverse
hyperbolic ones, logit, celu and trunc.

The values under RECORDED are mpmath's of 40 digits, rounded.
"""

import math

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import away_from, rand


def digamma(x):
    """Stirling's series of x + 40, and the recurrence down."""
    z = x + 40
    up = np.log(z) - 1 / (2 * z) - 1 / (12 * z**2) + 1 / (120 * z**4) - 1 / (252 * z**6)
    return up - sum(1 / (x + k) for k in range(40))


def polygamma(x, attrs):
    """(-1)^(n+1) n! (the first terms of zeta(n + 1, x), and the integral of the rest)."""
    n = attrs.get("n", 0)
    if n == 0:
        return digamma(x)
    s, z = n + 1, x + 400
    tail = z ** (1 - s) / (s - 1) + z**-s / 2 + s * z ** (-s - 1) / 12
    return -((-1) ** n) * math.factorial(n) * (sum((x + k) ** -s for k in range(400)) + tail)


def bessel(x, attrs):
    n = attrs.get("order", 0)
    terms = [(x / 2) ** (2 * k + n) / math.factorial(k) / math.factorial(k + n) for k in range(40)]
    return sum(terms) * (np.exp(-np.abs(x)) if attrs.get("scaled") else 1)


@np.vectorize
def erfinv(y):
    """By halving the interval."""
    if abs(y) >= 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    low, high = -6.0, 6.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < y else (low, middle)
    return low


def logit(x, attrs):
    eps = attrs.get("eps", 1e-6)
    z = np.clip(x, eps, 1 - eps)
    return np.log(z / (1 - z))


def celu(x, attrs):
    alpha = attrs.get("alpha", 1.0)
    return np.where(x > 0, x, alpha * np.expm1(x / alpha))


lgamma, erfc = np.vectorize(math.lgamma), np.vectorize(math.erfc)
# operator: reference(x, attrs), low, high, sets of attributes to try
CASES = {
    "lgamma": (lambda x, a: lgamma(x), 0.2, 5, [{}]),
    "digamma": (lambda x, a: digamma(x), 0.2, 5, [{}]),
    "polygamma": (polygamma, 0.3, 5, [{}, {"n": 1}, {"n": 2}, {"n": 4}]),
    "erfinv": (lambda x, a: erfinv(x), -0.9, 0.9, [{}]),
    "erfc": (lambda x, a: erfc(x), -2, 2, [{}]),
    "i0": (lambda x, a: bessel(x, {}), -4, 4, [{}]),
    "i0e": (lambda x, a: bessel(x, {"scaled": True}), -4, 4, [{}]),
    "i1": (lambda x, a: bessel(x, {"order": 1}), -4, 4, [{}]),
    "i1e": (lambda x, a: bessel(x, {"order": 1, "scaled": True}), -4, 4, [{}]),
    "bessel_i": (bessel, -4, 4, [{"order": 2}, {"order": 3, "scaled": True}]),
    "asinh": (lambda x, a: np.arcsinh(x), -4, 4, [{}]),
    "acosh": (lambda x, a: np.arccosh(x), 1.3, 6, [{}]),
    "atanh": (lambda x, a: np.arctanh(x), -0.9, 0.9, [{}]),
    "logit": (logit, 0.1, 0.9, [{}, {"eps": 0.05}]),
    "celu": (celu, -4, 4, [{}, {"alpha": 0.5}, {"alpha": -2.0}]),
}
LOWER_CASE = {"polygamma", "i0", "i0e", "i1", "i1e"}

for op_type, (function, low, high, settings) in CASES.items():
    slot, out = ("x", "out") if op_type in LOWER_CASE else ("X", "Out")

    def reference(inputs, attrs, function=function, slot=slot, out=out):
        with np.errstate(all="ignore"):
            x = inputs[slot].astype("float64")
            return {out: np.asarray(function(x, attrs), "float64").reshape(x.shape)}

    for i, attrs in enumerate([*settings, settings[0]]):
        image = i == len(settings)

        def inputs(image=image, low=low, high=high, slot=slot):
            x = rand(*((2, 3, 2, 3) if image else (4, 5)), low=low, high=high)
            x = away_from(0, x) if low < 0 else x
            return {slot: x.astype("float32") if image else x}

        name = class_name(op_type, "Image" if image else str(i or ""))
        globals()[name] = op_case(
            name, op_type, inputs, attrs, reference, grad=[slot], out=out, elementwise=True
        )


def run(op_type, values, dtype="float64", **attrs):
    x = _core.to_variable(np.array(values, dtype))
    return getattr(_core.ops, op_type)(x, **attrs).numpy()


RECORDED = {
    "lgamma": [
        (1e-10, 23.025850929882736),
        (0.3, 1.0957979948180756),
        (0.999, 0.0005780385328913802),
        (1.5, -0.12078223763524522),
        (2.001, 0.000423106734800117),
        (7.25, 7.0521854507385395),
        (120.5, 455.41760044623453),
        (10000000000.0, 220258509288.81058),
        (-0.3, 1.4648400508576025),
        (-2.5, -0.056243716497674054),
        (-7.25, -7.54188344347575),
    ],
    "digamma": [
        (1e-08, -100000000.57721564),
        (0.1, -10.423754940411076),
        (0.75, -1.0858608797864722),
        (1.4616, -3.110625123034165e-05),
        (1.4617, 6.56593922936765e-05),
        (1.9, 0.35618416116405965),
        (2.5, 0.7031566406452432),
        (6.3, 1.7590901769078273),
        (10.0, 2.251752589066721),
        (55.5, 4.0073469585404435),
        (100000000.0, 18.420680738952367),
        (-0.7, -2.073952793628704),
        (-3.4, 2.384450814118015),
    ],
    "erfinv": [
        (1e-12, 8.86226925452758e-13),
        (-0.25, -0.2253120550121781),
        (0.5, 0.4769362762044699),
        (0.84, 0.9935356283473041),
        (-0.86, -1.0435418436397588),
        (0.999, 2.3267537655135246),
        (0.999999999999, 5.042031898572696),
    ],
    "erfc": [
        (1e-09, 0.9999999988716208),
        (0.4, 0.5716076449533315),
        (-0.75, 1.7111556336535152),
        (1.0, 0.15729920705028513),
        (2.5, 0.0004069520174449589),
        (-3.0, 1.9999779095030015),
        (5.0, 1.537459794428035e-12),
        (9.5, 3.7692144856548797e-41),
        (15.0, 7.212994172451207e-100),
        (26.0, 5.663192408856143e-296),
    ],
    "i0": [
        (0.25, 1.015686141223608),
        (-2.0, 2.2795853023360673),
        (7.9, 389.406283282158),
        (8.1, 469.5006067101215),
        (19.5, 26760525.339838766),
        (20.5, 70922869.83431701),
        (300.0, 4.475847367935052e128),
        (711.0, 9.087162727263793e306),
    ],
    "i0e": [
        (0.25, 0.7910171621397194),
        (-2.0, 0.30850832255367105),
        (7.9, 0.14436986414104191),
        (8.1, 0.14251180948829528),
        (19.5, 0.09093943209515648),
        (20.5, 0.08866442901574524),
        (300.0, 0.02304255841508546),
        (1000000.0, 0.00039894233026924577),
    ],
    "i1": [
        (1e-09, 5e-10),
        (0.25, 0.12597910894546793),
        (-2.0, -1.590636854637329),
        (7.9, 363.8539440845084),
        (8.1, 439.48430891035844),
        (19.5, 26065069.264457166),
        (-20.5, -69170831.67918438),
        (300.0, 4.468381385036955e128),
    ],
    "i1e": [
        (1e-09, 4.999999995000001e-10),
        (0.25, 0.09811262869736824),
        (-2.0, -0.21526928924893765),
        (7.9, 0.13489649943989376),
        (8.1, 0.13340068832583662),
        (19.5, 0.08857608609431485),
        (-20.5, -0.08647411349408725),
        (1000000.0, 0.0003989421307980308),
    ],
    "asinh": [
        (1e-09, 1e-09),
        (0.5, 0.48121182505960347),
        (-3.0, -1.8184464592320668),
        (100000.0, 12.206072645555174),
        (1e300, 691.4686750787737),
    ],
    "acosh": [
        (1.0000000000009095, 1.3486991523485068e-06),
        (1.5, 0.9624236501192069),
        (3.0, 1.762747174039086),
        (100000.0, 12.206072645505174),
        (1e300, 691.4686750787737),
    ],
    "atanh": [
        (1e-09, 1e-09),
        (0.5, 0.5493061443340549),
        (-0.999, -3.8002011672501994),
        (0.75, 0.9729550745276566),
    ],
    "logit": [
        (1e-05, -11.512915464920228),
        (0.2, -1.3862943611198906),
        (0.49999, -4.0000000005373336e-05),
        (0.5000001, 3.99999999789463e-07),
        (0.7, 0.8472978603872034),
        (0.999, 6.906754778648553),
    ],
    "polygamma 1": [
        (0.01, 10001.621213528313),
        (0.5, 4.934802200544679),
        (3.3, 0.3535015418410618),
        (20.0, 0.05127082293520312),
        (1000000.0, 1.0000005000001667e-06),
        (-2.25, 19.37941051186914),
    ],
    "polygamma 3": [
        (0.01, 600000006.2510618),
        (0.5, 97.40909103400244),
        (3.3, 0.08584966733688494),
        (20.0, 0.0002693742213396389),
        (1000000.0, 2.000003000002e-18),
        (-2.25, 1558.4550231887144),
    ],
}


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_recorded_values(name):
    op_type, *orders = name.split()
    attrs = {"n": int(orders[0])} if orders else {}
    x, expected = np.array(RECORDED[name]).T
    np.testing.assert_allclose(run(op_type, x, **attrs), expected, rtol=2e-15)
    with np.errstate(over="ignore"):
        small = x.astype("float32")
        wide = run(op_type, small, **attrs).astype("float32")
    np.testing.assert_allclose(run(op_type, small, "float32", **attrs), wide, rtol=3e-7)


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "op_type, values, expected",
    [
        ("lgamma", [0, -0.0, -1, INF, -INF, NAN], [INF, INF, INF, INF, INF, NAN]),
        ("digamma", [0, -0.0, -1, INF, -INF, NAN], [-INF, INF, NAN, INF, NAN, NAN]),
        ("erfc", [INF, -INF, NAN, 0, -0.0, 30], [0, 2, NAN, 1, 1, 0]),
        ("lgamma", [1, 2, -1e10], [0, 0, INF]),
        ("erfinv", [1, -1, 1.5, -2, INF, NAN, 0], [INF, -INF, NAN, NAN, NAN, NAN, 0]),
        ("i0", [INF, -INF, NAN, 0], [INF, INF, NAN, 1]),
        ("i1", [INF, -INF, NAN, 0], [INF, -INF, NAN, 0]),
        ("i0e", [INF, -INF, NAN, 0], [0, 0, NAN, 1]),
        ("i1e", [INF, -INF, NAN, 0], [0, -0.0, NAN, 0]),
        ("asinh", [INF, -INF, NAN, 0, -0.0], [INF, -INF, NAN, 0, -0.0]),
        ("acosh", [INF, -INF, NAN, 1, 0.5], [INF, NAN, NAN, 0, NAN]),
        ("atanh", [1, -1, NAN, 0, -0.0, 2], [INF, -INF, NAN, 0, -0.0, NAN]),
        ("celu", [INF, -INF, NAN, 0], [INF, -1, NAN, 0]),
        ("trunc", [INF, -INF, NAN, -0.5, 2.5, -2.5], [INF, -INF, NAN, -0.0, 2, -2]),
        ("polygamma", [INF, NAN, 2, 0], [INF, NAN, 1 - np.euler_gamma, -INF]),
    ],
)
def test_at_the_edges(op_type, values, expected, dtype):
    got = run(op_type, values, dtype)
    np.testing.assert_allclose(got, np.array(expected, dtype), rtol=1e-6)
    zeros = np.array(expected) == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(np.array(expected)[zeros]))


@pytest.mark.parametrize("n, at_pole", [(1, INF), (2, -INF), (3, INF)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_polygamma_at_its_poles(n, at_pole, dtype):
    np.testing.assert_array_equal(run("polygamma", [0, -1, -7], dtype, n=n), [at_pole] * 3)
    np.testing.assert_array_equal(run("polygamma", [INF, NAN, -INF], dtype, n=n), [0, NAN, NAN])


def test_logit_without_a_margin():
    x = [-0.5, 0, 0.5, 1, 1.5, NAN]
    np.testing.assert_array_equal(run("logit", x, eps=0.0), [NAN, -INF, 0, INF, NAN, NAN])
    edge = math.log(1e-6 / (1 - 1e-6))
    np.testing.assert_allclose(run("logit", x), [edge, edge, 0, -edge, -edge, NAN], rtol=1e-10)


@pytest.mark.parametrize("dtype, tiny", [("float32", 1e-40), ("float64", 5e-320)])
def test_logit_of_what_has_no_reciprocal(dtype, tiny):
    x = np.array(tiny, dtype)
    got = run("logit", [x, 1e-35], dtype, eps=0.0)
    np.testing.assert_allclose(got, np.log([float(x), 1e-35]), rtol=2e-7)


# In units of the last place, on even grids: what special_vector.h states. erfc's reference is
# Python's, those of the others are this library's own of double, which test_recorded_values has.
@pytest.mark.parametrize(
    "op_type, low, high, units",
    [
        ("erfc", -4, 9, 5), ("erfinv", -0.99999, 0.99999, 4), ("lgamma", -9.3, 60, 1),
        ("i0", -80, 80, 1), ("i0e", -80, 80, 1), ("i1", -80, 80, 1), ("i1e", -80, 80, 1),
        ("logit", 1e-5, 0.99999, 2), ("polygamma", -9.3, 60, 1),
    ],
)  # fmt: skip
def test_digits_of_floats(op_type, low, high, units):
    x = np.linspace(low, high, 20_011, dtype="float32")
    attrs = {"logit": {"eps": 0.0}, "polygamma": {"n": 1}}.get(op_type, {})
    wide = erfc(x.astype("float64")) if op_type == "erfc" else run(op_type, x, **attrs)
    wide = np.asarray(wide, "float64")
    error = np.abs(run(op_type, x, "float32", **attrs) - wide)
    unit = np.spacing(np.abs(wide).astype("float32").clip(1e-30))
    assert (error <= units * unit).all(), (error / unit).max()


def test_digits_of_erfc():
    x = np.linspace(-6, 26, 20_011)
    np.testing.assert_allclose(run("erfc", x), erfc(x), rtol=2e-15)


def slope(op_type, values, **attrs):
    x = _core.to_variable(np.array(values))
    x.stop_gradient = False
    getattr(_core.ops, op_type)(x, **attrs).backward()
    return x.gradient()


def test_slopes_at_the_edges():
    np.testing.assert_array_equal(slope("logit", [-0.5, 0.5, 1.5]), [0, 4, 0])
    np.testing.assert_array_equal(slope("logit", [-0.5, 0.5, 1.5], eps=0.0), [NAN, 4, NAN])
    np.testing.assert_array_equal(slope("i1", [0.0]), [0.5])
    np.testing.assert_array_equal(slope("i0", [0.0]), [0.0])
    np.testing.assert_allclose(slope("asinh", [1e200, -1e-200]), [1e-200, 1], rtol=1e-15)
    np.testing.assert_array_equal(slope("trunc", [-1.3, 0.0, 2.2]), [0, 0, 0])


def test_integers_stay():
    whole = np.array([-3, 0, 2**53 + 1], "int64")
    np.testing.assert_array_equal(run("trunc", whole, "int64"), whole)


@pytest.mark.parametrize(
    "op_type, attrs, message",
    [
        ("celu", {"alpha": 0.0}, "alpha must not be 0"),
        ("logit", {"eps": 0.75}, "eps must lie in"),
        ("polygamma", {"n": -1}, "n must lie in"),
    ],
)
def test_bad_attributes(op_type, attrs, message):
    with pytest.raises(ValueError, match=message):
        run(op_type, [0.5], **attrs)
