"""Layers: `Layer` itself, the usual ones with Fluid's arguments, and containers."""

from dygraph.nn.activation import ReLU, Sigmoid, Softmax, Tanh
from dygraph.nn.common import Embedding, Identity, Linear
from dygraph.nn.containers import LayerDict, LayerList, ParameterDict, ParameterList, Sequential
from dygraph.nn.conv import Conv2D, Pool2D
from dygraph.nn.dropout import (
    AlphaDropout,
    Dropout,
    Dropout1D,
    Dropout2D,
    Dropout3D,
    FeatureAlphaDropout,
)
from dygraph.nn.layer import Layer
from dygraph.nn.norm import BatchNorm

__all__ = sorted(n for n, v in globals().items() if isinstance(v, type))
