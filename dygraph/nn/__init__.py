"""Layers: `Layer` itself, the usual ones with Fluid's arguments, and containers."""

from dygraph.core.lazily import find, names_of
from dygraph.core.module_hints import OF_NN as _OF_NN
from dygraph.core.spellings import refuse as _refuse
from dygraph.errors import did_you_mean
from dygraph.nn.layer import Layer as Layer

# Loaded at the first use, so that `import dygraph` stays fast.
_LAZY = {
    "activation": "CELU ELU GELU Hardshrink Hardsigmoid Hardswish LeakyReLU LogSigmoid Mish ReLU "
    "ReLU6 RReLU SELU SiLU Sigmoid Softplus Softshrink Softsign Swish Tanh Tanhshrink "
    "ThresholdedReLU",
    "attention": "MultiHeadAttention scaled_dot_product_attention",
    "batch_norm": "BatchNorm BatchNorm1D BatchNorm2D BatchNorm3D",
    "bilinear": "BilinearTensorProduct TreeConv",
    "channel_activation": "LogSoftmax Maxout PReLU PRelu Softmax",
    "clip": "ClipGradByGlobalNorm ClipGradByNorm ClipGradByValue",
    "common": "Embedding Identity Linear",
    "containers": "LayerDict LayerList ParameterDict ParameterList Sequential",
    "conv": "Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose Pool2D",
    "dropout": "AlphaDropout Dropout Dropout1D Dropout2D Dropout3D FeatureAlphaDropout",
    "gru_unit": "GRUUnit",
    "learnt_loss": "CenterLoss HSigmoid NCE",
    "loss": "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss "
    "GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss "
    "NLLLoss PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss",
    "norm": "GroupNorm InstanceNorm InstanceNorm1D InstanceNorm2D InstanceNorm3D LayerNorm "
    "LocalResponseNorm RMSNorm",
    "pooling": "AdaptiveAvgPool1D AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool1D "
    "AdaptiveMaxPool2D AdaptiveMaxPool3D AvgPool1D AvgPool2D AvgPool3D MaxPool1D MaxPool2D "
    "MaxPool3D MaxUnPool1D MaxUnPool2D MaxUnPool3D",
    "rnn": "BiRNN GRU LSTM RNN SimpleRNN",
    "rnn_cells": "GRUCell LSTMCell RNNCellBase SimpleRNNCell",
    "spectral": "SpectralNorm",
    "transducer": "RNNTLoss",
    "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
    "TransformerEncoderLayer",
    "vision": "ChannelShuffle Flatten Fold Pad2D PixelShuffle PixelUnshuffle Unfold Upsample "
    "UpsamplingBilinear2D UpsamplingNearest2D",
}
_LAZY_NAMES = names_of(_LAZY)

__all__ = sorted(["Layer", *_LAZY_NAMES])


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
