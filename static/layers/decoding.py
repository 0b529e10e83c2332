"""Decoders: sequences that a network generates step by step, until each has ended."""

import collections

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.static import bodies, nested
from dygraph.static.layers.arithmetic import elementwise_floordiv, elementwise_mod
from dygraph.static.layers.arrays import array_write, create_array, tensor_array_to_tensor
from dygraph.static.layers.cells import batch_and_time_swapped, masked
from dygraph.static.layers.comparisons import (
    equal,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
)
from dygraph.static.layers.creation import fill_constant, zeros_like
from dygraph.static.layers.indexing import gather_nd, gather_tree, slice
from dygraph.static.layers.loops import while_loop
from dygraph.static.layers.manipulation import expand, reshape, stack, unsqueeze
from dygraph.static.layers.products import cumsum
from dygraph.static.layers.tensor import assign, cast, shape, topk
from dygraph.static.program import Variable

__all__ = ["BeamSearchDecoder", "Decoder", "dynamic_decode"]

INFINITE = 1e9  # its negative is the score of impossible words


class Decoder(Shown):
    """Interface for `dynamic_decode`: `initialize`, `step` until all has finished, `finalize`.

    Attributes
    ----------
    tracks_own_finished : bool
        True: `finished` as `step` returns it is complete. False: sequences that finished before
        stay finished.

    Examples
    --------
    It doubles a number until that is above 5:

    >>> import dygraph
    >>> from dygraph.static import layers
    >>> class Doubling(layers.Decoder):
    ...     def initialize(self, inits):
    ...         return inits, inits, inits > 5
    ...     def step(self, time, inputs, states):
    ...         return states * 2, states * 2, inputs, states * 2 > 5
    >>> outputs, last = layers.dynamic_decode(Doubling(), dygraph.to_variable([1, 3]))
    >>> outputs.tolist(), last.tolist()
    ([[2, 4, 8], [6, 12, 24]], [8, 24])
    """

    tracks_own_finished = False

    def initialize(self, inits):
        """Return ``(inputs, states, finished)`` for the first step; `finished` is bool."""
        raise NotImplementedError(f"{type(self).__name__} must define initialize(inits)")

    def step(self, time, inputs, states, **kwargs):
        """Return ``(outputs, next_states, next_inputs, finished)``; `time` is one int64."""
        raise NotImplementedError(f"{type(self).__name__} must define step(time, inputs, states)")

    def finalize(self, outputs, final_states, sequence_lengths):
        """Return ``(outputs, states)``, made of the outputs of all steps ``[time, batch, ...]``."""
        raise NotImplementedError(f"{type(self).__name__} has no finalize")


