"""Recurrent layers: stacks of cells in one operator, and loops over any cell.

Padded batches have their lengths in ``sequence_length``; rows with a level of detail need no
padding. In both cases steps past the end of a sequence are not computed.
"""

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.nn.layer import Layer
from dygraph.nn.ragged import Steps
from dygraph.nn.rnn_cells import (
    GATES,
    RNNCellBase,
    add_weights,
    attrs_of,
    biases_of,
    states_of,
    zeros,
)

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "BiRNN",
    "SimpleRNN",
]

ops = _core.ops
Variable = _core.Variable
_ORDER = (
    "for a padded batch time_major must be given: time_major=False takes [batch, time, size], as "
    "Paddle and Keras do, time_major=True [time, batch, size], torch's default"
)


class RNN(Layer):
    """Runs any cell over time: ``outputs, states = rnn(inputs, initial_states)``.

    The cell is a layer whose ``forward(inputs, states)`` returns (output, new states); states may
    be a Variable or tuples of Variables. The step is ordinary Python, called once a time step with
    the sequences that have not ended; `initial_states` are optional for an `RNNCellBase`.

    In a program, and in `dygraph.jit.to_static`, a ragged batch and a padded one of any length
    become a `DynamicRNN` with the bits of eager calls: the cell is then called once, to describe
    the step, and its Python code cannot read values. `dygraph.jit.trace` records the steps one by
    one: it takes a padded batch with a fixed number of steps, and refuses others.

    Parameters
    ----------
    cell : Layer
    is_reverse : bool
        From the last step of each sequence to its first.
    time_major : bool
        Padded inputs are ``[time, batch, ...]``, not ``[batch, time, ...]``.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> rnn = dygraph.nn.RNN(dygraph.nn.GRUCell(3, 4))
    >>> words = dygraph.to_variable(np.ones((5, 3), "float32"), lod=[[0, 2, 5]])
    >>> outputs, last = rnn(words)
    >>> outputs.shape, outputs.lod(), last.shape
    ((5, 4), [[0, 2, 5]], (2, 4))
    """

    def __init__(self, cell, is_reverse=False, time_major=False):
        super().__init__()
        if not isinstance(cell, Layer):
            raise ArgumentTypeError(f"RNN: cell must be a Layer, got {kind_of(cell)}")
        self.cell = cell
        self.is_reverse, self.time_major = bool(is_reverse), bool(time_major)

    def forward(self, inputs, initial_states=None, sequence_length=None, **kwargs):
        steps = Steps(inputs, sequence_length, self.is_reverse, self.time_major, "RNN")
        if initial_states is None:
            if not isinstance(self.cell, RNNCellBase):
                raise InvalidArgumentError(
                    "RNN: initial_states must be given for a cell that is not an RNNCellBase"
                )
            initial_states = steps.first_states(self.cell.state_shape, inputs.dtype)
        return steps.run(self.cell, initial_states, kwargs)


class BiRNN(Layer):
    """Two cells, one for each direction; their outputs are concatenated.

    ``outputs, (states_fw, states_bw) = birnn(inputs, (initial_fw, initial_bw))``

    Parameters
    ----------
    cell_fw, cell_bw : Layer
        Cells as of `RNN`: the first reads from the first step, the second from the last.
    time_major : bool
        Padded inputs are ``[time, batch, ...]``, not ``[batch, time, ...]``.

    Examples
    --------
    >>> import dygraph
    >>> both = dygraph.nn.BiRNN(dygraph.nn.GRUCell(3, 4), dygraph.nn.GRUCell(3, 5))
    >>> outputs, (forth, back) = both(dygraph.ones([2, 6, 3]))
    >>> outputs.shape, forth.shape, back.shape
    ((2, 6, 9), (2, 4), (2, 5))
    """

    def __init__(self, cell_fw, cell_bw, time_major=False):
        super().__init__()
        self.fw = RNN(cell_fw, False, time_major)
        self.bw = RNN(cell_bw, True, time_major)

    def forward(self, inputs, initial_states=None, sequence_length=None, **kwargs):
        first, second = initial_states if initial_states is not None else (None, None)
        forth, states_fw = self.fw(inputs, first, sequence_length, **kwargs)
        back, states_bw = self.bw(inputs, second, sequence_length, **kwargs)
        out = ops.concat([forth, back], axis=len(forth.shape) - 1)
        if inputs.lod() and len(out.shape) == len(inputs.shape):
            out = ops.lod_reset(out, y=inputs)
        return out, (states_fw, states_bw)


