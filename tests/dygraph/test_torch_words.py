"""What torch's users type first: it works as there, or the message has our word for it."""

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import dygraph
from dygraph import io, lr, nn, optimizer
from dygraph.core import hints, module_hints


def var(values):
    return dygraph.to_variable(np.array(values, "float32"))


# Hints --------------------------------------------------------------------------------------------

X, Y = np.array([-3.5, 2.0, 7.25]), np.array([2.0, -3.0, 2.5])
M = np.arange(9.0).reshape(3, 3)
ROWS, PLACES = np.array([[1.0, 2.0, 3.0]]), np.array([[2, 2, 0]])
ADDED = M.copy()
np.add.at(ADDED, (PLACES, np.arange(3)), ROWS)
NAMES = {"x": X, "y": Y, "a": Y, "b": X, "value": 3.0}
MATRIX = {"x": M, "n": 3, "value": 7.0, "axis": 0, "index": PLACES, "values": ROWS}
# amax at the places, with what was there: 7.5 stays above 2, and 2.5 gives way to 3
GREATEST = M + 0.5
GREATEST[0, 2] = 3.0
TABLES = hints.HINTS, hints.OF_MODULE
PAIR = {"x": M, "y": M + 9, "axis": 0}
PARTS = {"x": np.arange(12.0).reshape(2, 6), "parts": 2}
# table, name, what follows the code in the hint, what stands in it, what torch computes
CODES = [
    (hints.HINTS, "fmod", ":", NAMES, np.fmod(X, Y)),
    (hints.OF_MODULE, "fmod", ":", NAMES, np.fmod(X, Y)),
    (hints.HINTS, "addcmul", "", NAMES, X + 3 * Y * X),
    (hints.HINTS, "addcdiv", "", NAMES, X + 3 * Y / X),
    (hints.HINTS, "scatter_add", " gives", MATRIX, ADDED),
    (hints.OF_MODULE, "scatter_add", ";", MATRIX, ADDED),
    *[(table, "scatter_reduce", ", or", {**MATRIX, "x": M + 0.5}, GREATEST) for table in TABLES],
    (
        hints.HINTS,
        "fill_diagonal_",
        "",
        {"x": M.copy(), "value": 7.0},
        M * (1 - np.eye(3)) + 7 * np.eye(3),
    ),
    (hints.OF_MODULE, "isin", "", {"x": M, "values": np.array([1.0, 8.0])}, np.isin(M, [1, 8])),
    (hints.HINTS, "diag_embed", "", {"x": M, "n": 3}, np.array([np.diag(row) for row in M])),
    *[(t, "amax", "", PAIR, M.max(0)) for t in TABLES],
    *[(t, "amin", "", PAIR, M.min(0)) for t in TABLES],
    *[(t, "inner", "", PAIR, np.inner(M, M + 9)) for t in TABLES],
    *[(t, "argwhere", " gives", {"x": M}, np.argwhere(M)) for t in TABLES],
    *[(t, "logical_not", "", {"x": M}, np.logical_not(M)) for t in TABLES[:1]],
    (hints.OF_MODULE, "vdot", "", PAIR, np.vdot(M, M + 9)),
    (hints.OF_MODULE, "flatnonzero", "", {"x": M}, np.flatnonzero(M)),
    (hints.OF_MODULE, "hsplit", "", PARTS, np.hsplit(PARTS["x"], 2)),
    (hints.OF_MODULE, "vsplit", "", PARTS, np.vsplit(PARTS["x"], 2)),
    (hints.OF_MODULE, "array_split", "", {**PAIR, "n": 2}, np.array_split(M, 2)),
    (hints.OF_MODULE, "tensor_split", "", {**PAIR, "n": 2}, np.array_split(M, 2)),
    (hints.OF_MODULE, "mgrid", "", {"x": np.arange(2), "y": np.arange(3)}, [*np.mgrid[:2, :3]]),
    (hints.OF_MODULE, "vstack", " of vectors", {"x": X, "y": Y}, np.vstack([X, Y])),
    (hints.OF_MODULE, "dstack", " of matrices", PAIR, np.dstack([M, M + 9])),
]


