"""gather and index_select: slices along one axis, by number."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestGather(OpTest):
    shape, index, axis = (5, 3), np.array([1, 4, 1, -5]), 0

    def setUp(self):
        self.op_type = "gather"
        self.inputs = {"X": rand(*self.shape), "Index": self.index}
        self.attrs = {"axis": self.axis}

    def reference(self, inputs, attrs):
        index = inputs["Index"]
        return {"Out": np.take(inputs["X"], index.ravel() if index.ndim else index, self.axis)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestGatherAxis(TestGather):
    shape, index, axis = (2, 4, 3), np.array([3, 0, 3], "int32"), 1


class TestGatherLastAxis(TestGather):
    shape, index, axis = (2, 4), np.array([-1, 2]), -1


class TestGatherAxisTensor(TestGather):
    """A tensor gives the axis; the attribute, another one, is not read."""

    shape, index = (2, 4, 3), np.array([3, 0, 3])

    def setUp(self):
        super().setUp()
        self.inputs["Axis"] = np.array([1])

    def reference(self, inputs, attrs):
        return {"Out": np.take(inputs["X"], inputs["Index"], 1)}


class TestGatherColumn(TestGather):
    index = np.array([[2], [2], [0]])


class TestGatherOne(TestGather):
    index = np.array(3)


class TestGatherNothing(TestGather):
    index = np.zeros(0, "int64")


class TestGatherVector(TestGather):
    shape, index = (6,), np.array([5, 5, 0], "int32")


class TestIndexSelect(TestGather):
    shape, index, axis = (3, 4, 2), np.array([1, 1, -4]), 1

    def setUp(self):
        super().setUp()
        self.op_type = "index_select"
        self.attrs = {"dim": self.axis}


class TestIndexSelectRows(TestIndexSelect):
    shape, index, axis = (4, 2), np.array([3, 0], "int32"), 0


@pytest.mark.parametrize("bad", [5, -6, 2**40])
@pytest.mark.parametrize("op", ["gather", "index_select"])
def test_index_out_of_range(op, bad):
    x, index = _core.to_variable(np.zeros((5, 2))), _core.to_variable(np.array([0, bad]))
    with pytest.raises(IndexError, match=rf"{op}: Index must lie in \[-5, 5\).*got {bad} at posi"):
        getattr(_core.ops, op)(x, index)


def test_wrong_inputs():
    x, index = _core.to_variable(np.zeros((5, 2))), _core.to_variable(np.array([0]))
    with pytest.raises(ValueError, match="at least one axis"):
        _core.ops.gather(_core.to_variable(np.array(1.0)), index)
    with pytest.raises(ValueError, match=r"Index must have shape \[n\]"):
        _core.ops.gather(x, _core.to_variable(np.zeros((2, 2), "int64")))
    with pytest.raises(IndexError, match="axis"):
        _core.ops.gather(x, index, axis=2)
    with pytest.raises(IndexError):
        _core.ops.gather(_core.to_variable(np.zeros((0, 2))), index)


@pytest.mark.parametrize("shape", [(50, 33), (7, 50, 9), (40000,)])
def test_large_gradients_add_repeats_in_order(shape):
    axis = len(shape) // 2
    generator = np.random.RandomState(0)
    index = generator.randint(0, shape[axis], 3000)
    x = _core.to_variable(np.zeros(shape, "float32"))
    x.stop_gradient = False
    out = _core.ops.gather(x, _core.to_variable(index), axis=axis)
    seed = generator.standard_normal(out.shape).astype("float32")
    results = []
    for threads in (1, 2):
        before = _core.num_threads()
        _core.set_num_threads(threads)
        try:
            (g,) = _core.grad([out], [x], [_core.to_variable(seed)], True, False, False)
        finally:
            _core.set_num_threads(before)
        results.append(g.numpy())
    expected = np.zeros(shape, "float32")
    np.add.at(np.moveaxis(expected, axis, 0), index, np.moveaxis(seed, axis, 0))
    assert results[0].tobytes() == results[1].tobytes() == expected.tobytes()
