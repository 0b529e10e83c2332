"""momentum: a velocity gathers the gradients."""

import numpy as np
import pytest

import optimizer_case as case
from op_test import OpTest, rand


class TestMomentum(OpTest):
    shape, nesterov = (6, 3), False
    elementwise = False

    def setUp(self):
        self.op_type = "momentum"
        self.inputs = {name: rand(*self.shape) for name in ("Param", "Grad", "Velocity")}
        self.inputs["LearningRate"] = np.array([0.5])
        self.attrs = {"mu": 0.75, "use_nesterov": self.nesterov}

    def reference(self, inputs, attrs):
        p, g, v = (inputs[n] for n in ("Param", "Grad", "Velocity"))
        v = 0.75 * v + g
        step = g + 0.75 * v if self.nesterov else v
        return {"ParamOut": p - inputs["LearningRate"].item() * step, "VelocityOut": v}

    def test_check_output(self):
        self.check_output()


class TestMomentumNesterov(TestMomentum):
    nesterov = True


class TestMomentumDecay(TestMomentum):
    """Paddle's regularization_method and rescale_grad: the gradient is 2 Grad + 0.25 Param."""

    more = {"regularization_method": "l2_decay", "regularization_coeff": 0.25, "rescale_grad": 2.0}

    def setUp(self):
        super().setUp()
        self.attrs = {**self.attrs, **self.more}

    def reference(self, inputs, attrs):
        g = 2 * inputs["Grad"] + 0.25 * inputs["Param"]
        return super().reference({**inputs, "Grad": g}, attrs)


class TestMomentumDecayNesterov(TestMomentumDecay):
    nesterov = True


class TestMomentumScalar(TestMomentum):
    shape = ()


class TestMomentumLarge(TestMomentum):
    shape = (300, 401)


def arrays():
    given = {name: rand(6, 3) for name in ("Param", "Grad", "Velocity")}
    return {**given, "LearningRate": np.array([0.5], "float32")}


@pytest.mark.parametrize("nesterov", [False, True])
def test_sparse(nesterov):
    case.check_sparse_like_dense("momentum", arrays(), {"mu": 0.75, "use_nesterov": nesterov})


def test_sparse_with_decay():
    case.check_sparse_like_dense("momentum", arrays(), {"mu": 0.75, **TestMomentumDecay.more})


def test_refusals():
    case.check_refusals("momentum", arrays(), {"mu": 0.75})