@pytest.mark.parametrize(
    ("table", "name", "end", "names", "expected"), CODES, ids=[case[1] for case in CODES]
)
def test_hints_compute_torchs_numbers(table, name, end, names, expected):
    code = table[name].split(end)[0] if end else table[name]
    made = {n: dygraph.to_variable(v) if isinstance(v, np.ndarray) else v for n, v in names.items()}
    got = eval(code, {"dygraph": dygraph, "np": np, **made})
    if isinstance(expected, list) and isinstance(expected[0], np.ndarray):
        assert len(got) == len(expected)
        for part, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(part.numpy(), other)
    else:
        np.testing.assert_allclose(got.numpy(), expected)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("from dygraph import Tensor", r"dygraph\.to_variable"),
        ("from dygraph.nn import Module", r"nn\.Layer"),
        ("from dygraph.optimizer import RMSprop", "RMSProp"),
        ("from dygraph.optimizer import Lion", "There is no Lion; AdamW is the nearest"),
        ("from dygraph.optimizer import Adafactor", "There is no Adafactor"),
        ("from dygraph.optimizer import ASGD", "There is no ASGD"),
        ("from dygraph.lr import PolynomialLR", r"PolynomialDecay\(0\.1, total_iters, 0\.0\)"),
        ("from dygraph.lr import StepLR", r"dygraph\.lr\.StepDecay"),
        ("from dygraph.io import SequentialSampler", "SequenceSampler"),
        ("from dygraph.autograd import gradcheck", r"dygraph\.check_grad"),
        ("from dygraph.nn.functional import rellu", "relu"),
        ("from dygraph.nn.utils import spectral_norm", r"nn\.SpectralNorm"),
    ],
)
def test_imports_name_ours(line, words):
    with pytest.raises(ImportError, match=words):
        exec(line)
    module, name = line.removeprefix("from ").split(" import ")
    with pytest.raises(AttributeError, match=words):  # so that hasattr answers False
        eval(f"{module}.{name}", {"dygraph": dygraph})


def test_imports_of_modules_and_unknown_names():
    names = {}
    exec("from dygraph import fluid, stubs; from dygraph.autograd import Function, grad", names)
    assert names["Function"] is dygraph.Function and names["grad"] is dygraph.grad
    with pytest.raises(ImportError, match="cannot import name 'qqqqq'"):
        exec("from dygraph import qqqqq")


def test_schedules_of_the_hints_can_be_made():
    for name, hint in module_hints.OF_LR.items():
        code = hint.split(", which is")[0]
        names = {
            "T_max": 4, "step_size": 2, "decay_rate": 0.5, "gamma": 0.9, "milestones": [2],
            "decay_steps": 5, "total_iters": 5, "warmup_steps": 3, "start_lr": 0.0,
            "end_lr": 0.1, "d_model": 8,
            "function": lambda epoch: 1.0, "boundaries": [2], "values": [0.1, 0.2],
            "schedule": lr.CosineAnnealingDecay(0.1, 4),
        }  # fmt: skip
        made = eval(code, {"dygraph": dygraph, **names})
        optimizer.SGD(made, nn.Linear(1, 1).parameters()).step()
        assert made.get_lr() >= 0, name


# Functions ----------------------------------------------------------------------------------------


def test_requires_grad():
    made = [
        dygraph.zeros(2, requires_grad=True),
        dygraph.ones([2], "float64", requires_grad=True),
        dygraph.full([2], 3.0, requires_grad=True),
        dygraph.rand(2, requires_grad=True),
        dygraph.randn(2, requires_grad=True),
        dygraph.to_variable([1.0, 2.0], requires_grad=True),
        dygraph.to_variable([1.0, 2.0], stop_gradient=False),
    ]
    for x in made:
        assert x.requires_grad and x.is_leaf
        (x * 3).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]
    plain = var([1.0])
    assert dygraph.to_variable(plain, requires_grad=True) is not plain and not plain.requires_grad
    assert not dygraph.Parameter([1.0], requires_grad=False).trainable
    with pytest.raises(ValueError, match="floating-point"):
        dygraph.to_variable([1], requires_grad=True)


def test_words_of_functions():
    assert dygraph.linspace(0, 1, steps=3).tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(TypeError, match="num must be given once"):
        dygraph.linspace(0, 1)
    a, b = var(M), var(M.T)
    for got in (dygraph.tensordot(a, b, 1), dygraph.tensordot(a, b, dims=1)):
        np.testing.assert_allclose(got.numpy(), M @ M.T)
    assert a.repeat_interleave(2, dim=1).shape == (3, 6)
    assert a.view_as(dygraph.zeros(9)).shape == (9,)
    with pytest.raises(TypeError, match="'map_location'; it needs none"):
        dygraph.load("x", map_location="cpu")


