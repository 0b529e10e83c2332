"""lookup_table: as lookup_table_v2, with Ids that end in an axis of 1."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestLookupTable(OpTest):
    ids, padding, sparse = np.array([[[1], [2]], [[2], [6]]]), -1, False

    def setUp(self):
        self.op_type = "lookup_table"
        self.inputs = {"W": rand(7, 3), "Ids": self.ids}
        self.attrs = {"padding_idx": self.padding, "is_sparse": self.sparse}

    def reference(self, inputs, attrs):
        ids = inputs["Ids"][..., 0]
        out = inputs["W"][ids]
        if self.padding != -1:
            out[ids == self.padding] = 0
        return {"Out": out}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["W"], "Out")


class TestLookupTablePadding(TestLookupTable):
    ids, padding = np.array([[2], [0], [2]], "int32"), 2


class TestLookupTableSparse(TestLookupTable):
    sparse = True
    leave_out = {"second_order": "a gradient of selected rows is not differentiated again"}


def test_sparse_gradient():
    w = _core.to_variable(np.zeros((7, 2)))
    w.stop_gradient = False
    out = _core.ops.lookup_table(w, _core.to_variable(np.array([[5], [1], [5]])), is_sparse=True)
    (g,) = _core.grad([out], [w], [], False, False, False)
    assert _core.is_selected_rows(g) and list(_core.rows(g)) == [5, 1, 5]


def test_errors():
    w = _core.to_variable(np.zeros((7, 2)))
    with pytest.raises(ValueError, match="last size of Ids must be 1"):
        _core.ops.lookup_table(w, _core.to_variable(np.array([1, 2])))
    for bad in (7, -1):
        with pytest.raises(IndexError, match=rf"height of the table W, got {bad} at"):
            _core.ops.lookup_table(w, _core.to_variable(np.array([[0], [bad]])))
