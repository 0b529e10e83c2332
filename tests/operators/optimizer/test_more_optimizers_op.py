"""The optimizer operators beside sgd, momentum and adam, each over several steps."""

import numpy as np
import pytest

import optimizer_case as case
from dygraph import _core
from op_test import OpTest, rand

RATE = {"LearningRate": np.array([0.25])}


def power(name, value):
    return {name: np.array([value])}


class Step(OpTest):
    """One call against `reference`; the subclasses' names are their operators'."""

    __test__ = False
    elementwise = False
    shape = (6, 3)
    states, positive, more = (), (), {}

    def setUp(self):
        self.inputs = {n: rand(*self.shape) for n in ("Param", "Grad", *self.states)}
        self.inputs.update({n: rand(*self.shape, low=0.1) for n in self.positive})
        self.inputs.update(self.more)

    def test_check_output(self):
        self.check_output()


class TestAdagrad(Step):
    __test__ = True
    op_type, attrs, positive, more = "adagrad", {"epsilon": 0.125}, ("Moment",), RATE

    def reference(self, inputs, attrs):
        p, g, m, rate = (inputs[n] for n in ("Param", "Grad", "Moment", "LearningRate"))
        m = m + g * g
        return {"ParamOut": p - rate.item() * g / (np.sqrt(m) + 0.125), "MomentOut": m}


class TestAdagradLarge(TestAdagrad):
    shape = (300, 401)


class TestDecayedAdagrad(Step):
    __test__ = True
    op_type, positive, more = "decayed_adagrad", ("Moment",), RATE
    attrs = {"decay": 0.75, "epsilon": 0.125}

    def reference(self, inputs, attrs):
        p, g, m, rate = (inputs[n] for n in ("Param", "Grad", "Moment", "LearningRate"))
        m = 0.75 * m + 0.25 * g * g
        return {"ParamOut": p - rate.item() * g / (np.sqrt(m) + 0.125), "MomentOut": m}


class TestAdadelta(Step):
    __test__ = True
    op_type, positive = "adadelta", ("AvgSquaredGrad", "AvgSquaredUpdate")
    attrs = {"rho": 0.75, "epsilon": 0.125}

    def reference(self, inputs, attrs):
        p, g, s, u = (inputs[n] for n in ("Param", "Grad", *self.positive))
        s = 0.75 * s + 0.25 * g * g
        update = -np.sqrt((u + 0.125) / (s + 0.125)) * g
        u = 0.75 * u + 0.25 * update * update
        return {"ParamOut": p + update, "AvgSquaredGradOut": s, "AvgSquaredUpdateOut": u}


class TestAdadeltaRate(TestAdadelta):
    """Paddle 2 multiplies the update, but not what is kept of it, by a learning rate."""

    more = RATE

    def reference(self, inputs, attrs):
        out = super().reference(inputs, attrs)
        update = out["ParamOut"] - inputs["Param"]
        return {**out, "ParamOut": inputs["Param"] + inputs["LearningRate"].item() * update}


class TestAdamax(Step):
    __test__ = True
    op_type, states, positive = "adamax", ("Moment",), ("InfNorm",)
    more = {**RATE, **power("Beta1Pow", 0.75**2)}
    attrs = {"beta1": 0.75, "beta2": 0.875, "epsilon": 2.0**-10}

    def reference(self, inputs, attrs):
        p, g, m, n = (inputs[k] for k in ("Param", "Grad", "Moment", "InfNorm"))
        m = 0.75 * m + 0.25 * g
        n = np.maximum(np.abs(g), 0.875 * n + 2.0**-10)
        rate = inputs["LearningRate"].item() / (1 - inputs["Beta1Pow"].item())
        return {
            "ParamOut": p - rate * m / n,
            "MomentOut": m,
            "InfNormOut": n,
            "Beta1PowOut": inputs["Beta1Pow"] * 0.75,
        }


class TestRmsprop(Step):
    __test__ = True
    op_type, states, positive, more = "rmsprop", ("Moment",), ("MeanSquare",), RATE
    attrs = {"epsilon": 0.125, "decay": 0.75, "momentum": 0.5}

    def reference(self, inputs, attrs):
        p, g, m, s = (inputs[n] for n in ("Param", "Grad", "Moment", "MeanSquare"))
        s = 0.75 * s + 0.25 * g * g
        m = 0.5 * m + inputs["LearningRate"].item() * g / np.sqrt(s + 0.125)
        left = inputs.get("MeanGrad", np.zeros(0))
        return {"ParamOut": p - m, "MomentOut": m, "MeanSquareOut": s, "MeanGradOut": left}


