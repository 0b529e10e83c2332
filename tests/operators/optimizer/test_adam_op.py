"""adam: two moments, corrected for their start at 0."""

import numpy as np

import optimizer_case as case
from op_test import OpTest, rand

ATTRS = {"beta1": 0.75, "beta2": 0.875, "epsilon": 2.0**-20}


def some_arrays(shape, powers=(0.75**3, 0.875**3)):
    arrays = {name: rand(*shape) for name in ("Param", "Grad", "Moment1")}
    arrays["Moment2"] = rand(*shape, low=0.0)
    arrays["LearningRate"] = np.array([0.5])
    return {**arrays, "Beta1Pow": np.array([powers[0]]), "Beta2Pow": np.array([powers[1]])}


class TestAdam(OpTest):
    shape, beta1, beta2 = (6, 3), 0.75, 0.875
    elementwise = False

    def setUp(self):
        self.op_type = "adam"
        self.inputs = some_arrays(self.shape)
        self.attrs = ATTRS

    def reference(self, inputs, attrs):
        p, g, m, v = (inputs[n] for n in ("Param", "Grad", "Moment1", "Moment2"))
        b1, b2 = self.beta1, self.beta2
        p1, p2 = inputs["Beta1Pow"], inputs["Beta2Pow"]
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        rate = inputs["LearningRate"].item() * np.sqrt(1 - p2.item()) / (1 - p1.item())
        return {
            "ParamOut": p - rate * m / (np.sqrt(v) + attrs["epsilon"]),
            "Moment1Out": m,
            "Moment2Out": v,
            "Beta1PowOut": p1 * b1,
            "Beta2PowOut": p2 * b2,
        }

    def test_check_output(self):
        self.check_output()


class TestAdamScalar(TestAdam):
    shape = ()


class TestAdamLarge(TestAdam):
    shape = (300, 401)


class TestAdamBetaTensors(TestAdam):
    beta1, beta2 = 0.5, 0.25

    def setUp(self):
        super().setUp()
        self.inputs["Beta1Tensor"] = np.array([0.5])
        self.inputs["Beta2Tensor"] = np.array([0.25])


class TestAdamEpsilonTensor(TestAdam):
    def setUp(self):
        super().setUp()
        self.inputs["EpsilonTensor"] = np.array([0.25])

    def reference(self, inputs, attrs):
        return super().reference(inputs, {**attrs, "epsilon": 0.25})


def test_sparse():
    case.check_sparse_like_dense("adam", some_arrays((6, 3)), ATTRS)


def test_lazy_touches_the_rows_of_the_gradient_alone():
    arrays = some_arrays((6, 3))
    attrs = {**ATTRS, "lazy_mode": True}
    out = case.check_sparse_like_dense("adam", arrays, attrs, rows=sorted(set(case.ROWS)))
    rest = sorted(set(range(6)) - set(case.ROWS))
    for name in ("Param", "Moment1", "Moment2"):
        np.testing.assert_array_equal(out[name + "Out"][rest], arrays[name][rest])


def test_refusals():
    case.check_refusals("adam", some_arrays((6, 3)), ATTRS)
