"""Recurrent layers: cells, stacks of cells in one operator, and loops over custom cells.

Padded batches have their lengths in ``sequence_length``; rows with a level of detail need no
padding. In both cases steps past the end of a sequence are not computed.
"""

import math

import numpy as np

from dygraph import _core
from dygraph.core import check, size_lists
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.functions import creation
from dygraph.initializer import Uniform
from dygraph.nn.layer import Layer
from dygraph.nn.ragged import Steps

__all__ = [
    "GRU",
    "GRUCell",
    "LSTM",
    "LSTMCell",
    "RNN",
    "BiRNN",
    "RNNCellBase",
    "SimpleRNN",
    "SimpleRNNCell",
]

ops = _core.ops
Variable = _core.Variable
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_ORDER = (
    "for a padded batch time_major must be given: time_major=False takes [batch, time, size], as "
    "Paddle and Keras do, time_major=True [time, batch, size], torch's default"
)


def _zeros(shape, like, batch_axis=None):
    """Zeros of the type of `like`. In a program axis 1 is as long as the axis of `like`; axis 0, of
    rows with LoD, stands for the number of sequences."""
    if batch_axis == 0 or batch_axis is not None and _core.is_symbol(like):
        return ops.fill_constant_batch_size_like(
            like, shape=list(shape), value=0.0, dtype=like.dtype, input_dim_idx=batch_axis,
            output_dim_idx=1,
        )  # fmt: skip
    return ops.fill_constant(shape=list(shape), value=0.0, dtype=like.dtype)


_GIVES = ". A cell gives (output, states), also where the output is the state: _, state = cell(x)"


def _states(value, count, what):
    """`value` as a list of `count` Variables."""
    given = list(value) if isinstance(value, (list, tuple)) else [value]
    gives = _GIVES if what.endswith("Cell") else ""
    if len(given) != count:
        names = "(h, c)" if count == 2 else "one Variable"
        got = len(given) if isinstance(value, (list, tuple)) else kind_of(value)
        raise InvalidArgumentError(f"{what}: the states must be {names}, got {got}{gives}")
    if any(isinstance(v, (list, tuple)) for v in given):
        raise ArgumentTypeError(f"{what}: a state must be a Variable, got a tuple{gives}")
    return [check.variable(v, f"{what}: a state") for v in given]


class RNNCellBase(Layer):
    """Base of cells: ``output, new_states = cell(inputs, states)``.

    A custom cell defines ``forward`` and ``state_shape`` (the shape of a state without its batch
    axis, or a tuple of shapes) and runs in `RNN`.

    >>> import dygraph
    >>> class Total(dygraph.nn.RNNCellBase):
    ...     state_shape = (1,)
    ...
    ...     def forward(self, inputs, states):
    ...         return inputs + states, inputs + states
    >>> outputs, last = dygraph.nn.RNN(Total())(dygraph.ones([1, 3, 1]))
    >>> outputs.tolist(), last.tolist()
    ([[[1.0], [2.0], [3.0]]], [[3.0]])
    """

    @property
    def state_shape(self):
        """Shape of one sequence's state, or a tuple of shapes."""
        raise NotImplementedError(f"{type(self).__name__}: define state_shape for initial states")

    def get_initial_states(
        self, batch_ref, shape=None, dtype=None, init_value=0.0, batch_dim_idx=0
    ):
        """States of `init_value`; axis `batch_dim_idx` of `batch_ref` gives the batch size."""
        check.variable(batch_ref, f"{type(self).__name__}: batch_ref")
        axis = check.axis(batch_dim_idx, len(batch_ref.shape), "batch_dim_idx")
        batch = size_lists.sizes_of(batch_ref)[axis]
        dtype = dtype or batch_ref.dtype

        def filled(shape):
            if shape and isinstance(shape[0], (list, tuple)):
                return tuple(map(filled, shape))
            return creation.full([batch, *shape], init_value, dtype)

        with size_lists.beside(batch_ref):
            return filled(shape or self.state_shape)


