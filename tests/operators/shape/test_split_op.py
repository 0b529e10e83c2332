"""split: consecutive parts along an axis."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestSplit(OpTest):
    shape, attrs, cuts, axis = (3, 6, 2), {"num": 3, "axis": -2}, [2, 4], 1
    elementwise = False
    leave_out = {"empty": "parts of fixed sizes do not fit an empty axis"}

    def setUp(self):
        self.op_type = "split"
        x = rand(*self.shape)
        self.inputs = {"X": x}
        parts = np.split(x, self.cuts, self.axis)
        self.outputs = {"Out": [(f"out{i}", p) for i, p in enumerate(parts)]}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], [n for n, _ in self.outputs["Out"]])

    def test_check_grad_of_one(self):
        """Unused outputs count as zeros."""
        self.check_grad(["X"], self.outputs["Out"][-1][0])


class TestSplitSections(TestSplit):
    attrs, cuts = {"sections": [1, -1, 2], "axis": 1}, [1, 4]


class TestSplitRows(TestSplit):
    attrs, cuts, axis = {"sections": [1, 0, 2]}, [1, 1], 0


class TestSplitOne(TestSplit):
    attrs, cuts = {"num": 1, "axis": 1}, []


class TestSplitImage(TestSplit):
    shape, attrs, cuts = (2, 4, 3, 2), {"num": 2, "axis": 1}, [2]


class TestSplitTensors(TestSplit):
    attrs, cuts = {"sections": [1, 1], "axis": 0}, [4]

    def setUp(self):
        super().setUp()
        self.inputs["AxisTensor"] = np.array([1])
        self.inputs["SectionsTensorList"] = [
            ("a", np.array([4], "int32")),
            ("b", np.array([-1], "int32")),
        ]


def test_second_order_with_unused_parts():
    x = _core.to_variable(np.array([2.0, 3.0, 5.0]))
    x.stop_gradient = False
    middle = _core.ops.split(x, num=3)[1]
    cube = _core.ops.elementwise_mul(_core.ops.elementwise_mul(middle, middle), middle)
    (g,) = _core.grad([cube], [x], [], True, True, False)
    (gg,) = _core.grad([g], [x], [], False, False, False)
    np.testing.assert_allclose(g.numpy(), [0.0, 27.0, 0.0])
    np.testing.assert_allclose(gg.numpy(), [0.0, 18.0, 0.0])


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"num": 4}, "equal parts"),
        ({"sections": [1, 1]}, "must add up"),
        ({"sections": [-1, -1]}, "at most one"),
        ({"sections": [4]}, "within axis"),
        ({}, "must be from 1 to 100000"),
    ],
)
def test_errors(attrs, message):
    with pytest.raises(ValueError, match=message):
        _core.ops.split(_core.to_variable(np.zeros((3, 2))), **attrs)
