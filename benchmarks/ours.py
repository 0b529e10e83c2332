"""The networks of `networks.py` in dygraph."""

import networks
import numpy as np

import dygraph
from dygraph import nn
from dygraph import ops as F


class Chain(dygraph.Layer):
    """Layers and functions, one after the other."""

    def __init__(self, layers):
        super().__init__()
        self.parts = [made(*layer) for layer in layers]
        for i, part in enumerate(self.parts):
            if isinstance(part, dygraph.Layer):
                self.add_sublayer(str(i), part)

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


class Residual(dygraph.Layer):
    def __init__(self, main, way):
        super().__init__()
        self.main, self.way = Chain(main), Chain(way)

    def forward(self, x):
        return F.relu(self.main(x) + self.way(x))


class Outputs(dygraph.Layer):
    """The outputs of an LSTM for all steps."""

    def __init__(self, n_in, n):
        super().__init__()
        self.lstm = nn.LSTM(n_in, n, time_major=True)

    def forward(self, x):
        return self.lstm(x)[0]


class Last(dygraph.Layer):
    """The last output of an LSTM for each sequence."""

    def __init__(self, n_in, n):
        super().__init__()
        self.lstm = nn.LSTM(n_in, n)

    def forward(self, x):
        return self.lstm(x)[1][0][0]


class Loop(dygraph.Layer):
    """As `Outputs`, step by step."""

    def __init__(self, n_in, n):
        super().__init__()
        self.cell = nn.LSTMCell(n_in, n)

    def forward(self, x):
        states, outputs = None, []
        for step in F.unbind(x, axis=0):
            out, states = self.cell(step, states)
            outputs.append(out)
        return F.stack(outputs)


def made(kind, *sizes):
    """A layer or a function of one Variable."""
    if kind == "conv":
        n_in, n_out, size, stride, padding, biased = sizes
        return nn.Conv2D(n_in, n_out, size, stride, padding, bias_attr=None if biased else False)
    if kind == "pool":
        return nn.MaxPool2D(*sizes)
    if kind == "embedding":
        rows, width, sparse = sizes
        return nn.Embedding([rows, width], is_sparse=sparse)
    if kind == "encoder":
        d, heads, inner, *activation = sizes
        return nn.TransformerEncoderLayer(d, heads, inner, 0.0, *activation)
    return {
        "relu": lambda: F.relu,
        "linear": nn.Linear,
        "norm": nn.BatchNorm2D,
        "flatten": nn.Flatten,
        "mean of pixels": lambda: lambda x: x.mean([2, 3]),
        "mean of words": lambda: lambda x: x.mean(1),
        "residual": Residual,
        "lstm": Outputs,
        "loop over lstm": Loop,
        "last of lstm": Last,
    }[kind](*sizes)


def optimizer_of(network, parameters):
    kind, rate = network.optimizer
    if kind == "momentum":
        return dygraph.optimizer.Momentum(rate, 0.9, parameter_list=parameters)
    make = {"sgd": "SGD", "adam": "Adam", "adamw": "AdamW"}[kind]
    return getattr(dygraph.optimizer, make)(rate, parameter_list=parameters)


def starting(network):
    """The network's layers with the starting weights."""
    net = Chain(network.layers)
    weights = [w for layer in networks.starting_weights(network.layers) for w in layer]
    for parameter, weight in zip(net.parameters(), weights, strict=True):
        parameter.set_value(weight)
    return net


def trained(network, variant=""):
    """step() of the network; gives the loss as a Variable."""
    step, inputs = step_of(network)
    return lambda: step(*inputs)


def step_of(network):
    """(step(inputs, labels) of the network, which gives the loss; its inputs and labels)."""
    return step_and_network(network)[:2]


def step_and_network(network, wrap=None):
    """What `step_of` gives, and the layers; `wrap`, given the layers, returns those to train."""
    inputs, labels = networks.data(network)
    net = starting(network)
    if wrap:
        net = wrap(net)
    optimizer = optimizer_of(network, net.parameters())
    if network.lengths:
        offsets = [0, *np.cumsum(network.lengths).tolist()]
        inputs = dygraph.to_variable(inputs, lod=[offsets])
    else:
        inputs = dygraph.to_variable(inputs)
    labels = dygraph.to_variable(labels[..., None])

    def step(inputs, labels):
        loss = F.softmax_with_cross_entropy(net(inputs), labels).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_gradients()
        return loss

    return step, [inputs, labels], net
