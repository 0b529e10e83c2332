"""hierarchical_sigmoid: turns in a binary tree, followed one by one."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def path_of(label, classes):
    """(node, turn) from the leaf up, in heap numbering."""
    leaf = label + classes
    return [((leaf >> k) - 1, leaf >> (k - 1) & 1) for k in range(1, leaf.bit_length())]


class TestHierarchicalSigmoid(OpTest):
    classes, bias, sparse, elementwise = 6, True, False, False
    grad_outputs = ["Out"]

    def setUp(self):
        self.op_type = "hierarchical_sigmoid"
        self.inputs = {
            "X": rand(4, 3),
            "W": rand(self.classes - 1, 3),
            "Label": np.random.randint(0, self.classes, (4, 1)),
        }
        if self.bias:
            self.inputs["Bias"] = rand(self.classes - 1, 1)
        self.attrs = {"num_classes": self.classes, "is_sparse": self.sparse}
        longest = (self.classes - 1).bit_length()
        paths = [path_of(int(y), self.classes) for y in self.inputs["Label"][:, 0]]
        self.outputs = {"Out": self.loss(paths, longest)}

    def loss(self, paths, longest):
        out = []
        for x, path in zip(self.inputs["X"], paths, strict=True):
            cost = (longest - len(path)) * np.log(2)
            for node, turn in path:
                z = x @ self.inputs["W"][node]
                z += self.inputs["Bias"][node, 0] if self.bias else 0
                cost += np.log(1 + np.exp(z)) - turn * z
            out.append([cost])
        return np.array(out)

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "W"] + ["Bias"] * self.bias, "Out")


class TestHierarchicalSigmoidPlain(TestHierarchicalSigmoid):
    bias, classes = False, 8


class TestHierarchicalSigmoidSparse(TestHierarchicalSigmoid):
    sparse = True
    leave_out = {"second_order": "a gradient of selected rows is not differentiated again"}


class TestHierarchicalSigmoidPaths(TestHierarchicalSigmoid):
    def setUp(self):
        super().setUp()
        table = np.array([[0, 2, -1], [0, 1, 4], [1, -1, -1], [3, 0, -1]])
        code = np.array([[0, 1, -1], [1, 1, 0], [0, -1, -1], [1, 0, -1]])
        self.inputs.update({"PathTable": table, "PathCode": code})
        paths = [
            [(n, c) for n, c in zip(*pair, strict=True) if n >= 0]
            for pair in zip(table, code, strict=True)
        ]
        self.outputs = {"Out": self.loss(paths, 3)}


def test_probabilities_of_a_full_tree_sum_to_one():
    v = _core.to_variable
    x, w = v(np.repeat(rand(1, 3), 8, axis=0)), v(rand(7, 3))
    cost = _core.ops.hierarchical_sigmoid(x, w, v(np.arange(8)[:, None]), num_classes=8)
    np.testing.assert_allclose(np.exp(-cost.numpy()).sum(), 1, rtol=1e-12)


def test_sparse_gradient_holds_the_rows_of_the_paths():
    v = _core.to_variable
    w = v(rand(7, 3))
    w.stop_gradient = False
    label = v(np.array([[0]]))
    cost = _core.ops.hierarchical_sigmoid(v(rand(1, 3)), w, label, num_classes=8, is_sparse=True)
    (g,) = _core.grad([cost], [w], [], False, False, False)
    assert _core.is_selected_rows(g) and list(_core.rows(g)) == [3, 1, 0]


def test_wrong_inputs():
    v = _core.to_variable
    x, w = v(np.zeros((1, 3))), v(np.zeros((5, 3)))
    with pytest.raises(IndexError, match=r"class in \[0, 6\), got 6 at position 0"):
        _core.ops.hierarchical_sigmoid(x, w, v(np.array([[6]])), num_classes=6)
    with pytest.raises(TypeError, match="Label must be of int32 or int64"):
        _core.ops.hierarchical_sigmoid(x, w, v(np.array([[0.0]])), num_classes=6)
    with pytest.raises(ValueError, match="num_classes - 1 = 9"):
        _core.ops.hierarchical_sigmoid(x, w, v(np.array([[0]])), num_classes=10)
    table, code = v(np.array([[5]])), v(np.array([[0]]))
    with pytest.raises(IndexError, match=r"rows of W in \[0, 5\), got 5"):
        _core.ops.hierarchical_sigmoid(
            x, w, v(np.array([[0]])), path_table=table, path_code=code, num_classes=6
        )
