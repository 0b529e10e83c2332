"""exp, log, tanh and the like over the whole range of float32, against float64.

Every 9973rd bit pattern (all magnitudes, denormals, infinities and NaNs of both signs) and the
edges of the formulas, at every instruction set of this processor, with one thread and with several.
"""

import math

import numpy as np
import pytest

import dygraph
from dygraph import _core

EDGES = [0.0, 0.5, 0.5625, 1.0, 2.0, 4.0, 10.0, 14.6, 15.0, 17.0, 20.0, 88.72283, 88.72284, 87.33]
EDGES += [103.97, 103.98, 104.0, 106.0, 120.0, 170.0, 1000.0, 3.4028235e38, 1.1754944e-38, 1.4e-45]
TINY, HUGE = 2.0**-126, float(np.finfo(np.float32).max)


def whole_range():
    patterns = np.arange(0, 2**32, 9973, dtype=np.uint64).astype(np.uint32).view(np.float32)
    edges = np.array([*EDGES, np.inf, np.nan], np.float32)
    with np.errstate(over="ignore"):
        above = np.nextafter(edges, np.float32(np.inf))
    edges = np.concatenate([edges, np.nextafter(edges, np.float32(0)), above])
    return np.concatenate([patterns, edges, -edges])


X = whole_range()


def logistic(x):
    return np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))


def normal_below(x):
    return np.array([math.erfc(-v * math.sqrt(0.5)) / 2 for v in x])


def softplus(x):
    return np.where(x < 0, 0, x) + np.log1p(np.exp(-np.abs(x)))


def mish(x):
    w = np.exp(x) * (np.exp(x) + 2)
    return vanishing(x, np.where(x > 300, x, x * w / (w + 2)))


def vanishing(x, product):
    """x * f(x) where f goes to 0 far to the left: 0 there, not -inf * 0."""
    return np.where(x < -800, -0.0, product)


# Name: the function in float64, units of the last place allowed.
FUNCTIONS = {
    "exp": (np.exp, 1.5),
    "expm1": (np.expm1, 2),
    "log": (np.log, 1),
    "log1p": (np.log1p, 2),
    "tanh": (np.tanh, 1.5),
    "sigmoid": (logistic, 2),
    "erf": (lambda x: np.array([math.erf(v) for v in x]), 1.5),
    "silu": (lambda x: vanishing(x, x * logistic(x)), 2),
    "swish": (lambda x: vanishing(x, x * logistic(x)), 2),
    "softplus": (softplus, 2),
    "logsigmoid": (lambda x: -softplus(-x), 2),
    "gelu": (lambda x: vanishing(x, x * normal_below(x)), 4),
    "mish": (mish, 4.5),
    "log2": (np.log2, 1.5),
    "log10": (np.log10, 1.5),
    "sin": (np.sin, 2),
    "cos": (np.cos, 2),
    "tan": (np.tan, 1),
    "asin": (np.arcsin, 1),
    "acos": (np.arccos, 1),
    "atan": (np.arctan, 1),
    "sinh": (np.sinh, 1.5),
    "cosh": (np.cosh, 1.5),
}


