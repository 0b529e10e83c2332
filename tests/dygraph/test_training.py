"""Whole training loops, written as users write them."""

import gc

import numpy as np

import dygraph
from dygraph import nn


class LeNet(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 4, 3, padding=1, act="relu"),
            nn.Pool2D(2, "max", 2),
            nn.BatchNorm(4),
            nn.Conv2D(4, 8, 3, padding=1, act="relu"),
            nn.Pool2D(2, "max", 2),
        )
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(8 * 2 * 2, 3)

    def forward(self, x):
        x = self.features(x)
        return self.out(self.drop(x.reshape(x.shape[0], -1)))


def images(n, rng):
    """Three kinds: bright left half, bright top half, bright centre."""
    labels = rng.integers(0, 3, n)
    x = rng.normal(0, 0.3, (n, 1, 8, 8))
    x[labels == 0, :, :, :4] += 1
    x[labels == 1, :, :4, :] += 1
    x[labels == 2, :, 2:6, 2:6] += 1
    return x.astype("float32"), labels.reshape(-1, 1)


def train(net, optimizer, steps, rng):
    losses = []
    for _ in range(steps):
        x, y = images(32, rng)
        logits = net(dygraph.to_variable(x))
        loss = dygraph.mean(dygraph.ops.softmax_with_cross_entropy(logits, dygraph.to_variable(y)))
        loss.backward()
        optimizer.minimize(loss)
        net.clear_gradients()
        losses.append(loss.item())
    return losses


def test_lenet_learns_and_evaluates():
    rng = np.random.default_rng(0)
    with dygraph.guard(seed=1):
        net = LeNet()
        adam = dygraph.optimizer.Adam(0.01, parameter_list=net.parameters())
        losses = train(net, adam, 60, rng)
        assert losses[0] > 0.7 and np.mean(losses[-10:]) < 0.1
        net.eval()
        x, y = images(300, rng)
        logits = net(dygraph.to_variable(x))
        assert dygraph.saved(logits).total == 0
        assert np.mean(logits.numpy().argmax(1) == y[:, 0]) > 0.97


def test_equal_seeds_give_equal_bits():
    def once():
        with dygraph.guard(seed=7):
            net = LeNet()
            sgd = dygraph.optimizer.Momentum(0.05, 0.9, net.parameters())
            train(net, sgd, 5, np.random.default_rng(1))
            return [p.numpy() for p in net.parameters()]

    for a, b in zip(once(), once(), strict=True):
        assert np.array_equal(a, b)


def test_state_goes_on_in_a_new_model():
    with dygraph.guard(seed=3):
        net, twin = LeNet(), LeNet()
    twin.set_state_dict({k: v.numpy() for k, v in net.state_dict().items()})
    x = dygraph.to_variable(images(4, np.random.default_rng(2))[0])
    assert np.array_equal(net.eval()(x).numpy(), twin.eval()(x).numpy())


def test_training_leaves_nothing_behind():
    rng = np.random.default_rng(0)
    net = LeNet()
    sgd = dygraph.optimizer.SGD(0.01, net.parameters())
    train(net, sgd, 3, rng)
    gc.collect()
    variables, memory = dygraph._core.live_variables(), dygraph.memory.used()
    train(net, sgd, 20, rng)
    assert dygraph._core.live_variables() == variables
    assert dygraph.memory.used() == memory


def test_frozen_network_inside_a_loss_passes_gradients():
    judge = nn.Linear(4, 1)
    judge.eval()
    x = dygraph.to_variable(np.ones((2, 4), "float32"))
    x.stop_gradient = False
    judge(x).backward()
    assert np.allclose(x.gradient(), np.broadcast_to(judge.weight.numpy()[:, 0], (2, 4)))
