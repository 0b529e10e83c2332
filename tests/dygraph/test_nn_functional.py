"""`dygraph.nn.functional` against what PyTorch and Paddle 2 recorded for the same lines."""

import importlib.util
import inspect
import json
import os

import numpy as np
import pytest

import dygraph
import dygraph.nn.functional as F
from dygraph import nn, static

_SPEC = importlib.util.spec_from_file_location(
    "record_functional", os.path.join(os.path.dirname(__file__), "record_functional.py")
)
recorded = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(recorded)

RECORDS = {
    peer: json.loads((recorded.HERE / f"functional_{peer}.json").read_text())
    for peer in ("torch", "paddle")
}
LAYERS = json.loads((recorded.HERE / "layers_torch.json").read_text())
LINES = [(peer, pair) for peer, pairs in recorded.LINES.items() for pair in pairs]
# The result's type is ours where it is no number that a gradient flows through.
TYPES = {"F.max_pool2d(image, 2, return_indices=True)[1]": "int32",
         "F.adaptive_max_pool2d(image, 2, return_indices=True)[1]": "int32"}  # fmt: skip


def var(value, dtype=None):
    return dygraph.to_variable(np.asarray(value, dtype))


def leaf(name, wanted=False):
    made = dygraph.to_variable(recorded.ARRAYS[name].copy())
    made.stop_gradient = not wanted
    return made


def line_of(pair):
    return (pair, pair) if isinstance(pair, str) else pair


def close(got, expected, what=""):
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7, err_msg=what)


@pytest.mark.parametrize(("peer", "pair"), LINES, ids=lambda v: v if isinstance(v, str) else v[0])
def test_a_peers_line_gives_the_peers_values(peer, pair):
    theirs, ours = line_of(pair)
    want = RECORDS[peer][theirs]
    wanted = recorded.differentiated(theirs)
    given = {n: leaf(n, n in wanted) for n in recorded.names_in(theirs)}
    out = eval(ours, {"F": F, **given})
    assert list(out.shape) == want["shape"]
    assert out.dtype.name == TYPES.get(theirs, want["type"])
    close(recorded.digest(out.numpy()), want["value"], "values")
    if "grads" in want and want["grads"]:
        (out * var(recorded.probe(out.shape), out.dtype.name)).sum().backward()
        for name, grad in want["grads"].items():
            close(recorded.digest(given[name].gradient()), grad, f"gradient of {name}")
    for name in ("mean4", "var4"):
        if name in want:
            close(recorded.digest(given[name].numpy()), want[name], name)


def test_every_function_has_a_recorded_line_or_a_test_here():
    text = " ".join(line_of(pair)[1] for _, pair in LINES) + inspect.getsource(
        inspect.getmodule(leaf)
    )
    assert [name for name in F.__all__ if f"F.{name}(" not in text] == []


# Programs and traces ------------------------------------------------------------------------------

# Written into the running values, and counted in Python, which a program does not do.
NOT_DESCRIBED = ("F.batch_norm(image, mean4, var4, w4, b4, True", "F.one_hot(c, dtype=")
DESCRIBED = sorted(
    line for line in {line_of(pair)[1] for _, pair in LINES} if not line.startswith(NOT_DESCRIBED)
)


@pytest.mark.parametrize("line", DESCRIBED)
def test_a_described_line_has_the_bits_of_an_eager_one(line):
    names = recorded.names_in(line)
    expected = eval(line, {"F": F, **{n: leaf(n) for n in names}})
    program = static.Program()
    with static.program_guard(program):
        data = {
            n: static.data(n, list(a.shape), a.dtype.name)
            for n, a in ((n, recorded.ARRAYS[n]) for n in names)
        }
        out = eval(line, {"F": F, **data})
    feed = {n: recorded.ARRAYS[n] for n in names}
    (got,) = static.Executor().run(program, feed=feed, fetch_list=[out])
    assert got.dtype.name == expected.dtype.name and got.shape == expected.shape
    assert got.tobytes() == expected.numpy().tobytes()


# One line for each function whose first argument is a batch.
FIRST = {}
for line in DESCRIBED:
    FIRST.setdefault(line.split("(")[0], line)


@pytest.mark.parametrize("line", sorted(FIRST.values()))
def test_a_traced_line_has_the_bits_of_an_eager_one(line):
    names = recorded.names_in(line)
    names.sort(key=line.index)
    function = eval(f"lambda {', '.join(names)}: {line}", {"F": F})
    expected = function(*[leaf(n) for n in names])
    made, program = dygraph.jit.trace(function, [leaf(n) for n in names])
    got = program([leaf(n) for n in names])
    for value in (made, got[0]):
        assert value.numpy().tobytes() == expected.numpy().tobytes()