class _Stack(Layer):
    """A stack of recurrent layers, run by one operator. See `LSTM`."""

    def __init__(
        self, mode, input_size, hidden_size, num_layers, direction, time_major, dropout, attrs,
        dtype, batch_first,
    ):  # fmt: skip
        super().__init__(dtype=dtype)
        name = type(self).__name__
        if batch_first is not None:
            if time_major is not None:
                raise InvalidArgumentError(f"{name}: give time_major or batch_first, got both")
            time_major = not check.flag(batch_first, f"{name}: batch_first")
        self.mode = mode
        self.input_size = check.integer(input_size, f"{name}: input_size", 1)
        self.hidden_size = check.integer(hidden_size, f"{name}: hidden_size", 1)
        self.num_layers = check.integer(num_layers, f"{name}: num_layers", 1, 10_000)
        self.dropout = check.number(dropout, f"{name}: dropout", 0, 1)
        self.time_major = time_major if time_major is None else bool(time_major)
        both = ("bidirect", "bidirectional")
        check.choice(direction, ("forward", *both), f"{name}: direction")
        self.num_directions = 2 if direction in both else 1
        self._suffixes = [
            f"_l{layer}{'_reverse' if d else ''}"
            for layer in range(num_layers)
            for d in range(self.num_directions)
        ]
        for i, suffix in enumerate(self._suffixes):
            below = i < self.num_directions
            width = input_size if below else hidden_size * self.num_directions
            add_weights(self, GATES[mode], width, hidden_size, attrs, suffix)

    @property
    def state_components(self):
        """2 for LSTM, h and c; 1 for the others."""
        return 2 if self.mode == "LSTM" else 1

    def forward(self, inputs, initial_states=None, sequence_length=None):
        name = type(self).__name__
        check.variable(inputs, f"{name}: inputs")
        symbol = _core.is_symbol(inputs)  # of a program: the number of sequences is known in a run
        has_lod = inputs.lod_level > 0 if symbol else bool(inputs.lod())
        ragged = len(inputs.shape) == 2 and has_lod
        right = ragged or len(inputs.shape) == 3
        if not right or inputs.shape[-1] != self.input_size:
            raise InvalidArgumentError(
                f"{name}: inputs must be [batch, time, {self.input_size}] (time first with "
                f"time_major), or [rows, {self.input_size}] with LoD, got {list(inputs.shape)}"
            )
        if self.time_major is None and not ragged:
            raise InvalidArgumentError(f"{name}: {_ORDER}")
        swap = not ragged and not self.time_major
        x = ops.transpose2(inputs, axis=[1, 0, 2]) if swap else inputs
        if initial_states is None:
            batch = -1 if ragged else x.shape[1]
            shape = [self.num_layers * self.num_directions, batch, self.hidden_size]
            axis = 0 if ragged else 1
            states = [zeros(shape, x, axis) for _ in range(self.state_components)]
        else:
            states = states_of(initial_states, self.state_components, name)
        weights = [getattr(self, f"weight_{k}{s}") for s in self._suffixes for k in ("ih", "hh")]
        out, last = ops.rnn(
            x,
            states,
            weights + biases_of(self, self._suffixes, GATES[self.mode] * self.hidden_size, x),
            sequence_length=_lengths(sequence_length, name),
            mode=self.mode,
            input_size=self.input_size,
            hidden_size=self.hidden_size,
            num_layers=self.num_layers,
            is_bidirec=self.num_directions == 2,
            dropout_prob=self.dropout,
            is_test=not self.training,
        )
        if swap:
            out = ops.transpose2(out, axis=[1, 0, 2])
        if symbol and ragged:
            out.lod_level = inputs.lod_level
        return out, tuple(last) if self.mode == "LSTM" else last[0]

    def extra_repr(self):
        direction = ", direction='bidirectional'" if self.num_directions == 2 else ""
        return f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}{direction}"


def _lengths(value, what):
    if value is None or isinstance(value, Variable):
        return value
    return _core.to_variable(np.asarray(value, "int64"))


