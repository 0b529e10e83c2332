"""lookup_table_v2: rows of a table."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestLookupTableV2(OpTest):
    ids, padding, sparse = np.array([[1, 2], [2, 6], [0, 2]]), -1, False

    def setUp(self):
        self.op_type = "lookup_table_v2"
        self.inputs = {"W": rand(7, 3), "Ids": self.ids}
        self.attrs = {"padding_idx": self.padding, "is_sparse": self.sparse}

    def reference(self, inputs, attrs):
        out = inputs["W"][inputs["Ids"]]
        if self.padding != -1:
            out[inputs["Ids"] == self.padding] = 0
        return {"Out": out}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["W"], "Out")


class TestLookupTableV2Int32(TestLookupTableV2):
    ids = np.array([3, 3, 3, 0], "int32")


class TestLookupTableV2Padding(TestLookupTableV2):
    padding = 2


class TestLookupTableV2OneId(TestLookupTableV2):
    ids = np.array(4)


class TestLookupTableV2NoIds(TestLookupTableV2):
    ids = np.zeros((0, 2), "int64")


NOT_TWICE = {"second_order": "a gradient of selected rows is not differentiated again"}


class TestLookupTableV2Sparse(TestLookupTableV2):
    sparse, leave_out = True, NOT_TWICE


class TestLookupTableV2SparsePadding(TestLookupTableV2):
    sparse, padding, leave_out = True, 2, NOT_TWICE


def test_sparse_gradient_is_the_rows_as_they_came():
    w = _core.to_variable(np.zeros((7, 2)))
    w.stop_gradient = False
    ids = _core.to_variable(np.array([5, 1, 5, 2]))
    out = _core.ops.lookup_table_v2(w, ids, is_sparse=True, padding_idx=1)
    seed = np.arange(8.0).reshape(4, 2)
    (g,) = _core.grad([out], [w], [_core.to_variable(seed)], False, False, False)
    assert _core.is_selected_rows(g) and list(_core.rows(g)) == [5, 5, 2]
    dense = np.zeros((7, 2))
    dense[5], dense[2] = seed[0] + seed[2], seed[3]
    np.testing.assert_array_equal(_core.to_dense(g).numpy(), dense)


def test_large_dense_gradient_adds_repeated_rows():
    generator = np.random.RandomState(0)
    ids, seed = (
        generator.randint(0, 50, 3000),
        generator.randint(-9, 9, (3000, 33)).astype("float64"),
    )
    w = _core.to_variable(np.zeros((50, 33)))
    w.stop_gradient = False
    out = _core.ops.lookup_table_v2(w, _core.to_variable(ids))
    (g,) = _core.grad([out], [w], [_core.to_variable(seed)], False, False, False)
    expected = np.zeros((50, 33))
    np.add.at(expected, ids, seed)
    np.testing.assert_array_equal(g.numpy(), expected)


@pytest.mark.parametrize("bad", [7, -1, 2**40])
def test_id_outside_the_table(bad):
    w, ids = _core.to_variable(np.zeros((7, 2))), _core.to_variable(np.array([0, bad]))
    with pytest.raises(IndexError, match=rf"\[0, 7\), the height of the table W, got {bad} at"):
        _core.ops.lookup_table_v2(w, ids)


def test_wrong_inputs():
    w, ids = _core.to_variable(np.zeros((7, 2))), _core.to_variable(np.array([0]))
    with pytest.raises(TypeError, match="Ids must be of int32 or int64, got float64"):
        _core.ops.lookup_table_v2(w, w)
    with pytest.raises(ValueError, match="W must be a matrix"):
        _core.ops.lookup_table_v2(_core.to_variable(np.zeros(7)), ids)