class _Cell(RNNCellBase):
    """Base of the three cells: weights, initial states, one step of the operator rnn."""

    def __init__(self, mode, input_size, hidden_size, attrs, dtype):
        super().__init__(dtype=dtype)
        name = type(self).__name__
        self._mode = mode
        self.input_size = check.integer(input_size, f"{name}: input_size", 1)
        self.hidden_size = check.integer(hidden_size, f"{name}: hidden_size", 1)
        _add_weights(self, _GATES[mode], input_size, hidden_size, attrs, "")

    @property
    def state_shape(self):
        return (self.hidden_size,)

    def _weights(self, inputs):
        weights = [self.weight_ih, self.weight_hh]
        return weights, _biases(self, [""], _GATES[self._mode] * self.hidden_size, inputs)

    def _step(self, inputs, states):
        name = type(self).__name__
        check.variable(inputs, f"{name}: inputs")
        if states is None:
            states = self.get_initial_states(inputs)
        states = _states(states, 2 if self._mode == "LSTM" else 1, name)
        weights, biases = self._weights(inputs)
        out, last = ops.rnn(
            ops.unsqueeze2(inputs, axes=[0]),
            [ops.unsqueeze2(s, axes=[0]) for s in states],
            weights + biases,
            mode=self._mode,
            input_size=self.input_size,
            hidden_size=self.hidden_size,
        )
        return ops.squeeze2(out, axes=[0]), [ops.squeeze2(s, axes=[0]) for s in last]

    def forward(self, inputs, states=None):
        out, (state,) = self._step(inputs, states)
        return out, state

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}"


def _add_weights(layer, gates, width, hidden, attrs, suffix):
    """Make weight_ih, weight_hh, bias_ih and bias_hh with a suffix, initialised as in Paddle."""
    bound = 1.0 / math.sqrt(hidden)
    shapes = {
        "weight_ih": [gates * hidden, width],
        "weight_hh": [gates * hidden, hidden],
        "bias_ih": [gates * hidden],
        "bias_hh": [gates * hidden],
    }
    for name, shape in shapes.items():
        parameter = layer.create_parameter(
            shape,
            attrs.get(f"{name}_attr"),
            is_bias=name.startswith("bias"),
            default_initializer=Uniform(-bound, bound),
        )
        if parameter is None and name.startswith("weight"):
            raise InvalidArgumentError(
                f"{type(layer).__name__}: {name}_attr must not be False, since only biases are "
                f"optional"
            )
        layer.add_parameter(name + suffix, parameter)


def _biases(layer, suffixes, width, inputs):
    """The biases of the operator's list, with zeros for omitted ones."""
    given = [getattr(layer, f"bias_{side}{suffix}") for suffix in suffixes for side in ("ih", "hh")]
    if all(b is not None for b in given):
        return given
    weight = getattr(layer, f"weight_ih{suffixes[0]}")
    if _core.is_symbol(inputs):
        zeros = _core.literal(np.zeros(width, "float32"), str(weight.dtype))
    else:
        zeros = _zeros([width], weight)
    return [zeros if b is None else b for b in given]


