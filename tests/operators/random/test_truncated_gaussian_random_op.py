"""truncated_gaussian_random: a normal distribution cut off at two standard deviations."""

import numpy as np

from dygraph import _core
from op_test import OpTest


class TestTruncatedGaussianRandom(OpTest):
    def setUp(self):
        self.op_type = "truncated_gaussian_random"
        self.attrs = {"shape": [40, 1000], "mean": 1.0, "std": 2.0}

    def test_moments(self):
        z = (self.run_slots({}).arrays()["Out"].astype("float64") - 1) / 2
        self.assertLessEqual(np.abs(z).max(), 2 + 1e-6)
        # Var = 1 - 2 * 2 * phi(2) / (2 * Phi(2) - 1) = 0.7737.
        self.assertLess(abs(z.mean()), 0.025)
        self.assertLess(abs(z.var() - 0.7737), 0.025)


def test_same_numbers_for_any_thread_count():
    def draw():
        return _core.ops.truncated_gaussian_random(shape=[100000], seed=5, dtype="float64").numpy()

    threads = _core.num_threads()
    try:
        _core.set_num_threads(1)
        one = draw()
        _core.set_num_threads(2)
        two = draw()
    finally:
        _core.set_num_threads(threads)
    np.testing.assert_array_equal(one, two)
