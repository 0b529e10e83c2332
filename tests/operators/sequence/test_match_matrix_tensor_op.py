import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest, rand

X_LOD, Y_LOD = [[0, 2, 2, 5]], [[0, 3, 5, 6]]
PAIRS = [(slice(0, 2), slice(0, 3)), (slice(2, 2), slice(3, 5)), (slice(2, 5), slice(5, 6))]
OUT_LOD = [[0, 12, 12, 18]]


class TestMatchMatrixTensor(OpTest):
    op_type = "match_matrix_tensor"
    attrs = {"dim_t": 2}
    grad_outputs = ["Out"]

    def setUp(self):
        x, y, w = rand(5, 3), rand(6, 4), rand(3, 2, 4)
        self.inputs = {"X": (x, X_LOD), "Y": (y, Y_LOD), "W": w}
        parts = [np.einsum("id,dte,je->tij", x[a], w, y[b]).ravel() for a, b in PAIRS]
        self.outputs = {
            "Out": (np.concatenate(parts)[:, None], OUT_LOD),
            "Tmp": np.einsum("id,dte->ite", x, w).reshape(-1, 1),
        }

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y", "W"], "Out")


class TestSequenceMatch(OpTest):
    op_type = "sequence_match"
    grad_inputs = ["X", "Y"]

    def setUp(self):
        x, y = rand(5, 2, 4), rand(6, 4)
        self.inputs = {"X": x, "Y": y, "XRows": (rand(5, 1), X_LOD), "YRows": (rand(6, 1), Y_LOD)}
        parts = [np.einsum("ite,je->tij", x[a], y[b]).ravel() for a, b in PAIRS]
        self.outputs = {"Out": (np.concatenate(parts)[:, None], OUT_LOD)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")


def test_what_does_not_fit_is_refused():
    x = dygraph.to_variable(np.ones((3, 2)), lod=[[0, 1, 3]])
    y = dygraph.to_variable(np.ones((3, 2)), lod=[[0, 3]])
    w = dygraph.to_variable(np.ones((2, 1, 2)))
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="equally many sequences"):
        ops.match_matrix_tensor(x, y, w)
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="W must have shape"):
        ops.match_matrix_tensor(x, x, w, dim_t=2)
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="level of detail"):
        ops.match_matrix_tensor(dygraph.ones([3, 2], "float64"), x, w)