class TestRmspropWithAnUnusedMean(TestRmsprop):
    states = ("Moment", "MeanGrad")


class TestRmspropCentered(TestRmsprop):
    states = ("Moment", "MeanGrad")
    attrs = {"epsilon": 2.0, "decay": 0.75, "momentum": 0.5, "centered": True}

    def reference(self, inputs, attrs):
        p, g, m, s = (inputs[n] for n in ("Param", "Grad", "Moment", "MeanSquare"))
        s = 0.75 * s + 0.25 * g * g
        c = 0.75 * inputs["MeanGrad"] + 0.25 * g
        m = 0.5 * m + inputs["LearningRate"].item() * g / np.sqrt(s - c * c + 2.0)
        return {"ParamOut": p - m, "MomentOut": m, "MeanSquareOut": s, "MeanGradOut": c}


class TestFtrl(Step):
    __test__ = True
    op_type, states, positive = "ftrl", ("LinearAccumulator",), ("SquaredAccumulator",)
    more, attrs = RATE, {"l1": 0.5, "l2": 0.25}
    tolerance = {"float64": (1e-8, 1e-8)}  # the operator adds 1e-10 to l1 and l2

    def reference(self, inputs, attrs):
        names = ("Param", "Grad", "SquaredAccumulator", "LinearAccumulator")
        p, g, s, z = (inputs[n] for n in names)
        rate, k = inputs["LearningRate"].item(), -attrs.get("lr_power", -0.5)
        n = s + g * g
        z = z + g - (n**k - s**k) / rate * p
        shrunk = (0.5 * np.sign(z) - z) / (n**k / rate + 2 * 0.25)
        out = np.where(np.abs(z) > 0.5, shrunk, 0.0)
        return {"ParamOut": out, "SquaredAccumOut": n, "LinearAccumOut": z}


class TestFtrlPower(TestFtrl):
    attrs = {"l1": 0.5, "l2": 0.25, "lr_power": -0.75}


MOMENTS = {"states": ("Moment1",), "positive": ("Moment2",)}
BETAS = {"beta1": 0.75, "beta2": 0.875, "epsilon": 2.0**-10}


class WithMoments(Step):
    states, positive = ("Moment1",), ("Moment2",)
    more = {**RATE, **power("Beta1Pow", 0.75**3), **power("Beta2Pow", 0.875**3)}
    shape = (6, 3)

    def moments(self, inputs):
        g = inputs["Grad"]
        return 0.75 * inputs["Moment1"] + 0.25 * g, 0.875 * inputs["Moment2"] + 0.125 * g * g


class TestLamb(WithMoments):
    __test__ = True
    op_type, attrs = "lamb", {**BETAS, "weight_decay": 0.5}

    def reference(self, inputs, attrs):
        m, v = self.moments(inputs)
        p, p1, p2 = (inputs[n] for n in ("Param", "Beta1Pow", "Beta2Pow"))
        r = m / (1 - p1.item()) / (np.sqrt(v / (1 - p2.item())) + 2.0**-10) + 0.5 * p
        size, length = np.linalg.norm(p), np.linalg.norm(r)
        trust = size / length if size > 0 and length > 0 else 1.0
        return {
            "ParamOut": p - inputs["LearningRate"].item() * trust * r,
            "Moment1Out": m,
            "Moment2Out": v,
            "Beta1PowOut": p1 * 0.75,
            "Beta2PowOut": p2 * 0.875,
        }


class TestLambWithoutDecay(TestLamb):
    """Paddle 2 leaves the quotient of norms out where nothing decays, unless always_adapt."""

    attrs, trusted = {**BETAS, "always_adapt": False}, False

    def reference(self, inputs, attrs):
        m, v = self.moments(inputs)
        p, p1, p2 = (inputs[n] for n in ("Param", "Beta1Pow", "Beta2Pow"))
        r = m / (1 - p1.item()) / (np.sqrt(v / (1 - p2.item())) + 2.0**-10)
        size, length = np.linalg.norm(p), np.linalg.norm(r)
        trust = size / length if self.trusted and size > 0 and length > 0 else 1.0
        step = inputs["LearningRate"].item() * trust * r
        return {**super().reference(inputs, attrs), "ParamOut": p - step}


