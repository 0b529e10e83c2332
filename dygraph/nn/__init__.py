"""Layers: `Layer` itself, the usual ones with Fluid's arguments, and containers."""

from dygraph.nn.activation import ReLU, Sigmoid, Softmax, Tanh
from dygraph.nn.common import Dropout, Embedding, Linear
from dygraph.nn.containers import LayerList, ParameterList, Sequential
from dygraph.nn.conv import Conv2D, Pool2D
from dygraph.nn.layer import Layer
from dygraph.nn.loss import (
    NCE,
    BCELoss,
    BCEWithLogitsLoss,
    CenterLoss,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    CTCLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    HSigmoid,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MarginRankingLoss,
    MSELoss,
    NLLLoss,
    PoissonNLLLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
)
from dygraph.nn.norm import BatchNorm

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm",
    "CTCLoss",
    "CenterLoss",
    "Conv2D",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "GaussianNLLLoss",
    "HSigmoid",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "Layer",
    "LayerList",
    "Linear",
    "MSELoss",
    "MarginRankingLoss",
    "NCE",
    "NLLLoss",
    "ParameterList",
    "PoissonNLLLoss",
    "Pool2D",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Tanh",
    "TripletMarginLoss",
]
