import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest, rand


class TestCvm(OpTest):
    op_type = "cvm"
    grad_inputs = ["X"]
    leave_out = {"gradient": "X@GRAD has the counts of CVM in its first two columns"}

    def setUp(self):
        self.inputs = {"X": np.abs(rand(4, 5)), "CVM": rand(4, 2)}

    def reference(self, inputs, attrs):
        x = inputs["X"]
        if not attrs.get("use_cvm", True):
            return {"Y": x[:, 2:]}
        first = np.log(x[:, :1] + 1)
        return {"Y": np.concatenate([first, np.log(x[:, 1:2] + 1) - first, x[:, 2:]], 1)}

    def test_check_output(self):
        self.check_output()


class TestCvmDropsCounts(TestCvm):
    attrs = {"use_cvm": False}


@pytest.mark.parametrize("use_cvm", [True, False])
@pytest.mark.parametrize("lod", [None, [[0, 2, 3]]])
def test_gradient(use_cvm, lod):
    x = dygraph.to_variable(np.arange(12.0).reshape(3, 4), lod=lod)
    x.stop_gradient = False
    counts = np.array([[1.0, 0.5], [2.0, 0.25], [3.0, 0.125]])[: 2 if lod else 3]
    y = ops.cvm(x, dygraph.to_variable(counts), use_cvm=use_cvm)
    arrived = np.arange(y.shape[0] * y.shape[1], dtype="float64").reshape(y.shape) * 10
    (grad,) = dygraph.grad([y], [x], [dygraph.to_variable(arrived)])
    rows = [0, 0, 1] if lod else [0, 1, 2]
    np.testing.assert_array_equal(grad.numpy()[:, :2], counts[rows])
    np.testing.assert_array_equal(grad.numpy()[:, 2:], arrived[:, -2:])


def test_counts_must_fit():
    x = dygraph.to_variable(np.ones((3, 4)), lod=[[0, 2, 3]])
    x.stop_gradient = False
    y = ops.cvm(x, dygraph.ones([3, 2], "float64"))
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="each of the 2 sequences"):
        y.sum().backward()
    with pytest.raises(dygraph.errors.InvalidArgumentError, match=r"shape \[N, 2\]"):
        ops.cvm(x, dygraph.ones([3, 3], "float64"))
