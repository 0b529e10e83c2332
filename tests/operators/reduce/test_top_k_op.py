"""top_k: the greatest of each row, and where they stood."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest


class TestTopK(OpTest):
    shape, k = (3, 2, 20), 3
    fixed_dtypes = {"Indices": "int64"}

    def setUp(self):
        self.op_type = "top_k"
        n = int(np.prod(self.shape))
        self.inputs = {"X": np.random.permutation(n).reshape(self.shape) * 0.5}
        self.attrs = {"k": self.k}

    def reference(self, inputs, attrs):
        order = np.argsort(-inputs["X"], -1, kind="stable")[..., : self.k]
        return {"Out": np.take_along_axis(inputs["X"], order, -1), "Indices": order}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestTopKMany(TestTopK):
    k = 15


class TestTopKAll(TestTopK):
    shape, k = (4, 9), 9


class TestTopKVector(TestTopK):
    shape, k = (6,), 1
    leave_out = {"empty": "there is nothing to choose"}


class TestTopKTensor(TestTopK):
    def setUp(self):
        super().setUp()
        self.inputs["K"] = np.array([self.k], "int32")
        self.attrs = {"k": 1}


@pytest.mark.parametrize("repeat", [1, 4])
def test_nan_first_and_the_first_of_equals(repeat):
    x = np.repeat([1.0, 3.0, 3.0, np.nan, 2.0, 3.0], repeat)
    _, indices = _core.ops.top_k(_core.to_variable(x), k=5 * repeat)
    expected = np.concatenate([np.arange(i * repeat, (i + 1) * repeat) for i in (3, 1, 2, 5, 4)])
    np.testing.assert_array_equal(indices.numpy(), expected)


@pytest.mark.parametrize("k", [0, 4, -1])
def test_wrong_k(k):
    with pytest.raises(ValueError, match="k must be at least 1 and at most the last size"):
        _core.ops.top_k(_core.to_variable(np.zeros((2, 3))), k=k)
