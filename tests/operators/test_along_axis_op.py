"""take_along_axis, index_sample and put_along_axis: elements by their number along an axis."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestTakeAlongAxis(OpTest):
    shape, axis, index = (3, 4), 1, np.array([[0, 3, 0], [1, -1, 2], [3, 3, -4]])

    def setUp(self):
        self.op_type = "take_along_axis"
        self.inputs = {"Input": rand(*self.shape), "Index": self.index}
        self.attrs = {"Axis": self.axis}

    def reference(self, inputs, attrs):
        return {"Result": np.take_along_axis(inputs["Input"], inputs["Index"], self.axis)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Input"], "Result")


class TestTakeAlongFirstAxis(TestTakeAlongAxis):
    axis, index = 0, np.array([[0, 2, -1, 1]], "int32")


class TestTakeAlongRepeatedIndex(TestTakeAlongAxis):
    shape, axis, index = (2, 3, 2), -2, np.array([[[2], [0]]])


class TestTakeAlongNothing(TestTakeAlongAxis):
    index = np.zeros((3, 0), "int64")


class TestIndexSample(OpTest):
    def setUp(self):
        self.op_type = "index_sample"
        self.inputs = {"X": rand(3, 4), "Index": np.array([[0, 3], [2, 2], [-1, 1]])}

    def reference(self, inputs, attrs):
        return {"Out": np.take_along_axis(inputs["X"], inputs["Index"], 1)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


NO_MUL_TWICE = {"second_order": "products have no second derivative, which the recipe says"}


class TestPutAlongAxis(OpTest):
    shape, axis, index = (3, 4), 1, np.array([[0, 3, 0], [1, -1, 2], [3, 3, -4]])
    how, keep = "assign", True

    def setUp(self):
        self.op_type = "put_along_axis"
        self.inputs = {
            "Input": rand(*self.shape),
            "Index": self.index,
            "Value": rand(*self.index.shape),
        }
        self.attrs = {"Axis": self.axis, "Reduce": self.how, "Include_self": self.keep}

    def reference(self, inputs, attrs):
        out, index, value = inputs["Input"].copy(), inputs["Index"], inputs["Value"]
        if not self.keep:
            np.put_along_axis(out, index, 0 if self.how == "add" else 1, self.axis)
        for at in np.ndindex(index.shape):
            to = list(at)
            to[self.axis] = index[at]
            to = tuple(to)
            if self.how == "assign":
                out[to] = value[at]
            elif self.how == "add":
                out[to] += value[at]
            else:
                out[to] *= value[at]
        return {"Result": out}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Input", "Value"], "Result")


class TestPutAlongAxisAdd(TestPutAlongAxis):
    how = "add"


class TestPutAlongAxisAddAnew(TestPutAlongAxis):
    how, keep = "add", False


class TestPutAlongAxisMul(TestPutAlongAxis):
    how, leave_out = "mul", NO_MUL_TWICE


class TestPutAlongAxisMultiplyAnew(TestPutAlongAxis):
    how, keep, leave_out = "multiply", False, NO_MUL_TWICE


class TestPutAlongFirstAxis(TestPutAlongAxis):
    axis, index = 0, np.array([[0, 2, -1, 1]], "int32")


def test_gradient_of_a_product_with_zeros():
    x, v = _core.to_variable(np.array([2.0])), _core.to_variable(np.array([0.0, 3.0]))
    i = _core.to_variable(np.array([0, 0]))
    x.stop_gradient = v.stop_gradient = False
    out = _core.ops.put_along_axis(x, i, v, Reduce="mul")
    dx, dv = _core.grad([out], [x, v], [], False, False, False)
    assert dx.numpy().tolist() == [0.0] and dv.numpy().tolist() == [6.0, 0.0]
    out = _core.ops.put_along_axis(x, i, v, Reduce="mul")
    with pytest.raises(NotImplementedError, match="second derivative"):
        _core.grad([out], [x], [], True, True, False)


def test_errors():
    x, i = _core.to_variable(np.zeros((3, 4))), _core.to_variable(np.array([[0], [5], [0]]))
    with pytest.raises(IndexError, match=r"\[-4, 4\), the size of axis 1.*got 5 at \[1, 0\]"):
        _core.ops.take_along_axis(x, i, Axis=1)
    with pytest.raises(IndexError, match="got 5"):
        _core.ops.index_sample(x, i)
    with pytest.raises(IndexError, match="got 5"):
        _core.ops.put_along_axis(x, i, i.astype("float64"), Axis=1)
    with pytest.raises(ValueError, match="as many axes"):
        _core.ops.take_along_axis(x, i[0], Axis=1)
    with pytest.raises(ValueError, match="Index must have the sizes of Input"):
        _core.ops.take_along_axis(x, i[:2], Axis=1)
    with pytest.raises(ValueError, match="equally many rows"):
        _core.ops.index_sample(x, i[:2])
    with pytest.raises(ValueError, match="Reduce must be"):
        _core.ops.put_along_axis(x, i, i.astype("float64"), Axis=1, Reduce="mean")
    with pytest.raises(ValueError, match="Value must have the shape of Index"):
        _core.ops.put_along_axis(x, i, x, Axis=1)
