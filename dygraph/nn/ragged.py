"""Time steps of sequences of different lengths, for loops over a cell in Python."""

import numpy as np

from dygraph import _core, check
from dygraph.errors import InvalidArgumentError, OutOfRangeError

__all__ = ["Steps", "map_states"]

ops = _core.ops


def map_states(function, *states):
    """`function` on the Variables of nested tuples of states."""
    if isinstance(states[0], (list, tuple)):
        return tuple(map_states(function, *parts) for parts in zip(*states, strict=True))
    return function(*states)


def _take(rows, index):
    return ops.gather(rows, _core.to_variable(np.asarray(index, "int64")))


class Steps:
    """A batch as time steps, the longest sequences first, so that those alive are the first rows.

    Parameters
    ----------
    inputs : Variable
        ``[rows, ...]`` with LoD, or padded ``[batch, time, ...]`` (time first with `time_major`).
    lengths : Variable or list of int, optional
        Of padded sequences.
    """

    def __init__(self, inputs, lengths, is_reverse, time_major, owner):
        check.variable(inputs, f"{owner}: inputs")
        self.inputs, self.time_major = inputs, time_major
        self.ragged, self.is_reverse = bool(inputs.lod()), is_reverse
        self.whole = lengths is None and not self.ragged  # every sequence has all steps
        if self.ragged:
            offsets = np.asarray(inputs.lod()[-1])
            lengths = np.diff(offsets)
            self.places = inputs.shape[0]
        else:
            if len(inputs.shape) < 2:
                raise InvalidArgumentError(
                    f"{owner}: inputs must have a batch and a time axis, or rows with LoD, got "
                    f"shape {list(inputs.shape)}"
                )
            first, second = inputs.shape[:2]
            batch, time = (second, first) if time_major else (first, second)
            if self.whole:
                empty = type(batch) is int and not batch
                self.batch, self.alive = batch, [] if empty else [batch] * time
                return
            lengths = self._checked(lengths, batch, time, owner)
            self.places = batch * time
        self.batch = len(lengths)
        self.order = np.argsort(-lengths, kind="stable")
        longest = int(lengths.max(initial=0))
        self.alive = [int((lengths > t).sum()) for t in range(longest)]
        source = []
        for t, count in enumerate(self.alive):
            sequences = self.order[:count]
            at = lengths[sequences] - 1 - t if is_reverse else np.full(count, t)
            if self.ragged:
                source.append(offsets[sequences] + at)
            else:
                source.append(at * batch + sequences if time_major else sequences * time + at)
        self.source = np.concatenate(source) if source else np.zeros(0, "int64")

    @staticmethod
    def _checked(lengths, batch, time, owner):
        values = lengths.numpy() if isinstance(lengths, _core.Variable) else np.asarray(lengths)
        if values.shape != (batch,) or values.dtype.kind not in "iu":
            raise InvalidArgumentError(
                f"{owner}: sequence_length must hold {batch} integers, got {values.dtype} of shape "
                f"{list(values.shape)}"
            )
        if batch and not (0 <= values.min() and values.max() <= time):
            raise OutOfRangeError(
                f"{owner}: each of sequence_length must lie in [0, {time}], got {values.tolist()}"
            )
        return values.astype("int64")

    def run(self, cell, states, kwargs):
        """(outputs laid out as the inputs, last states) of ``cell(rows, states)`` for each step."""
        if not self.alive:
            raise InvalidArgumentError("RNN: at least one sequence must have a step, got none")
        if self.whole:
            return self._run_whole(cell, states, kwargs)
        rows = self.inputs
        if not self.ragged:
            rows = ops.reshape2(rows, shape=[self.places, *rows.shape[2:]])
        states = map_states(lambda s: _take(s, self.order), states)
        packed = _take(rows, self.source)
        inputs = ops.split(packed, sections=self.alive, num=0, axis=0)
        ended = [map_states(lambda s: s[self.alive[0] :], states)]
        outputs = []
        states = map_states(lambda s: s[: self.alive[0]], states)
        for t, x in enumerate(inputs):
            out, states = cell(x, states, **kwargs)
            outputs.append(out)
            left = self.alive[t + 1] if t + 1 < len(self.alive) else 0
            if left < self.alive[t]:
                ended.append(map_states(lambda s, n=left: s[n:], states))
                states = map_states(lambda s, n=left: s[:n], states)
        return self._laid_out(outputs), self._last(ended[::-1])

    def _run_whole(self, cell, states, kwargs):
        """No indices, so that a program of it serves any batch."""
        axis = 0 if self.time_major else 1
        steps, outputs = ops.unstack(self.inputs, axis=axis, num=0), []
        for x in reversed(steps) if self.is_reverse else steps:
            out, states = cell(x, states, **kwargs)
            outputs.append(out)
        return ops.stack(outputs[::-1] if self.is_reverse else outputs, axis=axis), states

    def _laid_out(self, outputs):
        packed = ops.concat(outputs, axis=0)
        row = list(packed.shape[1:])
        if len(self.source) < self.places:  # padding reads a row of zeros
            zero = ops.fill_constant(shape=[1, *row], value=0.0, dtype=packed.dtype)
            packed = ops.concat([packed, zero], axis=0)
        place = np.full(self.places, len(self.source))
        place[self.source] = np.arange(len(self.source))
        out = _take(packed, place)
        if self.ragged:
            return ops.lod_reset(out, y=self.inputs)
        return ops.reshape2(out, shape=[*self.inputs.shape[:2], *row])

    def _last(self, ended):
        back = np.argsort(self.order)
        return map_states(
            lambda *pieces: _take(ops.concat([p for p in pieces if p.shape[0]], axis=0), back),
            *ended,
        )
