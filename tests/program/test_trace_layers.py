"""Every layer of dygraph.nn traced, in inference and in a whole step of training: saved, loaded
into a fresh scope, run at the traced batch size and at others, with the bits of eager calls."""

import copy

import numpy as np
import pytest

import dygraph
from dygraph import jit, nn
from dygraph import ops as F

# Name -> (layer, inputs). An input is a shape without its batch: of floats, or (high, shape) of
# integers below high; a function of (generator, batch) for what has rules of its own.
IMAGE, VOLUME, LINE, ROW = (4, 6, 6), (4, 4, 4, 4), (4, 8), (6,)


def positive(*shape):
    return lambda r, n: r.uniform(0.1, 0.9, (n, *shape)).astype("float32")


def signs(*shape):
    return lambda r, n: np.where(r.random((n, *shape)) < 0.5, -1, 1).astype("float32")


def shares(size):
    def make(r, n):
        x = r.uniform(0.1, 1.0, (n, size)).astype("float32")
        return x / x.sum(axis=1, keepdims=True)

    return make


def lengths(most, dtype="int32"):
    return lambda r, n: r.integers(1, most + 1, (n,)).astype(dtype)


def unpooled(r, n):
    return np.tile(np.int32([0, 3, 9, 14]).reshape(1, 1, 2, 2), (n, 3, 1, 1))


