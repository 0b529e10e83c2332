"""Layers: `Layer` itself, the usual ones with Fluid's arguments, and containers."""

from dygraph.nn.activation import ReLU, Sigmoid, Softmax, Tanh
from dygraph.nn.common import Dropout, Embedding, Linear
from dygraph.nn.containers import LayerList, ParameterList, Sequential
from dygraph.nn.conv import Conv2D, Pool2D
from dygraph.nn.layer import Layer
from dygraph.nn.norm import BatchNorm
from dygraph.nn.rnn import (
    GRU,
    LSTM,
    RNN,
    BiRNN,
    GRUCell,
    GRUUnit,
    LSTMCell,
    RNNCellBase,
    SimpleRNN,
    SimpleRNNCell,
)
from dygraph.nn.transformer import (
    MultiHeadAttention,
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
    scaled_dot_product_attention,
)

__all__ = [
    "MultiHeadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "scaled_dot_product_attention",
    "GRU",
    "GRUCell",
    "GRUUnit",
    "LSTM",
    "LSTMCell",
    "RNN",
    "BiRNN",
    "RNNCellBase",
    "SimpleRNN",
    "SimpleRNNCell",
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