class SimpleRNNCell(_Cell):
    """One step ``h = act(W_ih x + b_ih + W_hh h' + b_hh)``.

    Parameters
    ----------
    input_size, hidden_size : int
    activation : str
        ``'tanh'`` or ``'relu'``.
    weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr : ParamAttr, optional
        False for a bias leaves it out.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> cell = dygraph.nn.SimpleRNNCell(3, 4)
    >>> out, state = cell(dygraph.to_variable(np.ones((2, 3), "float32")))
    >>> out.shape
    (2, 4)
    """

    def __init__(
        self, input_size, hidden_size, activation="tanh", weight_ih_attr=None, weight_hh_attr=None,
        bias_ih_attr=None, bias_hh_attr=None, dtype=None,
    ):  # fmt: skip
        check.choice(activation, ("tanh", "relu"), "SimpleRNNCell: activation")
        attrs = _attrs(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__(f"RNN_{activation.upper()}", input_size, hidden_size, attrs, dtype)


def _attrs(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr):
    return {
        "weight_ih_attr": weight_ih_attr,
        "weight_hh_attr": weight_hh_attr,
        "bias_ih_attr": bias_ih_attr,
        "bias_hh_attr": bias_hh_attr,
    }


class LSTMCell(_Cell):
    """One step of an LSTM: ``h, (h, c) = cell(x, (h', c'))``.

    ``c = sigmoid(f) c' + sigmoid(i) tanh(g)``, ``h = sigmoid(o) tanh(c)``, where ``i, f, g, o`` are
    the four parts of ``W_ih x + b_ih + W_hh h' + b_hh``.

    Parameters
    ----------
    input_size, hidden_size : int
    weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr : ParamAttr, optional
        Of the parameters ``[4 * hidden_size, ...]``. False for a bias leaves it out.

    Examples
    --------
    >>> import dygraph
    >>> cell = dygraph.nn.LSTMCell(3, 4)
    >>> out, (h, c) = cell(dygraph.ones([2, 3]))
    >>> out.shape, h.shape, c.shape
    ((2, 4), (2, 4), (2, 4))
    """

    def __init__(
        self, input_size, hidden_size, weight_ih_attr=None, weight_hh_attr=None, bias_ih_attr=None,
        bias_hh_attr=None, dtype=None,
    ):  # fmt: skip
        attrs = _attrs(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__("LSTM", input_size, hidden_size, attrs, dtype)

    @property
    def state_shape(self):
        return ((self.hidden_size,), (self.hidden_size,))

    def forward(self, inputs, states=None):
        out, last = self._step(inputs, states)
        return out, tuple(last)


class GRUCell(_Cell):
    """One step of a GRU: ``h, h = cell(x, h')``.

    ``r, z = sigmoid(...)``, ``m = tanh(W_im x + b_im + r (W_hm h' + b_hm))``,
    ``h = (1 - z) m + z h'``: the reset gate acts after the product, as in cuDNN and Paddle 2.

    Parameters
    ----------
    input_size, hidden_size : int
    weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr : ParamAttr, optional
        Of the parameters ``[3 * hidden_size, ...]``, in the order r, z, m.

    Examples
    --------
    >>> import dygraph
    >>> cell = dygraph.nn.GRUCell(3, 4)
    >>> out, h = cell(dygraph.ones([2, 3]))
    >>> out.shape, h.shape
    ((2, 4), (2, 4))
    """

    def __init__(
        self, input_size, hidden_size, weight_ih_attr=None, weight_hh_attr=None, bias_ih_attr=None,
        bias_hh_attr=None, dtype=None,
    ):  # fmt: skip
        attrs = _attrs(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__("GRU", input_size, hidden_size, attrs, dtype)


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
                    "RNN: initial_states must be given for a cell that is no RNNCellBase"
                )
            initial_states = steps.first_states(self.cell.state_shape, inputs.dtype)
        return steps.run(self.cell, initial_states, kwargs)


class BiRNN(Layer):
    """Two cells, one for each direction; their outputs are concatenated.

    ``outputs, (states_fw, states_bw) = birnn(inputs, (initial_fw, initial_bw))``

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
            _add_weights(self, _GATES[mode], width, hidden_size, attrs, suffix)

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
            states = [_zeros(shape, x, axis) for _ in range(self.state_components)]
        else:
            states = _states(initial_states, self.state_components, name)
        weights = [getattr(self, f"weight_{k}{s}") for s in self._suffixes for k in ("ih", "hh")]
        out, last = ops.rnn(
            x,
            states,
            weights + _biases(self, self._suffixes, _GATES[self.mode] * self.hidden_size, x),
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
    """A stack of `SimpleRNNCell` over time. Arguments and results as of `GRU`.

    Parameters
    ----------
    activation : str
        ``'tanh'`` or ``'relu'``.

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
        attrs = _attrs(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
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
        attrs = _attrs(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        sizes = input_size, hidden_size, num_layers
        super().__init__("LSTM", *sizes, direction, time_major, dropout, attrs, dtype, batch_first)


class GRU(_Stack):
    """A stack of GRU layers: ``outputs, h = gru(inputs, h0, sequence_length)``; else as `LSTM`.

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
        attrs = _attrs(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        sizes = input_size, hidden_size, num_layers
        super().__init__("GRU", *sizes, direction, time_major, dropout, attrs, dtype, batch_first)
