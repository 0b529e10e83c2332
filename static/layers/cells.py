"""Cells of recurrent networks, and `rnn`, which runs a cell over a padded batch."""

import copy

import dygraph
from dygraph import ParamAttr, unique_name
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.nn.activation import activation
from dygraph.static import bodies, nested
from dygraph.static.layers.creation import fill_constant_batch_size_like
from dygraph.static.layers.indexing import slice
from dygraph.static.layers.learnt import known
from dygraph.static.layers.manipulation import concat, reshape, reverse, split, squeeze, transpose
from dygraph.static.layers.products import matmul
from dygraph.static.layers.sequence import sequence_mask
from dygraph.static.layers.static_rnn import StaticRNN
from dygraph.static.layers.tensor import shape
from dygraph.static.parameters import create_parameter
from dygraph.static.program import Variable

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "rnn"]

LAST = 2**31 - 1


class RNNCell(Shown):
    """One step of a recurrent network: ``outputs, new_states = cell(inputs, states)``.

    Derive from it and define `call`; define `state_shape` too, unless the first states are always
    passed in.

    Examples
    --------
    >>> from dygraph import static
    >>> class Sum(static.layers.RNNCell):
    ...     state_shape = [3]
    ...     def call(self, inputs, states):
    ...         return inputs + states, inputs + states
    >>> with static.program_guard(static.Program()):
    ...     outputs, last = static.layers.rnn(Sum(), static.data("x", [None, 5, 3]))
    ...     outputs.shape, last.shape
    ((-1, 5, 3), (-1, 3))
    """

    def call(self, inputs, states, **kwargs):
        """Return ``(outputs, new_states)``; the new states have the structure of the old ones."""
        raise NotImplementedError(f"{type(self).__name__} must define call(inputs, states)")

    def __call__(self, inputs, states, **kwargs):
        return self.call(inputs, states, **kwargs)

    @property
    def state_shape(self):
        """The shape of a row of the states: a list of int, or a structure of such lists."""
        raise NotImplementedError(
            f"{type(self).__name__} must define state_shape, or be given its first states"
        )

    @property
    def state_dtype(self):
        """The type of the states: a name, or names in the structure of `state_shape`."""
        raise NotImplementedError(f"{type(self).__name__} must define state_dtype")

    def get_initial_states(
        self, batch_ref, shape=None, dtype="float32", init_value=0, batch_dim_idx=0
    ):
        """States filled with `init_value`.

        Parameters
        ----------
        batch_ref : Variable or structure of them
            The first Variable gives the batch size.
        shape : list of int, or structure of such lists, optional
            The shape of a row. Default: `state_shape`.
        dtype : str or structure of them
            Default: `state_dtype`, if the cell has one.
        init_value : float
        batch_dim_idx : int
            The batch axis of `batch_ref`.

        Returns
        -------
        Variable or structure of them
            ``[batch, *shape]``.

        Raises
        ------
        ArgumentTypeError
            `batch_ref` holds no Variable, or `shape` is not a list of sizes or a structure of such
            lists.
        NotImplementedError
            Without `shape`: the cell has no `state_shape`.

        Examples
        --------
        >>> import dygraph
        >>> from dygraph.static import layers
        >>> cell = layers.LSTMCell(hidden_size=2)
        >>> h, c = cell.get_initial_states(dygraph.ones([3, 7]), init_value=0.5)
        >>> h.shape, c.tolist()
        ((3, 2), [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
        """
        reference = nested.leaves(batch_ref)[0]
        check.variable(reference, "get_initial_states: batch_ref")
        if shape is None:
            shape = self.state_shape
            try:
                dtype = self.state_dtype
            except NotImplementedError:
                pass

        def made(shape, dtype):
            if _is_shape(shape):
                sizes = [-1, *(n for n in shape if n != -1)] if -1 in shape[:1] else [-1, *shape]
                return fill_constant_batch_size_like(
                    reference, sizes, dtype, init_value, input_dim_idx=batch_dim_idx
                )
            if isinstance(shape, dict):
                kinds = dtype if isinstance(dtype, dict) else dict.fromkeys(shape, dtype)
                return {key: made(part, kinds[key]) for key, part in shape.items()}
            if not isinstance(shape, (list, tuple)):
                raise ArgumentTypeError(
                    "get_initial_states: shape must be a list of sizes or a structure of such "
                    f"lists, got {kind_of(shape)}"
                )
            kinds = dtype if isinstance(dtype, (list, tuple)) else [dtype] * len(shape)
            return type(shape)(made(part, kind) for part, kind in zip(shape, kinds, strict=True))

        return made(shape, dtype)


def _is_shape(value):
    return isinstance(value, (list, tuple)) and all(
        hasattr(n, "__index__") and not isinstance(n, bool) for n in value
    )