# Layers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "names", "own"), recorded.LAYERS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_layer_gives_torchs_values_with_torchs_state(line, names, own):
    want = LAYERS[f"{line} of {names}"]
    layer = eval(recorded.our_line(line, own), vars(nn) | {n: getattr(nn, n) for n in nn.__all__})
    layer.to(dtype="float64")
    if not line.endswith("train()"):
        layer.eval()
    state = {n: recorded.weight(n, shape) for n, shape in want["state"].items()}
    if state:  # torch's InstanceNorm has no parameters; ours are 1 and 0
        assert not layer.set_state_dict(state, from_torch=True)
    out = layer(*(leaf(n) for n in names.split(", ")))
    out = out[0] if isinstance(out, tuple) else out
    assert list(out.shape) == want["shape"]
    close(recorded.digest(out.numpy()), want["value"])


# Layers that PyTorch does not have, or whose parameters have other names there.
ALONE = set(
    "BatchNorm BiRNN BilinearTensorProduct CenterLoss Dropout1D Dropout2D Dropout3D "
    "FeatureAlphaDropout GRUUnit HSigmoid InstanceNorm Layer LayerDict LayerList MaxUnPool1D "
    "MaxUnPool2D MaxUnPool3D Maxout MultiHeadAttention NCE PRelu ParameterDict ParameterList "
    "Pool2D RNN RNNCellBase RNNTLoss Sequential SpectralNorm Swish ThresholdedReLU Transformer "
    "TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer "
    "TreeConv scaled_dot_product_attention".split()
)


def test_a_transducer_of_even_chances():
    one, two = dygraph.to_variable([1]), dygraph.to_variable([2])
    loss = F.rnnt_loss(
        dygraph.zeros(1, 2, 2, 2), dygraph.to_variable([[1]]), two, one, blank=0, fastemit_lambda=0
    )
    assert loss.item() == pytest.approx(np.log(4))  # two paths of three moves


def test_every_layer_that_torch_has_is_compared():
    compared = {recorded.our_line(line, own).split("(")[0] for line, _, own in recorded.LAYERS}
    layers = set(nn.__all__) - {n for n in nn.__all__ if n.startswith("ClipGrad")}
    assert layers - ALONE == compared


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.Linear(3, 3, False), "Write bias_attr=False for a layer without a bias"),
        (lambda: nn.Linear(3, 3, bias=False), "bias_attr=False"),
        (lambda: nn.Conv2D(3, 3, 3, 1, 0, 1, 1, True), "Write bias_attr=False"),
        (lambda: nn.Conv2DTranspose(8, 4, 4, 2, 1, 0, 1), "positional argument"),
        (lambda: nn.Embedding(10, 4), r"Write Embedding\(\[10, 4\]\)"),
        (lambda: nn.LayerNorm(4, 1e-6), r"epsilon=1e-06\)"),
        (lambda: nn.LayerNorm(4, eps=1e-6), "use epsilon="),
        (lambda: nn.GroupNorm(2, 8), r"Write GroupNorm\(8, 2\)"),
        (lambda: nn.BatchNorm2D(4, 0.1), "act must be an activation's name"),
        (lambda: nn.MaxPool2D(2, 2, 0, True), "positional argument"),
        (lambda: nn.AvgPool1D(2, 2, 0, True), "positional argument"),
        (lambda: nn.Unfold(2, 1, 0, 1), "positional argument"),
        (lambda: nn.SmoothL1Loss("mean", 2.0), "positional argument"),
        (lambda: nn.LeakyReLU(negative_slope=0.1), "use alpha="),
        (lambda: nn.ReLU(inplace=True), r"; leave it out: x = layer\(x\)"),
        (lambda: nn.ReLU6(True), "threshold must be a number"),
        (lambda: nn.GELU("erf"), "'none', 'tanh'"),
        (lambda: nn.GELU(0.5), "approximate must be True or False"),
        (lambda: nn.Dropout(0.5, True), "seed must be an integer"),
        (lambda: nn.LSTM(3, 4, 1, True), "direction must be one of"),
        (lambda: nn.LSTM(3, 4)(dygraph.ones([2, 5, 3])), "time_major=False"),
        (lambda: nn.Module, "Here: nn.Layer"),
        (lambda: nn.ModuleList, "Here: nn.LayerList"),
        (lambda: nn.ConvTranspose2d, "Here: nn.Conv2DTranspose"),
        (lambda: nn.Conv2d, "nn.Conv2D"),
    ],
)
def test_a_layer_made_as_in_torch_says_what_to_write(call, message):
    with pytest.raises((TypeError, ValueError, AttributeError), match=message):
        call()


