"""clip: values between two bounds."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, away_from, rand


class TestClip(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "clip"
        self.inputs = {"X": away_from(0.5, away_from(-0.25, rand(3, 4)))}
        self.attrs = {"min": -0.25, "max": 0.5}

    def reference(self, inputs, attrs):
        low, high = attrs.get("min", -np.inf), attrs.get("max", np.inf)
        return {"Out": np.clip(inputs["X"], low, high)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestClipImage(TestClip):
    def setUp(self):
        self.op_type = "clip"
        self.inputs = {"X": away_from(0.5, rand(2, 3, 2, 2, dtype="float32"))}
        self.attrs = {"max": 0.5}


def clip(values, dtype="float64", **options):
    options = {
        k: _core.to_variable(v) if isinstance(v, np.ndarray) else v for k, v in options.items()
    }
    return _core.ops.clip(_core.to_variable(np.array(values, dtype)), **options).numpy()


def test_bounds_may_be_tensors():
    x = [-3.0, 0.2, 4.0]
    got = clip(x, min=np.array([-1.0]), max=np.array(2, "int64"))
    assert got.tolist() == [-1, 0.2, 2]


def test_integers_stay_within_whole_bounds():
    low, high = np.iinfo("int64").min, np.iinfo("int64").max
    assert clip([low, -3, 3, high], "int64", min=-2.5, max=2.5).tolist() == [-2, -2, 2, 2]
    assert clip([low, high], "int64").tolist() == [low, high]
    assert clip([-5, 5], "int32", max=1.0).tolist() == [-5, 1]


def test_bounds_have_the_digits_of_a_float_attribute():
    assert clip([0, 1, 2, 3, 4], "int64", min=2.0000000001, max=3.0).tolist() == [2, 2, 2, 3, 3]
    assert clip([0, 1, 2, 3], "int64", min=0.0, max=1.9999999999).tolist() == [0, 1, 2, 2]
    near = np.float32(0.1)
    assert clip([0.0, 1.0], "float32", min=float(near), max=0.1).tolist() == [near, near]


def test_bounds_the_wrong_way_round_are_refused():
    with pytest.raises(ValueError, match="clip: min must not be above max, got 2 and 1"):
        clip([0.0], min=2.0, max=1.0)
    with pytest.raises(ValueError, match=r"Min must have one element, got shape \[2\]"):
        clip([0.0], min=np.array([1.0, 2.0]))