def test_topk_has_names():
    x = var([[3.0, 1.0, 2.0]])
    found = x.topk(2, dim=1)
    values, places = found
    assert found.values is values and found.indices is places
    assert values.tolist() == [[3.0, 2.0]] and places.tolist() == [[0, 2]]
    captured = dygraph.jit.to_static(lambda x: dygraph.topk(x, 1))
    assert captured(x).indices.tolist() == [[0]]


def test_saved_tensors():
    class Cube(dygraph.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad

    x = var([2.0]).requires_grad_()
    (first,) = dygraph.grad(Cube.apply(x), x, create_graph=True)
    (second,) = dygraph.grad(first, x)
    assert (first.item(), second.item()) == (12.0, 12.0)


def test_grad_takes_the_values_of_a_dict():
    net = nn.Linear(3, 2)
    named = dict(net.named_parameters())
    w, b = dygraph.grad(net(dygraph.ones(2, 3)).sum(), named.values())
    assert w.tolist() == [[2.0, 2.0]] * 3 and b.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="got dict"):
        dygraph.grad(net(dygraph.ones(2, 3)).sum(), named)


# Layers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: nn.GRU(2, 3, bidirectional=True), "direction='bidirectional'"),
        (lambda: nn.RNN(nn.GRUCell(2, 3), batch_first=True), "time_major=False"),
        (lambda: nn.TransformerEncoderLayer(8, 2, 8, batch_first=True), "leave it out: the batch"),
        (lambda: nn.MultiHeadAttention(8, 2, batch_first=True), "; leave it out: the batch"),
        (lambda: nn.TransformerEncoderLayer(8, 2, 8, norm_first=True), "normalize_before="),
        (lambda: nn.Linear(2, 3, bias=False), "use bias_attr=False to leave it out"),
        (lambda: nn.BatchNorm2D(3, affine=False), "param_attr=False, bias_attr=False"),
        (lambda: optimizer.Adam([dygraph.Parameter([1.0])], amsgrad=True), "there is no AMSGrad"),
        (lambda: lr.StepDecay(0.1, 2, gamma=0.5), "decay_rate="),
        (lambda: lr.ReduceLROnPlateau(0.1, factor=0.5), "decay_rate="),
        (lambda: lr.OneCycleLR(max_lr=0.1, total_steps=3), "max_learning_rate="),
        (
            lambda: lr.StepDecay(optimizer.SGD(0.1, [dygraph.Parameter([1.0])]), 2),
            r"SGD\(StepDecay\(0\.1, \.\.\.\), parameters\)",
        ),
        (lambda: io.BatchSampler(range(4), 2, False), "batch_size=2"),
        (lambda: nn.LSTMCell(1, 1)(var([[1.0]]), (var([[1.0]]), (1, 2))), r"_, state = cell\(x\)"),
    ],
)
def test_words_of_constructors(make, words):
    with pytest.raises(TypeError, match=words):
        make()


def test_schedules_copy():
    rate = lr.StepDecay(0.1, 2, 0.5)
    for other in (copy.deepcopy(rate), pickle.loads(pickle.dumps(rate))):
        other.step()
        assert other.state_dict() != rate.state_dict()


def test_hints_of_layers_name_the_type():
    for name, dtype in (("float", "float32"), ("half", "float64"), ("double", "float64")):
        with pytest.raises(AttributeError, match=f"dtype='{dtype}'"):
            getattr(nn.Linear(1, 1), name)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: nn.Conv2D(3, 4, 3, padding="same"), (1, 3, 6, 5)),
        (lambda: nn.Conv2D(3, 4, (5, 1), padding="same", dilation=2), (1, 3, 9, 5)),
        (lambda: nn.Conv1D(3, 4, 5, padding="SAME", dilation=2), (1, 3, 9)),
        (lambda: nn.Conv3D(3, 4, 3, padding="same"), (1, 3, 4, 5, 6)),
    ],
)
def test_padding_same_keeps_the_sizes(layer, shape):
    assert layer()(dygraph.ones(shape)).shape == (1, 4, *shape[2:])