# What differs, and wrong arguments ---------------------------------------------------------------

X, IDS = np.ones((2, 4), "float32"), np.array([0, 1])
IMAGE = np.ones((1, 2, 4, 4), "float32")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: F.leaky_relu(var(X), inplace=True), TypeError, r"write x = leaky_relu\(x\)"),
        (lambda: F.relu(var(X), inplace=True), TypeError, "It takes x"),
        (lambda: F.relu6(var(X), True), TypeError, "at most 1 positional argument,"),
        (lambda: F.elu(var(X), True), TypeError, "alpha must be a number, got bool True"),
        (lambda: F.elu(X), TypeError, "to_variable"),
        (lambda: F.hardtanh(var(X), 2, 1), ValueError, "min must be below max, got 2.0 and 1.0"),
        (lambda: F.celu(var(X), 0), ValueError, "alpha must not be 0"),
        (lambda: F.hardshrink(var(X), -1), ValueError, "at least 0"),
        (lambda: F.glu(var(X), axis=2), IndexError, "axis|dim"),
        (lambda: F.glu(var(X), axis=0, dim=1), TypeError, "got the argument .axis. twice"),
        (lambda: F.softmax(var(X), "0"), TypeError, "axis must be an int"),
        (lambda: F.softmax(dygraph.ones(2, 3, 4)), ValueError, "axis=-1.*torch takes 0"),
        (lambda: F.softmin(dygraph.ones(1, 2, 3, 4)), ValueError, "axis=-1.*torch takes 1"),
        (lambda: nn.LogSoftmax()(dygraph.ones(2, 3, 4)), ValueError, "LogSoftmax: .*axis=-1"),
        (lambda: F.softmax(var(X), -1, 5), TypeError, "dtype must be an element type"),
        (lambda: F.softmax(var(X), dim=2), IndexError, "axis"),
        (lambda: F.mse_loss(var(X), var(X), size_average=True), TypeError, "write reduction="),
        (lambda: F.mse_loss(var(X), var(X[0])), ValueError, "must have one shape"),
        (lambda: F.mse_loss(var(X), var(X), "avg"), ValueError, "'mean', 'sum', 'none'"),
        (lambda: F.smooth_l1_loss(var(X), var(X), delta=2.0), TypeError, "write huber_loss"),
        (lambda: F.smooth_l1_loss(var(X), var(X), "mean", 2.0), TypeError, "by name: beta"),
        (lambda: F.huber_loss(var(X), var(X), delta=0), ValueError, "above 0. l1_loss"),
        (lambda: F.kl_div(var(X), var(X), "avg"), ValueError, "batchmean"),
        (lambda: F.cross_entropy(var(IDS), var(X)), TypeError, r"cross_entropy\(scores, label\)"),
        (lambda: F.cross_entropy(var(X), var(X), soft_label=False), TypeError, "must hold classes"),
        (lambda: F.cross_entropy(var(X), var(IDS), soft_label=True), TypeError, "probabilities"),
        (lambda: F.cross_entropy(var(X), var(IDS), None, None), TypeError, "ignore_index"),
        (lambda: F.cross_entropy(var(X), var([0, 4])), IndexError, "4"),
        (lambda: F.cross_entropy(var(X), var([0, 1, 2])), ValueError, "shape"),
        (lambda: F.cross_entropy(var(X), var(IDS), use_softmax=False), TypeError, "write nll_loss"),
        (lambda: F.nll_loss(var(X), var(IDS), reduction="avg"), ValueError, "'mean', 'sum'"),
        (lambda: F.pairwise_distance(var(X), var(X), p=0.5), ValueError, "at least 1"),
        (lambda: F.linear(var(X), var(np.ones((3, 4), "float32"))), ValueError,
         r"PyTorch's order, \[out, in\]: write linear\(x, weight.T, bias\)"),
        (lambda: F.linear(var(X), var(np.ones((3, 5), "float32"))), ValueError, "weight"),
        (lambda: F.linear(var(X), var(X[0])), ValueError, "two axes"),
        (lambda: F.embedding(var(X), var(IDS)), TypeError, r"embedding\(indices, table\)"),
        (lambda: F.embedding(var(IDS), var(X), padding_idx=2), ValueError, r"\[-2, 2\)"),
        (lambda: F.embedding(var(IDS), var(X), padding_idx=1), ValueError, "Set the row to 0"),
        (lambda: F.batch_norm(var(X), var(X[0]), var(X[0]), momentum=0.1), ValueError, "0.9$"),
        (lambda: dygraph.nn.BatchNorm2D(3, momentum=0.2), ValueError, "write momentum=0.8$"),
        (lambda: F.embedding(var([2]), var(X)), IndexError, "2"),
        (lambda: F.one_hot(var(IDS), 0), ValueError, "at least 1, got 0"),
        (lambda: F.one_hot(var(np.zeros(0, "int64"))), ValueError, "num_classes must be given"),
        (lambda: F.dropout(var(X), 0.5, None), TypeError, "training must be True or False"),
        (lambda: F.dropout(var(X), 2), ValueError, "between 0"),
        (lambda: F.dropout(var(X), 0.5, True, "upscale_in_train"), TypeError, "by name: mode"),
        (lambda: F.alpha_dropout(var(X), 0.5), TypeError, "training must be True or False"),
        (lambda: F.dropout2d(var(X)), ValueError, "must have 4 axes"),
        (lambda: F.conv2d(var(X), var(IMAGE)), ValueError, "4 axes"),
        (lambda: F.conv2d(var(IMAGE), var(X)), ValueError, "weight must have 4 axes"),
        (lambda: F.conv2d(var(IMAGE), var(IMAGE), stride=2, padding="same"), ValueError, "stride"),
        (lambda: F.conv2d(var(IMAGE), var(IMAGE), padding="same"), ValueError, r"pad\(\)"),
        (lambda: F.conv2d(var(IMAGE), var(IMAGE), padding="full"), ValueError, "same"),
        (lambda: F.conv2d(var(IMAGE), var(IMAGE), data_format="NHWC"), TypeError, "transpose"),
        (lambda: F.conv2d_transpose(var(IMAGE), var(IMAGE), None, 1, 0, 0, 1), TypeError,
         "by name: groups, dilation, output_size"),
        (lambda: F.max_pool2d(var(IMAGE), 2, 2, 0, True), TypeError, "by name: dilation, ceil"),
        (lambda: F.max_pool2d(var(IMAGE), 2, dilation=2), ValueError, "dilation must be 1"),
        (lambda: F.avg_pool2d(var(IMAGE), 3, 2, 1), TypeError, "exclusive must be given"),
        (lambda: F.avg_pool2d(var(IMAGE), 3, 2, 1, exclusive=True, count_include_pad=True),
         TypeError, "got both"),
        (lambda: F.batch_norm(var(X), None, None, training=True), TypeError, "must be Variables"),
        (lambda: F.instance_norm(var(IMAGE), var([0.0])), TypeError, "running_mean must be None"),
        (lambda: F.group_norm(var(IMAGE), 2, 1e-5), TypeError, "by name: weight, bias, epsilon"),
        (lambda: F.layer_norm(var(X), 3), ValueError, r"\[3\], got shape \[2, 4\]"),
        (lambda: F.local_response_norm(var(X), 3), ValueError, "4 axes"),
        (lambda: F.pad(var(X), [1, 0, 0, 2]), ValueError,
         r"PyTorch means \[\(0, 2\), \(1, 0\)\], Paddle \[\(1, 0\), \(0, 2\)\]"),
        (lambda: F.pad(var(X), [(1, 0)]), ValueError, "a pair for each of the 2 axes"),
        (lambda: F.pad(var(X), [1, 0], "wrap"), ValueError, "mode"),
        (lambda: F.pad(var(X), [5, 0], "circular"), ValueError, "at most the size 4"),
        (lambda: F.interpolate(var(IMAGE), 2, mode="cubic"), ValueError, "bicubic"),
        (lambda: F.interpolate(var(X[0]), 2, mode="bicubic"), ValueError, "4 axes"),
        (lambda: F.interpolate(var(IMAGE), 2, mode="area", align_corners=True), ValueError, "area"),
        (lambda: F.interpolate(var(IMAGE), 2, mode="bilinear", antialias=True), ValueError,
         "antialias must be False"),
        (lambda: F.interpolate(var(IMAGE), scale_factor=-1.0), ValueError, "positive"),
        (lambda: F.rrelu(var(X)), TypeError, "PyTorch's default is False, Paddle's True"),
        (lambda: F.fold(var(X), 3, 2, 1, 0, 1), TypeError, "by name: stride, padding, dilation"),
        (lambda: F.interpolate(var(IMAGE), 2, align_corners=True), ValueError, "nearest"),
        (lambda: F.interpolate(var(IMAGE)), ValueError, "size and scale_factor"),
        (lambda: F.unfold(var(IMAGE), 2, 1, 0, 1), TypeError, "by name: stride, padding, dilation"),
        (lambda: F.grid_sample(var(IMAGE), var(np.zeros((1, 2, 2, 2), "float32"))), TypeError,
         "PyTorch's default is False, Paddle's True"),
        (lambda: F.affine_grid(var(np.zeros((1, 2, 3), "float32")), [1, 1, 2, 2]), TypeError,
         "align_corners must be given"),
        (lambda: F.scaled_dot_product_attention(*[var(IMAGE)] * 3, None, 0.0, True, 0.5),
         TypeError, "by name: scale, training"),
        (lambda: F.gumbel_softmax(var(X), 0.0), ValueError, "positive, got 0.0"),
        (lambda: F.lp_pool2d, AttributeError, "no function 'lp_pool2d'"),
        (lambda: F.rellu, AttributeError, "Did you mean 'relu'"),
        (lambda: F.mish(var(X), name="a"), TypeError, "variables of programs name themselves"),
    ],
)  # fmt: skip
def test_wrong_arguments_say_what_to_write(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert isinstance(caught.value, (dygraph.errors.DygraphError, AttributeError))


def test_an_axis_of_classes_that_may_be_two_must_be_given():
    scores, label = var(recorded.wave(2, 3, 3)), var(np.zeros((2, 3), "int64"))
    with pytest.raises(ValueError, match="Write axis=1 or axis=-1"):
        F.cross_entropy(scores, label)
    with pytest.raises(ValueError, match="Write axis=1 or axis=-1"):
        F.cross_entropy(scores, F.softmax(scores, axis=-1))
    logs = scores.numpy() - np.log(np.exp(scores.numpy()).sum(axis=-1, keepdims=True))
    close(F.cross_entropy(scores, label, axis=-1).item(), -logs[..., 0].mean())


def test_softmax_converts_first():
    out = F.softmax(var([[0, 0]], "int64"), dtype="float32")
    assert (out.dtype, out.tolist()) == (dygraph.float32, [[0.5, 0.5]])


def test_dropout_keeps_the_mean_while_training():
    x = dygraph.ones(1000)
    for made in (F.dropout(x, 0.2), nn.Dropout(0.2)(x)):
        assert set(np.unique(made.numpy())) <= {np.float32(0), np.float32(1.25)}
        assert abs(made.numpy().mean() - 1) < 0.1
    assert F.dropout(x, 0.2, training=False).numpy().tolist() == x.numpy().tolist()
    assert nn.Dropout(0.2).eval()(x).numpy().tolist() == x.numpy().tolist()


def test_fluids_dropout_multiplies_in_eval_mode():
    from dygraph.fluid import layers as fluid_layers

    assert fluid_layers.Dropout(0.25).eval()(dygraph.full([2], 4.0)).tolist() == [3.0, 3.0]
    assert "downgrade_in_infer" in repr(fluid_layers.Dropout())


def test_a_padding_row_is_zero_and_gets_no_gradient():
    table = var(np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]))
    table.stop_gradient = False
    F.embedding(var([0, 2, 2]), table, padding_idx=-1).sum().backward()
    assert table.gradient().tolist() == [[1, 1], [0, 0], [0, 0]]
    layer = nn.Embedding([3, 2], padding_idx=1)
    out = layer(var([1, 0]))
    assert out.numpy()[0].tolist() == [0, 0] and out.numpy()[1].any()
    out.sum().backward()
    assert layer.weight.gradient().tolist() == [[1, 1], [0, 0], [0, 0]]


def test_the_hot_functions_are_the_operators_themselves():
    ops = dygraph._core.ops
    assert (F.relu, F.gelu, F.sigmoid, F.tanh, F.silu) == (
        ops.relu, ops.gelu, ops.sigmoid, ops.tanh, ops.silu
    )  # fmt: skip


@pytest.mark.parametrize("name", F.__all__)
def test_every_function_is_documented(name):
    text = inspect.getdoc(getattr(F, name))
    assert ">>> " in text
    assert (
        "Parameters\n" in text
        or "rguments" in text
        or "otherwise as" in text
        or (len(inspect.signature(getattr(F, name)).parameters) <= 3)
    )