class SimpleRNN(_Stack):
    """A stack of `SimpleRNNCell` over time: ``outputs, h = rnn(inputs, h0, sequence_length)``.

    Inputs, outputs and states have the shapes of `LSTM`, without its cell state.

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
    direction : str
        ``'forward'`` or ``'bidirectional'``: a second cell reads each layer's input backwards, and
        the outputs of both are concatenated.
    time_major : bool
        True: padded inputs and outputs are ``[time, batch, ...]``, as by default in PyTorch. False:
        ``[batch, time, ...]``, as in Paddle and Keras. Required for padded inputs.
    dropout : float
        Between layers, in training; kept values are divided by ``1 - dropout``.
    activation : str
        ``'tanh'`` or ``'relu'``.
    weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr : ParamAttr, optional
        As of `LSTM`; False for a bias leaves it out.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.
    batch_first : bool, optional
        PyTorch's name of ``not time_major``.

    Examples
    --------
    >>> import dygraph
    >>> rnn = dygraph.nn.SimpleRNN(3, 4, num_layers=2, time_major=False)
    >>> outputs, h = rnn(dygraph.ones([2, 5, 3]))
    >>> outputs.shape, h.shape
    ((2, 5, 4), (2, 2, 4))
    """

    def __init__(
        self, input_size, hidden_size, num_layers=1, direction="forward", time_major=None,
        dropout=0.0, activation="tanh", weight_ih_attr=None, weight_hh_attr=None, bias_ih_attr=None,
        bias_hh_attr=None, dtype=None, batch_first=None,
    ):  # fmt: skip
        check.choice(activation, ("tanh", "relu"), "SimpleRNN: activation")
        attrs = attrs_of(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        mode, sizes = f"RNN_{activation.upper()}", (input_size, hidden_size, num_layers)
        super().__init__(mode, *sizes, direction, time_major, dropout, attrs, dtype, batch_first)


class LSTM(_Stack):
    """A stack of LSTM layers: ``outputs, (h, c) = lstm(inputs, (h0, c0), sequence_length)``.

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
    direction : str
        ``'forward'`` or ``'bidirectional'``: a second cell reads each layer's input backwards, and
        the outputs of both are concatenated.
    time_major : bool
        True: padded inputs and outputs are ``[time, batch, ...]``, as by default in PyTorch. False:
        ``[batch, time, ...]``, as in Paddle and Keras, or ``batch_first=True``. They need it.
    dropout : float
        Between layers, in training; kept values are divided by ``1 - dropout``.
    weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr : ParamAttr, optional
        Of all the parameters ``weight_ih_l0``, ``weight_hh_l0``, ``bias_ih_l0``, ``bias_hh_l0``,
        ``weight_ih_l0_reverse`` ...; False for a bias leaves it out.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.
    batch_first : bool, optional
        PyTorch's name of ``not time_major``.

    Notes
    -----
    `inputs` is padded, with different lengths in `sequence_length` (int32 or int64 ``[batch]``, or
    a list), or ``[rows, input_size]`` with a level of detail, in a program too
    (``static.data(..., lod_level=1)``). Outputs have the form of the inputs, with zeros in place of
    padding. States are ``[num_layers * directions, batch, hidden_size]``; the final ones are those
    of each sequence's last step, or first step for the backward direction.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> lstm = dygraph.nn.LSTM(3, 4, num_layers=2, time_major=False)
    >>> outputs, (h, c) = lstm(dygraph.to_variable(np.ones((2, 5, 3), "float32")))
    >>> outputs.shape, h.shape
    ((2, 5, 4), (2, 2, 4))
    """

    def __init__(
        self, input_size, hidden_size, num_layers=1, direction="forward", time_major=None,
        dropout=0.0, weight_ih_attr=None, weight_hh_attr=None, bias_ih_attr=None, bias_hh_attr=None,
        dtype=None, batch_first=None,
    ):  # fmt: skip
        attrs = attrs_of(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        sizes = input_size, hidden_size, num_layers
        super().__init__("LSTM", *sizes, direction, time_major, dropout, attrs, dtype, batch_first)


class GRU(_Stack):
    """A stack of GRU layers: ``outputs, h = gru(inputs, h0, sequence_length)``.

    Each layer is a `GRUCell` over time. Inputs, outputs and states have the shapes of `LSTM`,
    without its cell state.

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
    direction : str
        ``'forward'`` or ``'bidirectional'``: a second cell reads each layer's input backwards, and
        the outputs of both are concatenated.
    time_major : bool
        True: padded inputs and outputs are ``[time, batch, ...]``, as by default in PyTorch. False:
        ``[batch, time, ...]``, as in Paddle and Keras. Required for padded inputs.
    dropout : float
        Between layers, in training; kept values are divided by ``1 - dropout``.
    weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr : ParamAttr, optional
        Of all the parameters ``weight_ih_l0``, ``weight_hh_l0``, ``bias_ih_l0``, ``bias_hh_l0``,
        ``weight_ih_l0_reverse`` ...; False for a bias leaves it out.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.
    batch_first : bool, optional
        PyTorch's name of ``not time_major``.

    Examples
    --------
    >>> import dygraph
    >>> gru = dygraph.nn.GRU(3, 4, direction="bidirectional", batch_first=True)
    >>> outputs, h = gru(dygraph.ones([2, 5, 3]), sequence_length=[5, 2])
    >>> outputs.shape, h.shape, bool((outputs.numpy()[1, 2:] == 0).all())
    ((2, 5, 8), (2, 2, 4), True)
    """

    def __init__(
        self, input_size, hidden_size, num_layers=1, direction="forward", time_major=None,
        dropout=0.0, weight_ih_attr=None, weight_hh_attr=None, bias_ih_attr=None, bias_hh_attr=None,
        dtype=None, batch_first=None,
    ):  # fmt: skip
        attrs = attrs_of(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        sizes = input_size, hidden_size, num_layers
        super().__init__("GRU", *sizes, direction, time_major, dropout, attrs, dtype, batch_first)
