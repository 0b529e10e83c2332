"""Time steps of sequences of different lengths, for loops over a cell in Python."""

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.core.sizes import Size, asking_line
from dygraph.errors import (
    InvalidArgumentError,
    OutOfRangeError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.inspect.shown import Shown

__all__ = ["Steps", "map_states"]

ops = _core.ops


def map_states(function, *states):
    """`function` on the Variables of nested tuples of states."""
    if isinstance(states[0], (list, tuple)):
        return tuple(map_states(function, *parts) for parts in zip(*states, strict=True))
    return function(*states)


class Steps(Shown):
    """A batch as time steps, longest sequences first, so active sequences are the first rows.

    For variables of a program it describes a `static.layers.DynamicRNN`, which `dynamic_rnn` holds
    once `dygraph.static` is imported; eager Variables use the same operators, step by step.

    Parameters
    ----------
    inputs : Variable
        ``[rows, ...]`` with LoD, or padded ``[batch, time, ...]`` (time first with `time_major`).
    lengths : Variable or list of int, optional
        Of padded sequences.
    """

    dynamic_rnn: type | None = None

    def __init__(self, inputs, lengths, is_reverse, time_major, owner):
        check.variable(inputs, f"{owner}: inputs")
        self.inputs, self.time_major, self.is_reverse = inputs, time_major, is_reverse
        self.described = _core.is_symbol(inputs)
        levels = inputs.lod_level if self.described else len(inputs.lod() or [])
        self.ragged, self.level = levels > 0, max(levels - 1, 0)
        self.whole = lengths is None and not self.ragged  # every sequence has all steps
        if not self.whole and _core.recording():
            raise PreconditionNotMetError(
                f"{owner}: dygraph.jit.trace records the steps of one batch, but sequences of "
                f"other lengths need other steps, at {asking_line()}. Capture the function with "
                "dygraph.jit.to_static, or describe the layer in a static.Program"
            )
        self.rows = rows = inputs
        if not self.ragged:
            if len(inputs.shape) < 2:
                raise InvalidArgumentError(
                    f"{owner}: inputs must have a batch and a time axis, or rows with LoD, got "
                    f"shape {list(inputs.shape)}"
                )
            self.batch, self.time = inputs.shape[:2][:: -1 if time_major else 1]
            if self.whole and self.described and self.time < 0:
                lengths, self.whole = self._all_steps(), False
            if isinstance(self.time, Size) and not self.described:
                raise self.time.refused(
                    f"{owner} calls its cell once for each step, which asks for the size",
                    "Capture the function with dygraph.jit.to_static, which makes a loop of the "
                    "steps, take nn.LSTM, GRU or SimpleRNN, or fix the number of steps by dims=",
                )
            if self.whole:
                return
            rows = self._unpadded(lengths, owner)
        self.rows = ops.sequence_reverse(rows) if is_reverse else rows
        self.count = ops.slice(ops.shape(rows), axes=[0], starts=[0], ends=[1])
        ones = ops.fill_constant(shape_tensor=self.count, value=1.0, dtype="float64")
        self.lengths = ops.sequence_pool(ops.lod_reset(ones, y=rows), pooltype="SUM")

    def first_states(self, shape, dtype):
        """Zeros for each sequence, for a shape without batch axis or a tuple of shapes."""
        if shape and isinstance(shape[0], (list, tuple)):
            return tuple(self.first_states(s, dtype) for s in shape)
        axis = 1 if self.whole and self.time_major else 0
        return ops.fill_constant_batch_size_like(  # for rows with LoD the number of sequences
            self.rows, shape=[-1, *shape], value=0.0, dtype=dtype, input_dim_idx=axis
        )

    def _all_steps(self):
        """The length of each sequence if all have the number of steps of the run."""
        batch, time = (1, 0) if self.time_major else (0, 1)
        ones = ops.fill_constant_batch_size_like(
            self.inputs, shape=[-1], value=1.0, dtype="int64", input_dim_idx=batch
        )
        steps = ops.slice(ops.shape(self.inputs), axes=[0], starts=[time], ends=[time + 1])
        return ones * ops.cast(steps, out_dtype="int64")

    def _unpadded(self, lengths, owner):
        """The rows of a padded batch, with LoD."""
        given = isinstance(lengths, _core.Variable) and _core.is_symbol(lengths)
        if self.described and not given:
            raise InvalidArgumentError(
                f"{owner}: sequence_length must be a variable of the program, as inputs are, got "
                f"{kind_of(lengths)}. Declare it with static.data, or make it an argument"
            )
        if not given:
            lengths = self._checked(lengths, owner)
        return ops.sequence_unpad(self._batch_first(self.inputs), lengths)

    def _checked(self, lengths, owner):
        values = lengths.numpy() if isinstance(lengths, _core.Variable) else np.asarray(lengths)
        if values.shape != (self.batch,) or values.dtype.kind not in "iu":
            raise InvalidArgumentError(
                f"{owner}: sequence_length must hold {self.batch} integers, got {values.dtype} of "
                f"shape {list(values.shape)}"
            )
        if self.batch and not (0 <= values.min() and values.max() <= self.time):
            raise OutOfRangeError(
                f"{owner}: each of sequence_length must lie in [0, {self.time}], got "
                f"{values.tolist()}"
            )
        return _core.to_variable(values.astype("int64"))

    def _batch_first(self, padded):
        """Swap the first two axes if time is first."""
        if not self.time_major:
            return padded
        return ops.transpose2(padded, axis=[1, 0, *range(2, len(padded.shape))])

    def run(self, cell, states, kwargs):
        """(outputs laid out like the inputs, last states) of ``cell(rows, states)`` per step."""
        if self.whole:
            return self._run_whole(cell, states, kwargs)
        each = self._describe if self.described else self._loop
        out, after = each(cell, states, kwargs)
        return self._laid_out(out), self._last(states, after)

    def _run_whole(self, cell, states, kwargs):
        """Without indices, so its program works for any batch."""
        if type(self.batch) is int and not self.batch or self.time == 0:
            raise InvalidArgumentError("RNN: at least one sequence must have a step, got none")
        axis = 0 if self.time_major else 1
        steps, outputs = ops.unstack(self.inputs, axis=axis, num=0), []
        for x in reversed(steps) if self.is_reverse else steps:
            out, states = cell(x, states, **kwargs)
            outputs.append(out)
        return ops.stack(outputs[::-1] if self.is_reverse else outputs, axis=axis), states

    def _loop(self, cell, states, kwargs):
        """(outputs, states after each step), each with the LoD of the rows."""
        if not self.rows.shape[0]:
            raise InvalidArgumentError("RNN: at least one sequence must have a step, got none")
        table = ops.lod_rank_table(self.rows, level=self.level)
        inputs = ops.lod_tensor_to_array(self.rows, table)
        states = map_states(lambda s: ops.reorder_lod_tensor_by_rank(s, table), states)
        found = []
        for t in range(_core.array_length(inputs)):
            now = _core.to_variable(np.array([t]))
            states = map_states(lambda s, i=now: ops.shrink_rnn_memory(s, table, i), states)
            out, states = cell(ops.read_from_array(inputs, now), states, **kwargs)
            found.append((now, out, states))
        numbers, outputs, states = zip(*found, strict=True)

        def sequences(*elements):
            array = None
            for i, element in zip(numbers, elements, strict=True):
                array = ops.write_to_array(element, i, array=array)
            return ops.array_to_lod_tensor(array, table)

        return sequences(*outputs), map_states(sequences, *states)

    def _describe(self, cell, states, kwargs):
        """The steps as the block of a DynamicRNN."""
        rnn = self.dynamic_rnn()
        with rnn.block():
            x = rnn.step_input(self.rows, level=self.level)
            before = map_states(lambda s: rnn.memory(init=s, need_reorder=True), states)
            out, new = cell(x, before, **kwargs)
            map_states(rnn.update_memory, before, new)
            rnn.output(out)
            map_states(rnn.output, new)
        out, *after = rnn()
        after = iter(after)
        return out, map_states(lambda _: next(after), states)

    def _laid_out(self, out):
        if self.is_reverse:
            out = ops.sequence_reverse(out)
        if self.ragged:
            out = ops.lod_reset(out, y=self.inputs)
            if self.described:
                out.lod_level = self.inputs.lod_level  # later layers read it
            return out
        zero = ops.cast(ops.scale(self.count, scale=0.0), out_dtype=out.dtype)
        padded = ops.sequence_pad(out, zero, padded_length=self.time)[0]
        return self._batch_first(padded)

    def _last(self, first, after):
        """The state of each sequence after its last step; one without steps keeps its first."""
        ends = ops.cumsum(self.lengths, axis=0)
        at = ops.cast(ops.relu(ends - 1.0), out_dtype="int64")
        stepped = ops.cast(ops.unsqueeze2(self.lengths > 0.0, axes=[1]), out_dtype="int32")
        return map_states(lambda a, b: ops.multiplex(stepped, [a, ops.gather(b, at)]), first, after)
