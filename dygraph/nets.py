"""Fluid's small functions of sequences and gates.

The operators themselves, such as ``sequence_pool``, are in `dygraph.ops`.
"""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of

__all__ = [
    "glu",
    "lod_append",
    "scaled_dot_product_attention",
    "sequence_conv_pool",
    "sequence_first_step",
    "sequence_last_step",
]

ops = _core.ops


def sequence_first_step(input):
    """The first row of each sequence.

    Parameters
    ----------
    input : Variable
        Rows with LoD; float32 or float64.

    Returns
    -------
    Variable
        ``[sequences, ...]``, of the type of `input`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
    >>> dygraph.nets.sequence_first_step(x).numpy()
    array([[1.],
           [3.]], dtype=float32)
    """
    return ops.sequence_pool(input, pooltype="FIRST")


def sequence_last_step(input):
    """The last row of each sequence.

    Parameters
    ----------
    input : Variable
        Rows with LoD; float32 or float64.

    Returns
    -------
    Variable
        ``[sequences, ...]``, of the type of `input`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
    >>> dygraph.nets.sequence_last_step(x).numpy()
    array([[2.],
           [3.]], dtype=float32)
    """
    return ops.sequence_pool(input, pooltype="LAST")


def lod_append(x, level):
    """The rows of `x` with one more level of detail below the last.

    Parameters
    ----------
    x : Variable
        Rows of any type.
    level : Variable or list of int
        The offsets of the new level; of a Variable its last level, or its elements if it has none.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Raises
    ------
    ArgumentTypeError
        `level` is neither a Variable nor a list.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
    >>> dygraph.nets.lod_append(x, [0, 1, 2, 3]).lod()
    [[0, 2, 3], [0, 1, 2, 3]]
    """
    check.variable(x, "lod_append: x")
    if isinstance(level, _core.Variable):
        return ops.lod_reset(x, y=level, append=True)
    if not isinstance(level, (list, tuple)):
        raise ArgumentTypeError(
            f"lod_append: level must be a Variable or a list of offsets, got {kind_of(level)}"
        )
    return ops.lod_reset(x, target_lod=list(level), append=True)


def glu(input, dim=-1):
    """Gated linear unit: ``a * sigmoid(b)`` for the halves a and b of `input` along `dim`.

    Dauphin et al., "Language modeling with gated convolutional networks", 2017.

    Parameters
    ----------
    input : Variable
        Even size along `dim`.
    dim : int

    Returns
    -------
    Variable
        Half the size along `dim`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nets.glu(dygraph.to_variable([[2.0, 0.0]])).numpy()
    array([[1.]], dtype=float32)
    """
    check.variable(input, "glu: input")
    axis = check.axis(dim, len(input.shape), "glu: dim")
    if check.known_size(input, axis, "glu") % 2:
        raise InvalidArgumentError(
            f"glu: the size along dim must be even, got shape {list(input.shape)} and dim {dim}"
        )
    a, b = ops.split(input, num=2, axis=axis)
    return ops.elementwise_mul(a, ops.sigmoid(b))


