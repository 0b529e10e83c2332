"""Training as a program and eagerly: the same weights, bit for bit, after fifty steps."""

import numpy as np
import pytest

import dygraph
from dygraph import nn, static
from dygraph import ops as F

STEPS, CLASSES = 50, 10


class LeNet(nn.Layer):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 5, padding=2, act="relu"), nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 16, 5, act="relu"), nn.MaxPool2D(2, 2),
        )  # fmt: skip
        self.classifier = nn.Sequential(nn.Linear(400, 120, act="relu"), nn.Linear(120, CLASSES))

    def forward(self, x):
        return self.classifier(self.features(x).reshape([-1, 400]))


class Attention(nn.Layer):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0)
        self.out = nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.out(self.encoder(x).mean(1))


class Recurrent(nn.Layer):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(12, 16, time_major=False)
        self.out = nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.out(self.lstm(x)[0].mean(1))


def mlp():
    return nn.Sequential(nn.Linear(13, 32, act="relu"), nn.Linear(32, CLASSES))


def normalized():
    return nn.Sequential(
        nn.Conv2D(3, 8, 3), nn.BatchNorm(8, act="relu"), nn.AdaptiveAvgPool2D(1), nn.Flatten(),
        nn.Linear(8, CLASSES),
    )  # fmt: skip


MODELS = {
    "mlp": (mlp, (13,)),
    "lenet": (LeNet, (1, 28, 28)),
    "batch_norm": (normalized, (3, 12, 12)),
    "transformer": (Attention, (6, 16)),
    "lstm": (Recurrent, (5, 12)),
}
OPTIMIZERS = {
    "sgd": lambda module, **kw: module.SGD(0.05, **kw),
    "momentum": lambda module, **kw: module.Momentum(0.02, 0.9, use_nesterov=True, **kw),
    "adam": lambda module, **kw: module.AdamOptimizer(0.01, **kw),
    "decayed": lambda module, **kw: module.AdamOptimizer(
        0.01, regularization=dygraph.regularizer.L2Decay(1e-3),
        grad_clip=dygraph.nn.ClipGradByValue(0.01), **kw,
    ),
    "global_norm": lambda module, **kw: module.SGD(
        0.05, regularization=dygraph.regularizer.L1Decay(1e-3),
        grad_clip=dygraph.nn.ClipGradByGlobalNorm(0.3), **kw,
    ),
    "norm": lambda module, **kw: module.Adamax(
        0.01, grad_clip=dygraph.nn.ClipGradByNorm(0.1), **kw
    ),
    "rmsprop": lambda module, **kw: module.RMSProp(0.01, momentum=0.5, **kw),
    "centered": lambda module, **kw: module.RMSProp(0.01, centered=True, **kw),
    "adagrad": lambda module, **kw: module.Adagrad(0.05, **kw),
    "adadelta": lambda module, **kw: module.AdadeltaOptimizer(0.5, **kw),
    "decayed_adagrad": lambda module, **kw: module.DecayedAdagrad(0.05, **kw),
    "ftrl": lambda module, **kw: module.Ftrl(0.05, **kw),
    "lamb": lambda module, **kw: module.Lamb(0.01, **kw),
    "lars": lambda module, **kw: module.LarsMomentum(0.05, 0.9, **kw),
}  # fmt: skip


def loss_of(model, x, label):
    return F.softmax_with_cross_entropy(model(x), label).mean()


def batches(shape, size):
    rng = np.random.default_rng(0)
    for _ in range(STEPS):
        yield (
            rng.standard_normal((size, *shape)).astype("float32"),
            rng.integers(0, CLASSES, (size, 1)),
        )


def twins(make):
    """Two models of equal weights."""
    models = []
    for _ in range(2):
        dygraph.seed(3)
        models.append(make())
    return models


def trained_eagerly(model, optimizer, data):
    losses = []
    for x, label in data:
        loss = loss_of(model, dygraph.to_variable(x), dygraph.to_variable(label))
        loss.backward()
        optimizer.step()
        optimizer.clear_gradients()
        losses.append(loss.item())
    return losses


def check(make, shape, rule, size=4):
    eager, described = twins(make)
    optimizer = rule(dygraph.optimizer, parameter_list=eager.parameters())
    expected = trained_eagerly(eager, optimizer, batches(shape, size))

    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        x = static.data("x", [None, *shape])
        label = static.data("label", [None, 1], "int64")
        loss = loss_of(described, x, label)
        rule(static.optimizer).minimize(loss)
    before = [p.numpy() for p in described.parameters()]
    executor = static.Executor()
    executor.run(startup, scope=scope)
    losses = [
        executor.run(main, {"x": x, "label": label}, [loss], scope=scope)[0].item()
        for x, label in batches(shape, size)
    ]
    assert losses == expected
    for mine, theirs in zip(eager.parameters(), described.parameters(), strict=True):
        np.testing.assert_array_equal(mine.numpy(), scope.find_var(theirs.name).get().numpy())
    for mine, theirs in zip(eager.buffers(), described.buffers(), strict=True):
        if theirs.persistable:
            np.testing.assert_array_equal(mine.numpy(), scope.find_var(theirs.name).get().numpy())
    for old, parameter in zip(before, described.parameters(), strict=True):
        np.testing.assert_array_equal(old, parameter.numpy())  # the scope has its own


@pytest.mark.parametrize("name", MODELS)
def test_models_train_to_equal_weights(name):
    check(*MODELS[name], OPTIMIZERS["adam"])


@pytest.mark.parametrize("rule", OPTIMIZERS)
def test_optimizers_step_alike(rule):
    check(*MODELS["mlp"], OPTIMIZERS[rule])


def test_losses_fall():
    """What is trained learns: a line is found from points on it."""
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        x, y = static.data("x", [None, 13]), static.data("y", [None, 1])
        cost = static.layers.square_error_cost(static.layers.fc(x, size=1), y)
        loss = static.layers.mean(cost)
        static.optimizer.SGD(0.05).minimize(loss)
    executor = static.Executor(static.CPUPlace())
    executor.run(startup, scope=scope)
    rng = np.random.default_rng(1)
    points = rng.standard_normal((64, 13)).astype("float32")
    feed = {"x": points, "y": points @ np.arange(13, dtype="float32")[:, None] + 2}
    losses = [executor.run(main, feed, [loss], scope=scope)[0].item() for _ in range(300)]
    assert losses[0] > 100 and losses[-1] < 1e-3
    (bias,) = [p for p in main.all_parameters() if p.name.endswith(".b_0")]
    np.testing.assert_allclose(scope.find_var(bias.name).get().numpy(), [2.0], atol=0.05)