class BeamSearchDecoder(Decoder):
    """Beam search: keeps the `beam_size` most likely sequences that a cell generates.

    Parameters
    ----------
    cell : RNNCell or callable
        Called as ``cell(inputs, states)``.
    start_token, end_token : int
        The numbers of the tokens that begin and end a sequence.
    beam_size : int
        How many sequences are kept for each sample.
    embedding_fn : callable, optional
        Maps int64 ids to inputs of the cell.
    output_fn : callable, optional
        Maps outputs of the cell to scores over the vocabulary.

    Raises
    ------
    ArgumentTypeError
        `cell`, `embedding_fn` or `output_fn` is not a function, or a number not an int.
    InvalidArgumentError
        `beam_size` is less than 1 or `end_token` less than 0; in a step, the size of the vocabulary
        is not known, or `end_token` is beyond it.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     cell = layers.GRUCell(hidden_size=8)
    ...     decoder = layers.BeamSearchDecoder(
    ...         cell, start_token=0, end_token=1, beam_size=4,
    ...         embedding_fn=lambda ids: layers.embedding(ids, [20, 6], param_attr="words"),
    ...         output_fn=lambda x: layers.fc(x, 20, num_flatten_dims=2, param_attr="w"),
    ...     )
    ...     first = static.data("first", [None, 8])
    ...     ids, states = layers.dynamic_decode(decoder, inits=first, max_step_num=5)
    ...     ids.shape, str(ids.dtype)
    ((-1, -1, 4), 'int64')
    """

    OutputWrapper = collections.namedtuple(
        "OutputWrapper", ("scores", "predicted_ids", "parent_ids")
    )
    StateWrapper = collections.namedtuple(
        "StateWrapper", ("cell_states", "log_probs", "finished", "lengths")
    )
    tracks_own_finished = True

    def __init__(self, cell, start_token, end_token, beam_size, embedding_fn=None, output_fn=None):
        self.cell = _called(cell, "BeamSearchDecoder: cell")
        self.embedding_fn, self.output_fn = embedding_fn, output_fn
        for function, what in ((embedding_fn, "embedding_fn"), (output_fn, "output_fn")):
            if function is not None:
                _called(function, f"BeamSearchDecoder: {what}")
        self.start_token = check.integer(start_token, "BeamSearchDecoder: start_token")
        self.end_token = check.integer(end_token, "BeamSearchDecoder: end_token", 0)
        self.beam_size = check.integer(beam_size, "BeamSearchDecoder: beam_size", 1)

    @staticmethod
    def tile_beam_merge_with_batch(x, beam_size):
        """Repeat each row `beam_size` times: ``[batch, ...]`` to ``[batch * beam_size, ...]``.

        Parameters
        ----------
        x : Variable
        beam_size : int

        Returns
        -------
        Variable

        Examples
        --------
        >>> import dygraph
        >>> from dygraph.static import layers
        >>> x = dygraph.to_variable([[1, 2], [3, 4]])
        >>> layers.BeamSearchDecoder.tile_beam_merge_with_batch(x, 2).tolist()
        [[1, 2], [1, 2], [3, 4], [3, 4]]
        """
        return _merged(_tiled(x, beam_size))

    def initialize(self, initial_cell_states):
        """Before the first step, each sequence has one live beam."""
        first = nested.leaves(initial_cell_states)[0]
        check.variable(first, "BeamSearchDecoder: initial_cell_states")
        states = nested.mapped(lambda x: _tiled(x, self.beam_size), initial_cell_states)
        lengths = fill_constant_like(first, [-1, self.beam_size], "int64", 0)
        ids = lengths + self.start_token
        alone = np.full((1, self.beam_size), -INFINITE, "float32")
        alone[0, 0] = 0.0
        scores = dygraph.ops.cast(lengths, "float32") + assign(alone)
        finished = dygraph.ops.cast(lengths, "bool")
        inputs = ids if self.embedding_fn is None else self.embedding_fn(ids)
        return inputs, self.StateWrapper(states, scores, finished, lengths), finished

    def step(self, time, inputs, states, **kwargs):
        """Run the cell for all beams and keep the best continuations."""
        inputs = nested.mapped(_merged, inputs)
        cell_states = nested.mapped(_merged, states.cell_states)
        outputs, cell_states = self.cell(inputs, cell_states, **kwargs)
        outputs, cell_states = (
            nested.mapped(self._parted, value) for value in (outputs, cell_states)
        )
        if self.output_fn is not None:
            outputs = self.output_fn(outputs)
        output, states = self._search(outputs, cell_states, states)
        ids = output.predicted_ids
        ids.stop_gradient = True
        inputs = ids if self.embedding_fn is None else self.embedding_fn(ids)
        return output, states, inputs, states.finished

    def _search(self, logits, cell_states, before):
        words = _shape(logits)[-1]
        if words < 0:
            raise InvalidArgumentError(
                f"BeamSearchDecoder: the size of the vocabulary must be known, got scores of shape "
                f"{_shape(logits)}"
            )
        if self.end_token >= words:
            raise InvalidArgumentError(
                f"BeamSearchDecoder: end_token must be in [0, {words}), got {self.end_token}"
            )
        ended = np.full((1, 1, words), -INFINITE, "float32")
        ended[..., self.end_token] = 0.0
        scores = dygraph.log(dygraph.ops.softmax(logits))
        over = unsqueeze(dygraph.ops.cast(before.finished, "float32"), [2])
        # A finished beam continues with the end token only, and keeps its score.
        scores = scores * (1.0 - over) + over * assign(ended)
        scores = scores + unsqueeze(before.log_probs, [2])
        scores = reshape(scores, [-1, self.beam_size * words])
        best, places = topk(scores, self.beam_size)
        size = fill_constant([1], "int64", words)
        parents, tokens = elementwise_floordiv(places, size), elementwise_mod(places, size)
        rows = _rows(places)

        def chosen(x):
            return gather_nd(x, stack([rows, parents], axis=2))

        finished, lengths = chosen(before.finished), chosen(before.lengths)
        lengths = lengths + cast(logical_not(finished), "int64")
        finished = logical_or(finished, equal(tokens, fill_constant([1], "int64", self.end_token)))
        states = self.StateWrapper(nested.mapped(chosen, cell_states), best, finished, lengths)
        return self.OutputWrapper(best, tokens, parents), states

    def _parted(self, x):
        return _in_front(x, [-1, self.beam_size], 1)

    def finalize(self, outputs, final_states, sequence_lengths):
        """The ids of whole sequences, ``[time, batch, beam_size]``."""
        return gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states


