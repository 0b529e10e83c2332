import numpy as np

import dygraph
from op_test import OpTest, away_from, rand

SLOPE = 0.2


def clear_of_bends(array, slope=SLOPE, offset=0.5):
    """The array with entries near the two bends, at Out = 0 and Out = 1, pushed away from them."""
    return away_from((1 - offset) / slope, away_from(-offset / slope, array))


class TestHardSigmoid(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "hard_sigmoid"
        self.inputs = {"X": clear_of_bends(rand(6, 8, low=-5, high=5))}

    def reference(self, inputs, attrs):
        slope, offset = attrs.get("slope", SLOPE), attrs.get("offset", 0.5)
        return {"Out": np.clip(slope * inputs["X"] + offset, 0, 1)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestHardSigmoidAttrs(TestHardSigmoid):
    def setUp(self):
        self.op_type = "hard_sigmoid"
        self.attrs = {"slope": -0.5, "offset": 0.25}
        self.inputs = {"X": clear_of_bends(rand(6, 8, low=-4, high=4), **self.attrs)}


class TestHardSigmoidImage(TestHardSigmoid):
    def setUp(self):
        self.op_type = "hard_sigmoid"
        self.inputs = {"X": clear_of_bends(rand(2, 3, 4, 5, low=-5, high=5, dtype="float32"))}


def test_flat_at_the_bends_and_beyond():
    x = dygraph.to_variable(np.array([-np.inf, -2.0, -1.0, 2.0, np.inf, np.nan]))
    x.stop_gradient = False
    y = dygraph.ops.hard_sigmoid(x, slope=0.25)
    np.testing.assert_array_equal(y.numpy(), [0, 0, 0.25, 1, 1, np.nan])
    (gradient,) = dygraph.grad([y], [x])
    assert gradient.numpy().tolist() == [0, 0, 0.25, 0, 0, 0]