class TestLambAlways(TestLambWithoutDecay):
    attrs, trusted = BETAS, True


class TestLambLarge(TestLamb):
    shape = (100, 401)


class TestAdamw(WithMoments):
    __test__ = True
    op_type, decayed = "adamw", 0.5
    attrs = {**BETAS, "coeff": 0.5, "lr_ratio": 0.5, "with_decay": True}

    def reference(self, inputs, attrs):
        m, v = self.moments(inputs)
        p, p1, p2 = (inputs[n] for n in ("Param", "Beta1Pow", "Beta2Pow"))
        rate = inputs["LearningRate"].item() * 0.5
        root = np.sqrt(v / (1 - p2.item())) + 2.0**-10
        return {
            "ParamOut": p * (1 - rate * self.decayed) - rate / (1 - p1.item()) * m / root,
            "Moment1Out": m,
            "Moment2Out": v,
            "Beta1PowOut": p1 * 0.75,
            "Beta2PowOut": p2 * 0.875,
        }


class TestAdamwTensors(TestAdamw):
    """What the tensors hold stands in place of the attributes, which are others here."""

    attrs = {**TestAdamw.attrs, "beta1": 0.5, "beta2": 0.5, "epsilon": 1.0}
    more = {
        **WithMoments.more, **power("Beta1Tensor", 0.75), **power("Beta2Tensor", 0.875),
        **power("EpsilonTensor", 2.0**-10),
    }  # fmt: skip


class TestAdamwWithoutDecay(TestAdamw):
    decayed, attrs = 0.0, {**BETAS, "coeff": 0.5, "lr_ratio": 0.5}


class TestNadam(WithMoments):
    __test__ = True
    op_type, attrs = "nadam", {**BETAS, "momentum_decay": 0.25}
    more = {
        **RATE,
        **power("MomentumDecayPow", 0.96**2),
        **power("Beta2Pow", 0.875**2),
        **power("MuProduct", 0.25),
    }

    def reference(self, inputs, attrs):
        m, v = self.moments(inputs)
        numbers = (inputs[n].item() for n in ("MomentumDecayPow", "Beta2Pow", "MuProduct"))
        decay, p2, product = numbers
        decay, p2 = decay * 0.96, p2 * 0.875
        mu, after = (0.75 * (1 - 0.5 * d**0.25) for d in (decay, decay * 0.96))
        product *= mu
        ahead = after * m / (1 - product * after) + (1 - mu) * inputs["Grad"] / (1 - product)
        step = inputs["LearningRate"].item() * ahead / (np.sqrt(v / (1 - p2)) + 2.0**-10)
        return {
            "ParamOut": inputs["Param"] - step,
            "MomentumDecayPowOut": np.array([decay]),
            "Beta2PowOut": np.array([p2]),
            "MuProductOut": np.array([product]),
            "Moment1Out": m,
            "Moment2Out": v,
        }


class TestRadam(WithMoments):
    """beta2 is 63/64: the early steps of a run are plain, the later ones scaled."""

    __test__ = True
    t, beta2 = 3, 63 / 64
    op_type, attrs = "radam", {**BETAS, "beta2": 63 / 64}

    def setUp(self):
        rho = self.t * self.beta2**self.t / (1 - self.beta2**self.t)
        self.more = {
            **RATE,
            **power("Beta1Pow", 0.75**self.t),
            **power("Beta2Pow", self.beta2**self.t),
            **power("Rho", rho),
        }
        super().setUp()

    def reference(self, inputs, attrs):
        g, t, b2 = inputs["Grad"], self.t + 1, self.beta2
        m, v = 0.75 * inputs["Moment1"] + 0.25 * g, b2 * inputs["Moment2"] + (1 - b2) * g * g
        most = 2 / (1 - b2) - 1
        kept = t * b2**t / (1 - b2**t)
        rho = most - 2 * kept
        step = inputs["LearningRate"].item() * m / (1 - 0.75**t)
        if rho > 5:
            up = (rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)
            step = step * np.sqrt(up * (1 - b2**t)) / (np.sqrt(v) + 2.0**-10)
        return {
            "ParamOut": inputs["Param"] - step,
            "Beta1PowOut": np.array([0.75**t]),
            "Beta2PowOut": np.array([b2**t]),
            "RhoOut": np.array([kept]),
            "Moment1Out": m,
            "Moment2Out": v,
        }


