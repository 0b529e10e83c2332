"""rrelu: slopes drawn below 0; the gradient is Out@GRAD times the slope."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, away_from, rand


class TestRrelu(OpTest):
    """The slopes are the operator's own: outputs are checked against them."""

    attrs = {"lower": 0.2, "upper": 0.7}

    def setUp(self):
        self.op_type = "rrelu"
        self.inputs = {"X": away_from(0, rand(4, 5))}
        slopes = self.run_slots(self.inputs).arrays()["Noise"]
        self.outputs = {"Out": self.inputs["X"] * slopes, "Noise": slopes}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestRreluOneSlope(TestRrelu):
    attrs = {"lower": 0.5, "upper": 0.5}

    def test_slopes(self):
        expected = np.where(self.inputs["X"] < 0, 0.5, 1)
        np.testing.assert_array_equal(self.outputs["Noise"], expected)


class TestRreluTesting(OpTest):
    attrs = {"is_test": True, "lower": 0.1, "upper": 0.5}

    def setUp(self):
        self.op_type = "rrelu"
        self.inputs = {"X": away_from(0, rand(2, 3, 2, 2))}

    def reference(self, inputs, attrs):
        slopes = np.where(inputs["X"] < 0, (attrs["lower"] + attrs["upper"]) / 2, 1)
        return {"Out": inputs["X"] * slopes, "Noise": slopes}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_slopes_are_drawn_evenly(dtype):
    x = _core.to_variable(np.full(100_000, -1, dtype))
    slopes = -_core.ops.rrelu(x, lower=0.25, upper=0.75).numpy()
    assert slopes.min() >= 0.25 and slopes.max() < 0.75
    counts, _ = np.histogram(slopes, 10, (0.25, 0.75))
    # ten standard deviations of a binomial distribution are 949
    np.testing.assert_allclose(counts, 10_000, atol=949)


def test_what_is_not_below_zero_stays():
    x = np.array([0.0, -0.0, 3.5, np.inf, np.nan])
    np.testing.assert_array_equal(_core.ops.rrelu(_core.to_variable(x)).numpy(), x)
    assert _core.ops.rrelu(_core.to_variable(np.zeros((0, 3)))).numpy().shape == (0, 3)


@pytest.mark.parametrize(
    "attrs, message",
    [
        ({"lower": 0.6, "upper": 0.5}, "lower must be at most upper, got 0.6 and 0.5"),
        ({"lower": -0.1}, "lower must lie in"),
        ({"upper": 1.5}, "upper must lie in"),
    ],
)
def test_bad_attributes(attrs, message):
    with pytest.raises(ValueError, match=message):
        _core.ops.rrelu(_core.to_variable(np.zeros(1)), **attrs)
