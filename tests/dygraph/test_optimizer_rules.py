"""Each optimizer over ten steps against its published formula; signatures; groups of parameters."""

import inspect

import numpy as np
import pytest

import dygraph
from dygraph import nn, optimizer, regularizer

RATE, STEPS = 0.0625, 10
START = np.random.RandomState(0).uniform(-1, 1, (4, 3))
GRADIENTS = np.random.RandomState(1).uniform(-1, 1, (STEPS, 4, 3))
GRADIENTS[3] = 0.0


def adagrad(w, g, t, s):
    s["n"] = s.get("n", 0.25) + g * g
    return w - RATE * g / (np.sqrt(s["n"]) + 2**-10)


def decayed_adagrad(w, g, t, s):
    s["n"] = 0.75 * s.get("n", 0.0) + 0.25 * g * g
    return w - RATE * g / (np.sqrt(s["n"]) + 2**-10)


def adadelta(w, g, t, s):
    s["g"] = 0.75 * s.get("g", 0.0) + 0.25 * g * g
    step = -np.sqrt((s.get("u", 0.0) + 2**-10) / (s["g"] + 2**-10)) * g
    s["u"] = 0.75 * s.get("u", 0.0) + 0.25 * step * step
    return w + RATE * step


def adamax(w, g, t, s):
    s["m"] = 0.75 * s.get("m", 0.0) + 0.25 * g
    s["n"] = np.maximum(np.abs(g), 0.875 * s.get("n", 0.0) + 2**-10)
    return w - RATE / (1 - 0.75**t) * s["m"] / s["n"]


def rmsprop(w, g, t, s, centered=False):
    s["n"] = 0.75 * s.get("n", 0.0) + 0.25 * g * g
    s["c"] = 0.75 * s.get("c", 0.0) + 0.25 * g if centered else 0.0
    s["v"] = 0.5 * s.get("v", 0.0) + RATE * g / np.sqrt(s["n"] - s["c"] ** 2 + 2**-10)
    return w - s["v"]


def centered(w, g, t, s):
    return rmsprop(w, g, t, s, True)


def ftrl(w, g, t, s):
    n = s.get("n", 0.0) + g * g
    s["z"] = s.get("z", 0.0) + g - (np.sqrt(n) - np.sqrt(s.get("n", 0.0))) / RATE * w
    s["n"] = n
    out = (0.5 * np.sign(s["z"]) - s["z"]) / (np.sqrt(n) / RATE + 0.5)
    return np.where(np.abs(s["z"]) > 0.5, out, 0.0)


def moments(g, s, t, b1=0.75, b2=0.875):
    """The moments without their start at 0."""
    s["m"] = b1 * s.get("m", 0.0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0.0) + (1 - b2) * g * g
    return s["m"] / (1 - b1**t), s["v"] / (1 - b2**t)


def adam(w, g, t, s):
    m, v = moments(g, s, t)
    return w - RATE * m / (np.sqrt(v) + 2**-10)


def fluids_adam(w, g, t, s):
    m, _ = moments(g, s, t)
    return w - RATE * np.sqrt(1 - 0.875**t) * m / (np.sqrt(s["v"]) + 2**-10)


def adamw(w, g, t, s):
    m, v = moments(g, s, t)
    return w - RATE * (m / (np.sqrt(v) + 2**-10) + 0.5 * w)


def lamb(w, g, t, s):
    m, v = moments(g, s, t)
    r = m / (np.sqrt(v) + 2**-10) + 0.5 * w
    return w - RATE * np.linalg.norm(w) / np.linalg.norm(r) * r


def nadam(w, g, t, s):
    mu, after = (0.75 * (1 - 0.5 * 0.96 ** (k * 0.25)) for k in (t, t + 1))
    s["p"] = s.get("p", 1.0) * mu
    m, v = moments(g, s, t)
    m = after * s["m"] / (1 - s["p"] * after) + (1 - mu) * g / (1 - s["p"])
    return w - RATE * m / (np.sqrt(v) + 2**-10)


def radam(w, g, t, s):
    b2 = 63 / 64
    m, v = moments(g, s, t, b2=b2)
    most = 2 / (1 - b2) - 1
    rho = most - 2 * t * b2**t / (1 - b2**t)
    if rho <= 5:
        return w - RATE * m
    up = np.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
    return w - RATE * up * m * np.sqrt(1 - b2**t) / (np.sqrt(s["v"]) + 2**-10)


def lars(w, g, t, s):
    rate, size, slope = RATE, np.linalg.norm(w), np.linalg.norm(g)
    if slope > 0:
        rate *= 0.25 * size / (slope + 0.125 * size)
    s["v"] = 0.5 * s.get("v", 0.0) + rate * (g + 0.125 * w)
    return w - s["v"]


