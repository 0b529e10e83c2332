"""Operators on sequences of different lengths, which read a LoD.

Examples
--------
>>> import dygraph
>>> from dygraph import static
>>> x = dygraph.to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
>>> static.layers.sequence_pool(x, "sum").tolist()
[[3.0], [3.0]]
"""

from dygraph import _core, nets
from dygraph.core import check
from dygraph.static.layers.making import layer, operator, run
from dygraph.static.program import Variable


@operator(input="X")
def sequence_concat(input, name=None):
    """Sequence `i` of all inputs one after the other, as sequence `i` of the result.

    Parameters
    ----------
    input : list of Variable
        Rows with LoD, as many sequences in each; float32, float64, int32 or int64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        All the rows, with the LoD of the joined sequences.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
    >>> y = to_variable([[4.0], [5.0]], lod=[[0, 1, 2]])
    >>> out = layers.sequence_concat([x, y])
    >>> out.tolist(), out.lod()
    ([[1.0], [2.0], [4.0], [3.0], [5.0]], [[0, 3, 5]])
    """


@operator(input="X")
def sequence_enumerate(input, win_size, pad_value=0, name=None):
    """Each number with those that follow it in its sequence, `win_size` in all.

    Parameters
    ----------
    input : Variable
        int32 or int64 ``[rows, 1]`` or ``[rows]``, with LoD.
    win_size : int
        The numbers of a row of the result.
    pad_value : int, default 0
        Stands beyond the end of a sequence.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[rows, win_size]``, with the type and LoD of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1], [2], [3]], lod=[[0, 2, 3]])
    >>> layers.sequence_enumerate(x, win_size=2).tolist()
    [[1, 2], [2, 0], [3, 0]]
    """


@operator()
def sequence_expand(x, y, ref_level=-1, name=None):
    """Each sequence of `x`, repeated as often as a sequence of `y` has members.

    Sequence `i` of `x`, or row `i` if `x` has no LoD, is repeated by the length of sequence `i` in
    the level `ref_level` of `y`; the length 0 leaves it out.

    Parameters
    ----------
    x : Variable
        Rows of any type, with at most one level of detail.
    y : Variable
        Only its LoD is read.
    ref_level : int, default -1
        The level of `y`; -1: the last.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        Rows of `x`, with the LoD of their sequences; without a LoD if `x` has none.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1.0], [2.0]])
    >>> y = to_variable([[0.0], [0.0], [0.0]], lod=[[0, 2, 3]])
    >>> layers.sequence_expand(x, y).tolist()
    [[1.0], [1.0], [2.0]]
    """


@operator()
def sequence_expand_as(x, y, name=None):
    """Row `i` of `x` for each row of sequence `i` of `y`.

    Parameters
    ----------
    x : Variable
        As many rows as `y` has sequences; any type.
    y : Variable
        Only its LoD is read.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        As many rows as `y`, with the LoD of `y`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1.0], [2.0]])
    >>> y = to_variable([[0.0], [0.0], [0.0]], lod=[[0, 2, 3]])
    >>> out = layers.sequence_expand_as(x, y)
    >>> out.tolist(), out.lod()
    ([[1.0], [1.0], [2.0]], [[0, 2, 3]])
    """


@operator(input="X")
def sequence_reshape(input, new_dim):
    """The numbers of each sequence in rows of another width.

    Parameters
    ----------
    input : Variable
        ``[rows, width]`` with LoD, any type.
    new_dim : int
        The new width; it divides the number of elements of each sequence.

    Returns
    -------
    Variable
        ``[rows * width / new_dim, new_dim]``, with the LoD of the new lengths.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], lod=[[0, 2, 3]])
    >>> out = layers.sequence_reshape(x, 1)
    >>> out.shape, out.lod()
    ((6, 1), [[0, 4, 6]])
    """


@operator()
def sequence_reverse(x, name=None):
    """Each sequence from its last row to its first.

    Parameters
    ----------
    x : Variable
        Rows of any type, with LoD.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape, type and LoD of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
    >>> layers.sequence_reverse(x).tolist()
    [[2.0], [1.0], [3.0]]
    """