class _Gates(RNNCell):
    """A cell that makes its parameters in the first call and shares them among all calls."""

    def __init__(
        self, hidden_size, param_attr, bias_attr, gate_activation, act, dtype, name, kind
    ):  # fmt: skip
        self.hidden_size = check.integer(hidden_size, f"{kind}: hidden_size", 1)
        self._attrs, self._dtype = (param_attr, bias_attr), dtype
        self._gate = gate_activation or "sigmoid"
        self._act = act or "tanh"
        self._gate, self._act = (
            f if callable(f) else activation(f, kind) for f in (self._gate, self._act)
        )
        self.name, self._made = unique_name.generate(name), {}

    def _affine(self, x, width, part, columns):
        """``x W + b`` with the parameters of one part of the cell."""
        if part not in self._made:
            self._made[part] = tuple(
                create_parameter(
                    shape, self._dtype, attr=_suffixed(attr, part), is_bias=bias, layer=self.name
                )
                if attr is not False else None
                for attr, shape, bias in zip(
                    self._attrs, ([width, columns], [columns]), (False, True), strict=True
                )
            )  # fmt: skip
        weight, bias = self._made[part]
        product = matmul(x, weight)
        return product if bias is None else product + bias

    def _joined(self, x, hidden):
        for value in (x, hidden):
            check.variable(value, f"{type(self).__name__}: inputs and states")
        width = known(x.desc.shape[-1], type(self).__name__, "the width of the inputs", x)
        return concat([x, hidden], axis=1), width + self.hidden_size

    @property
    def state_dtype(self):
        """The type of the parameters and the states."""
        return self._dtype


def _suffixed(attr, part):
    """The attributes of one parameter of a cell, with a suffix to its name."""
    attr = ParamAttr.of(attr)
    if attr is None or attr.name is None or not part:
        return attr
    attr = copy.copy(attr)
    attr.name = f"{attr.name}_{part}"
    return attr


class GRUCell(_Gates):
    """A GRU cell: ``h' = u h + (1 - u) act(W_c [x, r h] + b_c)``.

    Parameters
    ----------
    hidden_size : int
        The width of a state.
    param_attr, bias_attr : ParamAttr, str, Initializer or bool, optional
        A name gets the suffixes ``_gate`` and ``_candidate``.
    gate_activation, activation : callable or str, optional
        Default: sigmoid and tanh.
    dtype : str
        The type of the parameters.
    name : str
        The name of the results and the parameters.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     cell = layers.GRUCell(hidden_size=4)
    ...     outputs, last = layers.rnn(cell, static.data("x", [None, 7, 3]))
    ...     outputs.shape, last.shape
    ((-1, 7, 4), (-1, 4))
    """

    def __init__(
        self, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None,
        dtype="float32", name="GRUCell",
    ):  # fmt: skip
        super().__init__(
            hidden_size, param_attr, bias_attr, gate_activation, activation, dtype, name, "GRUCell"
        )

    def call(self, inputs, states):
        """``(new, new)`` for inputs ``[batch, D]`` and states ``[batch, hidden_size]``."""
        joined, width = self._joined(inputs, states)
        gates = self._gate(self._affine(joined, width, "gate", 2 * self.hidden_size))
        reset, update = split(gates, 2, dim=1)
        joined, width = self._joined(inputs, reset * states)
        candidate = self._act(self._affine(joined, width, "candidate", self.hidden_size))
        new = update * states + (1.0 - update) * candidate
        return new, new

    @property
    def state_shape(self):
        """``[hidden_size]``."""
        return [self.hidden_size]


class LSTMCell(_Gates):
    """An LSTM cell.

    ``c' = c sigmoid(f + forget_bias) + sigmoid(i) tanh(j)`` and ``h' = tanh(c') sigmoid(o)``.

    Parameters
    ----------
    hidden_size : int
        The width of a state.
    param_attr, bias_attr : ParamAttr, str, Initializer or bool, optional
        The attributes, name or start values of weight and bias.
    gate_activation, activation : callable or str, optional
        Default: sigmoid and tanh.
    forget_bias : float
        Added to the forget gate before its activation.
    dtype : str
        The type of the parameters.
    name : str
        The name of the results and the parameters.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     cell = layers.LSTMCell(hidden_size=4)
    ...     outputs, (h, c) = layers.rnn(cell, static.data("x", [None, 7, 3]))
    ...     outputs.shape, h.shape, c.shape
    ((-1, 7, 4), (-1, 4), (-1, 4))
    """

    def __init__(
        self, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None,
        forget_bias=1.0, dtype="float32", name="LSTMCell",
    ):  # fmt: skip
        super().__init__(
            hidden_size, param_attr, bias_attr, gate_activation, activation, dtype, name, "LSTMCell"
        )
        self._forget = check.number(forget_bias, "LSTMCell: forget_bias")

    def call(self, inputs, states):
        """``(h, [h, c])`` for inputs ``[batch, D]`` and states ``[h, c]``."""
        if not isinstance(states, (list, tuple)) or len(states) != 2:
            raise InvalidArgumentError(f"LSTMCell: states must be [hidden, cell], got {states!r}")
        hidden, cell = states
        joined, width = self._joined(inputs, hidden)
        gates = self._affine(joined, width, "", 4 * self.hidden_size)
        i, j, f, o = split(gates, 4, dim=1)
        cell = cell * self._gate(f + self._forget) + self._gate(i) * self._act(j)
        hidden = self._act(cell) * self._gate(o)
        return hidden, [hidden, cell]

    @property
    def state_shape(self):
        """``[[hidden_size], [hidden_size]]``."""
        return [[self.hidden_size], [self.hidden_size]]