def test_padding_by_name():
    x = dygraph.ones(1, 1, 4, 4)
    assert nn.Conv2D(1, 1, 3, padding="valid")(x).shape == (1, 1, 2, 2)
    one = dygraph.initializer.Constant(1.0)
    conv = nn.Conv2D(1, 1, 3, padding="same", param_attr=one, bias_attr=False)
    assert conv(x)[0, 0, 0].tolist() == [4.0, 6.0, 6.0, 4.0]
    for wrong in ({"filter_size": 2}, {"filter_size": 3, "stride": 2}):
        with pytest.raises(ValueError, match="stride 1 and windows of odd sizes"):
            nn.Conv2D(1, 1, padding="same", **wrong)
    with pytest.raises(ValueError, match="'same', 'valid', got 'full'"):
        nn.Conv2D(1, 1, 3, padding="full")
    with pytest.raises(TypeError, match="must be an integer"):
        nn.Conv2DTranspose(1, 1, 3, padding="same")


def test_embedding_from_pretrained():
    rows = np.arange(6, dtype="float32").reshape(3, 2)
    table = nn.Embedding.from_pretrained(dygraph.to_variable(rows))
    assert table(dygraph.to_variable([2, 0])).tolist() == [[4, 5], [0, 1]]
    assert not table.weight.trainable
    rows[1] = 0
    other = nn.Embedding.from_pretrained(rows, freeze=False, padding_idx=1)
    assert other.weight.trainable and other(dygraph.to_variable([1])).tolist() == [[0, 0]]
    with pytest.raises(ValueError, match=r"\[rows, length\], got shape \[2\]"):
        nn.Embedding.from_pretrained(rows[0])
    for place in (0, -1):
        with pytest.raises(ValueError, match="Set the row to 0, or leave padding_idx out"):
            nn.Embedding.from_pretrained(rows, padding_idx=place)


def test_a_shared_table():
    table, out = nn.Embedding([12, 8]), nn.Linear(8, 12, bias_attr=False)
    out.weight = table.weight
    with pytest.raises(ValueError, match=r"input @ table\.weight\.T"):
        out(table(dygraph.to_variable([1])))


def test_buffers_that_are_not_saved():
    layer = nn.Linear(1, 1)
    layer.register_buffer("mask", dygraph.ones(2), persistent=False)
    assert sorted(layer.state_dict()) == ["bias", "weight"] and layer.mask.tolist() == [1, 1]


def test_sequential_of_a_dict():
    net = nn.Sequential(OrderedDict([("first", nn.Linear(2, 3)), ("act", nn.ReLU())]))
    assert [name for name, _ in net.named_children()] == ["first", "act"]
    assert net(dygraph.ones(1, 2)).shape == (1, 3)


def test_reports_of_loading():
    report = nn.Linear(2, 2).load_state_dict({"bias": dygraph.zeros(2), "b": 1}, strict=False)
    assert (report.missing_keys, report.unexpected_keys) == (["weight"], ["b"])


def test_tensor_dataset_of_several():
    x, y = var(M), np.arange(3)
    for data in (io.TensorDataset(x, y), io.TensorDataset([x, y])):
        row, label = data[1]
        assert len(data) == 3 and row.tolist() == [3, 4, 5] and label == 1
    (row,) = io.TensorDataset(x)[2]
    assert row.tolist() == [6, 7, 8]


def test_containers_print_their_parameters():
    w = dygraph.Parameter([1.0, 2.0])
    assert repr(nn.ParameterDict({"in": w})) == "ParameterDict(in: [2])"
    assert repr(nn.ParameterList([w, w])) == "ParameterList([2], [2])"


def test_an_initializer_writes_into_a_parameter():
    layer = nn.Linear(2, 2)
    assert dygraph.initializer.Constant(2.0)(layer.weight) is layer.weight
    assert layer.weight.tolist() == [[2.0, 2.0], [2.0, 2.0]] and layer.weight.trainable


