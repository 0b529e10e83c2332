"""Whole networks in ONNX Runtime, at other sizes than those of the export."""

import numpy as np
import pytest

import dygraph
import onnx
from dygraph import nn
from dygraph import ops as F
from dygraph.jit import InputSpec
from dygraph.onnx.exporting import OLDEST, newest
from onnx_export_cases import model_of, run

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.normal(size=shape).astype("float32")


class Residual(dygraph.Layer):
    def __init__(self, n):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2D(n, n, 3, padding=1, bias_attr=False), nn.BatchNorm2D(n), nn.ReLU(),
            nn.Conv2D(n, n, 3, padding=1, bias_attr=False), nn.BatchNorm2D(n),
        )  # fmt: skip

    def forward(self, x):
        return F.relu(self.main(x) + x)


class Language(dygraph.Layer):
    """Words, two layers of LSTM both ways, and scores of words."""

    def __init__(self, kind):
        super().__init__()
        self.words = nn.Embedding([20, 6])
        self.steps = kind(6, 5, num_layers=2, direction="bidirect", time_major=False)
        self.out = nn.Linear(10, 20)

    def forward(self, words):
        states, last = self.steps(self.words(words))
        return self.out(states), last


class Bert(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding([20, 8])
        layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu")
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, words, hidden):
        seen = (hidden == 0).astype("bool").unsqueeze([1, 2])
        return F.tanh(self.encoder(self.words(words), seen).mean(1))


class Faces(dygraph.Layer):
    """An encoder and decoder of images: resizing, concatenation, normalisation of groups."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2D(3, 4, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(4, 2)
        self.up = nn.Conv2DTranspose(4, 4, 2, stride=2)
        self.out = nn.Conv2D(8, 1, 1)

    def forward(self, x):
        low = F.silu(self.norm(self.down(x)))
        wide = nn.functional.interpolate(low, scale_factor=2, mode="bilinear")
        return F.sigmoid(self.out(dygraph.concat([self.up(low), wide], 1)))


def words(*shape):
    return RNG.integers(0, 20, shape)


MODELS = {
    "MLP": (
        lambda: nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.GELU(), nn.Linear(8, 3)),
        [InputSpec(["batch", 6])],
        [(floats(1, 6),), (floats(5, 6),)],
    ),
    "LeNet": (
        lambda: nn.Sequential(
            nn.Conv2D(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2D(2), nn.Conv2D(6, 16, 5),
            nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(), nn.Linear(64, 10), nn.Softmax(),
        ),
        [InputSpec([None, 1, 16, 16])],
        [(floats(2, 1, 16, 16),), (floats(1, 1, 16, 16),)],
    ),
    "ResNet": (
        lambda: nn.Sequential(
            nn.Conv2D(3, 8, 7, 2, 3), nn.BatchNorm2D(8), nn.ReLU(), nn.MaxPool2D(3, 2, 1),
            Residual(8), Residual(8), nn.AdaptiveAvgPool2D(2), nn.Flatten(), nn.Linear(32, 5),
        ),
        [InputSpec(["batch", 3, "height", "width"])],
        [(floats(2, 3, 32, 32),), (floats(1, 3, 40, 28),)],
    ),
    "LSTM": (
        lambda: Language(nn.LSTM),
        [InputSpec(["batch", "time"], "int64")],
        [(words(3, 7),), (words(1, 2),)],
    ),
    "GRU": (
        lambda: Language(nn.GRU),
        [InputSpec(["batch", "time"], "int64")],
        [(words(3, 7),), (words(2, 1),)],
    ),
    "BERT": (
        Bert,
        [InputSpec(["batch", "time"], "int64"), InputSpec(["batch", "time"], "int64")],
        [(words(3, 7), words(3, 7) // 15), (words(1, 4), words(1, 4) * 0)],
    ),
    "U-Net": (
        Faces,
        [InputSpec(["batch", 3, "height", "width"])],
        [(floats(2, 3, 16, 16),), (floats(1, 3, 20, 12),)],
    ),
}  # fmt: skip


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value.numpy()]


def made(name):
    dygraph.seed(3)
    make, spec, given = MODELS[name]
    net = make()
    for layer in net.sublayers():
        if isinstance(layer, nn.BatchNorm2D):  # as after training
            for buffer in layer.buffers():
                buffer.set_value(abs(floats(*buffer.shape)) + 0.5)
    net.eval()
    return net, spec, given


@pytest.mark.parametrize("name", MODELS)
def test_values_at_several_sizes(name):
    net, spec, given = made(name)
    model = model_of(net, spec)
    for arrays in given:
        with dygraph.no_grad():
            want = leaves(net(*map(dygraph.to_variable, arrays)))
        fed = dict(zip((i.name for i in model.graph.input), arrays, strict=True))
        got = list(run(model, fed).values())
        for ours, theirs in zip(want, got, strict=True):
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-5)


def test_names_of_sizes():
    net, spec, _ = made("ResNet")
    model = model_of(net, spec)
    axes = [d.dim_param or d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    assert axes == ["batch", 3, "height", "width"]
    net, _, _ = made("LeNet")
    model = model_of(net, [InputSpec([None, 1, 16, 16], name="image")])
    (given,) = model.graph.input
    assert given.type.tensor_type.shape.dim[0].dim_param == f"{given.name}.0"


@pytest.mark.parametrize("opset", range(OLDEST, newest() + 1))
def test_every_opset(opset):
    net, spec, given = made("U-Net")
    model = model_of(net, spec, opset)
    (set_,) = model.opset_import
    assert (set_.domain, set_.version) == ("", opset)
    with dygraph.no_grad():
        want = net(dygraph.to_variable(given[1][0])).numpy()
    (got,) = run(model, {model.graph.input[0].name: given[1][0]}).values()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_recurrent_layers_are_operators_of_onnx():
    net, spec, _ = made("LSTM")
    nodes = [n for n in model_of(net, spec).graph.node if n.op_type == "LSTM"]
    assert len(nodes) == 2  # one for each layer, both ways
    for node in nodes:
        values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        assert values == {"hidden_size": 5, "direction": b"bidirectional"}


def test_a_traced_layer_and_a_ragged_batch():
    class Last(dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(4, 3)

        def forward(self, x):
            out, (hidden, _) = self.lstm(x)
            return out, hidden

    net = Last()
    net.eval()
    rows = floats(9, 4)
    given = dygraph.to_variable(rows, lod=[[0, 3, 4, 9]])
    with dygraph.no_grad():
        _, traced = dygraph.jit.trace(net, [given])
    model = model_of(traced)
    name = traced.feed_names[0]
    for lengths in ([3, 1, 5], [9], [2, 2, 2, 2, 1]):
        offsets = [0, *np.cumsum(lengths).tolist()]
        with dygraph.no_grad():
            want = [v.numpy() for v in net(dygraph.to_variable(rows, lod=[offsets]))]
        got = run(model, {name: rows, f"{name}.lengths": np.array(lengths)})
        assert [len(got), got.pop(f"{traced.fetch_names[0]}.lengths").tolist()] == [3, lengths]
        for ours, theirs in zip(want, got.values(), strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-5)
