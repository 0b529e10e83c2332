"""similarity_focus: the greatest elements, one for each row and column."""

import numpy as np
import pytest

import dygraph
from op_test import OpTest


class TestSimilarityFocus(OpTest):
    axis, elementwise = 1, False

    def setUp(self):
        self.op_type = "similarity_focus"
        values = np.random.permutation(2 * 3 * 4 * 5).astype("float32")  # all differ
        self.inputs = {"X": values.reshape(2, 3, 4, 5)}
        self.attrs = {"axis": self.axis, "indexes": [0, 2]}

    def reference(self, inputs, attrs):
        x = np.moveaxis(inputs["X"], attrs["axis"], 1)
        out = np.zeros_like(x)
        for b in range(x.shape[0]):
            for index in attrs["indexes"]:
                left = x[b, index].astype("float64")
                for _ in range(min(left.shape)):
                    r, c = np.unravel_index(np.argmax(left), left.shape)
                    out[b, :, r, c] = 1
                    left[r, :] = left[:, c] = -np.inf
        return {"Out": np.moveaxis(out, 1, attrs["axis"])}

    def test_check_output(self):
        self.check_output()


class TestSimilarityFocus2(TestSimilarityFocus):
    axis = 2


class TestSimilarityFocus3(TestSimilarityFocus):
    axis = 3


def test_equal_and_missing_numbers():
    x = np.array([[[[np.nan, 1.0], [1.0, -np.inf]]]])
    got = dygraph.ops.similarity_focus(dygraph.to_variable(x), axis=1, indexes=[0])
    assert got.numpy()[0, 0].tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_wrong_arguments():
    x = dygraph.ones([1, 2, 2, 2])
    for attrs, error, text in [
        ({"axis": 0, "indexes": [0]}, ValueError, r"axis must lie in \[1, 3\]"),
        ({"axis": 1}, ValueError, "got none"),
        ({"axis": 1, "indexes": [2]}, IndexError, "indexes must lie below the size 2 of axis 1"),
    ]:
        with pytest.raises(error, match=text):
            dygraph.ops.similarity_focus(x, **attrs)
    with pytest.raises(ValueError, match="X must have 4 axes"):
        dygraph.ops.similarity_focus(dygraph.ones([2, 2]), axis=1, indexes=[0])
