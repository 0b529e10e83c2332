"""Layers: `Layer` itself, the usual ones with Fluid's arguments, and containers."""

from dygraph.nn.activation import ReLU, Sigmoid, Softmax, Tanh
from dygraph.nn.common import Dropout, Embedding, Linear
from dygraph.nn.containers import LayerList, ParameterList, Sequential
from dygraph.nn.conv import Conv2D, Pool2D
from dygraph.nn.layer import Layer
from dygraph.nn.norm import BatchNorm

__all__ = [
    "BatchNorm",
    "Conv2D",
    "Dropout",
    "Embedding",
    "Layer",
    "LayerList",
    "Linear",
    "ParameterList",
    "Pool2D",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Softmax",
    "Tanh",
]
