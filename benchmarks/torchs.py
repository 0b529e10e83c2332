"""The networks of `networks.py` in torch, written as its own examples are."""

import networks
import numpy as np
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, main, way):
        super().__init__()
        self.main, self.way = chain(main), chain(way)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.main(x)
        out += self.way(x)
        return self.relu(out)


class Outputs(nn.LSTM):
    """The outputs for all steps."""

    def forward(self, x):
        return super().forward(x)[0]


class Last(nn.LSTM):
    """The last output for each sequence, of a packed or of a padded (batch, lengths)."""

    def forward(self, x):
        if isinstance(x, nn.utils.rnn.PackedSequence):
            return super().forward(x)[1][0][0]
        batch, lengths = x
        return super().forward(batch)[0][lengths - 1, torch.arange(len(lengths))]


class Loop(nn.Module):
    def __init__(self, n_in, n):
        super().__init__()
        self.cell = nn.LSTMCell(n_in, n)

    def forward(self, x):
        states, outputs = None, []
        for step in x:
            states = self.cell(step, states)
            outputs.append(states[0])
        return torch.stack(outputs)


class Mean(nn.Module):
    def __init__(self, *axes):
        super().__init__()
        self.axes = axes

    def forward(self, x):
        return x.mean(self.axes)


def made(kind, *sizes):
    if kind == "conv":
        n_in, n_out, size, stride, padding, biased = sizes
        return nn.Conv2d(n_in, n_out, size, stride, padding, bias=biased)
    if kind == "embedding":
        rows, width, sparse = sizes
        return nn.Embedding(rows, width, sparse=sparse)
    if kind == "encoder":
        return nn.TransformerEncoderLayer(*sizes, dropout=0.0, batch_first=True)
    return {
        "relu": lambda: nn.ReLU(inplace=True),
        "linear": nn.Linear,
        "norm": nn.BatchNorm2d,
        "pool": nn.MaxPool2d,
        "flatten": nn.Flatten,
        "mean of pixels": lambda: Mean(2, 3),
        "mean of words": lambda: Mean(1),
        "residual": Residual,
        "lstm": Outputs,
        "loop over lstm": Loop,
        "last of lstm": Last,
    }[kind](*sizes)


def chain(layers):
    return nn.Sequential(*(made(*layer) for layer in layers))


def in_torchs_order(layers, weights):
    """The arrays of `starting_weights` as torch's modules hold them."""
    kinds = []

    def collect(layers):
        for kind, *sizes in layers:
            if kind == "residual":
                for part in sizes:
                    collect(part)
            else:
                kinds.append(kind)

    collect(layers)
    weights = iter(weights)
    for kind in kinds:
        if kind in ("linear", "encoder"):
            arrays = [w.T if w.ndim == 2 else w for w in next(weights)]
            if kind == "encoder":  # query, key and value in one
                yield np.concatenate(arrays[0:6:2])
                yield np.concatenate(arrays[1:6:2])
                arrays = arrays[6:]
            yield from arrays
        elif kind in ("conv", "norm", "embedding") or "lstm" in kind:
            yield from next(weights)


def optimizer_of(network, parameters):
    kind, rate = network.optimizer
    if kind == "momentum":
        return torch.optim.SGD(parameters, rate, momentum=0.9)
    make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind]
    return make(parameters, rate)


def sequences(inputs, lengths, variant):
    """Rows of sequences in the form that `Last` reads."""
    parts = torch.tensor(inputs).split(lengths)
    if variant == "packed":
        return nn.utils.rnn.pack_sequence(parts, enforce_sorted=False)
    return nn.utils.rnn.pad_sequence(parts), torch.tensor(lengths)


def trained(network, variant="", compiled=None, both=False, wrap=None):
    """step() of the network; gives the loss as a tensor.

    `compiled`: a function that compiles the network with its loss and, for `both`, the optimizer's
    step. `wrap`, given the network, returns the one to train.
    """
    inputs, labels = networks.data(network)
    net = chain(network.layers)
    weights = networks.starting_weights(network.layers)
    with torch.no_grad():
        own = in_torchs_order(network.layers, weights)
        for parameter, weight in zip(net.parameters(), own, strict=True):
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(weight)))
    del weights
    if wrap:
        net = wrap(net)
    optimizer = optimizer_of(network, net.parameters())
    if network.lengths:
        inputs = sequences(inputs, network.lengths, variant)
    else:
        inputs = torch.tensor(inputs)
    labels = torch.tensor(labels).flatten()
    criterion = nn.CrossEntropyLoss()

    def loss_of(inputs, labels):
        return criterion(net(inputs).flatten(0, -2), labels)

    update = optimizer.step
    if compiled:
        loss_of = compiled(loss_of)
        update = compiled(update) if both else update

    def step():
        loss = loss_of(inputs, labels)
        loss.backward()
        update()
        optimizer.zero_grad()
        return loss

    return step
