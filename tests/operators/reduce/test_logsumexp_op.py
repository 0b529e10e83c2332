"""logsumexp over axes."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestLogsumexp(OpTest):
    attrs = {}

    def setUp(self):
        self.op_type = "logsumexp"
        self.inputs = {"X": rand(3, 4, 2)}

    def reference(self, inputs, attrs):
        axes = tuple(attrs.get("axis", [0])) or None
        if attrs.get("reduce_all"):
            axes = None
        keep = attrs.get("keepdim", False)
        with np.errstate(divide="ignore"):
            return {"Out": np.log(np.exp(inputs["X"]).sum(axis=axes, keepdims=keep))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestLogsumexpAxes(TestLogsumexp):
    attrs = {"axis": [-1, 0], "keepdim": True}


class TestLogsumexpAll(TestLogsumexp):
    attrs = {"reduce_all": True}


def logsumexp(values, dtype="float64", **options):
    return _core.ops.logsumexp(_core.to_variable(np.array(values, dtype)), **options).numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_numbers_do_not_overflow(dtype):
    np.testing.assert_allclose(logsumexp([1e4, 1e4], dtype), 1e4 + np.log(2))
    np.testing.assert_allclose(logsumexp([-1e4, -1e4], dtype), -1e4 + np.log(2))


def test_infinities():
    assert logsumexp([-np.inf, 0.0]) == 0
    assert logsumexp([-np.inf, -np.inf]) == -np.inf
    assert logsumexp([np.inf, 0.0]) == np.inf
    assert logsumexp([np.inf, -np.inf]) == np.inf
    assert np.isnan(logsumexp([np.nan, 0.0]))


def test_the_gradient_of_minus_infinity_alone_is_zero():
    x = _core.to_variable(np.array([-np.inf, -np.inf]))
    x.stop_gradient = False
    _core.ops.logsumexp(x).backward()
    assert x.gradient().tolist() == [0, 0]
