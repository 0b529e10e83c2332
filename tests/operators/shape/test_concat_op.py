"""concat: one after the other along an axis."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, entries, rand


class TestConcat(OpTest):
    shapes, axis = [(2, 3, 4), (2, 1, 4), (2, 5, 4)], 1
    elementwise = False

    def setUp(self):
        self.op_type = "concat"
        self.inputs = {"X": [(f"x{i}", rand(*s)) for i, s in enumerate(self.shapes)]}
        self.attrs = {"axis": self.axis}

    def reference(self, inputs, attrs):
        parts = list(entries({"X": inputs["X"]}).values())
        return {"Out": np.concatenate(parts, attrs["axis"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["x0"], "Out")


class TestConcatFirst(TestConcat):
    shapes, axis = [(2, 3), (1, 3), (0, 3)], 0
    leave_out = {"lod_passes": "rows are not the first input's alone"}


class TestConcatLast(TestConcat):
    shapes, axis = [(3, 2, 40), (3, 2, 1)], -1


class TestConcatOne(TestConcat):
    shapes, axis = [(3, 2)], 1


class TestConcatImage(TestConcat):
    shapes, axis = [(2, 3, 2, 4), (2, 1, 2, 4)], 1


class TestConcatAxisTensor(TestConcat):
    def setUp(self):
        super().setUp()
        self.inputs["AxisTensor"] = np.array([1], "int32")
        self.attrs = {"axis": 0}

    def reference(self, inputs, attrs):
        return super().reference(inputs, {"axis": 1})


def test_lod_of_the_first_passes_beside_rows():
    x = _core.to_variable(np.zeros((3, 2)), lod=[[0, 1, 3]])
    assert _core.lod(_core.ops.concat([x, x], axis=1)) == [[0, 1, 3]]
    assert _core.lod(_core.ops.concat([x], axis=0)) == [[0, 1, 3]]


def ragged(rows, lod=None):
    return _core.to_variable(np.zeros((rows, 2)), lod=lod)


def test_sequences_follow_each_other_along_rows():
    """As Fluid's concat has it since 1.7."""
    x, y = ragged(3, [[0, 1, 3]]), ragged(4, [[0, 0, 4]])
    assert _core.lod(_core.ops.concat([x, y, x], axis=0)) == [[0, 1, 3, 3, 7, 8, 10]]
    assert _core.lod(_core.ops.concat([x, y], axis=-2)) == [[0, 1, 3, 3, 7]]
    two = ragged(3, [[0, 2], [0, 1, 3]]), ragged(2, [[0, 1, 2], [0, 1, 2]])
    assert _core.lod(_core.ops.concat(list(two), axis=0)) == [[0, 2, 3, 4], [0, 1, 3, 4, 5]]
    assert _core.lod(_core.ops.concat([x, ragged(0, [[0]])], axis=0)) == [[0, 1, 3]]


def test_rows_without_sequences_leave_none():
    x = ragged(3, [[0, 1, 3]])
    assert _core.lod(_core.ops.concat([x, ragged(2)], axis=0)) == []
    assert _core.lod(_core.ops.concat([ragged(2), x], axis=0)) == []


def test_levels_of_different_number_are_refused():
    x, y = ragged(3, [[0, 2], [0, 1, 3]]), ragged(2, [[0, 1, 2]])
    with pytest.raises(ValueError, match=r"as many levels of LoD where axis is 0, got 2 .* and 1"):
        _core.ops.concat([x, y], axis=0)
    assert _core.lod(_core.ops.concat([x, ragged(3, [[0, 1, 3]])], axis=1)) == [[0, 2], [0, 1, 3]]
    with pytest.raises(ValueError, match="must divide their 3 rows into the same sequences"):
        _core.ops.concat([x, ragged(3, [[0, 3]])], axis=1)


def test_second_order_through_one_of_two():
    """The other input's second gradient is absent and counts as zeros."""
    a, b = (_core.to_variable(np.array(v)) for v in ([2.0, 3.0], [5.0]))
    a.stop_gradient = b.stop_gradient = False
    out = _core.ops.concat([a, b], axis=0)
    square = _core.ops.elementwise_mul(out, out)
    (ga,) = _core.grad([square], [a], [], True, True, False)
    gaa, gab = _core.grad([ga], [a, b], [], False, False, True)
    np.testing.assert_array_equal(gaa.numpy(), [2.0, 2.0])
    assert gab is None or not gab.numpy().any()


def test_errors():
    x, y = _core.to_variable(np.zeros((2, 3))), _core.to_variable(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="one shape but for axis 0"):
        _core.ops.concat([x, y], axis=0)
    with pytest.raises(TypeError, match="one element type"):
        _core.ops.concat([x, _core.to_variable(np.zeros((2, 3), "float32"))])
    with pytest.raises(IndexError, match="axis"):
        _core.ops.concat([x, x], axis=2)
    with pytest.raises(ValueError, match="at least one axis"):
        _core.ops.concat([_core.to_variable(np.array(1.0))])
