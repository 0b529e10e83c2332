"""Layers: `Layer` itself, the usual ones with Fluid's arguments, and containers."""

from dygraph.nn.activation import *
from dygraph.nn.common import *
from dygraph.nn.containers import *
from dygraph.nn.conv import *
from dygraph.nn.dropout import *
from dygraph.nn.layer import Layer as Layer
from dygraph.nn.loss import *
from dygraph.nn.norm import *
from dygraph.nn.pooling import *
from dygraph.nn.rnn import *
from dygraph.nn.transformer import *
from dygraph.nn.vision import *

__all__ = sorted(n for n, v in globals().items() if isinstance(v, type))