@operator(input="X", index="Ids")
def sequence_scatter(input, index, updates, name=None):
    """`input` with `updates` added: those of sequence `i` to row `i`, in the columns `index`.

    Parameters
    ----------
    input : Variable
        ``[sequences, width]``; float32, float64, int32 or int64.
    index : Variable
        Columns, int32 or int64 ``[rows, 1]`` with LoD.
    updates : Variable
        ``[rows, 1]``, of the type of `input`.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> index = to_variable([[0], [2], [1]], lod=[[0, 2, 3]])
    >>> updates = to_variable([[1.0], [2.0], [3.0]])
    >>> layers.sequence_scatter(dygraph.zeros([2, 3]), index, updates).tolist()
    [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]
    """


@operator(input="X")
def sequence_slice(input, offset, length, name=None):
    """A part of each sequence: `length` rows from its row `offset` on.

    Parameters
    ----------
    input : Variable
        Rows of any type, with LoD.
    offset, length : Variable
        int32 or int64 ``[sequences, 1]``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The rows, with the LoD of the parts.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1.0], [2.0], [3.0], [4.0]], lod=[[0, 3, 4]])
    >>> out = layers.sequence_slice(x, to_variable([[1], [0]]), to_variable([[2], [1]]))
    >>> out.tolist(), out.lod()
    ([[2.0], [3.0], [4.0]], [[0, 2, 3]])
    """


@operator(input="X")
def sequence_softmax(input, use_cudnn=False, name=None):
    """``exp(input) / sum(exp(input))``, the sum over the rows of a sequence.

    Parameters
    ----------
    input : Variable
        Rows with LoD, as a rule ``[rows, 1]``; each column by itself. float32 or float64.
    use_cudnn : bool, default False
        Accepted as in Fluid; not used.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape, type and LoD of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[0.0], [0.0], [5.0]], lod=[[0, 2, 3]])
    >>> layers.sequence_softmax(x).tolist()
    [[0.5], [0.5], [1.0]]
    """


@operator()
def sequence_unpad(x, length, name=None):
    """The rows of a padded batch without the padding, one sequence after the other.

    Parameters
    ----------
    x : Variable
        ``[sequences, longest, ...]``, any type.
    length : Variable
        The length of each sequence, int64 or int32 ``[sequences]``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[sum of length, ...]`` with LoD; ``[sum of length, 1]`` for `x` of two axes.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[[1.0], [2.0]], [[3.0], [0.0]]])
    >>> out = layers.sequence_unpad(x, to_variable([2, 1]))
    >>> out.tolist(), out.lod()
    ([[1.0], [2.0], [3.0]], [[0, 2, 3]])
    """


@operator(input="X")
def add_position_encoding(input, alpha, beta, name=None):
    """``alpha * input + beta * P``, where `P` holds sinusoids of the position in the sequence.

    ``P[t, j] = sin(t / 10000^(j / (h - 1)))`` and ``P[t, h + j]`` its cosine, for ``j`` below ``h =
    width / 2`` (after Vaswani and others, "Attention is all you need", 2017).

    Parameters
    ----------
    input : Variable
        ``[rows, width]`` with LoD, or ``[batch, time, width]``; an even width. float32 or float64.
    alpha : float
        The factor of `input`.
    beta : float
        The factor of the sinusoids.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape, type and LoD of `input`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> out = layers.add_position_encoding(dygraph.zeros([1, 2, 4]), 1.0, 1.0)
    >>> [[round(v, 4) for v in row] for row in out.tolist()[0]]
    [[0.0, 0.0, 1.0, 1.0], [0.8415, 0.0001, 0.5403, 1.0]]
    """


def with_levels(out, count):
    """The result; in a program, declared with this number of levels of detail."""
    if isinstance(out, Variable):
        out.lod_level = count
    return out