def dynamic_decode(
    decoder, inits=None, max_step_num=None, output_time_major=False, impute_finished=False,
    is_test=False, return_length=False, **kwargs,
):  # fmt: skip
    """Run a decoder until all its sequences have ended.

    Parameters
    ----------
    decoder : Decoder
        Such as a `BeamSearchDecoder` or a `BasicDecoder`.
    inits : Variable or structure of them, optional
        Passed to ``decoder.initialize``.
    max_step_num : int, optional
        The number of the last step. As in Fluid, steps count from 0, so `max_step_num` + 1 steps
        run at most.
    output_time_major : bool
        True: outputs are ``[time, batch, ...]``. False: ``[batch, time, ...]``.
    impute_finished : bool
        True: the states of finished sequences no longer change.
    is_test : bool
        True: no gradient will be computed, so the steps keep no values for it.
    return_length : bool
        True: also return the lengths.
    **kwargs
        Passed to ``decoder.step``.

    Returns
    -------
    (outputs, final_states) or (outputs, final_states, lengths)
        Lengths are int64.

    Raises
    ------
    ArgumentTypeError
        `decoder` lacks a method, or a step changes the type of a state.
    InvalidArgumentError
        A step changes the structure or rank of the inputs or states.
    PreconditionNotMetError
        Eager Variables: all sequences are finished before the first step.

    Examples
    --------
    A decoder that counts down from each number of a batch:

    >>> import dygraph
    >>> from dygraph.static import layers
    >>> class Countdown(layers.Decoder):
    ...     def initialize(self, inits):
    ...         return inits, inits, inits < 1
    ...     def step(self, time, inputs, states):
    ...         return states, states - 1, inputs, states - 1 < 1
    >>> first = dygraph.to_variable([3, 2])
    >>> outputs, _, lengths = layers.dynamic_decode(Countdown(), first, return_length=True)
    >>> outputs.tolist(), lengths.tolist()
    ([[3, 2, 1], [2, 1, 0]], [3, 2])
    """
    for method in ("initialize", "step"):
        _called(getattr(decoder, method, None), f"dynamic_decode: decoder.{method}")
    if max_step_num is not None:
        check.integer(max_step_num, "dynamic_decode: max_step_num", 0)
    given = [v for v in nested.leaves(inits) if isinstance(v, Variable)]
    if given:
        with bodies.taken_back(given[0].block.program):
            return _decoded(
                decoder, inits, max_step_num, output_time_major, impute_finished, is_test,
                return_length, kwargs,
            )  # fmt: skip
    return _decoded(
        decoder, inits, max_step_num, output_time_major, impute_finished, is_test, return_length,
        kwargs,
    )  # fmt: skip


