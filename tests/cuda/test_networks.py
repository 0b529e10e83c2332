"""Networks train on a CUDA device as on the host, without leaving it for what they multiply."""

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import _core, cuda, nn, ops

STEPS = 4

# What must not fall back to the host.
ON_DEVICE = {
    "conv2d",
    "depthwise_conv2d",
    "conv2d_transpose",
    "pool2d",
    "matmul",
    "matmul_v2",
    "mul",
    "bmm",
    "scaled_dot_product_attention",
}


@pytest.fixture
def place():
    """The device, or the test is left out."""
    here = cuda_library.place()
    if here is None:
        pytest.skip("no CUDA library")
    return here


class LeNet(nn.Layer):
    """Two convolutions with pools, three dense layers."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2D(1, 6, 5, padding=2, act="relu")
        self.pool1 = nn.Pool2D(2, "max", 2)
        self.conv2 = nn.Conv2D(6, 16, 5, act="relu")
        self.pool2 = nn.Pool2D(2, "avg", 2)
        self.dense1 = nn.Linear(16, 24, act="relu")
        self.dense2 = nn.Linear(24, 10)

    def forward(self, x):
        x = self.pool1(self.conv1(x))
        x = self.pool2(self.conv2(x))
        return self.dense2(self.dense1(dygraph.reshape(x, [len(x), 16])))


class Block(nn.Layer):
    """A residual block whose shortcut is a convolution where sizes change."""

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.conv1 = nn.Conv2D(channels, filters, 3, stride, 1, bias_attr=False)
        self.norm1 = nn.BatchNorm(filters, act="relu")
        self.conv2 = nn.Conv2D(filters, filters, 3, 1, 1, bias_attr=False)
        self.norm2 = nn.BatchNorm(filters)
        self.short = nn.Conv2D(channels, filters, 1, stride) if stride > 1 else None

    def forward(self, x):
        short = self.short(x) if self.short is not None else x
        y = self.norm2(self.conv2(self.norm1(self.conv1(x))))
        return ops.relu(y + short)


class ResNet(nn.Layer):
    """A stem, two blocks and a global average."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2D(3, 8, 3, 2, 1)
        self.pool = nn.Pool2D(3, "max", 2, 1)
        self.block1 = Block(8, 8, 1)
        self.block2 = Block(8, 16, 2)
        self.mean = nn.Pool2D(pool_type="avg", global_pooling=True)
        self.dense = nn.Linear(16, 10)

    def forward(self, x):
        x = self.block2(self.block1(self.pool(self.stem(x))))
        return self.dense(dygraph.reshape(self.mean(x), [len(x), 16]))


class Encoder(nn.Layer):
    """A Transformer encoder over rows of numbers, and a dense layer on its mean."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0)
        self.dense = nn.Linear(16, 10)

    def forward(self, x):
        return self.dense(dygraph.mean(self.layer(x), 1))


def train(network, state, x, labels, dtype):
    """The losses and the last parameters of a few steps from `state`, or from the layer's own."""
    model = network()
    if state is not None:
        model.set_state_dict(state)
    before = {name: v.numpy().copy() for name, v in model.state_dict().items()}
    sgd = dygraph.optimizer.Momentum(
        learning_rate=0.05, momentum=0.9, parameters=model.parameters()
    )
    losses = []
    for _ in range(STEPS):
        out = model(dygraph.to_variable(x.astype(dtype)))
        loss = nn.functional.cross_entropy(out, dygraph.to_variable(labels[:, 0]))
        loss.backward()
        sgd.step()
        sgd.clear_grad()
        losses.append(loss)
    return before, [v.item() for v in losses], {n: v.numpy() for n, v in model.state_dict().items()}


@pytest.mark.parametrize(
    ("network", "shape"),
    [(LeNet, (4, 1, 12, 12)), (ResNet, (4, 3, 16, 16)), (Encoder, (3, 5, 16))],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_trains_as_on_the_host(place, network, shape, dtype):
    draw = np.random.default_rng(3)
    x = draw.normal(size=shape)
    labels = draw.integers(0, 10, (shape[0], 1))
    with dygraph.guard(dtype=dtype):
        state, losses, parameters = train(network, None, x, labels, dtype)
        counts = dict(cuda.fallbacks())
        with cuda_library.on(place):
            _, device_losses, device_parameters = train(network, state, x, labels, dtype)
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(device_losses, losses, 1e-5)
    for name, value in parameters.items():
        np.testing.assert_allclose(device_parameters[name], value, 1e-4, 1e-5, err_msg=name)
    fell_back = {n for n, count in cuda.fallbacks().items() if count > counts.get(n, 0)}
    assert not {n for n in fell_back if n.removesuffix("_grad") in ON_DEVICE}


def test_channels_last(place):
    """An image whose channels lie last stays so through a convolution, and gives the same."""
    draw = np.random.default_rng(5)
    image = draw.normal(size=(2, 3, 7, 6)).astype("float32")
    filters = draw.normal(size=(4, 3, 3, 3)).astype("float32")
    slots = {"strides": [2, 1], "paddings": [1, 0, 2, 1]}
    want = ops.conv2d(dygraph.to_variable(image), dygraph.to_variable(filters), **slots)
    with cuda_library.on(place):
        x = _core.to_layout(dygraph.to_variable(image), "NHWC")
        got = ops.conv2d(x, dygraph.to_variable(filters), **slots)
    assert _core.layout(got) == "NHWC"
    np.testing.assert_allclose(got.numpy(), want.numpy(), 1e-4, 1e-5)


@pytest.mark.parametrize("flag", ["cudnn_exhaustive_search", "allow_tf32"])
def test_flags_of_convolutions(place, flag):
    """With the flag the same convolution and gradients, within what the flag allows."""
    draw = np.random.default_rng(6)
    image = draw.normal(size=(2, 3, 8, 7)).astype("float32")
    weights = draw.normal(size=(4, 3, 3, 3)).astype("float32")

    def run():
        x, w = dygraph.to_variable(image), dygraph.to_variable(weights)
        x.stop_gradient = w.stop_gradient = False
        y = ops.conv2d(x, w, paddings=[1, 1])
        dygraph.mean(y * y).backward()
        return [y.numpy(), x.grad.numpy(), w.grad.numpy()]

    want = run()
    dygraph.set_flags({f"FLAGS_{flag}": True})
    try:
        with cuda_library.on(place):
            got = run()
    finally:
        dygraph.set_flags({f"FLAGS_{flag}": False})
    tolerance = 2e-3 if flag == "allow_tf32" and not cuda_library.is_pretended() else 1e-5
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, tolerance, tolerance)
