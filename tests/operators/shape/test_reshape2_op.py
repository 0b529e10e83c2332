"""reshape2: the same elements in another shape."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestReshape2(OpTest):
    shape, target, result = (2, 3, 4), [4, 6], (4, 6)
    elementwise = False

    def setUp(self):
        self.op_type = "reshape2"
        x = rand(*self.shape)
        self.inputs = {"X": x}
        self.attrs = {"shape": self.target}
        self.outputs = {"Out": x.reshape(self.result), "XShape": np.zeros((0, *self.shape))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestReshape2Inferred(TestReshape2):
    target, result = [0, -1], (2, 12)


class TestReshape2Scalar(TestReshape2):
    shape, target, result = (), [1, 1], (1, 1)


class TestReshape2ToScalar(TestReshape2):
    shape, target, result = (1,), [], ()
    leave_out = {"empty": "no elements do not make a scalar"}


class TestReshape2Image(TestReshape2):
    shape, target, result = (2, 3, 2, 2), [0, -1], (2, 12)


class TestReshape2ShapeTensor(TestReshape2):
    def setUp(self):
        super().setUp()
        self.attrs = {"shape": [1]}
        self.inputs["Shape"] = np.array([4, 6], "int32")


class TestReshape2ShapeTensors(TestReshape2):
    def setUp(self):
        super().setUp()
        del self.outputs["XShape"]
        self.inputs["ShapeTensor"] = [
            ("a", np.array([-1], "int32")),
            ("b", np.array([6], "int64")),
        ]


def test_shares_storage_until_written():
    x = _core.to_variable(np.arange(6.0))
    y = _core.ops.reshape2(x, shape=[2, 3])
    assert _core.storage_id(x) == _core.storage_id(y)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([5, 5], "as many elements"),
        ([5, -1], "one solution"),
        ([-1, -1], "at most one"),
        ([2, 3, 4, 0], "copies the size"),
        ([-2, 12], "must be -1, 0 or sizes"),
    ],
)
def test_wrong_shape(shape, message):
    with pytest.raises(ValueError, match=message):
        _core.ops.reshape2(_core.to_variable(np.zeros((2, 3, 4))), shape=shape)
