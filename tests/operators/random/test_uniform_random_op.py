"""uniform_random: numbers from [min, max)."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest


class TestUniformRandom(OpTest):
    def setUp(self):
        self.op_type = "uniform_random"
        self.attrs = {"shape": [3, 1000], "min": 2.0, "max": 5.0}

    def test_moments(self):
        out = self.run_slots({}).arrays()["Out"]
        self.assertEqual((out.shape, out.dtype), ((3, 1000), np.float32))
        self.assertTrue((out >= 2).all() and (out < 5).all())
        # Mean 3.5, variance 9/12; the mean of 3000 has a standard deviation of 0.016.
        self.assertLess(abs(out.mean() - 3.5), 0.08)
        self.assertLess(abs(out.var() - 0.75), 0.06)


class TestUniformRandomShapeTensor(OpTest):
    elementwise = False

    def setUp(self):
        self.op_type = "uniform_random"
        self.inputs = {"ShapeTensor": np.array([2, 3], "int32")}
        self.attrs = {"shape": [7]}

    def test_shape(self):
        self.assertEqual(self.run_slots(self.inputs).arrays()["Out"].shape, (2, 3))


def draw(**attrs):
    return _core.ops.uniform_random(**attrs).numpy()


def test_generator_and_own_seed():
    _core.seed(3)
    first, second = draw(shape=[50]), draw(shape=[50])
    assert (first != second).any()
    _core.seed(3)
    np.testing.assert_array_equal(draw(shape=[50]), first)
    np.testing.assert_array_equal(draw(shape=[50], seed=9), draw(shape=[50], seed=9))
    assert (draw(shape=[50], seed=9) != draw(shape=[50], seed=10)).any()


def test_upper_limit_is_never_reached():
    out = draw(shape=[100000], min=1.0, max=float(np.nextafter(np.float32(1), np.float32(2))))
    assert (out == 1).all()


def test_diagonal():
    out = draw(shape=[3, 3], diag_num=3, diag_step=3, diag_val=7.0)
    assert (np.diag(out) == 7).all() and (np.abs(out[~np.eye(3, dtype=bool)]) <= 1).all()
    with pytest.raises(IndexError, match="diagonal"):
        draw(shape=[3, 3], diag_num=4, diag_step=3)


def test_shapes_and_types():
    assert draw(shape=[]).shape == () and draw(shape=[0, 2]).shape == (0, 2)
    assert draw(shape=[2], dtype="float64").dtype == np.float64
    with pytest.raises(ValueError, match="at least 0"):
        draw(shape=[2, -1])
    with pytest.raises(ValueError, match="min must not be above max"):
        draw(shape=[2], min=2.0, max=1.0)
    with pytest.raises(NotImplementedError, match="kernel"):
        draw(shape=[2], dtype="int64")