class TestRadamScaled(TestRadam):
    t = 20


class TestLarsMomentum(Step):
    __test__ = True
    op_type, states, more = "lars_momentum", ("Velocity",), RATE
    attrs = {"mu": 0.5, "lars_coeff": 0.25, "lars_weight_decay": 0.125}

    def reference(self, inputs, attrs):
        p, g, v = (inputs[n] for n in ("Param", "Grad", "Velocity"))
        rate, size, slope = inputs["LearningRate"].item(), np.linalg.norm(p), np.linalg.norm(g)
        if size > 0 and slope > 0:
            rate *= 0.25 * size / (slope + 0.125 * size)
        v = 0.5 * v + rate * (g + 0.125 * p)
        return {"ParamOut": p - v, "VelocityOut": v}


class TestLarsMomentumScaled(TestLarsMomentum):
    attrs = {**TestLarsMomentum.attrs, "epsilon": 0.5, "rescale_grad": 2.0}

    def reference(self, inputs, attrs):
        p, g, v = inputs["Param"], 2 * inputs["Grad"], inputs["Velocity"]
        rate, size, slope = inputs["LearningRate"].item(), np.linalg.norm(p), np.linalg.norm(g)
        if size > 0 and slope > 0:
            rate *= 0.25 * size / (slope + 0.125 * size + 0.5)
        v = 0.5 * v + rate * (g + 0.125 * p)
        return {"ParamOut": p - v, "VelocityOut": v}


def shrunk(moved, rate, l1, l2):
    return np.sign(moved) * np.maximum(np.abs(moved) - rate * l1, 0) / (1 + rate * l2)


class TestProximalGd(Step):
    __test__ = True
    op_type, more, attrs = "proximal_gd", RATE, {"l1": 0.5, "l2": 0.25}

    def reference(self, inputs, attrs):
        rate = inputs["LearningRate"].item()
        moved = inputs["Param"] - rate * inputs["Grad"]
        return {"ParamOut": shrunk(moved, rate, attrs["l1"], attrs["l2"])}


class TestProximalGdWithoutPenalty(TestProximalGd):
    attrs = {"l1": 0.0, "l2": 0.0}


class TestProximalAdagrad(Step):
    __test__ = True
    op_type, positive, more = "proximal_adagrad", ("Moment",), RATE
    attrs = {"l1": 0.5, "l2": 0.25}

    def reference(self, inputs, attrs):
        rate, m = inputs["LearningRate"].item(), inputs["Moment"] + inputs["Grad"] ** 2
        moved = inputs["Param"] - rate * inputs["Grad"] / np.sqrt(m)
        return {"ParamOut": shrunk(moved, rate, 0.5, 0.25), "MomentOut": m}


class TestDpsgdWithoutNoise(Step):
    __test__ = True
    op_type, more = "dpsgd", RATE
    attrs = {"clip": 0.5, "sigma": 0.0, "batch_size": 4.0}

    def reference(self, inputs, attrs):
        g = inputs["Grad"]
        scaled = g / max(1.0, np.linalg.norm(g) / 0.5)
        return {"ParamOut": inputs["Param"] - inputs["LearningRate"].item() * scaled}


def test_dpsgd_draws_for_each_element():
    arrays = {"Param": np.zeros(20000), "Grad": np.zeros(20000), "LearningRate": np.array([1.0])}
    attrs = {"sigma": 3.0, "batch_size": 2.0}
    noise = case.run("dpsgd", arrays, attrs)["ParamOut"]
    assert abs(noise.std() - 1.5) < 0.03 and abs(noise.mean()) < 0.04
    again = case.run("dpsgd", arrays, attrs)["ParamOut"]
    assert not np.array_equal(noise, again)
    fixed = [case.run("dpsgd", arrays, {**attrs, "seed": 5})["ParamOut"] for _ in range(2)]
    np.testing.assert_array_equal(*fixed)
    with pytest.raises(ValueError, match="batch_size must be positive"):
        case.run("dpsgd", arrays, {"batch_size": 0.0})


