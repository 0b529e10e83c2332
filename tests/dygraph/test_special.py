"""`dygraph.special`, cumulative functions and functions of elements, as functions and methods.

Expected values are NumPy's, math's, or scipy.special's as literals.
"""

import math

import numpy as np
import pytest

import dygraph
from dygraph import special

NAN, INF = math.nan, math.inf


def var(values, dtype="float64"):
    return dygraph.to_variable(np.array(values, dtype))


@pytest.mark.parametrize(
    "name, at, expected",
    [
        ("digamma", 2.5, 0.7031566406452432), ("psi", 2.5, 0.7031566406452432),
        ("gammaln", 7.25, 7.0521854507385395), ("erfc", 5.0, 1.5374597944280347e-12),
        ("erfinv", 0.5, 0.4769362762044699), ("expit", 0.0, 0.5), ("i0", 2.0, 2.279585302336067),
        ("i1e", -2.0, -0.2152692892489377), ("logit", 0.2, -1.3862943611198906),
        ("ndtr", -8.0, 6.22096057427174e-16), ("exp2", 3.0, 8.0),
        ("entr", 0.5, 0.34657359027997264),
        ("sinc", 0.5, 2 / math.pi), ("sinc", 0.0, 1.0), ("entr", 0.0, 0.0), ("entr", -1.0, -INF),
    ],
)  # fmt: skip
def test_values(name, at, expected):
    got = getattr(special, name)(var([at]))
    np.testing.assert_allclose(got.numpy(), [expected], rtol=4e-15)


def test_types():
    assert special.gammaln(dygraph.arange(1, 4)).dtype == dygraph.float32
    assert special.i0(var([1.0], "float16")).dtype == dygraph.float16
    assert special.polygamma(1, var([1.0])).tolist() == [pytest.approx(math.pi**2 / 6, rel=1e-14)]
    with pytest.raises(AttributeError, match="dygraph.special has no function 'gamm'"):
        special.gamm  # noqa: B018


def test_products_with_a_logarithm():
    x, y = [0.0, 0.0, 2.0, 0.0], [0.0, -1.0, 3.0, NAN]
    got = special.xlogy(var(x), var(y)).numpy()
    np.testing.assert_allclose(got, [0, 0, 2 * math.log(3), NAN])
    np.testing.assert_allclose(
        special.xlog1py(var([0.0, 2.0]), -0.5).tolist(), [0, 2 * math.log(0.5)]
    )


def test_elements():
    x = var([-1.5, NAN, INF, -INF, 2.25])
    np.testing.assert_array_equal(dygraph.frac(var([-1.5, 2.25])).numpy(), [-0.5, 0.25])
    most = np.finfo("float64").max
    assert dygraph.nan_to_num(x).tolist() == [-1.5, 0, most, -most, 2.25]
    assert x.nan_to_num(7.0, posinf=1.0, neginf=2.0).tolist() == [-1.5, 7, 1, 2, 2.25]
    assert dygraph.fmax(x, 0.0).tolist() == [0, 0, INF, 0, 2.25]
    assert dygraph.heaviside(var([-1.0, 0.0, 3.0]), 0.5).tolist() == [0, 0.5, 1]
    assert dygraph.isclose(var([1.0, 2.0]), 1.0).tolist() == [True, False]
    assert dygraph.gcd(var([12, -8], "int64"), 18).tolist() == [6, 2]
    assert dygraph.lcm(var([4, -6], "int64"), 10).tolist() == [20, 30]
    np.testing.assert_allclose(dygraph.deg2rad(var([180.0])).tolist(), [math.pi])
    np.testing.assert_allclose(dygraph.rad2deg(var([math.pi])).tolist(), [180.0])


def test_running_products_and_extremes():
    x = var([[2.0, 3.0], [1.0, 5.0]])
    assert x.cumprod(1).tolist() == [[2, 6], [1, 5]]
    assert dygraph.cumprod(x).tolist() == [2, 6, 6, 30]
    assert dygraph.cumprod(var([2, 3], "int32"), dim=0).dtype == dygraph.int64
    values, indices = dygraph.cummax(x, dim=0)
    assert values.tolist() == [[2, 3], [2, 5]] and indices.tolist() == [[0, 0], [0, 1]]
    values, indices = x.cummin(0)
    assert values.tolist() == [[2, 3], [1, 3]] and indices.tolist() == [[0, 0], [1, 0]]
    np.testing.assert_allclose(x.logcumsumexp(1).numpy(), np.logaddexp.accumulate(x.numpy(), 1))


def test_methods():
    x = var([0.25, 0.5])
    np.testing.assert_allclose(x.lgamma().tolist(), [math.lgamma(0.25), math.lgamma(0.5)])
    assert x.trunc().tolist() == [0, 0] and x.frac().tolist() == [0.25, 0.5]
    np.testing.assert_allclose(x.logit().tolist(), [-math.log(3), 0])
    assert x.lerp(var([1.25, 1.5]), 0.5).tolist() == [0.75, 1.0]
    np.testing.assert_allclose(x.atan2(var([1.0, -1.0])).tolist(), np.arctan2(x.numpy(), [1, -1]))
