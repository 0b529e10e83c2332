"""The networks that `train.py` trains, described once: layers, data, starting weights, work.

A layer is a tuple of its kind and its sizes; `ours.py` and `torchs.py` know how to build each kind,
`starting_weights` how its weights begin and `work` what it has to compute.
"""

import dataclasses
import functools
import math
from dataclasses import dataclass, field

BYTES = 4  # of a number


@dataclass
class Network:
    layers: list
    input: tuple  # its shape: noise, or numbers of words below `words`
    optimizer: tuple  # (kind, learning rate)
    share: float  # of torch's time, as installed, that we may take
    tuned_share: float | None = None
    classes: int = 10
    labels: tuple = ()  # their shape; () is one for each of the batch
    words: int | None = None
    lengths: tuple = ()  # of sequences whose steps are the rows of the input
    variants: tuple = ("",)  # ways to write it with torch; the fastest counts

    def __post_init__(self):
        self.labels = self.labels or (len(self.lengths) or self.input[0],)


# Images -------------------------------------------------------------------------------------------


def mlp():
    return Network(
        layers=[
            ("linear", 784, 256),
            ("relu",),
            ("linear", 256, 256),
            ("relu",),
            ("linear", 256, 10),
        ],
        input=(64, 784),
        optimizer=("sgd", 0.1),
        share=0.5,
        tuned_share=0.85,
    )


def lenet():
    """LeCun et al., 1998, with relu and max pooling, on 28 x 28."""
    return Network(
        layers=[
            ("conv", 1, 6, 5, 1, 2, True), ("relu",), ("pool", 2, 2, 0),
            ("conv", 6, 16, 5, 1, 0, True), ("relu",), ("pool", 2, 2, 0),
            ("flatten",),
            ("linear", 400, 120), ("relu",), ("linear", 120, 84), ("relu",), ("linear", 84, 10),
        ],
        input=(64, 1, 28, 28),
        optimizer=("adam", 1e-3),
        share=0.4,
    )  # fmt: skip