def dpsgd(w, g, t, s):
    return w - RATE * g / max(1.0, np.linalg.norm(g) / 0.5)


BETAS = {"beta1": 0.75, "beta2": 0.875, "epsilon": 2**-10}
RULES = {
    "Adagrad": (adagrad, {"epsilon": 2**-10, "initial_accumulator_value": 0.25}),
    "DecayedAdagrad": (decayed_adagrad, {"decay": 0.75, "epsilon": 2**-10}),
    "Adadelta": (adadelta, {"rho": 0.75, "epsilon": 2**-10}),
    "Adam": (adam, BETAS),
    "AdamOptimizer": (fluids_adam, BETAS),
    "Adamax": (adamax, BETAS),
    "RMSProp": (rmsprop, {"rho": 0.75, "epsilon": 2**-10, "momentum": 0.5}),
    "RMSPropOptimizer": (
        centered, {"rho": 0.75, "epsilon": 2**-10, "momentum": 0.5, "centered": True},
    ),
    "Ftrl": (ftrl, {"l1": 0.5, "l2": 0.25}),
    "AdamW": (adamw, {**BETAS, "weight_decay": 0.5}),
    "Lamb": (lamb, {**BETAS, "lamb_weight_decay": 0.5}),
    "NAdam": (nadam, {**BETAS, "momentum_decay": 0.25}),
    "RAdam": (radam, {**BETAS, "beta2": 63 / 64}),
    "LarsMomentum": (lars, {"momentum": 0.5, "lars_coeff": 0.25, "lars_weight_decay": 0.125}),
    "Dpsgd": (dpsgd, {"clip": 0.5, "batch_size": 4.0, "sigma": 0.0}),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_formula(name):
    rule, arguments = RULES[name]
    p, w, state = dygraph.Parameter(START), START.copy(), {}
    opt = getattr(optimizer, name)(learning_rate=RATE, parameter_list=[p], **arguments)
    pointer = dygraph._core.data_pointer(p)
    for t, g in enumerate(GRADIENTS, 1):
        p.grad = dygraph.to_variable(g)
        opt.step()
        w = rule(w, g, t, state)
        np.testing.assert_allclose(p.numpy(), w, rtol=1e-6, atol=1e-9, err_msg=f"step {t}")
    assert dygraph._core.data_pointer(p) == pointer


FLUID = """
Adadelta(learning_rate, epsilon=1e-06, rho=0.95, parameter_list=None, regularization=None, grad_clip=None, name=None)
Adagrad(learning_rate, epsilon=1e-06, parameter_list=None, regularization=None, grad_clip=None, name=None, initial_accumulator_value=0.0)
Adam(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameter_list=None, regularization=None, grad_clip=None, name=None, lazy_mode=False)
Adamax(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameter_list=None, regularization=None, grad_clip=None, name=None)
DecayedAdagrad(learning_rate, decay=0.95, epsilon=1e-06, parameter_list=None, regularization=None, grad_clip=None, name=None)
Dpsgd(learning_rate=0.001, clip=0.9, batch_size=0.999, sigma=1e-08, parameter_list=None)
Ftrl(learning_rate, l1=0.0, l2=0.0, lr_power=-0.5, parameter_list=None, regularization=None, grad_clip=None, name=None)
Lamb(learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-06, parameter_list=None, regularization=None, grad_clip=None, exclude_from_weight_decay_fn=None, name=None)
LarsMomentum(learning_rate, momentum, lars_coeff=0.001, lars_weight_decay=0.0005, parameter_list=None, regularization=None, grad_clip=None, name=None)
Momentum(learning_rate, momentum, parameter_list=None, use_nesterov=False, regularization=None, grad_clip=None, name=None)
RMSProp(learning_rate, rho=0.95, epsilon=1e-06, momentum=0.0, centered=False, parameter_list=None, regularization=None, grad_clip=None, name=None)
SGD(learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None)
""".split("\n")[1:-1]  # noqa: E501


@pytest.mark.parametrize("line", FLUID, ids=lambda line: line.split("(")[0])
def test_fluid_signatures(line):
    name = line.split("(")[0]
    kind = getattr(optimizer, name)
    assert f"{name}{inspect.signature(kind)}".replace("1e-6", "1e-06") == line
    fluid = getattr(optimizer, name + "Optimizer")
    assert fluid is kind or name in ("Adadelta", "Adam")


def test_fluids_adadelta_ignores_its_learning_rate():
    kinds, results = (optimizer.Adadelta, optimizer.AdadeltaOptimizer), []
    for kind in kinds:
        p = dygraph.Parameter([1.0])
        p.grad = dygraph.to_variable([2.0])
        kind(0.5, parameter_list=[p]).step()
        results.append(1 - p.item())
    step = 2 * np.sqrt(1e-6 / (0.05 * 4 + 1e-6))
    np.testing.assert_allclose(results, [0.5 * step, step], rtol=1e-4)


def test_names():
    for name in optimizer.__all__:
        assert getattr(optimizer, name) is not None and name in dir(optimizer)
    with pytest.raises(AttributeError, match="Did you mean"):
        optimizer.Adagrat  # noqa: B018


def give(*pairs):
    for p, g in pairs:
        p.grad = dygraph.to_variable(np.asarray(g))


def three():
    return [dygraph.Parameter(np.array([1.0, -2.0])) for _ in range(3)]


G = np.array([0.5, 0.25])
W = np.array([1.0, -2.0])


class TestGroups:
    def test_factors_and_decays(self):
        a, b, c = three()
        opt = optimizer.SGD(
            0.5,
            [
                {"params": [a], "learning_rate": 0.5},
                {"params": [b], "weight_decay": 0.25},
                {"params": [c], "weight_decay": 0.0, "learning_rate": 2.0},
            ],
            regularization=regularizer.L2Decay(0.125),
        )
        give((a, G), (b, G), (c, G))
        opt.step()
        np.testing.assert_allclose(a.numpy(), W - 0.25 * (G + 0.125 * W))
        np.testing.assert_allclose(b.numpy(), W - 0.5 * (G + 0.25 * W))
        np.testing.assert_allclose(c.numpy(), W - 1.0 * G)

    def test_a_regularizer_and_the_parameters_own(self):
        a, b, _ = three()
        b.regularizer = regularizer.L2Decay(1.0)
        b.learning_rate = 0.5
        group = {"params": [a, b], "weight_decay": regularizer.L1Decay(0.25), "learning_rate": 0.5}
        opt = optimizer.SGD(1.0, [group])
        give((a, G), (b, G))
        opt.step()
        np.testing.assert_allclose(a.numpy(), W - 0.5 * (G + 0.25 * np.sign(W)))
        np.testing.assert_allclose(b.numpy(), W - 0.25 * (G + W))

    def test_decoupled_decays(self):
        a, b, c = three()
        c.name = "bias"
        groups = [{"params": [a]}, {"params": [b], "weight_decay": 0.5}, {"params": [c]}]
        opt = optimizer.AdamW(
            0.25,
            parameter_list=groups,
            weight_decay=0.125,
            apply_decay_param_fun=lambda name: name != "bias",
            lr_ratio=lambda p: 0.5 if p is b else 1.0,
        )
        give((a, G), (b, G), (c, G))
        opt.step()  # the first step of Adam is the sign of the gradient
        np.testing.assert_allclose(a.numpy(), W * (1 - 0.25 * 0.125) - 0.25, rtol=1e-6)
        np.testing.assert_allclose(b.numpy(), W * (1 - 0.125 * 0.5) - 0.125, rtol=1e-6)
        np.testing.assert_allclose(c.numpy(), W - 0.25, rtol=1e-6)

    def test_lamb_leaves_out(self):
        a, b, _ = three()
        opt = optimizer.Lamb(
            0.25,
            lamb_weight_decay=0.5,
            parameter_list=[a, b],
            exclude_from_weight_decay_fn=lambda p: p is b,
        )
        give((a, G), (b, G))
        opt.step()
        size = np.linalg.norm(W)
        for p, r in ((a, 1.0 + 0.5 * W), (b, np.ones(2))):
            expected = W - 0.25 * size / np.linalg.norm(r) * r
            np.testing.assert_allclose(p.numpy(), expected, rtol=1e-5)

    def test_bad_groups(self):
        a, *_ = three()
        for group, error in (
            ({"learning_rate": 0.5}, ValueError),
            ({"params": [a], "momentum": 0.5}, ValueError),
            ({"params": a}, TypeError),
            ({"params": [3]}, TypeError),
            ({"params": [a, a]}, ValueError),
            ({"params": [a], "weight_decay": -1}, ValueError),
            ({"params": [a], "weight_decay": "much"}, TypeError),
            ({"params": [a], "learning_rate": -1}, ValueError),
            ({"params": []}, ValueError),
        ):
            with pytest.raises(error):
                optimizer.SGD(0.1, [group])
        with pytest.raises(TypeError, match="weight_decay must be a number"):
            group = {"params": [a], "weight_decay": regularizer.L2Decay(0.5)}
            optimizer.AdamW(0.1, parameter_list=[group])


class TestClipping:
    def test_parameters_that_share_a_rule_share_its_norm(self):
        a, b, c = three()
        a.gradient_clip = b.gradient_clip = nn.ClipGradByGlobalNorm(0.25)
        c.gradient_clip = nn.ClipGradByNorm(0.25)
        opt = optimizer.SGD(1.0, [a, b, c])
        give((a, G), (b, 2 * G), (c, G))
        opt.step()
        size = np.linalg.norm(G)
        norm = size * np.sqrt(5)
        np.testing.assert_allclose(a.numpy(), W - G * 0.25 / norm, rtol=1e-12)
        np.testing.assert_allclose(b.numpy(), W - 2 * G * 0.25 / norm, rtol=1e-12)
        np.testing.assert_allclose(c.numpy(), W - G * 0.25 / size, rtol=1e-12)

    def test_need_clip(self):
        a, b, _ = three()
        rule = nn.ClipGradByGlobalNorm(0.25, need_clip=lambda p: p is a)
        opt = optimizer.SGD(1.0, [a, b], grad_clip=rule)
        give((a, G), (b, G))
        opt.step()
        np.testing.assert_allclose(a.numpy(), W - G * 0.25 / np.linalg.norm(G), rtol=1e-12)
        np.testing.assert_allclose(b.numpy(), W - G)


class TestNamesAndRates:
    def test_structured_names(self):
        net = dygraph.nn.Sequential(dygraph.nn.Linear(2, 3), dygraph.nn.Linear(3, 1))
        for given in (net, net.named_parameters(), list(net.named_parameters())):
            opt = optimizer.Momentum(0.1, 0.9, given)
            net(dygraph.to_variable(np.ones((1, 2), "float32"))).sum().backward()
            opt.step()
            names = {f"{n}.Velocity" for n, _ in net.named_parameters()}
            assert set(opt.state_dict()) == names and "0.weight.Velocity" in names
        plain = optimizer.Momentum(0.1, 0.9, net.parameters())
        plain.step()
        assert net[0].weight.name + ".Velocity" in plain.state_dict()

    def test_a_rate_that_was_set_is_kept(self):
        a, b, _ = three()
        opt, other = optimizer.SGD(0.5, [a]), optimizer.SGD(0.5, [b])
        assert opt.get_lr() == 0.5 and opt.state_dict() == {}
        opt.set_lr(0.25)
        assert opt.get_lr() == 0.25 and opt.current_step_lr() == 0.25
        other.set_state_dict(opt.state_dict())
        assert other.get_lr() == 0.25

    def test_rate_of_a_function(self):
        a, *_ = three()
        opt = optimizer.SGD(lambda: 0.5, [a])
        with pytest.raises(RuntimeError, match="known after the first step"):
            opt.get_lr()
        give((a, G))
        opt.step()
        assert opt.get_lr() == 0.5

    def test_the_table(self):
        """What a program builds an optimizer from."""
        a, *_ = three()
        adam = optimizer.Adam(parameter_list=[a])
        assert adam.operator == "adamw" and adam.attributes["beta1"] == 0.9
        kept = adam.accumulators()
        assert kept["Moment1"] == (0.0, None) and kept["Beta1Pow"] == (0.9, (1,))


class TestBadInput:
    def test_values(self):
        p = [dygraph.Parameter(np.ones(2))]
        for make in (
            lambda: optimizer.Adagrad(0.1, epsilon=-1.0, parameter_list=p),
            lambda: optimizer.RMSProp(0.1, rho=1.5, parameter_list=p),
            lambda: optimizer.Ftrl(0.1, l1=-1.0, parameter_list=p),
            lambda: optimizer.Dpsgd(0.1, batch_size=0.0, parameter_list=p),
            lambda: optimizer.AdamW(0.1, weight_decay=-0.1, parameter_list=p),
            lambda: optimizer.NAdam(0.1, beta2=1.0, parameter_list=p),
            lambda: optimizer.LarsMomentum(0.1, -0.5, parameter_list=p),
            lambda: optimizer.Lamb(0.1, parameter_list=[]),
        ):
            with pytest.raises(ValueError):
                make()
        for make in (
            lambda: optimizer.AdamW(0.1, parameter_list=p, lr_ratio=2.0),
            lambda: optimizer.AdamW(0.1, parameter_list=p, apply_decay_param_fun="bias"),
            lambda: optimizer.Lamb(0.1, parameter_list=p, exclude_from_weight_decay_fn=3),
            lambda: optimizer.RAdam(0.1),
            lambda: optimizer.Adadelta("fast", parameter_list=p),
        ):
            with pytest.raises(TypeError):
                make()
