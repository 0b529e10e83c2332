"""sum: a list of tensors added from left to right."""

import numpy as np

from dygraph import _core
from op_test import OpTest, entries, rand


class TestSum(OpTest):
    elementwise = True
    terms = 3
    shape = (3, 4)

    def setUp(self):
        self.op_type = "sum"
        self.inputs = {"X": [(f"x{i}", rand(*self.shape)) for i in range(self.terms)]}

    def reference(self, inputs, attrs):
        total = 0
        for array in entries({"X": inputs["X"]}).values():
            total = total + array
        return {"Out": total}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["x0"], "Out")


class TestSumOfOne(TestSum):
    terms = 1


class TestSumOfImages(TestSum):
    terms = 2
    shape = (2, 3, 2, 2)


class TestSumOfRows(OpTest):
    """Rows and rows give rows; with a tensor among them, a tensor."""

    def setUp(self):
        self.op_type = "sum"
        self.inputs = {"X": [("x0", rand(4, 2)), ("x1", rand(4, 2))]}

    def reference(self, inputs, attrs):
        x0, x1 = entries({"X": inputs["X"]}).values()
        return {"Out": x0 + x1}

    def rows(self, rows, value):
        return _core.make_selected_rows(rows, 4, _core.to_variable(value))

    def test_rows(self):
        a, b = rand(2, 2), rand(2, 2)
        out = _core.run_op("sum", {"X": [self.rows([3, 1], a), self.rows([1, 0], b)]})["Out"]
        self.assertTrue(_core.is_selected_rows(out))
        dense = np.zeros((4, 2))
        dense[[3, 1]] += a
        dense[[1, 0]] += b
        np.testing.assert_array_equal(_core.to_dense(out).numpy(), dense)

    def test_rows_and_tensor(self):
        a, b = rand(2, 2), rand(4, 2)
        out = _core.run_op("sum", {"X": [_core.to_variable(b), self.rows([3, 3], a)]})["Out"]
        self.assertFalse(_core.is_selected_rows(out))
        dense = b.copy()
        np.add.at(dense, [3, 3], a)
        np.testing.assert_allclose(out.numpy(), dense, rtol=1e-15)