def distance(y, exact):
    """Of each y from the exact value, in units of the last place there, denormals at the least."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        unit = np.exp2(np.floor(np.log2(np.maximum(np.abs(exact), TINY))) - 23)
        found = np.abs(y.astype(np.float64) - exact) / unit
        beyond = np.isinf(y) & (np.abs(exact) > HUGE * (1 - 4e-7)) & ((y > 0) == (exact > 0))
    found[beyond] = 1
    found[rounded == y] = np.minimum(found[rounded == y], 1)
    found[np.isinf(exact) & (y == exact)] = 0
    found[(y == 0) & (exact == 0)] = 0
    both = np.isnan(y) & np.isnan(exact)
    found[both] = 0
    found[np.isnan(found)] = np.inf
    return found


@pytest.fixture(params=[1, 3, 4])
def level(request):
    before = dygraph.get_flags("FLAGS_cpu_level")
    dygraph.set_flags({"FLAGS_cpu_level": request.param})
    yield request.param
    dygraph.set_flags(before)


def run(name, x, threads=1):
    before = dygraph.num_threads()
    dygraph.set_num_threads(threads)
    try:
        return getattr(_core.ops, name)(_core.to_variable(x)).numpy()
    finally:
        dygraph.set_num_threads(before)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_whole_range(name, level):
    function, allowed = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        exact = np.asarray(function(X.astype(np.float64)))
    if name == "softplus":  # its threshold
        exact = np.where(X > 20, X, exact)
    got = run(name, X)
    far = distance(got, exact)
    worst = int(np.argmax(far))
    assert far[worst] <= allowed, (X[worst], got[worst], exact[worst], far[worst])
    zero = (exact == 0) & (got == 0)
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(exact[zero]))
    assert run(name, X, threads=3).tobytes() == got.tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_place_in_the_array_does_not_matter(name, level):
    rng = np.random.default_rng(1)
    x = rng.choice(X, 200)
    whole = bits(run(name, x))
    for n in [*range(1, 35), 63, 65, 90]:
        np.testing.assert_array_equal(bits(run(name, x[n : 2 * n].copy())), whole[n : 2 * n])


@pytest.mark.parametrize(
    ("name", "slope"), [("sin", np.cos), ("cos", lambda x: -np.sin(x)), ("sinh", np.cosh)]
)
def test_gradient_over_the_whole_range(name, slope, level):
    with np.errstate(all="ignore"):
        exact = 2 * np.asarray(slope(X.astype(np.float64)))
        overflows = np.isinf(exact.astype(np.float32))
    gradient = getattr(_core.ops, name + "_grad")
    got = gradient(_core.to_variable(X), _core.to_variable(np.full_like(X, 2))).numpy()
    assert np.isinf(got[overflows]).all()
    far = distance(got[~overflows], exact[~overflows])
    assert far.max() <= 2, X[~overflows][int(np.argmax(far))]


def bits(x):
    """All NaNs alike."""
    return np.where(np.isnan(x), np.float32(np.nan), x).view(np.uint32)


def powers():
    """Bases and exponents: random patterns, results of all sizes, and all pairs of special ones."""
    rng = np.random.default_rng(2)
    special = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 1e38, 1e-40, 16777217.0, 33554432.0, np.inf, np.nan]
    special = np.array([*special, *(-v for v in special)], np.float32)
    n = 50000
    base = [rng.integers(0, 2**32, n, np.uint32).view(np.float32)]
    exponent = [rng.integers(0, 2**32, n, np.uint32).view(np.float32)]
    base.append(np.exp2(rng.uniform(-149, 127, n)).astype(np.float32))
    exponent.append((rng.integers(-2000, 2000, n) / 16).astype(np.float32))
    base.append(-rng.uniform(0, 8, n).astype(np.float32))
    exponent.append(rng.integers(-40, 40, n).astype(np.float32))
    base.append(np.repeat(special, len(special)))
    exponent.append(np.tile(special, len(special)))
    return np.concatenate(base), np.concatenate(exponent)


def test_powers(level):
    base, exponent = powers()
    with np.errstate(all="ignore"):
        exact = np.array(base.astype(np.float64) ** exponent.astype(np.float64))
    out = _core.ops.elementwise_pow(_core.to_variable(base), _core.to_variable(exponent))
    far = distance(out.numpy(), exact)
    worst = int(np.argmax(far))
    assert far[worst] <= 1, (base[worst], exponent[worst], out.numpy()[worst], exact[worst])
    zero = np.abs(exact) < 2.0**-150
    np.testing.assert_array_equal(np.signbit(out.numpy()[zero]), np.signbit(exact[zero]))