# Over time ----------------------------------------------------------------------------------------


def _rank(x):
    return len(x.desc.shape if isinstance(x, Variable) else x.shape)


def batch_and_time_swapped(x):
    """``[a, b, ...]`` as ``[b, a, ...]``."""
    return transpose(x, [1, 0, *range(2, _rank(x))])


def masked(mask, value, other):
    """`value` in the rows where the bool `mask` ``[batch]`` is true, `other` in the rest."""
    if _rank(value) > 1:
        mask = reshape(mask, [-1] + [1] * (_rank(value) - 1))
    return dygraph.where(mask, value, other)


def rnn(
    cell, inputs, initial_states=None, sequence_length=None, time_major=False, is_reverse=False,
    **kwargs,
):  # fmt: skip
    """Run a cell over a padded batch of sequences in a program.

    Parameters
    ----------
    cell : RNNCell or callable
        Called as ``cell(inputs, states, **kwargs)``.
    inputs : Variable or structure of them
        ``[batch, time, ...]``, or ``[time, batch, ...]`` with `time_major`.
    initial_states : Variable or structure of them, optional
        Default: ``cell.get_initial_states``.
    sequence_length : Variable, optional
        int32 or int64 ``[batch]``. Past the end of a sequence its states no longer change.
    time_major : bool
        True: the first axis is time.
    is_reverse : bool
        True: steps run from the last to the first.
    **kwargs
        Passed to the cell.

    Returns
    -------
    (outputs, final_states)
        The outputs of all steps, in the layout of `inputs`, and the states after the last step.

    Raises
    ------
    ArgumentTypeError
        A Variable does not belong to a program. For eager Variables use `dygraph.nn.RNN`.
    InvalidArgumentError
        The cell returns states of another structure or shape.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> def total(x, state):
    ...     return x + state, x + state
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [None, 3, 1])
    ...     first = layers.fill_constant_batch_size_like(x, [-1, 1], "float32", 0.0)
    ...     outputs, last = layers.rnn(total, x, first)
    ...     feed = {"x": np.array([[[1], [2], [3]]], "float32")}
    ...     static.Executor().run(feed=feed, fetch_list=[outputs])[0].ravel().tolist()
    [1.0, 3.0, 6.0]
    """
    if not callable(cell):
        raise ArgumentTypeError(f"rnn: cell must be an RNNCell, got {kind_of(cell)}")
    for leaf in nested.leaves(inputs):
        program = bodies.program_of(leaf, "rnn", "For eager Variables use dygraph.nn.RNN")
    with bodies.taken_back(program):
        return _rnn(cell, inputs, initial_states, sequence_length, time_major, is_reverse, kwargs)


def _rnn(cell, inputs, states, lengths, time_major, is_reverse, kwargs):
    if states is None:
        states = cell.get_initial_states(inputs, batch_dim_idx=1 if time_major else 0)
    if not time_major:
        inputs = nested.mapped(batch_and_time_swapped, inputs)
    mask = None
    if lengths is not None:
        check.variable(lengths, "rnn: sequence_length")
        steps = slice(shape(nested.leaves(inputs)[0]), [0], [0], [1])
        mask = transpose(sequence_mask(lengths, maxlen=steps, dtype="bool"), [1, 0])
    if is_reverse:
        inputs = nested.mapped(_reversed, inputs)
        mask = None if mask is None else _reversed(mask)
    network = StaticRNN()
    with network.step():
        now = nested.mapped(network.step_input, inputs)
        before = nested.mapped(lambda state: network.memory(init=state), states)
        outputs, after = cell(now, nested.mapped(lambda v: v, before), **kwargs)
        found = nested.different(before, after)
        if found:
            raise InvalidArgumentError(
                f"rnn: the cell must return states in the structure it is given, got {found[1]} "
                f"for {found[0]}"
            )
        if mask is not None:
            here = network.step_input(mask)
            after = nested.mapped(lambda new, old: masked(here, new, old), after, before)
        nested.mapped(network.update_memory, before, after)
        network.output(*nested.leaves(outputs), *nested.leaves(after))
    results = network()
    results = results if isinstance(results, list) else [results]
    count = len(nested.leaves(outputs))
    outputs = nested.packed(outputs, results[:count])
    states = nested.packed(states, [_last(v) for v in results[count:]])
    if is_reverse:
        outputs = nested.mapped(_reversed, outputs)
    if not time_major:
        outputs = nested.mapped(batch_and_time_swapped, outputs)
    return outputs, states


def _reversed(x):
    return reverse(x, [0])


def _last(x):
    return squeeze(slice(x, [0], [-1], [LAST]), [0])
