"""spectral_norm: a matrix over its largest singular value."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestSpectralNorm(OpTest):
    shape = (4, 5)
    grad_inputs = ["Weight"]
    attrs = {"power_iters": 0}  # U and V are then constants, as the gradient takes them

    def setUp(self):
        self.op_type = "spectral_norm"
        w, dim = rand(*self.shape), self.attrs.get("dim", 0)
        u, v = rand(self.shape[dim]), rand(w.size // self.shape[dim])
        matrix = np.moveaxis(w, dim, 0).reshape(self.shape[dim], -1)
        self.inputs = {"Weight": w, "U": u, "V": v}
        eps = 1e-12
        for _ in range(self.attrs["power_iters"]):
            v = matrix.T @ u
            v /= np.linalg.norm(v) + eps
            u = matrix @ v
            u /= np.linalg.norm(u) + eps
        self.outputs = {"Out": w / (u @ matrix @ v)}

    def test_check_output(self):
        self.check_output()


class TestSpectralNormDim(TestSpectralNorm):
    shape = (3, 4, 2, 2)
    attrs = {"power_iters": 0, "dim": 1}


class TestSpectralNormSteps(TestSpectralNorm):
    attrs = {"power_iters": 3}
    leave_out = {
        "gradient": "it takes u and v as constants",
        "second_order": "it takes u and v as constants",
        "third_order": "it takes u and v as constants",
    }


def test_converged():
    """After many steps sigma is the largest singular value, and the gradient is its own."""
    w = np.random.RandomState(0).randn(3, 4)
    slots = {k: _core.to_variable(a) for k, a in {"Weight": w, "U": w[:, 0], "V": w[0]}.items()}
    slots["Weight"].stop_gradient = False
    out = _core.run_op("spectral_norm", slots, {"power_iters": 200})["Out"]
    u, s, vt = np.linalg.svd(w)
    np.testing.assert_allclose(out.numpy(), w / s[0], rtol=1e-9)
    g = np.random.RandomState(1).randn(3, 4)
    got = _core.grad([out], [slots["Weight"]], [_core.to_variable(g)], False, False, True)[0]
    expected = g / s[0] - (g * w).sum() / s[0] ** 2 * np.outer(u[:, 0], vt[0])
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-9)


def test_wrong_shapes():
    w = np.ones((3, 4), "float32")
    slots = {k: _core.to_variable(a) for k, a in {"Weight": w, "U": w[:, 0], "V": w[0]}.items()}
    with pytest.raises(ValueError, match="U must hold 4 numbers"):
        _core.run_op("spectral_norm", slots, {"dim": 1})
    with pytest.raises(ValueError, match="dim must be an axis of Weight"):
        _core.run_op("spectral_norm", slots, {"dim": 2})
