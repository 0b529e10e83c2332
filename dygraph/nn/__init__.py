"""Layers: `Layer` itself, the usual ones with Fluid's arguments, and containers."""

from dygraph.core.lazily import find, names_of
from dygraph.core.module_hints import OF_NN as _OF_NN
from dygraph.core.spellings import refuse as _refuse
from dygraph.errors import did_you_mean
from dygraph.nn.activation import *
from dygraph.nn.common import *
from dygraph.nn.containers import *
from dygraph.nn.conv import *
from dygraph.nn.layer import Layer as Layer
from dygraph.nn.norm import *
from dygraph.nn.pooling import *

# Loaded at the first use, so that `import dygraph` stays fast.
_LAZY = {
    "attention": "MultiHeadAttention scaled_dot_product_attention",
    "bilinear": "BilinearTensorProduct TreeConv",
    "clip": "ClipGradByGlobalNorm ClipGradByNorm ClipGradByValue",
    "dropout": "AlphaDropout Dropout Dropout1D Dropout2D Dropout3D FeatureAlphaDropout",
    "gru_unit": "GRUUnit",
    "learnt_loss": "CenterLoss HSigmoid NCE",
    "loss": "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss "
    "GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss "
    "NLLLoss PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss",
    "rnn": "BiRNN GRU GRUCell LSTM LSTMCell RNN RNNCellBase SimpleRNN SimpleRNNCell",
    "spectral": "SpectralNorm",
    "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
    "TransformerEncoderLayer",
    "vision": "ChannelShuffle Flatten Fold Pad2D PixelShuffle PixelUnshuffle Unfold Upsample "
    "UpsamplingBilinear2D UpsamplingNearest2D",
}
_LAZY_NAMES = names_of(_LAZY)

__all__ = sorted([*(n for n, v in globals().items() if isinstance(v, type)), *_LAZY_NAMES])


def __getattr__(name):
    if name in ("functional", "utils"):
        import importlib

        return importlib.import_module(f"dygraph.nn.{name}")
    if name in _LAZY_NAMES:
        return find(f"dygraph.nn.{_LAZY_NAMES[name]}", name)
    hint = "" if name.startswith("__") else did_you_mean(name, __all__)
    hint = f" Here: {_OF_NN[name]}" if name in _OF_NN else hint
    raise _refuse("dygraph.nn", name, hint, f"dygraph.nn has no layer '{name}'")


def __dir__():
    return sorted({*globals(), *_LAZY_NAMES, "functional", "utils"})
