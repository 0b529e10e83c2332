"""Convolutions of small images, which are taken without a matrix of patches, against sums over taps
in float64."""

import numpy as np
import pytest

import dygraph
from dygraph import _core

CASES = [  # image, filter, paddings
    ((1, 1, 28, 28), (6, 1, 5, 5), [2, 2]),
    ((1, 6, 14, 14), (16, 6, 5, 5), [0, 0]),
    ((3, 3, 13, 17), (9, 3, 3, 3), [1, 1]),
    ((2, 2, 9, 31), (7, 2, 2, 4), [1, 0]),  # an odd number of channels, an even window
    ((1, 5, 40, 8), (13, 5, 3, 1), [0, 0]),  # lines shorter than a vector
    ((2, 4, 8, 70), (4, 4, 1, 3), [0, 1]),
    ((1, 1, 12, 12), (5, 1, 3, 3), [3, 2]),  # pixels that see padding only
]


def over_taps(x, w, paddings):
    x = np.pad(x.astype("float64"), [(0, 0), (0, 0), *[(p, p) for p in paddings]])
    rows, columns = x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1
    out = 0
    for u in range(w.shape[2]):
        for v in range(w.shape[3]):
            with np.errstate(invalid="ignore"):
                part = x[:, :, u : u + rows, v : v + columns]
                out = out + np.einsum("ncij,oc->noij", part, w[:, :, u, v].astype("float64"))
    return out


def operands(shape, filters, dtype="float32"):
    rng = np.random.default_rng(7)
    return rng.uniform(-1, 1, shape).astype(dtype), rng.uniform(-1, 1, filters).astype(dtype)


def ours(x, w, paddings, **more):
    inputs = {"Input": x, "Filter": w, **more}
    inputs = {slot: _core.to_variable(array) for slot, array in inputs.items()}
    return _core.run_op("conv2d", inputs, {"paddings": paddings})["Output"].numpy()


@pytest.fixture(params=[1, 3, 0])
def level(request):
    before = dygraph.get_flags(["FLAGS_cpu_level"])
    dygraph.set_flags({"FLAGS_cpu_level": request.param})
    yield request.param
    dygraph.set_flags(before)


@pytest.mark.parametrize("shape, filters, paddings", CASES)
@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-5), ("float64", 1e-13)])
def test_sums_over_taps(level, shape, filters, paddings, dtype, tolerance):
    x, w = operands(shape, filters, dtype)
    want = over_taps(x, w, paddings)
    np.testing.assert_allclose(ours(x, w, paddings), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape, filters, paddings", CASES)
def test_bias_and_residual_are_added_behind_the_sum(level, shape, filters, paddings):
    x, w = operands(shape, filters)
    bias = np.linspace(-2, 2, filters[0], dtype="float32")
    plain = ours(x, w, paddings)
    residual = np.random.default_rng(8).uniform(-1, 1, plain.shape).astype("float32")
    wide = bias.reshape(1, -1, 1, 1)
    np.testing.assert_array_equal(ours(x, w, paddings, Bias=bias), plain + wide)
    np.testing.assert_array_equal(ours(x, w, paddings, ResidualData=residual), plain + residual)
    np.testing.assert_array_equal(
        ours(x, w, paddings, Bias=bias, ResidualData=residual), plain + (residual + wide)
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape, filters, paddings", CASES)
def test_nan_and_infinity_stay_in_their_windows(level, shape, filters, paddings, bad):
    x, w = operands(shape, filters)
    x[0, 0, 0, 0] = x[-1, -1, -1, -1] = x[-1, 0, shape[2] // 2, -1] = bad
    want = over_taps(x, w, paddings)
    np.testing.assert_allclose(ours(x, w, paddings), want, rtol=2e-5, atol=2e-5)


def test_the_smallest_numbers_are_not_lost(level):
    x = np.full((1, 1, 28, 28), 1e-44, "float32")  # denormal
    w = np.ones((4, 1, 3, 3), "float32")
    unit = np.float32(1e-44)
    np.testing.assert_array_equal(ours(x, w, [0, 0]), np.full((1, 4, 26, 26), 9 * unit))


@pytest.mark.parametrize("shape, filters, paddings", CASES)
def test_bits_depend_neither_on_threads_nor_on_the_batch(shape, filters, paddings):
    x, w = operands((2, *shape[1:]), filters)
    before = _core.num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            _core.set_num_threads(threads)
            found.append(ours(x, w, paddings))
    finally:
        _core.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    one_by_one = np.concatenate([ours(image[None], w, paddings) for image in x])
    np.testing.assert_array_equal(one_by_one, found[0])
