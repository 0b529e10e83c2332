"""Loops of the device in the shapes that take another way there: long lines, many rows, 16 bits."""

import numpy as np
import pytest

import cuda_library
from dygraph import _core

PLACE = cuda_library.place()
pytestmark = pytest.mark.skipif(PLACE is None, reason="no CUDA library")

SHAPES = [
    (1, 9000, 1),
    (3, 5000, 1),
    (2, 300, 3),
    (700, 40, 1),
    (2, 40, 9000),
    (40, 7, 5),
    (5, 1, 3),
]


def numbers(shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(dtype)


def results(name, inputs, attrs, where=None):
    """Arrays of an operator on the host, or on a place."""
    if where is None:
        got = getattr(_core.ops, name)(*[_core.to_variable(x) for x in inputs], **attrs)
        return [g.numpy() for g in (got if isinstance(got, (list, tuple)) else [got])]
    with cuda_library.on(where):
        return results(name, inputs, attrs)


def compare(name, *inputs, rtol=2e-6, atol=1e-6, **attrs):
    given, expected = results(name, inputs, attrs, PLACE), results(name, inputs, attrs)
    assert len(given) == len(expected)
    for a, b in zip(given, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol, atol)


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_along_lines(shape):
    for reverse in (False, True):
        for exclusive in (False, True):
            attrs = {"axis": 1, "reverse": reverse, "exclusive": exclusive}
            compare("cumsum", numbers(shape), rtol=1e-5, atol=1e-3, **attrs)
            whole = np.arange(np.prod(shape)).reshape(shape) % 11 - 5
            compare("cumsum", whole, rtol=0, atol=0, **attrs)


@pytest.mark.parametrize("shape", SHAPES)
def test_products_along_lines(shape):
    compare("cumprod", 1 + numbers(shape) / 1000, rtol=1e-4, dim=1)


@pytest.mark.parametrize("shape", SHAPES)
def test_logarithms_of_sums_along_lines(shape):
    x = numbers(shape)
    x[..., 0] = -np.inf
    for reverse in (False, True):
        for exclusive in (False, True):
            attrs = {"axis": 1, "reverse": reverse, "exclusive": exclusive}
            compare("logcumsumexp", x, rtol=1e-5, atol=1e-5, **attrs)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("shape", SHAPES)
def test_extremes_along_lines(name, shape):
    x = np.round(numbers(shape) * 1000)  # with equal ones
    compare(name, x, rtol=0, atol=0, axis=1)
    compare(name, x.astype("int32"), rtol=0, atol=0, axis=1, dtype="int32")
    worst = -np.inf if name == "cummax" else np.inf
    compare(name, np.full(shape, worst, "float32"), rtol=0, atol=0, axis=1)
    x[:, shape[1] // 2] = np.nan
    compare(name, x, rtol=0, atol=0, axis=1)


@pytest.mark.parametrize("shape", [*SHAPES, (20000, 10, 1), (1, 300, 20000)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_any_shape(name, shape):
    compare(name, numbers(shape) * 10, rtol=1e-5, atol=1e-6, axis=1)


def test_one_number_decides():
    for n in (1, 1000, 300000):
        x = numbers((n,))
        compare("isfinite", x)
        compare("isnan", x)
        x[-1] = np.nan
        compare("isfinite", x)
        compare("isnan", x)
        compare("allclose", x, x)
        compare("allclose", x, x, equal_nan=True)


@pytest.mark.parametrize("name", ["elementwise_div", "elementwise_floordiv", "elementwise_mod"])
def test_a_division_by_zero_is_reported(name):
    x, y = np.array([6, 7, -8]), np.array([2, 0, -1])
    with pytest.raises(ValueError, match="integers cannot be divided by zero, got a 0 in Y"):
        results(name, [x, y], {}, PLACE)
    compare(name, x, np.array([2, 3, -1]))


def test_a_negative_exponent_of_integers_is_reported():
    with pytest.raises(ValueError, match="must be at least 0, got -3 in Y"):
        results("elementwise_pow", [np.array([2, 3]), np.array([2, -3])], {}, PLACE)


UNARY = ["relu", "gelu", "sigmoid", "tanh", "exp", "sqrt", "silu", "sin", "erfc", "softmax"]
BINARY = ["elementwise_add", "elementwise_sub", "elementwise_mul", "elementwise_div"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats_are_computed_as_floats(dtype):
    """Results and gradients are those of float32, rounded to 16 bits."""
    with cuda_library.on(PLACE):
        narrow = lambda x: _core.ops.cast(x, out_dtype=dtype)  # noqa: E731
        wide = lambda x: _core.ops.cast(x, out_dtype="float32")  # noqa: E731
        x, y = numbers((37, 9)), numbers((9,), seed=1) + 3
        for name in UNARY + BINARY:
            given = [narrow(_core.to_variable(v)) for v in ([x, y] if name in BINARY else [x])]
            exact = [wide(v) for v in given]
            for v in given + exact:
                v.stop_gradient = False
            a, b = getattr(_core.ops, name)(*given), getattr(_core.ops, name)(*exact)
            assert a.dtype.name == dtype
            np.testing.assert_array_equal(wide(a).numpy(), wide(narrow(b)).numpy(), name)
            g = narrow(_core.to_variable(numbers(a.shape, seed=2)))
            _core.backward([a], [g], False, False)
            _core.backward([b], [wide(g)], False, False)
            step = 2**-10 if dtype == "float16" else 2**-7
            for v, w in zip(given, exact, strict=True):
                want = w.grad.numpy()
                if name in ("softmax", "elementwise_div"):  # what they keep was rounded
                    np.testing.assert_allclose(wide(v.grad).numpy(), want, 8 * step, 8 * step, name)
                else:
                    np.testing.assert_allclose(wide(v.grad).numpy(), want, 4 * step, 4 * step, name)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats_are_scaled_and_added(dtype):
    with cuda_library.on(PLACE):
        x = _core.ops.cast(_core.to_variable(numbers((5, 70))), out_dtype=dtype)
        got = _core.ops.sum([_core.ops.scale(x, scale=0.5, bias=1.0), x])
        assert got.dtype.name == dtype
        want = _core.ops.cast(x, out_dtype="float32").numpy() * 1.5 + 1
        got = _core.ops.cast(got, out_dtype="float32").numpy()
        np.testing.assert_allclose(got, want, 2**-7, 2**-7)
