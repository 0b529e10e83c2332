"""sgd: Param - LearningRate * Grad."""

import numpy as np

import optimizer_case as case
from dygraph import _core
from op_test import OpTest, rand


class TestSgd(OpTest):
    shape, rate = (6, 3), np.array([0.5])
    elementwise = False

    def setUp(self):
        self.op_type = "sgd"
        self.inputs = {"Param": rand(*self.shape), "LearningRate": self.rate}
        self.inputs["Grad"] = rand(*self.shape)

    def reference(self, inputs, attrs):
        return {"ParamOut": inputs["Param"] - inputs["LearningRate"].item() * inputs["Grad"]}

    def test_check_output(self):
        self.check_output()


class TestSgdScalar(TestSgd):
    shape, rate = (), np.array(0.25)


class TestSgdLarge(TestSgd):
    shape = (300, 401)


def test_sparse():
    case.check_sparse_like_dense(
        "sgd", {"Param": rand(6, 3), "LearningRate": np.array([0.5], "float32")}, {}
    )


def test_sparse_without_rows():
    grad = _core.make_selected_rows([], 6, _core.to_variable(np.zeros((0, 3))))
    p = rand(6, 3)
    out = case.run("sgd", {"Param": p, "LearningRate": np.array([0.5])}, {}, Grad=grad)
    np.testing.assert_array_equal(out["ParamOut"], p)


def test_large_sparse_adds_repeated_rows():
    generator = np.random.RandomState(1)
    rows = generator.randint(0, 50, 3000)
    values = generator.randint(-9, 9, (3000, 33)).astype("float64")
    grad = _core.make_selected_rows(rows.tolist(), 50, _core.to_variable(values))
    arrays = {"Param": np.zeros((50, 33)), "LearningRate": np.array([1.0])}
    out = case.run("sgd", arrays, {}, Grad=grad)
    expected = np.zeros((50, 33))
    np.subtract.at(expected, rows, values)
    np.testing.assert_array_equal(out["ParamOut"], expected)


def test_refusals():
    arrays = {"Param": rand(6, 3), "LearningRate": np.array([0.5]), "Grad": rand(6, 3)}
    case.check_refusals("sgd", arrays, {})
