"""Helpers that choose the inputs of a decoder's steps, and the decoder that uses them."""

import collections

import dygraph
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.static import nested
from dygraph.static.layers.comparisons import equal, less_equal
from dygraph.static.layers.decoding import Decoder, fill_constant_like, fill_constant_of
from dygraph.static.layers.indexing import slice
from dygraph.static.layers.manipulation import squeeze
from dygraph.static.layers.padding import pad
from dygraph.static.layers.random import sampling_id
from dygraph.static.layers.tensor import cast
from dygraph.static.program import Variable

__all__ = [
    "BasicDecoder", "DecodeHelper", "GreedyEmbeddingHelper", "SampleEmbeddingHelper",
    "TrainingHelper",
]  # fmt: skip


class DecodeHelper(Shown):
    """Interface for `BasicDecoder`: gives the first inputs, the ids of outputs, the next inputs.

    Derive from it and define the three methods.

    Examples
    --------
    Each output is the next input, until it is above 4:

    >>> import dygraph
    >>> from dygraph.static import layers
    >>> class Repeat(layers.DecodeHelper):
    ...     def initialize(self):
    ...         first = dygraph.to_variable([[1.0]])
    ...         return first, first.sum(axis=1) > 4.0
    ...     def sample(self, time, outputs, states):
    ...         return outputs.sum(axis=1).astype("int64")
    ...     def next_inputs(self, time, outputs, states, sample_ids):
    ...         return sample_ids > 4, outputs, states
    >>> decoder = layers.BasicDecoder(lambda x, state: (x * state, state), Repeat())
    >>> outputs, _ = layers.dynamic_decode(decoder, dygraph.to_variable([[2.0]]))
    >>> outputs.sample_ids.tolist()
    [[2, 4, 8]]
    """

    def initialize(self):
        """Return ``(inputs, finished)`` for the first step."""
        raise NotImplementedError(f"{type(self).__name__} must define initialize()")

    def sample(self, time, outputs, states):
        """Return the ids for `outputs`."""
        raise NotImplementedError(
            f"{type(self).__name__} must define sample(time, outputs, states)"
        )

    def next_inputs(self, time, outputs, states, sample_ids):
        """Return ``(finished, inputs, states)`` for the next step."""
        raise NotImplementedError(f"{type(self).__name__} must define next_inputs(...)")


class TrainingHelper(DecodeHelper):
    """Inputs from a given sequence: step t reads the slice at time t.

    Parameters
    ----------
    inputs : Variable or structure of them
        ``[batch, time, ...]``; with `time_major` ``[time, batch, ...]``.
    sequence_length : Variable
        int32 or int64 ``[batch]``, each at least 1.
    time_major : bool
        Whether the first axis is time; else the second.

    Raises
    ------
    ArgumentTypeError
        `inputs` or `sequence_length` is not made of Variables.

    Examples
    --------
    Two sequences of 3 and 2 steps, of which a cell makes running sums:

    >>> import numpy as np, dygraph
    >>> from dygraph.static import layers
    >>> x = dygraph.to_variable(np.ones((2, 3, 1), "float32"))
    >>> helper = layers.TrainingHelper(x, dygraph.to_variable([3, 2]))
    >>> decoder = layers.BasicDecoder(lambda x, total: (x + total, x + total), helper)
    >>> outputs, _, lengths = layers.dynamic_decode(
    ...     decoder, dygraph.zeros([2, 1]), return_length=True
    ... )
    >>> outputs.cell_outputs[0].reshape([-1]).tolist(), lengths.tolist()
    ([1.0, 2.0, 3.0], [3, 2])
    """

    def __init__(self, inputs, sequence_length, time_major=False):
        for value in nested.leaves(inputs):
            check.variable(value, "TrainingHelper: inputs")
        check.variable(sequence_length, "TrainingHelper: sequence_length")
        self.inputs, self.time_major = inputs, bool(time_major)
        self.sequence_length = cast(sequence_length, "int64")
        # One more step, so that the slice after the last exists.
        self._padded = nested.mapped(self._longer, inputs)

    def _longer(self, x):
        rank = len(x.desc.shape if isinstance(x, Variable) else x.shape)
        first = [0, 1, 0, 0] if self.time_major else [0, 0, 0, 1]
        return pad(x, first + [0, 0] * (rank - 2))

    def _at(self, time):
        axes = [0 if self.time_major else 1]
        after = time + 1

        def part(x):
            return squeeze(slice(x, axes, [time], [after]), axes)

        return nested.mapped(part, self._padded)

    def initialize(self):
        """The slices of time 0; sequences of length 0 are finished."""
        zero = fill_constant_of(self.sequence_length, 0)
        return self._at(zero), equal(self.sequence_length, zero)

    def sample(self, time, outputs, states):
        """The most probable ids; the next inputs do not depend on them."""
        return dygraph.argmax(outputs, axis=-1)

    def next_inputs(self, time, outputs, states, sample_ids):
        """The slices of the next time."""
        time = time + 1
        return less_equal(self.sequence_length, time), self._at(time), states


