"""gaussian_random: numbers from a normal distribution."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest


class TestGaussianRandom(OpTest):
    dtype = "float32"

    def setUp(self):
        self.op_type = "gaussian_random"
        self.attrs = {"shape": [40, 1000], "mean": 1.0, "std": 2.0, "dtype": self.dtype}

    def test_moments(self):
        out = self.run_slots({}).arrays()["Out"]
        self.assertEqual((out.shape, out.dtype.name), ((40, 1000), self.dtype))
        z = (out.astype("float64") - 1) / 2
        # Standard deviations for 40,000 numbers: 0.005, 0.007, 0.0027 of the share within one
        # sigma.
        self.assertLess(abs(z.mean()), 0.025)
        self.assertLess(abs(z.var() - 1), 0.035)
        self.assertLess(abs((np.abs(z) < 1).mean() - 0.6827), 0.012)


class TestGaussianRandomDouble(TestGaussianRandom):
    dtype = "float64"


class TestGaussianRandomShapeTensors(OpTest):
    elementwise = False

    def setUp(self):
        self.op_type = "gaussian_random"
        self.inputs = {"ShapeTensorList": [("a", np.array([2])), ("b", np.array([0], "int32"))]}

    def test_shape(self):
        self.assertEqual(self.run_slots(self.inputs).arrays()["Out"].shape, (2, 0))


def test_own_seed_and_errors():
    draw = _core.ops.gaussian_random
    np.testing.assert_array_equal(draw(shape=[9], seed=4).numpy(), draw(shape=[9], seed=4).numpy())
    assert (draw(shape=[9], std=0.0, mean=3.0).numpy() == 3).all()
    with pytest.raises(ValueError, match="std must be at least 0"):
        draw(shape=[9], std=-1.0)
