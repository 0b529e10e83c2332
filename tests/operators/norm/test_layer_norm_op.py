"""layer_norm, group_norm and instance_norm: rows that are normalised, with one reference."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand

EPSILON = 1e-5


def normalise(rows, epsilon=EPSILON):
    """(rows normalised, means, variances) over the last axis."""
    mean, variance = rows.mean(-1), rows.var(-1)
    return (rows - mean[..., None]) / np.sqrt(variance[..., None] + epsilon), mean, variance


class TestLayerNorm(OpTest):
    op_type = "layer_norm"
    shape = (4, 6)
    params = ("Scale", "Bias")
    elementwise = False
    grad_outputs = ["Y"]

    def count(self):
        return int(np.prod(self.shape[self.attrs.get("begin_norm_axis", 1) :]))

    def expected(self, x, scale, bias):
        rows = x.reshape(-1, self.count())
        normal, mean, variance = normalise(rows, self.attrs.get("epsilon", 1e-5))
        y = (normal * scale + bias).reshape(x.shape)
        return {"Y": y, "Mean": mean, "Variance": variance}

    def setUp(self):
        x = rand(*self.shape, low=-2, high=3)
        given = {p: rand(self.count(), low=0.5, high=2) for p in self.params}
        self.inputs = {"X": x, **given}
        self.outputs = self.expected(x, given.get("Scale", 1.0), given.get("Bias", 0.0))

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(list(self.inputs), "Y")
        self.check_grad(["X"], "Y", no_grad_set=set(self.params))


class TestLayerNormOfSequences(TestLayerNorm):
    shape = (2, 3, 5)
    attrs = {"begin_norm_axis": 2, "epsilon": 1e-3}


class TestLayerNormOfImages(TestLayerNorm):
    shape = (3, 2, 2, 4)


class TestLayerNormOfAll(TestLayerNorm):
    shape = (3, 5)
    attrs = {"begin_norm_axis": 0}


class TestLayerNormPlain(TestLayerNorm):
    params = ()


class TestLayerNormScale(TestLayerNorm):
    params = ("Scale",)


class TestLayerNormShift(TestLayerNorm):
    params = ("Bias",)


class TestLayerNormWide(TestLayerNorm):
    shape = (3, 300)


class TestGroupNorm(TestLayerNorm):
    op_type = "group_norm"
    shape = (2, 6, 2, 3)
    attrs = {"groups": 3}

    def count(self):
        return self.shape[-1] if self.attrs.get("data_layout") == "NHWC" else self.shape[1]

    def expected(self, x, scale, bias):
        last = self.attrs.get("data_layout") == "NHWC"
        moved = np.moveaxis(x, -1, 1) if last else x
        groups = self.attrs.get("groups", 1)
        rows = moved.reshape(x.shape[0], groups, -1)
        normal, mean, variance = normalise(rows)
        wide = (-1, *[1] * (x.ndim - 2))
        y = normal.reshape(moved.shape)
        y = y * np.reshape(scale, wide) + np.reshape(bias, wide)
        y = np.moveaxis(y, 1, -1) if last else y
        return {"Y": y, "Mean": mean, "Variance": variance}


class TestGroupNormChannelsLast(TestGroupNorm):
    shape = (2, 3, 2, 6)
    attrs = {"groups": 2, "data_layout": "NHWC"}


class TestGroupNormVolume(TestGroupNorm):
    shape = (2, 4, 2, 2, 3)
    attrs = {"groups": 4}


class TestGroupNormMatrix(TestGroupNorm):
    shape = (3, 8)
    attrs = {"groups": 2}


class TestGroupNormPlain(TestGroupNorm):
    params = ()
    attrs = {"groups": 1}


class TestInstanceNorm(TestLayerNorm):
    op_type = "instance_norm"
    shape = (2, 3, 4, 5)

    def count(self):
        return self.shape[1]

    def expected(self, x, scale, bias):
        normal, mean, variance = normalise(x.reshape(*x.shape[:2], -1))
        wide = (-1, *[1] * (x.ndim - 2))
        y = normal.reshape(x.shape) * np.reshape(scale, wide) + np.reshape(bias, wide)
        inverse = 1 / np.sqrt(variance + EPSILON)
        return {"Y": y, "SavedMean": mean.ravel(), "SavedVariance": inverse.ravel()}


class TestInstanceNormSequence(TestInstanceNorm):
    shape = (2, 3, 7)


class TestInstanceNormPlain(TestInstanceNorm):
    params = ()
    shape = (2, 2, 2, 2, 2)


def run(op, arrays, **attrs):
    return _core.run_op(op, {k: _core.to_variable(v) for k, v in arrays.items()}, attrs)


@pytest.mark.parametrize("rows,n", [(700, 64), (3000, 20), (3, 20000)])
def test_large_float32(rows, n):
    """Far from zero, where a difference of squares would be noise; columns in several blocks."""
    rng = np.random.RandomState(1)
    x = (rng.randn(rows, n) + 1000).astype("float32")
    scale = rng.rand(n).astype("float32")
    slots = {k: _core.to_variable(v) for k, v in {"X": x, "Scale": scale, "Bias": scale}.items()}
    for v in slots.values():
        v.stop_gradient = False
    got = _core.run_op("layer_norm", slots, {})
    normal, _, variance = normalise(x.astype("float64"))
    np.testing.assert_allclose(got["Y"].numpy(), normal * scale + scale, atol=1e-4)
    np.testing.assert_allclose(got["Variance"].numpy(), variance, rtol=1e-4)
    g = rng.randn(rows, n).astype("float32")
    wanted = [slots["X"], slots["Scale"], slots["Bias"]]
    dx, ds, db = _core.grad([got["Y"]], wanted, [_core.to_variable(g)], False, False, True)
    h = g * scale.astype("float64")
    means = h.mean(1, keepdims=True), (h * normal).mean(1, keepdims=True)
    expected = (h - means[0] - normal * means[1]) / np.sqrt(variance[:, None] + EPSILON)
    np.testing.assert_allclose(dx.numpy(), expected, atol=1e-3)
    np.testing.assert_allclose(ds.numpy(), (g * normal).sum(0), atol=0.01)
    np.testing.assert_allclose(db.numpy(), g.astype("float64").sum(0), atol=0.01)


def test_a_nan_stays_in_its_row():
    x = np.ones((2, 3), "float32")
    x[0, 1] = np.nan
    y = run("layer_norm", {"X": x})["Y"].numpy()
    assert np.isnan(y[0]).all() and (y[1] == 0).all()


def test_wrong_shapes():
    x = np.ones((2, 4, 3, 3), "float32")
    with pytest.raises(ValueError, match=r"Scale must have shape \[36\]"):
        run("layer_norm", {"X": x, "Scale": np.ones(4, "float32")})
    with pytest.raises(ValueError, match="begin_norm_axis must be an axis of X, got 4"):
        run("layer_norm", {"X": x}, begin_norm_axis=4)
    with pytest.raises(ValueError, match="must have elements, got X of shape"):
        run("layer_norm", {"X": x[:, :0]})
    with pytest.raises(ValueError, match="groups must divide the 4 channels"):
        run("group_norm", {"X": x}, groups=3)
    with pytest.raises(ValueError, match=r"Bias must have shape \[4\]"):
        run("group_norm", {"X": x, "Bias": np.ones(3, "float32")})
    with pytest.raises(ValueError, match="X must have 2 to 5 axes"):
        run("instance_norm", {"X": x[0, 0, 0]})
    with pytest.raises(ValueError, match=r"Scale must have shape \[4\]"):
        run("instance_norm", {"X": x, "Scale": np.ones(3, "float32")})
    assert run("layer_norm", {"X": x[:0]})["Y"].shape == (0, 4, 3, 3)