class GreedyEmbeddingHelper(DecodeHelper):
    """Inputs are the embeddings of the most probable ids of the step before.

    Parameters
    ----------
    embedding_fn : callable
        Maps int64 ids ``[batch]`` to inputs.
    start_tokens : Variable
        int64 ``[batch]``.
    end_token : int
        The number of the token that ends a sequence.

    Raises
    ------
    ArgumentTypeError
        `embedding_fn` is not a function, `start_tokens` not a Variable, or `end_token` not an int.

    Examples
    --------
    The likeliest word after word k is k + 1; 3 ends the sentence:

    >>> import dygraph
    >>> from dygraph.static import layers
    >>> after = dygraph.to_variable([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]])
    >>> helper = layers.GreedyEmbeddingHelper(
    ...     lambda ids: dygraph.ops.gather(after, ids), dygraph.to_variable([0]), end_token=3
    ... )
    >>> decoder = layers.BasicDecoder(lambda x, state: (x, state), helper)
    >>> outputs, _ = layers.dynamic_decode(decoder, dygraph.zeros([1, 1]), max_step_num=9)
    >>> outputs.sample_ids.tolist()
    [[1, 2, 3]]
    """

    def __init__(self, embedding_fn, start_tokens, end_token):
        if not callable(embedding_fn):
            raise ArgumentTypeError(
                f"{type(self).__name__}: embedding_fn must be a function, got "
                f"{kind_of(embedding_fn)}"
            )
        check.variable(start_tokens, f"{type(self).__name__}: start_tokens")
        self.embedding_fn, self.start_tokens = embedding_fn, start_tokens
        self._end = check.integer(end_token, f"{type(self).__name__}: end_token")

    def initialize(self):
        """Embeddings of the start tokens; no sequence is finished."""
        finished = cast(fill_constant_like(self.start_tokens, [-1], "int64", 0), "bool")
        return self.embedding_fn(self.start_tokens), finished

    def sample(self, time, outputs, states):
        """The most probable ids."""
        return dygraph.argmax(outputs, axis=-1)

    def next_inputs(self, time, outputs, states, sample_ids):
        """Embeddings of the ids; sequences that end with the end token are finished."""
        finished = equal(sample_ids, fill_constant_of(sample_ids, self._end))
        return finished, self.embedding_fn(sample_ids), states


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Inputs are the embeddings of ids drawn with the probabilities of the outputs.

    Parameters
    ----------
    embedding_fn, start_tokens, end_token
        As of `GreedyEmbeddingHelper`.
    softmax_temperature : float, optional
        Divides the outputs: a small one favours the most probable ids.
    seed : int, optional
        None: other draws in each run.

    Raises
    ------
    ArgumentTypeError
        As of `GreedyEmbeddingHelper`, or `softmax_temperature` is not a number.
    InvalidArgumentError
        `softmax_temperature` is negative.

    Examples
    --------
    At a low temperature the most probable word is almost certain:

    >>> import dygraph
    >>> from dygraph.static import layers
    >>> after = dygraph.to_variable([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
    >>> helper = layers.SampleEmbeddingHelper(
    ...     lambda ids: dygraph.ops.gather(after, ids),
    ...     dygraph.to_variable([0]), end_token=2,
    ...     softmax_temperature=0.01, seed=1,
    ... )
    >>> decoder = layers.BasicDecoder(lambda x, state: (x, state), helper)
    >>> outputs, _ = layers.dynamic_decode(decoder, dygraph.zeros([1, 1]), max_step_num=9)
    >>> outputs.sample_ids.tolist()
    [[1, 2]]
    """

    def __init__(
        self, embedding_fn, start_tokens, end_token, softmax_temperature=None, seed=None
    ):  # fmt: skip
        super().__init__(embedding_fn, start_tokens, end_token)
        if softmax_temperature is not None:
            check.number(softmax_temperature, "SampleEmbeddingHelper: softmax_temperature", 0.0)
        self._temperature, self._seed = softmax_temperature, seed or 0

    def sample(self, time, outputs, states):
        """Draw the ids."""
        if self._temperature is not None:
            outputs = outputs / self._temperature
        return cast(sampling_id(dygraph.ops.softmax(outputs), seed=self._seed), "int64")


class BasicDecoder(Decoder):
    """A decoder that runs a cell on inputs that a helper chooses.

    Parameters
    ----------
    cell : RNNCell
        Or any callable of (inputs, states).
    helper : DecodeHelper
        Gives the inputs of each step.
    output_fn : callable, optional
        Applied to the cell's outputs.

    Raises
    ------
    ArgumentTypeError
        `cell` or `output_fn` is not a function.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, lengths = static.data("x", [None, 5, 3]), static.data("n", [None], "int64")
    ...     cell = layers.GRUCell(hidden_size=4)
    ...     decoder = layers.BasicDecoder(cell, layers.TrainingHelper(x, lengths))
    ...     outputs, states = layers.dynamic_decode(decoder, inits=static.data("h", [None, 4]))
    ...     outputs.cell_outputs.shape, outputs.sample_ids.shape
    ((-1, -1, 4), (-1, -1))
    """

    OutputWrapper = collections.namedtuple("OutputWrapper", ("cell_outputs", "sample_ids"))

    def __init__(self, cell, helper, output_fn=None):
        for function, what in ((cell, "cell"), (output_fn, "output_fn")):
            if not callable(function) and not (function is None and what == "output_fn"):
                raise ArgumentTypeError(
                    f"BasicDecoder: {what} must be a function, got {kind_of(function)}"
                )
        self.cell, self.helper, self.output_fn = cell, helper, output_fn

    def initialize(self, initial_cell_states):
        """The helper's first inputs, with the given states."""
        inputs, finished = self.helper.initialize()
        return inputs, initial_cell_states, finished

    def step(self, time, inputs, states, **kwargs):
        """One step of the cell, then the helper's ids and next inputs."""
        outputs, states = self.cell(inputs, states, **kwargs)
        if self.output_fn is not None:
            outputs = self.output_fn(outputs)
        ids = self.helper.sample(time=time, outputs=outputs, states=states)
        ids.stop_gradient = True
        finished, inputs, states = self.helper.next_inputs(
            time=time, outputs=outputs, states=states, sample_ids=ids
        )
        return self.OutputWrapper(outputs, ids), states, inputs, finished
