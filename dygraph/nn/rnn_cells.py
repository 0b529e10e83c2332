"""Cells of recurrent layers: one step each."""

import math

import numpy as np

from dygraph import _core
from dygraph.core import check, size_lists
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.functions import creation
from dygraph.initializer import Uniform
from dygraph.nn.layer import Layer

__all__ = ["GRUCell", "LSTMCell", "RNNCellBase", "SimpleRNNCell"]

ops = _core.ops
GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def zeros(shape, like, batch_axis=None):
    """Zeros of the type of `like`. In a program axis 1 is as long as the axis of `like`; axis 0, of
    rows with LoD, stands for the number of sequences."""
    if batch_axis == 0 or batch_axis is not None and _core.is_symbol(like):
        return ops.fill_constant_batch_size_like(
            like, shape=list(shape), value=0.0, dtype=like.dtype, input_dim_idx=batch_axis,
            output_dim_idx=1,
        )  # fmt: skip
    return ops.fill_constant(shape=list(shape), value=0.0, dtype=like.dtype)


_GIVES = ". A cell gives (output, states), also where the output is the state: _, state = cell(x)"


def states_of(value, count, what):
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

    Parameters
    ----------
    name_scope : str, optional
        Prefix of the names of parameters; None: the name of the class.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Examples
    --------
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
        add_weights(self, GATES[mode], input_size, hidden_size, attrs, "")

    @property
    def state_shape(self):
        return (self.hidden_size,)

    def _weights(self, inputs):
        weights = [self.weight_ih, self.weight_hh]
        return weights, biases_of(self, [""], GATES[self._mode] * self.hidden_size, inputs)

    def _step(self, inputs, states):
        name = type(self).__name__
        check.variable(inputs, f"{name}: inputs")
        if states is None:
            states = self.get_initial_states(inputs)
        states = states_of(states, 2 if self._mode == "LSTM" else 1, name)
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


def add_weights(layer, gates, width, hidden, attrs, suffix):
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


def biases_of(layer, suffixes, width, inputs):
    """The biases of the operator's list, with zeros for omitted ones."""
    given = [getattr(layer, f"bias_{side}{suffix}") for suffix in suffixes for side in ("ih", "hh")]
    if all(b is not None for b in given):
        return given
    weight = getattr(layer, f"weight_ih{suffixes[0]}")
    if _core.is_symbol(inputs):
        filled = _core.literal(np.zeros(width, "float32"), str(weight.dtype))
    else:
        filled = zeros([width], weight)
    return [filled if b is None else b for b in given]


class SimpleRNNCell(_Cell):
    """One step ``h = act(W_ih x + b_ih + W_hh h' + b_hh)``.

    Parameters
    ----------
    input_size, hidden_size : int
    activation : str
        ``'tanh'`` or ``'relu'``.
    weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr : ParamAttr, optional
        False for a bias leaves it out.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

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
        attrs = attrs_of(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__(f"RNN_{activation.upper()}", input_size, hidden_size, attrs, dtype)


def attrs_of(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr):
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
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

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
        attrs = attrs_of(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
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
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

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
        attrs = attrs_of(weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__("GRU", input_size, hidden_size, attrs, dtype)