def test_proximal_adagrad_stands_still_without_gradients():
    arrays = {"Param": np.ones(2), "Grad": np.zeros(2), "Moment": np.zeros(2), **RATE}
    assert case.run("proximal_adagrad", arrays, {})["ParamOut"].tolist() == [1.0, 1.0]


def test_centered_rmsprop_needs_the_mean():
    names = ("Param", "Grad", "Moment", "MeanSquare")
    with pytest.raises(ValueError, match="MeanGrad must be given"):
        case.run("rmsprop", {**{n: np.ones(2) for n in names}, **RATE}, {"centered": True})


CASES = {
    c.op_type: c
    for c in (
        TestAdagrad, TestDecayedAdagrad, TestAdadelta, TestAdamax, TestRmsprop, TestFtrl, TestLamb,
        TestAdamw, TestNadam, TestRadam, TestLarsMomentum, TestProximalGd, TestProximalAdagrad,
        TestDpsgdWithoutNoise,
    )
}  # fmt: skip


def arrays_of(op, shape=(6, 3)):
    c = CASES[op]("test_check_output")
    c.shape = shape
    c.setUp()
    return c.inputs, dict(c.attrs)


@pytest.mark.parametrize("op", CASES)
def test_refusals(op):
    case.check_refusals(op, *arrays_of(op))


@pytest.mark.parametrize("op", ["adagrad", "rmsprop", "lamb", "adamw"])
def test_sparse(op):
    case.check_sparse_like_dense(op, *arrays_of(op))


def test_sparse_adagrad_leaves_other_rows_alone():
    arrays, attrs = arrays_of("adagrad")
    arrays["Moment"] = np.zeros((6, 3))  # and epsilon 0: no 0 / 0 where there is no gradient
    arrays.pop("Grad")
    out = case.run("adagrad", arrays, {**attrs, "epsilon": 0.0}, Grad=case.sparse_gradient()[0])
    rest = sorted(set(range(6)) - set(case.ROWS))
    np.testing.assert_array_equal(out["ParamOut"][rest], arrays["Param"][rest])


def test_lazy_adamw_touches_the_rows_of_the_gradient_alone():
    arrays, attrs = arrays_of("adamw")
    rows = sorted(set(case.ROWS))
    out = case.check_sparse_like_dense("adamw", arrays, {**attrs, "lazy_mode": True}, rows=rows)
    rest = sorted(set(range(6)) - set(case.ROWS))
    for name in ("Param", "Moment1", "Moment2"):
        np.testing.assert_array_equal(out[name + "Out"][rest], arrays[name][rest])


@pytest.mark.parametrize("op", sorted(set(CASES) - {"dpsgd"}))
def test_five_steps_in_place(op):
    """Steps that write in place give what the reference gives from copies."""
    inputs, attrs = arrays_of(op)
    c = CASES[op]("test_check_output")
    c.setUp()
    info = _core.describe_op(op)
    feeds = {n: _core.to_variable(a) for n, a in inputs.items()}
    pointers = {n: _core.data_pointer(v) for n, v in feeds.items()}
    update = _core.UpdateCall(op, attrs)
    outputs = {s["name"] for s in info["outputs"]}
    for step in range(5):
        gradient = np.random.RandomState(step).uniform(-1, 1, (6, 3))
        feeds["Grad"] = _core.to_variable(gradient)
        assert update.run([tuple(feeds.get(s) for s in update.slots)]) == 1
        inputs["Grad"] = gradient
        if op == "radam":
            c.t = 3 + step
        expected = c.reference(inputs, attrs)
        for name, value in expected.items():
            source = {
                "SquaredAccumOut": "SquaredAccumulator",
                "LinearAccumOut": "LinearAccumulator",
            }
            source = source.get(name, name[:-3])
            if source in inputs:
                inputs[source] = value
        assert set(expected) <= outputs
    for name, v in feeds.items():
        if name != "Grad":
            np.testing.assert_allclose(v.numpy(), inputs[name], rtol=1e-6, atol=1e-8, err_msg=name)
            assert _core.data_pointer(v) == pointers[name], name
