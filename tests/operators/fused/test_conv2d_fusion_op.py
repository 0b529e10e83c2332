"""conv2d_fusion against NumPy: Winograd's method, and everything else that convolutions may be."""

import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest, rand


def convolution(x, filters, strides=(1, 1), paddings=(0, 0), dilations=(1, 1), groups=1):
    """Tap by tap, in float64."""
    x, filters = x.astype("float64"), filters.astype("float64")
    n, c, h, w = x.shape
    m, part, kh, kw = filters.shape
    top, bottom, left, right = paddings if len(paddings) == 4 else np.repeat(paddings, 2)
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    oh = (x.shape[2] - dilations[0] * (kh - 1) - 1) // strides[0] + 1
    ow = (x.shape[3] - dilations[1] * (kw - 1) - 1) // strides[1] + 1
    out = np.zeros((n, m, oh, ow))
    for o in range(m):
        first = o // (m // groups) * part
        for u in range(kh):
            for v in range(kw):
                i, j = u * dilations[0], v * dilations[1]
                taps = x[:, first : first + part, i : i + oh * strides[0] : strides[0],
                         j : j + ow * strides[1] : strides[1]]  # fmt: skip
                out[:, o] += (taps[:, :, :oh, :ow] * filters[o, :, u, v][:, None, None]).sum(1)
    return out


class Case(OpTest):
    op_type = "conv2d_fusion"
    x_shape, filter_shape, residual = (2, 3, 6, 5), (4, 3, 2, 3), True
    attrs = {"strides": [2, 1], "paddings": [1, 0, 2, 1], "activation": "relu"}

    def setUp(self):
        x, filters = rand(*self.x_shape), rand(*self.filter_shape)
        self.inputs = {"Input": x, "Filter": filters, "Bias": rand(self.filter_shape[0])}
        sizes = {k: v for k, v in self.attrs.items() if k != "activation"}
        if self.residual:
            self.inputs["ResidualData"] = rand(*convolution(x, filters, **sizes).shape)

    def reference(self, inputs, attrs):
        sizes = {k: v for k, v in self.attrs.items() if k != "activation"}
        y = convolution(inputs["Input"], inputs["Filter"], **sizes)
        y = y + inputs["Bias"][:, None, None]
        if self.residual:
            y = y + inputs["ResidualData"]
        if self.attrs.get("activation", "relu") == "relu":
            y = np.maximum(y, 0)
        return {"Output": y.astype(inputs["Input"].dtype)}

    def test_check_output(self):
        self.check_output()


class TestGroups(Case):
    x_shape, filter_shape, residual = (1, 4, 7, 7), (6, 2, 3, 3), False
    attrs = {"groups": 2, "dilations": [2, 1], "activation": "identity"}


def of(x, filters, bias=None, residual=None, **attrs):
    given = {"bias": bias, "residual_data": residual}
    given = {k: dygraph.to_variable(v) for k, v in given.items() if v is not None}
    return ops.conv2d_fusion(dygraph.to_variable(x), dygraph.to_variable(filters), **given, **attrs)


@pytest.mark.parametrize(
    ("x_shape", "m", "paddings"),
    [
        ((1, 16, 3, 3), 16, (0, 0)),  # one result
        ((2, 16, 8, 8), 20, (1, 1)),
        ((3, 33, 7, 10), 17, (1, 1)),  # tiles that reach beyond, channels that fill no vector
        ((1, 48, 5, 6), 64, (2, 0, 1, 3)),
        ((2, 300, 14, 14), 40, (1, 1)),  # more than a block of tiles, more than a part of a sum
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_winograd(x_shape, m, paddings, threads):
    r = np.random.default_rng(0)
    x = r.standard_normal(x_shape).astype("float32")
    filters = r.standard_normal((m, x_shape[1], 3, 3)).astype("float32")
    bias = r.standard_normal(m).astype("float32")
    sums = convolution(x, filters, paddings=paddings)
    residual = r.standard_normal(sums.shape).astype("float32")
    before = dygraph.num_threads()
    dygraph.set_num_threads(threads)
    try:
        plain = of(x, filters, paddings=list(paddings), activation="identity")
        whole = of(x, filters, bias, residual, paddings=list(paddings))
        again = of(x, filters, bias, residual, paddings=list(paddings))
    finally:
        dygraph.set_num_threads(before)
    wanted = np.maximum(sums + bias[:, None, None] + residual, 0)
    most = 1e-5 * np.abs(sums).max()
    np.testing.assert_allclose(plain.numpy(), sums, rtol=0, atol=most)
    np.testing.assert_allclose(whole.numpy(), wanted, rtol=0, atol=most)
    assert whole.numpy().tobytes() == again.numpy().tobytes()


def test_nan_reaches_the_results_of_its_tile_and_no_others():
    x = np.ones((1, 16, 8, 8), "float32")
    x[0, 3, 0, 0] = np.nan
    y = of(x, np.ones((16, 16, 3, 3), "float32")).numpy()
    assert np.isnan(y[0, :, 0, 0]).all()
    assert (y[0, :, 2:, 2:] == 144).all()


def test_what_does_not_fit():
    x, filters = np.ones((1, 16, 4, 4), "float32"), np.ones((16, 16, 3, 3), "float32")
    with pytest.raises(ValueError, match="Bias must have one number for each of the 16"):
        of(x, filters, np.ones(3, "float32"))
    with pytest.raises(ValueError, match="ResidualData must have the shape of Output"):
        of(x, filters, None, x)
