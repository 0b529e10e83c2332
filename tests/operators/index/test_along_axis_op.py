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


class TestTakeAlongPart(TestTakeAlongAxis):
    """A smaller index takes from the leading rows alone."""

    shape, index = (4, 3), np.array([[0, 2, -1, 1], [1, 1, 0, -3]])

    def reference(self, inputs, attrs):
        return {"Result": np.take_along_axis(inputs["Input"][:2], inputs["Index"], 1)}


class TestTakeAlongPartOfThree(TestTakeAlongAxis):
    shape, axis, index = (3, 4, 3), 1, np.array([[[0, 2], [3, -1]], [[1, 1], [0, 1]]], "int32")

    def reference(self, inputs, attrs):
        return {"Result": np.take_along_axis(inputs["Input"][:2, :, :2], inputs["Index"], 1)}


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
        out, index = inputs["Input"].copy(), inputs["Index"]
        value = np.broadcast_to(inputs["Value"], index.shape)
        places = []
        for at in np.ndindex(index.shape):
            to = list(at)
            to[self.axis] = index[at] % out.shape[self.axis]
            places.append((at, tuple(to)))
        for _, to in places:
            out[to] = out[to] if self.keep or self.how == "assign" else self.how != "add"
        for at, to in places:
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


class TestPutAlongAxisPart(TestPutAlongAxis):
    index = np.array([[0, 3, 0], [1, -1, 2]])


class TestPutAlongAxisPartAddAnew(TestPutAlongAxisPart):
    how, keep = "add", False


class TestPutAlongAxisPartMul(TestPutAlongAxisPart):
    how = "mul"


class TestPutAlongAxisPartOfThree(TestPutAlongAxis):
    shape, axis, how = (3, 2, 4), 0, "add"
    index = np.array([[[0, 2, -1]], [[2, 2, 0]]], "int32").repeat(2, 1)


class TestPutAlongAxisMany(TestPutAlongAxis):
    """What several values and Input come to, worked out element by element."""

    how, keep = "mean", True

    def reference(self, inputs, attrs):
        out, given = inputs["Input"].copy(), {}
        index = np.broadcast_to(self.index, self.full) if hasattr(self, "full") else self.index
        value = np.broadcast_to(inputs["Value"], index.shape)
        for at in np.ndindex(index.shape):
            to = list(at)
            to[self.axis] = index[at] % self.shape[self.axis]
            given.setdefault(tuple(to), []).append(value[at])
        come = {"mean": np.mean, "amin": np.min, "amax": np.max, "add": np.sum}[self.how]
        for to, values in given.items():
            out[to] = come(values + [out[to]] * self.keep)
        return {"Result": out}


class TestPutAlongAxisMeanAnew(TestPutAlongAxisMany):
    keep = False


class TestPutAlongAxisLeast(TestPutAlongAxisMany):
    how = "amin"


class TestPutAlongAxisLeastAnew(TestPutAlongAxisMany):
    how, keep = "amin", False


class TestPutAlongAxisMost(TestPutAlongAxisMany):
    how = "amax"


class TestPutAlongAxisMostAnew(TestPutAlongAxisMany):
    how, keep = "amax", False


class TestPutAlongAxisBroadcast(TestPutAlongAxisMany):
    """An index of one column goes with all of them, one value with every row."""

    axis, index, full, how = 0, np.array([[0], [2], [0]]), (3, 4), "add"

    def setUp(self):
        super().setUp()
        self.inputs["Value"] = rand(1, 4)


class TestPutAlongAxisBroadcastMost(TestPutAlongAxisBroadcast):
    how = "amax"


class TestPutAlongAxisBroadcastMul(TestPutAlongAxis):
    how = "mul"

    def setUp(self):
        super().setUp()
        self.inputs["Value"] = rand(3, 1)


@pytest.mark.parametrize("how", ["amin", "amax"])
def test_equal_elements_share_the_gradient(how):
    x, v = double([4.0, 5.0]), double([5.0, 5.0, 7.0])
    i = _core.to_variable(np.array([1, 1, 0]))
    out = _core.ops.put_along_axis(x, i, v, Reduce=how)
    assert out.numpy().tolist() == ([4.0, 5.0] if how == "amin" else [7.0, 5.0])
    dx, dv = _core.grad([out], [x, v], [], False, False, False)
    first = [1.0, 0.0] if how == "amin" else [0.0, 1.0]  # of Input, of the value put there
    assert np.allclose(dx.numpy(), [first[0], 1 / 3])
    assert np.allclose(dv.numpy(), [1 / 3, 1 / 3, first[1]])


def test_bytes_are_put_and_integers_have_no_mean():
    x, i = _core.to_variable(np.array([250, 3], "uint8")), _core.to_variable(np.array([0, 0]))
    v = _core.to_variable(np.array([4, 5], "uint8"))
    put = {
        how: _core.ops.put_along_axis(x, i, v, Reduce=how).numpy().tolist()
        for how in ("assign", "add", "mul", "amin", "amax")
    }
    assert put == {"assign": [5, 3], "add": [3, 3], "mul": [250 * 20 % 256, 3],
                   "amin": [4, 3], "amax": [250, 3]}  # fmt: skip
    with pytest.raises(TypeError, match="mean of integers is no integer.*got uint8"):
        _core.ops.put_along_axis(x, i, v, Reduce="mean")


def test_a_nan_is_the_least_and_the_greatest():
    x, v = double([1.0, np.nan]), double([np.nan, 1.0, 2.0])
    i = _core.to_variable(np.array([0, 0, 1]))
    for how in ("amin", "amax"):
        assert np.isnan(_core.ops.put_along_axis(x, i, v, Reduce=how).numpy()).all()


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
    with pytest.raises(ValueError, match="Reduce must be 'mul', 'amin' or 'amax', got 'add'"):
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
        _core.ops.take_along_axis(i, x[:, :2].astype("int64"), Axis=0)
    with pytest.raises(ValueError, match="equally many rows"):
        _core.ops.index_sample(x, i[:2])
    with pytest.raises(ValueError, match="Reduce must be"):
        _core.ops.put_along_axis(x, i, i.astype("float64"), Axis=1, Reduce="median")
    with pytest.raises(ValueError, match="Value must have the shape that Index addresses"):
        _core.ops.put_along_axis(x, i, x, Axis=1)