def scaled_dot_product_attention(queries, keys, values, num_heads=1, dropout_rate=0.0):
    """``softmax(q k^T / sqrt(d)) v`` for each head (Vaswani and others, 2017).

    Parameters
    ----------
    queries : Variable
        ``[batch, M, D]``.
    keys, values : Variable
        ``[batch, N, D]`` and ``[batch, N, E]``.
    num_heads : int
        Divides D and E: their columns are split among the heads without projections. Fluid adds
        projections in each call; the layer `dygraph.nn.MultiHeadAttention` has them.
    dropout_rate : float
        Of the weights. The remaining ones are not scaled up, as in Fluid.

    Returns
    -------
    Variable
        ``[batch, M, E]``.

    Examples
    --------
    >>> import dygraph
    >>> q, k, v = dygraph.ones([2, 3, 4]), dygraph.ones([2, 5, 4]), dygraph.ones([2, 5, 6])
    >>> dygraph.nets.scaled_dot_product_attention(q, k, v, num_heads=2).shape
    (2, 3, 6)
    """
    owner = "scaled_dot_product_attention"
    heads = check.integer(num_heads, f"{owner}: num_heads", 1)
    rate = check.number(dropout_rate, f"{owner}: dropout_rate", 0, 1)
    shapes = [
        check.variable(x, f"{owner}: {what}").shape
        for what, x in (("queries", queries), ("keys", keys), ("values", values))
    ]
    q, k, v = shapes
    for x in (queries, keys, values):
        if x.ndim:
            check.known_size(x, x.ndim - 1, owner)
    fits = all(len(s) == 3 for s in shapes)
    fits = fits and check.may_be_equal(q[0], k[0]) and check.may_be_equal(k[0], v[0])
    fits = fits and check.may_be_equal(q[0], v[0]) and check.may_be_equal(k[1], v[1])
    if not (fits and q[2] == k[2] and q[2] % heads == v[2] % heads == 0):
        raise InvalidArgumentError(
            f"{owner}: queries, keys and values must be [batch, M, D], [batch, N, D] and "
            f"[batch, N, E] with D and E divisible by num_heads {heads}, got "
            f"{', '.join(str(list(s)) for s in shapes)}"
        )

    def split(x):
        parts = ops.reshape2(x, shape=[0, 0, heads, x.shape[2] // heads])
        return ops.transpose2(parts, axis=[0, 2, 1, 3])

    # A tensor, which other readers of a float64 program find with all digits.
    factor = _core.literal((q[2] // heads) ** -0.5 if q[2] else 1.0, queries.dtype)
    scaled = ops.elementwise_mul(split(queries), factor)
    weights = ops.softmax(ops.matmul_v2(scaled, split(keys), trans_y=True))
    if rate:
        weights = ops.dropout(weights, dropout_prob=rate)
    out = ops.transpose2(ops.matmul_v2(weights, split(values)), axis=[0, 2, 1, 3])
    return ops.reshape2(out, shape=[0, 0, v[2]])


def sequence_conv_pool(input, filter, bias=None, filter_size=3, act="sigmoid", pool_type="max"):
    """``pool(act(sequence_conv(input, filter) + bias))``: one row for each sequence.

    Fluid's function of this name makes its parameters; here they are arguments.

    Parameters
    ----------
    input : Variable
        ``[rows, D]`` with LoD.
    filter : Variable
        ``[filter_size * D, M]``.
    bias : Variable, optional
        ``[M]``.
    filter_size : int
        Rows in a window, the row itself in the middle.
    act : str or None
        Name of an activation.
    pool_type : str
        ``'max'``, ``'average'``, ``'sum'``, ``'sqrt'``, ``'first'`` or ``'last'``.

    Returns
    -------
    Variable
        ``[sequences, M]``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1.0], [2.0], [4.0]], lod=[[0, 2, 3]])
    >>> window = dygraph.to_variable([[1.0], [1.0], [1.0]])  # sums of neighbours: 3, 3 and 4
    >>> dygraph.nets.sequence_conv_pool(x, window, act=None).tolist()
    [[3.0], [4.0]]
    """
    from dygraph.nn.activation import activation

    filter_size = check.integer(filter_size, "sequence_conv_pool: filter_size", 1)
    allowed = ("max", "average", "sum", "sqrt", "first", "last")
    check.choice(pool_type, allowed, "sequence_conv_pool: pool_type")
    function = activation(act, "sequence_conv_pool")
    out = ops.sequence_conv(
        input, filter, contextLength=filter_size, contextStart=-((filter_size - 1) // 2)
    )
    if bias is not None:
        out = ops.elementwise_add(out, bias)
    return ops.sequence_pool(out if function is None else function(out), pooltype=pool_type.upper())