def test_masks_of_attention():
    x, hidden = var(np.random.RandomState(0).randn(2, 4, 8)), var(np.zeros((2, 4))) > 0
    block = nn.TransformerEncoderLayer(8, 2, 8, dropout=0.0)
    encoder = nn.TransformerEncoder(block, 1)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 8, dropout=0.0), 1)
    attention = nn.MultiHeadAttention(8, 2)
    for call, words in (
        (lambda: block(x, src_key_padding_mask=hidden), r"src_mask=~mask\[:, None, None, :\]"),
        (lambda: encoder(x, src_key_padding_mask=hidden), "src_mask=~mask"),
        (lambda: encoder(x, mask=hidden), "True where a query sees a key"),
        (lambda: decoder(x, x, memory_key_padding_mask=hidden), "memory_mask=~mask"),
        (lambda: attention(x, x, x, key_padding_mask=hidden), "attn_mask=~mask"),
        (lambda: attention(x, x, x, need_weights=True), "need_weights=True"),
        (lambda: attention(x, x, x, zzz=1), "unexpected argument 'zzz'"),
    ):
        with pytest.raises(TypeError, match=words):
            call()
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    assert mask.tolist() == np.triu(np.full((3, 3), -np.inf), 1).tolist()


# Optimizers ---------------------------------------------------------------------------------------


def test_the_rate_of_a_group():
    """w - lr * 2 w for each: 1 - 0.25 * 2 and 1 - 0.5 * 2; the decay 0.5 adds 0.5 w."""
    v, w, u = (dygraph.Parameter([1.0]) for _ in range(3))
    groups = [{"params": [v], "lr": 0.25}, {"params": [w]}, {"params": [u], "weight_decay": 0.5}]
    rule = optimizer.SGD(groups, lr=0.5)
    (v * v + w * w + u * u).backward()
    rule.step()
    assert (v.item(), w.item(), u.item()) == (0.5, 0.0, -0.25)


@pytest.mark.parametrize(
    ("group", "rate", "words"),
    [
        ({"lr": 1.0}, lr.StepDecay(0.1, 2), "got StepDecay. Write 'learning_rate', a factor"),
        ({"lr": 1.0}, 0.0, "needs a number above 0"),
        ({"lr": 1.0, "learning_rate": 1.0}, 0.1, "got both"),
        ({"betas": (0.9, 0.9)}, 0.1, "'learning_rate', a factor on the optimizer's"),
        ({"lr": -1.0}, 0.1, "lr of a group must be at least 0"),
    ],
)
def test_groups_refuse(group, rate, words):
    with pytest.raises((TypeError, ValueError), match=words):
        optimizer.SGD([{"params": [dygraph.Parameter([1.0])], **group}], lr=rate)


def test_states_of_another_model_of_the_process():
    def made(names):
        net = nn.Linear(2, 2)
        parameters = net.named_parameters() if names else net.parameters()
        rule = optimizer.Adam(parameters, lr=0.1)
        net(dygraph.ones(1, 2)).sum().backward()
        rule.step()
        return rule

    with pytest.raises(ValueError, match=r"named_parameters\(\), or the layer"):
        made(False).load_state_dict(made(False).state_dict())
    one, other = made(True), made(True)
    other.load_state_dict(one.state_dict())
    state = other.state_dict()
    for name, value in one.state_dict().items():
        np.testing.assert_array_equal(state[name].numpy(), value.numpy())


# Export -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [lambda: nn.Linear(2, 3), lambda: nn.Sequential(nn.Linear(2, 3), nn.Tanh())]
)
def test_jit_save(make, tmp_path):
    net, x = make(), var([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
    spec = [dygraph.jit.InputSpec([None, 2])]
    captured = dygraph.jit.to_static(net, input_spec=spec)
    dygraph.jit.save(net, tmp_path / "a", spec)
    dygraph.jit.save(captured, tmp_path / "b")
    captured.save(tmp_path / "c")
    dygraph.jit.save(net, tmp_path / "d", [x])
    dygraph.jit.save(dygraph.jit.trace(net, [x])[1], tmp_path / "e")
    for name in "abcde":
        loaded = dygraph.jit.load(tmp_path / name)
        np.testing.assert_array_equal(loaded(x).numpy(), net(x).numpy())


def test_jit_save_refuses(tmp_path):
    with pytest.raises(TypeError, match="input_spec must be given"):
        dygraph.jit.save(nn.Linear(2, 3), tmp_path / "a")
    captured = dygraph.jit.to_static(nn.Linear(2, 3), input_spec={"x": [None, 2]})
    with pytest.raises(ValueError, match=r"save\(dirname, x\)"):
        captured.save(tmp_path / "b")
    assert dygraph.jit.InputSpec([None, 2], "int64").example().tolist() == [[0, 0], [0, 0]]
