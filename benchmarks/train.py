"""Whole training steps: forward, loss, backward, update, from equal parameters on both sides.

    python benchmarks/train.py [rounds] [part of a row's name]

A row is a function that describes its network once, as layers, and how it is trained; `ours` and
`torchs` know how to build each kind of layer. The losses of the first steps are compared, so that
both sides train the same thing.
"""

import sys
from dataclasses import dataclass

import peer
import report

CHECKED_STEPS = 5
LOSS_TOLERANCE = 2e-3  # relative; sums are ordered differently


@dataclass
class Model:
    layers: list  # (kind, ...), as the builders below read them
    image: tuple  # shape of one input
    optimizer: tuple  # (kind, learning rate)
    share: float  # of torch's time, as installed
    tuned_share: float | None = None
    batch: int = 64
    classes: int = 10


def mlp():
    return Model(
        layers=[
            ("linear", 784, 256),
            ("relu",),
            ("linear", 256, 256),
            ("relu",),
            ("linear", 256, 10),
        ],
        image=(784,),
        optimizer=("sgd", 0.1),
        share=0.5,
        tuned_share=0.85,
    )


def lenet():
    """LeCun et al., 1998, with relu and max pooling, on 28 x 28."""
    return Model(
        layers=[
            ("conv", 1, 6, 5, 2), ("relu",), ("pool", 2),
            ("conv", 6, 16, 5, 0), ("relu",), ("pool", 2),
            ("flatten",),
            ("linear", 400, 120), ("relu",), ("linear", 120, 84), ("relu",), ("linear", 84, 10),
        ],
        image=(1, 28, 28),
        optimizer=("adam", 1e-3),
        share=0.4,
    )  # fmt: skip


MODELS = {"MLP 784-256-256-10, batch 64, SGD": mlp, "LeNet-5 28x28, batch 64, Adam": lenet}


def data(model):
    """Noise and starting weights: [out, in, ...] of convolutions, [in, out] of linear."""
    import numpy as np

    rng = np.random.default_rng(0)
    images = rng.normal(size=(model.batch, *model.image)).astype(np.float32)
    labels = rng.integers(0, model.classes, (model.batch, 1))
    weights = []
    for kind, *sizes in model.layers:
        if kind == "linear":
            n_in, n_out = sizes
            weights += [(rng.normal(size=(n_in, n_out)) * n_in**-0.5), np.zeros(n_out)]
        elif kind == "conv":
            n_in, n_out, k, _ = sizes
            fan = n_in * k * k
            weights += [rng.normal(size=(n_out, n_in, k, k)) * fan**-0.5, np.zeros(n_out)]
    return images, labels, [w.astype(np.float32) for w in weights]


def ours(model):
    """step() of the network in dygraph; gives the loss as a variable."""
    import dygraph
    from dygraph import nn

    images, labels, weights = data(model)
    functional = dygraph.functional

    class Net(dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.parts = []
            for i, (kind, *sizes) in enumerate(model.layers):
                if kind == "linear":
                    part = nn.Linear(*sizes)
                elif kind == "conv":
                    n_in, n_out, size, padding = sizes
                    part = nn.Conv2D(n_in, n_out, size, padding=padding)
                elif kind == "pool":
                    part = nn.Pool2D(pool_size=sizes[0], pool_type="max", pool_stride=sizes[0])
                else:
                    part = {"relu": functional.relu, "flatten": flatten}[kind]
                if isinstance(part, dygraph.Layer):
                    self.add_sublayer(f"part{i}", part)
                self.parts.append(part)

        def forward(self, x):
            for part in self.parts:
                x = part(x)
            return x

    def flatten(x):
        return x.reshape([model.batch, -1])

    net = Net()
    for parameter, weight in zip(net.parameters(), weights, strict=True):
        parameter.set_value(weight)
    kind, rate = model.optimizer
    make = {"sgd": dygraph.optimizer.SGD, "adam": dygraph.optimizer.Adam}[kind]
    optimizer = make(rate, parameter_list=net.parameters())
    images, labels = dygraph.to_variable(images), dygraph.to_variable(labels)

    def step():
        loss = functional.mean(functional.softmax_with_cross_entropy(net(images), labels))
        loss.backward()
        optimizer.step()
        optimizer.clear_gradients()
        return loss

    return step


def torchs(model):
    import torch
    from torch import nn

    images, labels, weights = data(model)
    make = {
        "linear": nn.Linear,
        "relu": nn.ReLU,
        "flatten": nn.Flatten,
        "pool": nn.MaxPool2d,
        "conv": lambda n_in, n_out, size, padding: nn.Conv2d(n_in, n_out, size, padding=padding),
    }
    net = nn.Sequential(*(make[kind](*sizes) for kind, *sizes in model.layers))
    with torch.no_grad():
        for parameter, weight in zip(net.parameters(), weights, strict=True):
            parameter.copy_(torch.tensor(weight if weight.ndim != 2 else weight.T.copy()))
    kind, rate = model.optimizer
    make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[kind]
    optimizer = make(net.parameters(), rate)
    images, labels = torch.tensor(images), torch.tensor(labels[:, 0])
    criterion = nn.CrossEntropyLoss()

    def step():
        loss = criterion(net(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step


def case(build, model):
    def setup():
        step = build(model())

        def run(n):
            first = []
            for _ in range(n):
                loss = step()
                if n <= CHECKED_STEPS:
                    first.append(loss)
            return [loss.item() for loss in first]

        return run

    return setup


CASES = {
    side: {name: case(build, model) for name, model in MODELS.items()}
    for side, build in {"ours": ours, "torch": torchs}.items()
}


def check_losses(name, sides):
    """The first steps give one sequence of losses; returns the last of them."""
    losses = {side.name: side.run(name, CHECKED_STEPS)[1] for side in sides}
    for other, values in losses.items():
        for o, p in zip(losses["ours"], values, strict=True):
            if not abs(o - p) <= LOSS_TOLERANCE * abs(p):
                raise SystemExit(f"{name}: losses differ, ours {losses['ours']}, {other} {values}")
    return losses["ours"][-1]


def main(rounds, part):
    table = report.Report("train", f"A training step, threads: {peer.THREADS}")
    for name, make in MODELS.items():
        if part not in name:
            continue
        model = make()
        with (
            peer.Side(__file__, "ours") as us,
            peer.Side(__file__, "torch") as torch,
            peer.Side(__file__, "tuned") as tuned,
        ):
            sides = [us, torch, tuned]
            check_losses(name, sides)
            medians, ratios = peer.interleave(sides, name, rounds)
            table.add(name, medians["ours"], medians["torch"], ratios["torch"], model.share)
            table.add(
                f"{name}, torch tuned", medians["ours"], medians["tuned"], ratios["tuned"],
                model.tuned_share, peer_name="tuned",
            )  # fmt: skip
    table.finish()


if __name__ == "__main__":
    if not peer.worker(CASES):
        arguments = sys.argv[1:]
        number = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 30
        main(number, arguments[0] if arguments else "")
