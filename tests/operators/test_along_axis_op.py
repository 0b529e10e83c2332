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
    how = "mul"


class TestPutAlongAxisMultiplyAnew(TestPutAlongAxis):
    how, keep = "multiply", False


class TestPutAlongFirstAxis(TestPutAlongAxis):
    axis, index = 0, np.array([[0, 2, -1, 1]], "int32")


def test_gradient_of_a_product_with_zeros():
    x, v = _core.to_variable(np.array([2.0])), _core.to_variable(np.array([0.0, 3.0]))
    i = _core.to_variable(np.array([0, 0]))
    x.stop_gradient = v.stop_gradient = False
    out = _core.ops.put_along_axis(x, i, v, Reduce="mul")
    dx, dv = _core.grad([out], [x, v], [], False, False, False)
    assert dx.numpy().tolist() == [0.0] and dv.numpy().tolist() == [6.0, 0.0]


class TestPutAlongAxisMulZeros(TestPutAlongAxis):
    """Elements with one zero factor, with two, with a zero of their own, and untouched ones."""

    how, index = "mul", np.array([[0, 0, 0, 1], [2, 2, 2, 2], [3, 3, 1, 1]])

    def setUp(self):
        super().setUp()
        for at in [(0, 1), (1, 0), (1, 3), (2, 2)]:
            self.inputs["Value"][at] = 0
        for at in [(0, 1), (0, 0), (2, 3), (2, 0)]:
            self.inputs["Input"][at] = 0


class TestPutAlongAxisMulZerosAnew(TestPutAlongAxisMulZeros):
    keep = False


def double(values):
    v = _core.to_variable(np.array(values))
    v.stop_gradient = False
    return v


def test_second_gradients_of_a_product():
    """y = x a b, so y_xa = b, y_xb = a, y_ab = x, and the third derivative is 1."""
    x, v, i = double([5.0]), double([0.0, 3.0]), _core.to_variable(np.array([0, 0]))
    out = _core.ops.put_along_axis(x, i, v, Reduce="mul")
    dx, dv = _core.grad([out], [x, v], [], True, True, False)
    assert dx.numpy().tolist() == [0.0] and dv.numpy().tolist() == [15.0, 0.0]
    weights = _core.to_variable(np.array([10.0, 1.0]))
    xx, xv = _core.grad([dx], [x, v], [], True, True, True)
    assert xx.numpy().tolist() == [0.0] and xv.numpy().tolist() == [3.0, 0.0]
    vx, vv = _core.grad([dv], [x, v], [weights], True, True, False)
    assert vx.numpy().tolist() == [30.0] and vv.numpy().tolist() == [5.0, 50.0]
    (third,) = _core.grad([vv], [x], [], True, True, False)
    assert third.numpy().tolist() == [11.0]
    with pytest.raises(NotImplementedError, match="the fourth derivative .* is not made"):
        _core.grad([third], [x], [], False, False, False)


def test_second_gradient_by_hand_wants_a_product():
    x, i = _core.to_variable(np.zeros((3, 4))), _core.to_variable(np.zeros((3, 2), "int64"))
    v = _core.to_variable(np.zeros((3, 2)))
    slots = {"Input": x, "Index": i, "Value": v, "Result@GRAD": x, "Value@GRAD@GRAD": v}
    with pytest.raises(ValueError, match="Reduce must be 'mul', got 'add'"):
        _core.run_op("put_along_axis_grad_grad", slots, {"Axis": 1, "Reduce": "add"})
    with pytest.raises(ValueError, match=r"Value@GRAD@GRAD.* must have the shape"):
        wrong = {**slots, "Value@GRAD@GRAD": x}
        _core.run_op("put_along_axis_grad_grad", wrong, {"Axis": 1, "Reduce": "mul"})


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
