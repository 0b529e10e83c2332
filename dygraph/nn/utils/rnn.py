"""Sequences of different lengths as one padded batch."""

from dygraph import _core
from dygraph.core import check
from dygraph.core.hints import OF_NN_UTILS as _OF_NN_UTILS
from dygraph.core.spellings import refuse as _refuse
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, did_you_mean, kind_of

__all__ = ["pad_sequence"]

ops = _core.ops


def pad_sequence(sequences, batch_first=False, padding_value=0.0):
    """Stack sequences of different lengths; the shorter ones end with `padding_value`.

    Recurrent layers read such a batch with ``sequence_length=lengths``. Ragged batches need no
    padding: see `lod` of `dygraph.to_variable` and `ragged` of `dygraph.io.DataLoader`.

    Parameters
    ----------
    sequences : list of Variable
        ``[length, ...]`` each, equal but for the lengths.
    batch_first : bool
        False, as in PyTorch: ``[time, batch, ...]``. True: ``[batch, time, ...]``, which layers
        here expect.
    padding_value : float

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.nn.utils.rnn import pad_sequence
    >>> words = [dygraph.to_variable([1, 2, 3]), dygraph.to_variable([4])]
    >>> pad_sequence(words, batch_first=True).tolist()
    [[1, 2, 3], [4, 0, 0]]
    """
    if not isinstance(sequences, (list, tuple)) or not sequences:
        raise ArgumentTypeError(
            f"pad_sequence: sequences must be a list of Variables, got {kind_of(sequences)}"
        )
    first = check.variable(sequences[0], "pad_sequence: sequences[0]")
    for i, s in enumerate(sequences):
        s = check.variable(s, f"pad_sequence: sequences[{i}]")
        if s.ndim == 0 or s.shape[1:] != first.shape[1:] or s.dtype != first.dtype:
            raise InvalidArgumentError(
                "pad_sequence: sequences must be equal but for their lengths, got "
                f"{list(first.shape)} of {first.dtype} and {list(s.shape)} of {s.dtype}"
            )
    longest = max(s.shape[0] for s in sequences)
    rows = [_padded(s, longest, padding_value) for s in sequences]
    return ops.stack(rows, axis=0 if batch_first else 1)


def _padded(sequence, length, value):
    missing = [length - sequence.shape[0], *sequence.shape[1:]]
    if not missing[0]:
        return sequence
    more = ops.fill_constant(shape=missing, value=value, dtype=sequence.dtype)
    return ops.concat([sequence, more], axis=0)


def __getattr__(name):
    hint = "" if name.startswith("_") else did_you_mean(name, __all__)
    hint = f" {_OF_NN_UTILS[name]}" if name in _OF_NN_UTILS else hint
    raise _refuse("dygraph.nn.utils.rnn", name, hint)
