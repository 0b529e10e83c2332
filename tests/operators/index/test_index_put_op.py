"""index_put: x[i, j] = v through index arrays."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestIndexPut(OpTest):
    shape, indices, value, accumulate = (4, 3, 2), ([[0], [3]], [1, -1]), (2, 2, 2), False

    def setUp(self):
        self.op_type = "index_put"
        indices = [(f"i{k}", np.array(i, "int64")) for k, i in enumerate(self.indices)]
        self.inputs = {"x": rand(*self.shape), "indices": indices, "value": rand(*self.value)}
        self.attrs = {"accumulate": self.accumulate}

    def reference(self, inputs, attrs):
        out, index = inputs["x"].copy(), tuple(i for _, i in inputs["indices"])
        if self.accumulate:
            np.add.at(out, index, inputs["value"])
        else:
            out[index] = inputs["value"]
        return {"out": out}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["x", "value"], "out")


class TestIndexPutRepeated(TestIndexPut):
    indices, value = ([1, 0, 1], [2, 2, -1]), (3, 2)


class TestIndexPutBroadcast(TestIndexPut):
    indices, value = ([1, 0, 1],), (1, 2)


class TestIndexPutScalar(TestIndexPut):
    indices, value = ([2, 2], [0, 1], [1, 1]), ()


class TestIndexPutOne(TestIndexPut):
    indices, value = (2, 1), (2,)


class TestIndexPutAdd(TestIndexPut):
    indices, value, accumulate = ([1, 0, 1],), (3, 1, 2), True


class TestIndexPutNothing(TestIndexPut):
    indices, value = (np.zeros(0), 1), (1, 1)


def test_errors():
    x, v = _core.to_variable(np.zeros((4, 3))), _core.to_variable(np.zeros(1))
    i = _core.to_variable(np.array([0, 3]))
    with pytest.raises(IndexError, match="index 3 is out of range for axis 1 of size 3"):
        _core.ops.index_put(x, [i, i], v)
    with pytest.raises(ValueError, match=r"value must broadcast to the shape \[2, 3\]"):
        _core.ops.index_put(x, [i], _core.to_variable(np.zeros(2)))
    with pytest.raises(TypeError, match="value must be of the type of x"):
        _core.ops.index_put(x, [i], v.astype("float32"))
    with pytest.raises(TypeError, match="indices must be of int32 or int64"):
        _core.ops.index_put(x, [x], v)
    with pytest.raises(ValueError, match="at most 2, got 3"):
        _core.ops.index_put(x, [i, i, i], v)
    with pytest.raises(NotImplementedError, match="accumulate"):
        _core.ops.index_put(x.astype("bool"), [i], v.astype("bool"), accumulate=True)