TABLE = {
    "AdaptiveAvgPool1D": (lambda: nn.AdaptiveAvgPool1D(3), [LINE]),
    "AdaptiveAvgPool2D": (lambda: nn.AdaptiveAvgPool2D(3), [IMAGE]),
    "AdaptiveAvgPool3D": (lambda: nn.AdaptiveAvgPool3D(2), [VOLUME]),
    "AdaptiveMaxPool1D": (lambda: nn.AdaptiveMaxPool1D(3), [LINE]),
    "AdaptiveMaxPool2D": (lambda: nn.AdaptiveMaxPool2D(3, return_mask=True), [IMAGE]),
    "AdaptiveMaxPool3D": (lambda: nn.AdaptiveMaxPool3D(2), [VOLUME]),
    "AlphaDropout": (lambda: nn.AlphaDropout(0.3), [ROW]),
    "AvgPool1D": (lambda: nn.AvgPool1D(2), [LINE]),
    "AvgPool2D": (lambda: nn.AvgPool2D(3, 2, 1, exclusive=False), [IMAGE]),
    "AvgPool3D": (lambda: nn.AvgPool3D(2), [VOLUME]),
    "BCELoss": (lambda: nn.BCELoss(), [positive(3), positive(3)]),
    "BCEWithLogitsLoss": (lambda: nn.BCEWithLogitsLoss(), [(3,), positive(3)]),
    "BatchNorm": (lambda: nn.BatchNorm(4, act="relu"), [IMAGE, IMAGE]),
    "BatchNorm1D": (lambda: nn.BatchNorm1D(4), [LINE]),
    "BatchNorm2D": (lambda: nn.BatchNorm2D(4, momentum=0.5), [IMAGE]),
    "BatchNorm3D": (lambda: nn.BatchNorm3D(4), [VOLUME]),
    "BiRNN": (lambda: nn.BiRNN(nn.GRUCell(6, 3), nn.GRUCell(6, 3)), [(5, 6)]),
    "BilinearTensorProduct": (lambda: nn.BilinearTensorProduct(6, 4, 3), [ROW, (4,)]),
    "CELU": (lambda: nn.CELU(0.5), [ROW]),
    "CTCLoss": (
        lambda: Connectionist(),
        [
            (7, 5),
            lambda r, n: r.integers(1, 5, (n, 2)).astype("int32"),
            lambda r, n: np.full(n, 7, "int64"),
            lambda r, n: np.full(n, 2, "int64"),
        ],
    ),
    "CenterLoss": (lambda: nn.CenterLoss(5, 6), [ROW, (5, (1,))]),
    "ChannelShuffle": (lambda: nn.ChannelShuffle(2), [IMAGE]),
    "Conv1D": (lambda: nn.Conv1D(4, 3, 3), [LINE]),
    "Conv1DTranspose": (lambda: nn.Conv1DTranspose(4, 3, 3), [LINE]),
    "Conv2D": (lambda: nn.Conv2D(4, 6, 3, groups=2, padding=1, act="relu"), [IMAGE]),
    "Conv2DTranspose": (lambda: nn.Conv2DTranspose(4, 3, 3, stride=2), [IMAGE]),
    "Conv3D": (lambda: nn.Conv3D(4, 3, 3), [VOLUME]),
    "Conv3DTranspose": (lambda: nn.Conv3DTranspose(4, 3, 2), [VOLUME]),
    "CosineEmbeddingLoss": (lambda: nn.CosineEmbeddingLoss(0.1), [ROW, ROW, signs()]),
    "CrossEntropyLoss": (lambda: nn.CrossEntropyLoss(label_smoothing=0.1), [ROW, (6, ())]),
    "Dropout": (lambda: nn.Dropout(0.4), [ROW]),
    "Dropout1D": (lambda: nn.Dropout1D(0.4), [LINE]),
    "Dropout2D": (lambda: nn.Dropout2D(0.4), [IMAGE]),
    "Dropout3D": (lambda: nn.Dropout3D(0.4), [VOLUME]),
    "ELU": (lambda: nn.ELU(0.5), [ROW]),
    "Embedding": (lambda: nn.Embedding([9, 4], padding_idx=0), [(9, (3,))]),
    "FeatureAlphaDropout": (lambda: nn.FeatureAlphaDropout(0.4), [IMAGE]),
    "Flatten": (lambda: nn.Flatten(), [IMAGE]),
    "Fold": (lambda: nn.Fold((3, 3), 2), [(8, 4)]),
    "GELU": (lambda: nn.GELU(), [ROW]),
    "GRU": (
        lambda: nn.GRU(
            6, 3, num_layers=2, direction="bidirect", dropout=0.2, time_major=False
        ),
        [(5, 6)],
    ),
    "GRUCell": (lambda: nn.GRUCell(6, 3), [ROW]),
    "GRUUnit": (lambda: nn.GRUUnit(9), [(9,), (3,)]),
    "GaussianNLLLoss": (lambda: nn.GaussianNLLLoss(), [ROW, ROW, positive(6)]),
    "GroupNorm": (lambda: nn.GroupNorm(4, 2), [IMAGE]),
    "HSigmoid": (lambda: nn.HSigmoid(6, 5), [ROW, (5, (1,))]),
    "Hardshrink": (lambda: nn.Hardshrink(), [ROW]),
    "Hardsigmoid": (lambda: nn.Hardsigmoid(), [ROW]),
    "Hardswish": (lambda: nn.Hardswish(), [ROW]),
    "HingeEmbeddingLoss": (lambda: nn.HingeEmbeddingLoss(), [ROW, signs(6)]),
    "HuberLoss": (lambda: nn.HuberLoss(delta=0.5), [ROW, ROW]),
    "Identity": (lambda: nn.Identity(), [ROW]),
    "InstanceNorm": (lambda: nn.InstanceNorm(4), [IMAGE]),
    "InstanceNorm1D": (lambda: nn.InstanceNorm1D(4), [LINE]),
    "InstanceNorm2D": (lambda: nn.InstanceNorm2D(4), [IMAGE]),
    "InstanceNorm3D": (lambda: nn.InstanceNorm3D(4), [VOLUME]),
    "KLDivLoss": (lambda: nn.KLDivLoss("batchmean"), [ROW, shares(6)]),
    "L1Loss": (lambda: nn.L1Loss(), [ROW, ROW]),
    "LSTM": (lambda: nn.LSTM(6, 3, num_layers=2, time_major=False), [(5, 6)]),
    "LSTMCell": (lambda: nn.LSTMCell(6, 3), [ROW]),
    "LayerNorm": (lambda: nn.LayerNorm(6), [ROW]),
    "LeakyReLU": (lambda: nn.LeakyReLU(), [ROW]),
    "Linear": (lambda: nn.Linear(6, 3, act="tanh"), [ROW]),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(), [IMAGE]),
    "LogSigmoid": (lambda: nn.LogSigmoid(), [ROW]),
    "LogSoftmax": (lambda: nn.LogSoftmax(), [ROW]),
    "MSELoss": (lambda: nn.MSELoss("none"), [ROW, ROW]),
    "MarginRankingLoss": (lambda: nn.MarginRankingLoss(0.1), [ROW, ROW, signs(6)]),
    "MaxPool1D": (lambda: nn.MaxPool1D(2), [LINE]),
    "MaxPool2D": (lambda: nn.MaxPool2D(2, return_mask=True), [IMAGE]),
    "MaxPool3D": (lambda: nn.MaxPool3D(2), [VOLUME]),
    "MaxUnPool1D": (lambda: nn.MaxUnPool1D(2), [(3, 2), lambda r, n: unpooled(r, n)[:, :, 0]]),
    "MaxUnPool2D": (lambda: nn.MaxUnPool2D(2), [(3, 2, 2), unpooled]),
    "MaxUnPool3D": (
        lambda: nn.MaxUnPool3D((1, 2, 2)),
        [(3, 1, 2, 2), lambda r, n: unpooled(r, n)[:, :, None]],
    ),
    "Maxout": (lambda: nn.Maxout(2), [IMAGE]),
    "Mish": (lambda: nn.Mish(), [ROW]),
    "MultiHeadAttention": (lambda: nn.MultiHeadAttention(6, 2, dropout=0.2), [(5, 6)]),
    "NCE": (lambda: nn.NCE(9, 6, num_neg_samples=3), [ROW, (9, (1,))]),
    "NLLLoss": (lambda: nn.NLLLoss(), [ROW, (6, ())]),
    "PReLU": (lambda: nn.PReLU(4), [IMAGE]),
    "PRelu": (lambda: nn.PRelu("channel", 4), [IMAGE]),
    "Pad2D": (lambda: nn.Pad2D([1, 1, 2, 0], "reflect"), [IMAGE]),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), [IMAGE]),
    "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), [(2, 4, 6)]),
    "PoissonNLLLoss": (lambda: nn.PoissonNLLLoss(), [ROW, positive(6)]),
    "Pool2D": (lambda: nn.Pool2D(2, "avg", 2), [IMAGE]),
    "RMSNorm": (lambda: nn.RMSNorm(6), [ROW]),
    "RNN": (lambda: nn.RNN(nn.LSTMCell(6, 3)), [(5, 6)]),
    "RNNTLoss": (
        lambda: nn.RNNTLoss(blank=0, fastemit_lambda=0.0, reduction="sum"),
        [
            (4, 3, 5),
            lambda r, n: r.integers(1, 5, (n, 2)).astype("int32"),
            lambda r, n: np.full(n, 4, "int64"),
            lambda r, n: np.full(n, 2, "int64"),
        ],
    ),
    "RReLU": (lambda: nn.RReLU(), [ROW]),
    "ReLU": (lambda: nn.ReLU(), [ROW]),
    "ReLU6": (lambda: nn.ReLU6(), [ROW]),
    "SELU": (lambda: nn.SELU(), [ROW]),
    "Sequential": (lambda: nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2)), [ROW]),
    "SiLU": (lambda: nn.SiLU(), [ROW]),
    "Sigmoid": (lambda: nn.Sigmoid(), [ROW]),
    "SimpleRNN": (lambda: nn.SimpleRNN(6, 3, time_major=False), [(5, 6)]),
    "SimpleRNNCell": (lambda: nn.SimpleRNNCell(6, 3), [ROW]),
    "SmoothL1Loss": (lambda: nn.SmoothL1Loss(), [ROW, ROW]),
    "SoftMarginLoss": (lambda: nn.SoftMarginLoss(), [ROW, signs(6)]),
    "Softmax": (lambda: nn.Softmax(), [ROW]),
    "Softplus": (lambda: nn.Softplus(), [ROW]),
    "Softshrink": (lambda: nn.Softshrink(), [ROW]),
    "Softsign": (lambda: nn.Softsign(), [ROW]),
    "SpectralNorm": (lambda: Normed(), [ROW]),
    "Swish": (lambda: nn.Swish(2.0), [ROW]),
    "Tanh": (lambda: nn.Tanh(), [ROW]),
    "Tanhshrink": (lambda: nn.Tanhshrink(), [ROW]),
    "ThresholdedReLU": (lambda: nn.ThresholdedReLU(0.2), [ROW]),
    "TreeConv": (
        lambda: nn.TreeConv(6, 3),
        [(4, 6), lambda r, n: np.tile(np.int32([[1, 2], [1, 3], [2, 4], [0, 0]]), (n, 1, 1))],
    ),
    "Transformer": (lambda: nn.Transformer(6, 2, 1, 2, 8, dropout=0.2), [(5, 6), (3, 6)]),
    "TransformerDecoder": (
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8), 2), [(5, 6), (3, 6)],
    ),
    "TransformerDecoderLayer": (
        lambda: nn.TransformerDecoderLayer(6, 2, 8, normalize_before=True), [(5, 6), (3, 6)],
    ),
    "TransformerEncoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8), 2), [(5, 6)],
    ),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(6, 2, 8), [(5, 6)]),
    "TripletMarginLoss": (lambda: nn.TripletMarginLoss(), [ROW, ROW, ROW]),
    "Unfold": (lambda: nn.Unfold(2), [IMAGE]),
    "Upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), [IMAGE]),
    "UpsamplingBilinear2D": (lambda: nn.UpsamplingBilinear2D(scale_factor=2), [IMAGE]),
    "UpsamplingNearest2D": (lambda: nn.UpsamplingNearest2D([9, 9]), [IMAGE]),
}  # fmt: skip
ABSTRACT = {"Layer", "RNNCellBase", "LayerList", "LayerDict", "ParameterList", "ParameterDict"}


