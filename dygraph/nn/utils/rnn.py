"""Sequences of different lengths as one padded batch."""

from dygraph import _core
from dygraph.core import check
from dygraph.core.module_hints import OF_NN_UTILS as _OF_NN_UTILS
from dygraph.core.spellings import refuse as _refuse
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, did_you_mean, kind_of

__all__ = ["pack_padded_sequence", "pad_packed_sequence", "pad_sequence"]

ops = _core.ops
Variable = _core.Variable


def pad_sequence(sequences, batch_first=False, padding_value=0.0):
    """Stack sequences of different lengths; the shorter ones end with `padding_value`.

    Recurrent layers read such a batch with ``sequence_length=lengths``. Ragged batches need no
    padding: see `lod` of `dygraph.to_variable` and `ragged` of `dygraph.io.DataLoader`.

    Parameters
    ----------
    sequences : list of Variable
        ``[length, ...]`` each, equal but for the lengths.
    batch_first : bool
        False, as in PyTorch: ``[time, batch, ...]``, for layers with ``time_major=True``. True:
        ``[batch, time, ...]``, for those with ``batch_first=True``.
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


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """A padded batch without its padding: rows with a level of detail, which layers take.

    Parameters
    ----------
    input : Variable
        ``[time, batch, ...]``, or ``[batch, time, ...]`` with `batch_first`.
    lengths : Variable or list of int
        ``[batch]``, from 1 to time.
    batch_first : bool
    enforce_sorted : bool
        PyTorch's; not used: sequences stand in any order.

    Returns
    -------
    Variable
        ``[sum of lengths, ...]``, sequence after sequence. PyTorch's lie step after step.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for lengths that do not fit.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.nn.utils.rnn import pack_padded_sequence
    >>> x = dygraph.to_variable([[[1.0], [2.0]], [[3.0], [0.0]]])
    >>> packed = pack_padded_sequence(x, [2, 1], batch_first=True)
    >>> packed.tolist(), packed.lod()
    ([[1.0], [2.0], [3.0]], [[0, 2, 3]])
    """
    x = check.variable(input, "pack_padded_sequence: input")
    if x.ndim < 2:
        raise InvalidArgumentError(
            "pack_padded_sequence: input must have the axes time and batch, got shape "
            f"{list(x.shape)}"
        )
    x = x if batch_first else x.swapaxes(0, 1)
    lengths = lengths if isinstance(lengths, Variable) else _core.to_variable(list(lengths))
    packed = ops.sequence_unpad(x, lengths.astype("int64"))
    return packed if x.ndim > 2 else packed.squeeze(-1)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """A ragged batch with padding, and the lengths: what `pack_padded_sequence` takes away.

    Parameters
    ----------
    sequence : Variable
        ``[rows, ...]`` with a level of detail.
    batch_first : bool
        False, as in PyTorch: ``[time, batch, ...]``. True: ``[batch, time, ...]``.
    padding_value : float
    total_length : int, optional
        Pad to this length. None: that of the longest sequence.

    Returns
    -------
    (Variable, Variable)
        The batch and the lengths, int64.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for a Variable without a level of detail.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.nn.utils.rnn import pad_packed_sequence
    >>> rows = dygraph.to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
    >>> x, lengths = pad_packed_sequence(rows, batch_first=True)
    >>> x.tolist(), lengths.tolist()
    ([[[1.0], [2.0]], [[3.0], [0.0]]], [2, 1])
    """
    x = check.variable(sequence, "pad_packed_sequence: sequence")
    if not (x.lod_level if _core.is_symbol(x) else x.lod()):
        raise InvalidArgumentError(
            "pad_packed_sequence: sequence must have a level of detail, got a Variable of shape "
            f"{list(x.shape)} without. pack_padded_sequence and to_variable(rows, lod=...) give one"
        )
    longest = -1
    if total_length is not None:
        longest = check.integer(total_length, "pad_packed_sequence: total_length", 1)
    value = _core.to_variable([padding_value], None, str(x.dtype))
    padded, lengths = ops.sequence_pad(x, value, padded_length=longest)
    return (padded if batch_first else padded.swapaxes(0, 1)), lengths


def __getattr__(name):
    hint = "" if name.startswith("_") else did_you_mean(name, __all__)
    hint = f" {_OF_NN_UTILS[name]}" if name in _OF_NN_UTILS else hint
    raise _refuse("dygraph.nn.utils.rnn", name, hint)
