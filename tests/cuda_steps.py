"""Small networks that train on any place, for tests that compare a device with the host."""

import contextlib

import numpy as np

import cuda_library
import dygraph
from dygraph import nn


class MLP(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.last(dygraph.ops.relu(self.first(x)))


class LeNet(dygraph.Layer):
    """Two convolutions with pooling, two linear layers, on images of 12x12."""

    def __init__(self):
        super().__init__()
        self.convs = nn.Conv2D(1, 4, 3, padding=1), nn.Conv2D(4, 6, 3)
        self.pool = nn.MaxPool2D(2, 2)
        self.fc, self.last = nn.Linear(24, 10), nn.Linear(10, 4)
        for i, conv in enumerate(self.convs):
            self.add_sublayer(f"conv{i}", conv)

    def forward(self, x):
        for conv in self.convs:
            x = self.pool(dygraph.ops.relu(conv(x)))
        x = x.reshape([x.shape[0], -1])
        return self.last(dygraph.ops.relu(self.fc(x)))


def squared_error(outputs, wanted):
    difference = outputs + wanted
    return (difference * difference).mean()


def cross_entropy(outputs, labels):
    return dygraph.ops.softmax_with_cross_entropy(outputs, labels).mean()


# Layers, loss, shape of the input.
NETWORKS = {
    "mlp": (MLP, squared_error, (8, 6)),
    "lenet": (LeNet, cross_entropy, (4, 1, 12, 12)),
}
OPTIMIZERS = {
    "sgd": lambda p: dygraph.optimizer.SGD(0.1, parameter_list=p),
    "momentum": lambda p: dygraph.optimizer.Momentum(0.02, 0.9, parameter_list=p),
    "adam": lambda p: dygraph.optimizer.Adam(0.01, parameter_list=p),
}


def on(place):
    """New variables lie there; None: on the host."""
    return cuda_library.on(place) if place is not None else contextlib.nullcontext()


class Training:
    """A network with its optimizer and one batch, all on a place; starts alike everywhere."""

    def __init__(self, network, optimizer, place):
        make, self.loss, shape = NETWORKS[network]
        self.place = place
        rng = np.random.default_rng(3)
        with on(place):
            self.net = make()
            for p in self.net.parameters():
                p.set_value(rng.normal(0, 0.3, p.shape).astype("float32"))
            self.optimizer = OPTIMIZERS[optimizer](self.net.parameters())
            self.x = dygraph.to_variable(rng.standard_normal(shape).astype("float32"))
            if self.loss is cross_entropy:
                wanted = rng.integers(0, 4, (shape[0], 1))
            else:
                wanted = rng.standard_normal((shape[0], 4)).astype("float32")
            self.wanted = dygraph.to_variable(wanted)

    def step(self):
        """One step; gives the loss as a Variable."""
        with on(self.place):
            loss = self.loss(self.net(self.x), self.wanted)
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_gradients()
        return loss

    def numbers(self):
        """All parameters as one array."""
        return np.concatenate([p.numpy().ravel() for p in self.net.parameters()])


def trained(network, optimizer, place=None, steps=5):
    """The losses of some steps and the parameters after them."""
    training = Training(network, optimizer, place)
    losses = [float(training.step()) for _ in range(steps)]
    return np.array(losses), training.numbers()


def assert_trains_as_the_host(network, optimizer, place, steps=5, tolerance=1e-6):
    for given, wanted in zip(
        trained(network, optimizer, place, steps), trained(network, optimizer, None, steps),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(given, wanted, rtol=tolerance, atol=tolerance)