class Normed(dygraph.Layer):
    """A weight divided by its spectral norm, whose power iteration is kept from run to run."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(6, 4), nn.SpectralNorm([6, 4])

    def forward(self, x):
        return dygraph.matmul(x, self.norm(self.linear.weight))


class Connectionist(dygraph.Layer):
    """CTC of scores whose batch comes first."""

    def __init__(self):
        super().__init__()
        self.loss = nn.CTCLoss(reduction="sum")

    def forward(self, scores, *others):
        return self.loss(dygraph.transpose(scores, [1, 0, 2]), *others)


class Ragged(dygraph.Layer):
    """A recurrent layer with lengths."""

    def __init__(self, kind):
        super().__init__()
        self.rnn = getattr(nn, kind)(6, 3, time_major=False)

    def forward(self, x, lengths):
        return self.rnn(x, None, lengths)


TABLE["LSTM with lengths"] = (lambda: Ragged("LSTM"), [(5, 6), lengths(5)])
TABLE["GRU with lengths"] = (lambda: Ragged("GRU"), [(5, 6), lengths(5)])


def test_every_layer_is_here():
    kinds = {n for n in nn.__all__ if isinstance(getattr(nn, n), type)}
    kinds -= {n for n in kinds if n.startswith("ClipGrad")}
    assert kinds - ABSTRACT <= set(TABLE)


class Reading(dygraph.Layer):
    """A factor is computed outside."""

    def forward(self, x):
        return x * float(x.numpy().max())


def test_a_layer_that_reads_its_input_is_refused():
    with pytest.raises(RuntimeError) as error:
        jit.trace(Reading(), [dygraph.ones([2, 3])])
    assert "numpy() of a value that is being recorded" in str(error.value)
    assert f"{__file__}:" in str(error.value)


def inputs_of(name, n, seed=0):
    r = np.random.default_rng(seed)
    arrays = []
    for spec in TABLE[name][1]:
        if callable(spec):
            arrays.append(spec(r, n))
        elif len(spec) == 2 and isinstance(spec[1], tuple):
            arrays.append(r.integers(0, spec[0], (n, *spec[1])).astype("int64"))
        else:
            arrays.append(r.standard_normal((n, *spec)).astype("float32"))
    return [dygraph.to_variable(a) for a in arrays]


def floats(value):
    if isinstance(value, (list, tuple)):
        return [v for item in value for v in floats(item)]
    return [value] if value is not None and str(value.dtype) == "float32" else []


def everything(value):
    if isinstance(value, (list, tuple)):
        return [v for item in value for v in everything(item)]
    return [] if value is None else [value]


def bits(value):
    return [(v.shape, v.numpy().tobytes()) for v in everything(value)]


@pytest.mark.parametrize("name", TABLE)
def test_inference(name, tmp_path):
    layer = TABLE[name][0]()
    layer.eval()
    dygraph.seed(3)
    outputs, traced = jit.trace(layer, inputs_of(name, 4))
    dygraph.seed(3)
    assert bits(outputs) == bits(layer(*inputs_of(name, 4)))
    traced.save_inference_model(tmp_path)
    loaded = jit.load(tmp_path)
    for n in (4, 3, 9):
        given = inputs_of(name, n, n)
        dygraph.seed(n)
        expected = bits(layer(*given))
        dygraph.seed(n)
        assert bits(loaded(given)) == expected, f"batch {n}"


def step_of(layer):
    """A step that trains the layer, or gives the gradients of its inputs if it has no weights."""
    parameters = layer.parameters()
    adam = dygraph.optimizer.Adam(0.01, parameter_list=parameters) if parameters else None

    def step(*inputs):
        inputs = [v * 1.0 if str(v.dtype) == "float32" else v for v in inputs]
        wanted = [v for v in inputs if str(v.dtype) == "float32"]
        for v in wanted:
            v.stop_gradient = False
        outputs = layer(*inputs)
        tops = [dygraph.mean(F.square(v)) for v in floats(outputs)]
        loss = F.sum(tops) if len(tops) > 1 else tops[0]
        grads = []
        if wanted:
            grads = dygraph.grad(loss, wanted, retain_graph=adam is not None, allow_unused=True)
        if adam is not None:
            loss.backward()
            adam.step()
            adam.clear_gradients()
        return [loss, everything(outputs), [g for g in everything(grads)]]

    return step


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.filterwarnings("ignore::UserWarning")  # batch_norm of one row
def test_training(name, tmp_path):
    layer = TABLE[name][0]()
    other = copy.deepcopy(layer)
    eager, step = step_of(layer), step_of(other)
    dygraph.seed(8)
    expected = bits(eager(*inputs_of(name, 4)))
    dygraph.seed(8)
    outputs, traced = jit.trace(step, inputs_of(name, 4))
    assert bits(outputs) == expected
    traced.save(tmp_path)
    loaded = jit.load(tmp_path)
    state = dygraph.get_rng_state()
    for n in (4, 3, 9):
        given = inputs_of(name, n, n)
        dygraph.set_rng_state(state)
        want = bits(eager(*given))
        for program in (traced, loaded):
            dygraph.set_rng_state(state)
            assert bits(program(given)) == want, f"batch {n}"
    for (key, want), have in zip(
        layer.state_dict().items(), other.state_dict().values(), strict=True
    ):
        assert have.numpy().tobytes() == want.numpy().tobytes(), key