def _decoded(decoder, inits, most, time_major, impute, is_test, with_length, kwargs):
    inputs, states, finished = decoder.initialize(inits)
    check.variable(finished, "dynamic_decode: finished, as initialize returns it,")
    symbolic = isinstance(finished, Variable)
    arrays = []  # of the outputs of each step, in variables from before the loop
    shown = []

    def before(step, inputs, states, finished, lengths):
        goes_on = logical_not(dygraph.ops.reduce_all(finished))
        if most is None:
            return goes_on
        return logical_and(goes_on, less_equal(step, fill_constant_of(step, most)))

    def turn(step, inputs, states, finished, lengths):
        outputs, new_states, inputs, ended = decoder.step(step, inputs, states, **kwargs)
        if decoder.tracks_own_finished:
            lengths = getattr(new_states, "lengths", lengths)
        else:
            lengths = lengths + cast(logical_not(finished), "int64")
            ended = logical_or(ended, finished)
            if impute:
                new_states = nested.mapped(
                    lambda old, new: masked(finished, old, new), states, new_states
                )
        if symbolic or not arrays:
            arrays[:] = [_array_outside(v) for v in nested.leaves(outputs)]
        shown[:] = [outputs]
        for value, array in zip(nested.leaves(outputs), arrays, strict=True):
            array_write(value, step, array)
        return step + 1, inputs, new_states, ended, lengths

    step = fill_constant([1], "int64", 0) if symbolic else dygraph.to_variable([0])
    start = (step, inputs, states, finished, cast(zeros_like(cast(finished, "int64")), "int64"))
    _, _, states, _, lengths = while_loop(before, turn, start, is_test=is_test)
    if not shown:
        raise PreconditionNotMetError(
            "dynamic_decode: at least one step must run, but all sequences were finished before "
            "the first"
        )
    outputs = nested.packed(
        shown[0], [tensor_array_to_tensor(array, axis=0, use_stack=True)[0] for array in arrays]
    )
    try:
        outputs, states = decoder.finalize(outputs, states, lengths)
    except NotImplementedError:
        pass
    if not time_major:
        outputs = nested.mapped(batch_and_time_swapped, outputs)
    return (outputs, states, lengths) if with_length else (outputs, states)


def _array_outside(value):
    """An array in the enclosing block; a list for an eager Variable."""
    if not isinstance(value, Variable):
        return []
    block = value.block.program.current_block()
    with block.program.appending_to(block.program.block(block.parent_idx)):
        return create_array(value.dtype)


# Shapes -------------------------------------------------------------------------------------------


def _called(value, what):
    if not callable(value):
        raise ArgumentTypeError(f"{what} must be a function, got {kind_of(value)}")
    return value


def _shape(x):
    return tuple(x.desc.shape if isinstance(x, Variable) else x.shape)


def fill_constant_of(like, value):
    """One int64, of a program if `like` is."""
    if isinstance(like, Variable):
        return fill_constant([1], "int64", value)
    return dygraph.to_variable([value])


def fill_constant_like(x, shape, dtype, value):
    """Filled with `value`, in a shape whose first size is that of `x`."""
    found = {"shape": shape, "dtype": dtype, "value": float(value)}
    return _core.ops.fill_constant_batch_size_like(x, **found)


def _tiled(x, beams):
    """``[batch, ...]`` as ``[batch, beams, ...]``."""
    return expand(unsqueeze(x, [1]), [1, beams] + [1] * (len(_shape(x)) - 1))


def _merged(x):
    """``[batch, beams, ...]`` as ``[batch * beams, ...]``."""
    return _in_front(x, [-1], 2)


def _in_front(x, sizes, axes):
    """`x` with these sizes in place of its first `axes`, of which one is open."""
    others = _shape(x)[axes:]
    if -1 in others:
        known = shape(x)
        others = [
            slice(known, [0], [axis], [axis + 1]) if size == -1 else size
            for axis, size in enumerate(others, axes)
        ]
    return reshape(x, [*sizes, *others])


def _rows(x):
    """``[batch, beams]``: the number of each row."""
    ones = fill_constant_like(x, [-1, _shape(x)[1]], "int64", 1)
    return cumsum(ones, axis=0, exclusive=True)
