"""The input gradient of convolutions of few channels, against sums over taps in float64."""

import numpy as np
import pytest

import dygraph
from dygraph import _core


def input_gradient(dy, w, shape, strides, paddings):
    """dx, in a frame of padding that is cut off in the end."""
    (n, c, height, width), (top, left) = shape, paddings
    frame = np.zeros((n, c, height + 2 * top, width + 2 * left))
    rows, columns = dy.shape[2:]
    for u in range(w.shape[2]):
        for v in range(w.shape[3]):
            down = slice(u, u + (rows - 1) * strides[0] + 1, strides[0])
            right = slice(v, v + (columns - 1) * strides[1] + 1, strides[1])
            with np.errstate(invalid="ignore"):
                share = np.einsum("noij,oc->ncij", dy.astype("float64"), w[:, :, u, v])
            frame[:, :, down, right] += share
    return frame[:, :, top : top + height, left : left + width]


def ours(dy, w, shape, strides, paddings):
    x = _core.to_layout(_core.to_variable(np.ones(shape, "float32")), "NHWC")
    x.stop_gradient = False
    attrs = {"strides": strides, "paddings": paddings}
    out = _core.run_op("conv2d", {"Input": x, "Filter": _core.to_variable(w)}, attrs)["Output"]
    return _core.grad([out], [x], [_core.to_variable(dy)], False, False, True)[0].numpy()


def operands(shape, filters, strides, paddings):
    rng = np.random.default_rng(5)
    out = [(shape[2 + i] + 2 * paddings[i] - filters[2 + i]) // strides[i] + 1 for i in range(2)]
    w = rng.uniform(-1, 1, filters).astype("float32")
    return rng.uniform(-1, 1, (shape[0], filters[0], *out)).astype("float32"), w


CASES = [  # image, filter, strides, paddings
    ((32, 6, 14, 14), (16, 6, 5, 5), [1, 1], [0, 0]),
    ((16, 1, 28, 28), (6, 1, 5, 5), [1, 1], [2, 2]),
    ((8, 3, 31, 33), (16, 3, 3, 3), [1, 1], [1, 1]),
    ((8, 8, 20, 23), (7, 8, 3, 7), [1, 1], [0, 3]),
    ((8, 2, 30, 41), (9, 2, 2, 4), [1, 2], [1, 0]),  # a stride in one direction, a rest of it
    ((8, 4, 12, 12), (8, 4, 5, 16), [1, 3], [4, 6]),  # a long line, more padding than pixels count
    ((40, 5, 4, 6), (12, 5, 5, 3), [1, 1], [4, 2]),  # windows that see no more than a corner
    ((8, 3, 31, 33), (16, 3, 3, 3), [2, 2], [1, 1]),  # not adjacent: through a product in memory
    ((8, 7, 20, 20), (16, 7, 1, 11), [1, 1], [0, 5]),  # too long a line
]


@pytest.mark.parametrize("shape, filters, strides, paddings", CASES)
@pytest.mark.parametrize("level", [1, 3, 0])
def test_sums_over_taps(shape, filters, strides, paddings, level):
    dy, w = operands(shape, filters, strides, paddings)
    before = dygraph.get_flags(["FLAGS_cpu_level"])["FLAGS_cpu_level"]
    dygraph.set_flags({"FLAGS_cpu_level": level})
    try:
        got = ours(dy, w, shape, strides, paddings)
    finally:
        dygraph.set_flags({"FLAGS_cpu_level": before})
    want = input_gradient(dy, w, shape, strides, paddings)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("shape, filters, strides, paddings", CASES[:7])
def test_nan_and_infinity_stay_in_their_window(shape, filters, strides, paddings, bad):
    dy, w = operands(shape, filters, strides, paddings)
    dy[1, 2, dy.shape[2] // 2, dy.shape[3] // 2] = bad
    dy[2, 0, 0, 0] = dy[2, 0, -1, -1] = bad
    got = ours(dy, w, shape, strides, paddings)
    want = input_gradient(dy, w, shape, strides, paddings)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-5)


def test_bits_do_not_depend_on_the_number_of_threads():
    case = CASES[0]
    dy, w = operands(*case)
    threads, found = _core.num_threads(), []
    try:
        for n in (1, 2, 3):
            _core.set_num_threads(n)
            found.append(ours(dy, w, *([case[0], *case[2:]])).tobytes())
    finally:
        _core.set_num_threads(threads)
    assert found[0] == found[1] == found[2]