@layer
def sequence_pool(input, pool_type, is_test=False, pad_value=0.0):
    """One row for each sequence, by column: its average, sum, scaled sum, greatest, first or last.

    Parameters
    ----------
    input : Variable
        Rows with LoD; float32 or float64.
    pool_type : str
        ``"average"``, ``"sum"``, ``"sqrt"`` (the sum divided by the root of the length), ``"max"``,
        ``"first"`` or ``"last"``.
    is_test : bool, default False
        Accepted as in Fluid; not used.
    pad_value : float, default 0.0
        The result of sequences without rows.

    Returns
    -------
    Variable
        ``[sequences, ...]``, of the type of `input`; with the levels of LoD above the last.

    Raises
    ------
    InvalidArgumentError
        `pool_type` is unknown.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
    >>> layers.sequence_pool(x, "average").tolist()
    [[1.5], [3.0]]
    """
    allowed = ("average", "sum", "sqrt", "max", "first", "last")
    check.choice(str(pool_type).lower(), allowed, "sequence_pool: pool_type")
    attrs = {"pooltype": pool_type.upper(), "is_test": bool(is_test), "pad_value": pad_value}
    return run("sequence_pool", {"X": input}, attrs)["Out"]


sequence_first_step = layer(nets.sequence_first_step)


sequence_last_step = layer(nets.sequence_last_step)


@layer
def sequence_mask(x, maxlen=None, dtype="int64", name=None):
    """1 at the positions below a length, else 0.

    Parameters
    ----------
    x : Variable
        Lengths ``[...]``, int32 or int64.
    maxlen : int or Variable, optional
        The number of positions; None: the greatest length.
    dtype : str or dtype, default "int64"
        The type of the result.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[..., maxlen]``, of the type `dtype`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.sequence_mask(dygraph.to_variable([1, 2]), maxlen=3).tolist()
    [[1, 0, 0], [1, 1, 0]]
    """
    inputs, attrs = {"X": x}, {"out_dtype": dtype, "maxlen": -1}
    if isinstance(maxlen, _core.Variable):
        inputs["MaxLenTensor"] = maxlen
    elif maxlen is not None:
        attrs["maxlen"] = check.integer(maxlen, "sequence_mask: maxlen")
    return run("sequence_mask", inputs, attrs)["Y"]


@layer
def sequence_pad(x, pad_value, maxlen=None, name=None):
    """The sequences as rows of a padded batch, and their lengths.

    Parameters
    ----------
    x : Variable
        ``[rows, ...]`` with LoD; float32, float64, int32 or int64.
    pad_value : Variable
        One element, or the shape of a row; of the type of `x`.
    maxlen : int, optional
        The number of rows for each sequence, at least the greatest length; None: that.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    out : Variable
        ``[sequences, maxlen, ...]``, of the type of `x`.
    length : Variable
        int64 ``[sequences]``.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> x = dygraph.to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
    >>> batch, length = static.layers.sequence_pad(x, dygraph.to_variable([0.0]))
    >>> batch.tolist(), length.tolist()
    ([[[1.0], [2.0]], [[3.0], [0.0]]], [2, 1])
    """
    attrs = {"padded_length": -1 if maxlen is None else maxlen}
    found = run("sequence_pad", {"X": x, "PadValue": pad_value}, attrs)
    return found["Out"], found["Length"]


@layer
def lod_reset(x, y=None, target_lod=None):
    """The rows of `x` with another LoD: that of `y`, the elements of `y`, or `target_lod`.

    Parameters
    ----------
    x : Variable
        Rows of any type.
    y : Variable, optional
        With a LoD, that is taken; without, its elements are the offsets.
    target_lod : list of int, optional
        The offsets, from 0 to the number of rows; not used if `y` is given.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.lod_reset(dygraph.ones([3, 1]), target_lod=[0, 1, 3]).lod()
    [[0, 1, 3]]
    """
    attrs = {"target_lod": None if y is not None or target_lod is None else list(target_lod)}
    return run("lod_reset", {"X": x, "Y": y}, attrs)["Out"]


lod_append = layer(nets.lod_append)


__all__ = [
    "add_position_encoding", "lod_append", "lod_reset", "sequence_concat", "sequence_enumerate",
    "sequence_expand", "sequence_expand_as", "sequence_first_step", "sequence_last_step",
    "sequence_mask", "sequence_pad", "sequence_pool", "sequence_reshape", "sequence_reverse",
    "sequence_scatter", "sequence_slice", "sequence_softmax", "sequence_unpad",
]  # fmt: skip