def convolution(n_in, n_out, size, stride=1):
    return [("conv", n_in, n_out, size, stride, size // 2, False), ("norm", n_out)]


def stages(n_in, widths, depths, growth, inner):
    """Residual blocks of He et al., 2016; every stage but the first halves height and width."""
    layers = []
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        for block in range(depth):
            stride = 2 if stage and not block else 1
            n_out = width * growth
            way = convolution(n_in, n_out, 1, stride) if stride > 1 or n_in != n_out else []
            layers.append(("residual", inner(n_in, width, n_out, stride), way))
            n_in = n_out
    return layers


def resnet18():
    """With a first convolution of 3 x 3 and no pooling behind it, as usual for small images."""

    def basic(n_in, width, n_out, stride):
        first = convolution(n_in, width, 3, stride)
        return [*first, ("relu",), *convolution(width, n_out, 3)]

    return Network(
        layers=[
            *convolution(3, 64, 3),
            ("relu",),
            *stages(64, (64, 128, 256, 512), (2, 2, 2, 2), 1, basic),
            ("mean of pixels",),
            ("linear", 512, 10),
        ],
        input=(16, 3, 32, 32),
        optimizer=("momentum", 1e-3),
        share=0.85,
    )


def resnet50():
    """The stride lies in the 3 x 3 convolution of a block."""

    def bottleneck(n_in, width, n_out, stride):
        first, second = convolution(n_in, width, 1), convolution(width, width, 3, stride)
        return [*first, ("relu",), *second, ("relu",), *convolution(width, n_out, 1)]

    return Network(
        layers=[
            *convolution(3, 64, 7, 2),
            ("relu",),
            ("pool", 3, 2, 1),
            *stages(64, (64, 128, 256, 512), (3, 4, 6, 3), 4, bottleneck),
            ("mean of pixels",),
            ("linear", 2048, 1000),
        ],
        input=(4, 3, 224, 224),
        optimizer=("momentum", 1e-5),
        share=0.85,
        classes=1000,
    )


# Sequences ----------------------------------------------------------------------------------------


def language_model(lstm, share, tuned_share=None):
    return Network(
        layers=[("embedding", 10_000, 256, False), (lstm, 256, 256), ("linear", 256, 10_000)],
        input=(35, 20),
        words=10_000,
        optimizer=("sgd", 0.5),
        share=share,
        tuned_share=tuned_share,
        classes=10_000,
        labels=(35, 20),
    )


def transformer():
    return Network(
        layers=[*[("encoder", 256, 4, 1024)] * 4, ("linear", 256, 10)],
        input=(8, 128, 256),
        optimizer=("adamw", 1e-4),
        share=0.55,
        tuned_share=1.0,
        labels=(8, 128),
    )


def bert_base():
    """Words and encoder of Devlin et al., 2018, for inference."""
    return Network(
        layers=[("embedding", 30_522, 768, False), *[("encoder", 768, 12, 3072, "gelu")] * 12],
        input=(1, 128),
        words=30_522,
        optimizer=("adamw", 1e-4),
        share=1.0,
        classes=768,
        labels=(1, 128),
    )


def sparse_embedding():
    return Network(
        layers=[("embedding", 200_000, 64, True), ("mean of words",), ("linear", 64, 10)],
        input=(512, 10),
        words=200_000,
        optimizer=("sgd", 0.5),
        share=0.5,
    )


def ragged_lstm():
    """Sequences of 5 to 200 steps, in an order that is no order; the last state is classified."""
    lengths = tuple(5 + 195 * (i * 11 % 32) // 31 for i in range(32))
    return Network(
        layers=[("last of lstm", 64, 128), ("linear", 128, 10)],
        input=(sum(lengths), 64),
        lengths=lengths,
        optimizer=("sgd", 0.1),
        share=0.3,
        variants=("padded", "packed"),
    )


NETWORKS = {
    "MLP 784-256-256-10, batch 64, SGD": mlp,
    "LeNet-5 28x28, batch 64, Adam": lenet,
    "ResNet-18 for 32x32, batch 16, momentum": resnet18,
    "ResNet-50 224x224, batch 4, momentum": resnet50,
    "LSTM language model, library layer": lambda: language_model("lstm", 0.55, 1.0),
    "LSTM language model, loop over a cell": lambda: language_model("loop over lstm", 0.6),
    "Transformer encoder, 4 layers, AdamW": transformer,
    "Sparse embedding 200k x 64, SGD": sparse_embedding,
    "LSTM of 32 sequences of 5 to 200 steps": ragged_lstm,
}


def grown(make, batch, length=None):
    """The network with another batch, and sequences of another length; at most 0.9 of torch."""
    network = make()
    words = (length or network.input[1],)
    sequences = len(network.labels) > 1
    return dataclasses.replace(
        network,
        input=(batch, *(words if sequences else network.input[1:2]), *network.input[2:]),
        labels=(batch, *words) if sequences else (batch,),
        share=0.9,
        tuned_share=None,
    )


# How a step grows with its batch and the length of its sequences.
GROWTH = {
    **{f"MLP, batch {n}": functools.partial(grown, mlp, n) for n in (1, 16, 256, 4096)},
    **{f"ResNet-18, batch {n}": functools.partial(grown, resnet18, n) for n in (1, 4, 64)},
    **{f"Transformer, batch {n}": functools.partial(grown, transformer, n) for n in (1, 32, 64)},
    **{
        f"Transformer, length {n}": functools.partial(grown, transformer, 8, n)
        for n in (64, 256, 512, 1024)
    },
}
NETWORKS.update(GROWTH)


def named(part):
    """Names of networks that contain `part`, whatever its case; without one, all but `GROWTH`."""
    return [
        name for name in NETWORKS if part.lower() in name.lower() and (part or name not in GROWTH)
    ]


# Data and weights ---------------------------------------------------------------------------------


def data(network):
    """(inputs, labels) as NumPy arrays."""
    import numpy as np

    rng = np.random.default_rng(0)
    if network.words:
        inputs = rng.integers(0, network.words, network.input)
    else:
        inputs = rng.normal(size=network.input).astype(np.float32)
    return inputs, rng.integers(0, network.classes, network.labels)


def starting_weights(layers, rng=None):
    """A list of arrays for each layer that has any, inner layers of "residual" one by one.

    Convolutions are [out, in, height, width], "linear" [in, out]; an encoder has them in the order
    query, key, value, output, two of the feed-forward part, each with a bias, then two norms.
    """
    import numpy as np

    rng = rng or np.random.default_rng(1)

    def normal(*shape, fan):
        return rng.standard_normal(shape, np.float32) * np.float32(fan**-0.5)

    def zeros(*shape):
        return np.zeros(shape, np.float32)

    def linear(n_in, n_out):
        return [normal(n_in, n_out, fan=n_in), zeros(n_out)]

    def norm(size):
        return [np.ones(size, np.float32), zeros(size)]

    found = []
    for kind, *sizes in layers:
        if kind == "residual":
            for part in sizes:
                found += starting_weights(part, rng)
        elif kind == "linear":
            found.append(linear(*sizes))
        elif kind == "conv":
            n_in, n_out, size, _, _, biased = sizes
            weight = normal(n_out, n_in, size, size, fan=n_in * size * size / 2)
            found.append([weight, zeros(n_out)] if biased else [weight])
        elif kind == "norm":
            found.append(norm(*sizes))
        elif kind == "embedding":
            found.append([normal(*sizes[:2], fan=1)])
        elif "lstm" in kind:
            n_in, n = sizes
            found.append(
                [normal(4 * n, n_in, fan=n), normal(4 * n, n, fan=n), zeros(4 * n), zeros(4 * n)]
            )
        elif kind == "encoder":
            d, _, inner = sizes[:3]
            weights = [w for _ in "qkvo" for w in linear(d, d)]
            found.append(weights + linear(d, inner) + linear(inner, d) + norm(d) + norm(d))
    return found


# Work ---------------------------------------------------------------------------------------------

STATES = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}  # numbers kept for each parameter


@dataclass
class Work:
    """What one pass has to do: products of two numbers; outputs of layers with weights."""

    products: int = 0
    first: int = 0  # products of the gradient of the network's input, which is not computed
    parameters: int = 0  # that a step reads and changes
    kept: int = 0  # numbers the backward pass reads again
    shape: tuple = field(default=())

    def add(self, products, products_of_input, parameters, shape, kept=None):
        if not self.parameters:
            self.first = products_of_input
        self.products += products
        self.parameters += parameters
        self.kept += math.prod(shape) if kept is None else kept
        self.shape = shape


def walk(layers, done):
    for kind, *sizes in layers:
        shape = done.shape
        rows = math.prod(shape[:-1])
        if kind == "residual":
            main, way = sizes
            walk(main, done)
            out, done.shape = done.shape, shape
            walk(way, done)
            done.shape = out
        elif kind in ("conv", "pool"):
            size, stride, padding = sizes[2:5] if kind == "conv" else sizes
            area = [(n + 2 * padding - size) // stride + 1 for n in shape[2:]]
            if kind == "pool":
                done.shape = (*shape[:2], *area)
                continue
            n_in, n_out, biased = sizes[0], sizes[1], sizes[5]
            weights = n_in * n_out * size * size
            products = shape[0] * math.prod(area) * weights
            done.add(products, products, weights + biased * n_out, (shape[0], n_out, *area))
        elif kind == "norm":
            done.parameters += 2 * sizes[0]
        elif kind == "linear":
            n_in, n_out = sizes
            products = rows * n_in * n_out
            done.add(products, products, n_in * n_out + n_out, (*shape[:-1], n_out))
        elif kind == "embedding":
            count, width, sparse = sizes
            looked_up = math.prod(shape) * width
            done.add(0, 0, looked_up if sparse else count * width, (*shape, width))
        elif "lstm" in kind:
            n_in, n = sizes
            of_input = rows * 4 * n * n_in
            products = of_input + rows * 4 * n * n
            # Kept: four gates, the cell and the output of each step.
            done.add(products, of_input, 4 * n * (n_in + n + 2), (*shape[:-1], n), rows * 6 * n)
        elif kind == "encoder":
            d, heads, inner = sizes[:3]
            attention = 2 * rows * shape[1] * d
            products = rows * (4 * d * d + 2 * d * inner) + attention
            parameters = 4 * (d * d + d) + 2 * d * inner + inner + d + 4 * d
            weights = heads * rows * shape[1]
            done.add(
                products, 3 * rows * d * d, parameters, shape, rows * (7 * d + inner) + weights
            )
        elif kind == "flatten":
            done.shape = (shape[0], math.prod(shape[1:]))
        elif kind in ("mean of pixels", "mean of words"):
            done.shape = shape[:2] if kind == "mean of pixels" else (shape[0], shape[2])
    return done


def work(network):
    """(floating point operations, bytes) that a training step cannot do without.

    A product of the forward pass is a multiplication and an addition, and as many again for the
    gradient of each factor; that of the network's input is not needed. Bytes: parameters and the
    optimizer's states are read and written, gradients of parameters written and read, outputs of
    layers with weights written by the forward pass and read by the backward pass.
    """
    done = walk(network.layers, Work(shape=network.input))
    states = STATES[network.optimizer[0]]
    numbers = done.parameters * (4 + 2 * states) + done.kept * 2
    return 2 * (3 * done.products - done.first), BYTES * numbers
