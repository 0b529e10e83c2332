"""Messages in graphs and sums of segments, with the names of ``paddle.geometric``.

A graph is two lists of numbers: edge e goes from node ``src_index[e]`` to node ``dst_index[e]``.
Gradients of any order flow through what nodes and edges hold.

>>> import dygraph
>>> x = dygraph.to_variable([[1.0], [2.0], [4.0]])
>>> source, target = dygraph.to_variable([0, 1, 2]), dygraph.to_variable([1, 1, 0])
>>> dygraph.geometric.send_u_recv(x, source, target).tolist()
[[4.0], [3.0], [0.0]]
"""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, did_you_mean

__all__ = [
    "segment_max", "segment_mean", "segment_min", "segment_sum", "send_u_recv", "send_ue_recv",
    "send_uv",
]  # fmt: skip

ops = _core.ops
_MESSAGES = ("add", "sub", "mul", "div")
_REDUCTIONS = ("sum", "mean", "max", "min")


def send_u_recv(x, src_index, dst_index, reduce_op="sum", out_size=None, name=None):
    """What each node makes of the rows that its neighbours send along the edges.

    ``out[k]`` is the sum, mean, maximum or minimum of ``x[src_index[e]]`` over all edges e with
    ``dst_index[e] == k``, and 0 where no edge ends.

    Parameters
    ----------
    x : Variable
        ``[nodes, ...]``, of float32, float64, int32 or int64.
    src_index, dst_index : Variable
        ``[edges]`` integers: where each edge begins and ends.
    reduce_op : {'sum', 'mean', 'max', 'min'}
        Of equal greatest or least ones each gets the gradient.
    out_size : int or Variable, optional
        The rows of the result. None: as many as `x` has.
    name : str, optional
        Accepted; nothing depends on it.

    Returns
    -------
    Variable
        ``[out_size, ...]``

    Raises
    ------
    OutOfRangeError
        (an IndexError) for an edge that begins or ends outside.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1.0], [2.0], [4.0]])
    >>> source, target = dygraph.to_variable([0, 1, 2]), dygraph.to_variable([1, 1, 0])
    >>> dygraph.geometric.send_u_recv(x, source, target, "mean").tolist()
    [[4.0], [1.5], [0.0]]
    """
    reduce_op = _reduction(reduce_op, "send_u_recv")
    check.variable(x, "send_u_recv: x")
    ends = _ends(src_index, dst_index, "send_u_recv")
    return ops.graph_send_recv(
        x, *ends, reduce_op=reduce_op, **_rows(out_size, "send_u_recv: out_size")
    )


def send_ue_recv(
    x, y, src_index, dst_index, message_op="add", reduce_op="sum", out_size=None, name=None
):
    """What each node makes of its neighbours' rows, combined with what the edges hold.

    ``out[k]`` is the sum, mean, maximum or minimum of ``x[src_index[e]] + y[e]`` (or ``-``, ``*``,
    ``/``) over all edges e with ``dst_index[e] == k``, and 0 where no edge ends.

    Parameters
    ----------
    x : Variable
        ``[nodes, ...]``, of float32, float64, int32 or int64.
    y : Variable
        ``[edges, ...]``, of the type of `x`. Axes behind the first broadcast.
    src_index, dst_index : Variable
        ``[edges]`` integers: where each edge begins and ends.
    message_op : {'add', 'sub', 'mul', 'div'}
    reduce_op : {'sum', 'mean', 'max', 'min'}
        Of equal greatest or least ones each gets the gradient.
    out_size : int or Variable, optional
        The rows of the result. None: as many as `x` has.
    name : str, optional
        Accepted; nothing depends on it.

    Returns
    -------
    Variable
        ``[out_size, ...]``

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit.
    OutOfRangeError
        (an IndexError) for an edge that begins or ends outside.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1.0], [2.0]])
    >>> weight = dygraph.to_variable([10.0, 0.5])
    >>> source, target = dygraph.to_variable([0, 1]), dygraph.to_variable([1, 1])
    >>> dygraph.geometric.send_ue_recv(x, weight, source, target, "mul").tolist()
    [[0.0], [11.0]]
    """
    reduce_op = _reduction(reduce_op, "send_ue_recv")
    ends = _ends(src_index, dst_index, "send_ue_recv")
    x, y, message_op = _message(x, y, message_op, "send_ue_recv")
    rows = _rows(out_size, "send_ue_recv: out_size")
    return ops.graph_send_ue_recv(x, y, *ends, message_op=message_op, reduce_op=reduce_op, **rows)


def send_uv(x, y, src_index, dst_index, message_op="add", name=None):
    """For each edge, its first node's row of `x` combined with its last node's row of `y`.

    ``out[e] = x[src_index[e]] + y[dst_index[e]]`` (or ``-``, ``*``, ``/``).

    Parameters
    ----------
    x, y : Variable
        ``[nodes, ...]``, of one type: float32, float64, int32 or int64. Axes behind the first
        broadcast.
    src_index, dst_index : Variable
        ``[edges]`` integers: where each edge begins and ends.
    message_op : {'add', 'sub', 'mul', 'div'}
    name : str, optional
        Accepted; nothing depends on it.

    Returns
    -------
    Variable
        ``[edges, ...]``

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit.
    OutOfRangeError
        (an IndexError) for an edge that begins or ends outside.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1.0], [2.0]])
    >>> source, target = dygraph.to_variable([0, 1]), dygraph.to_variable([1, 1])
    >>> dygraph.geometric.send_uv(x, x * 10, source, target).tolist()
    [[21.0], [22.0]]
    """
    ends = _ends(src_index, dst_index, "send_uv")
    x, y, message_op = _message(x, y, message_op, "send_uv")
    return ops.graph_send_uv(x, y, *ends, message_op=message_op)


def _segment(kind, what, result):
    owner = f"segment_{kind}"

    def function(data, segment_ids, name=None, *, num_segments=None):
        check.variable(data, f"{owner}: data")
        check.variable(segment_ids, f"{owner}: segment_ids")
        rows = {}
        if num_segments is not None:
            count = check.integer(num_segments, f"{owner}: num_segments", 0)
            rows["rows"] = _core.literal([count])
        return ops.segment_pool(data, segment_ids, pooltype=kind.upper(), **rows)

    function.__name__ = function.__qualname__ = owner
    function.__doc__ = f"""The {what} of the rows of each segment, 0 of a segment without rows.

    Parameters
    ----------
    data : Variable
        ``[n, ...]``, of float32, float64, int32 or int64.
    segment_ids : Variable
        ``[n]`` integers of at least 0, in any order: the segment of each row.
    name : str, optional
        Accepted; nothing depends on it.
    num_segments : int, optional
        The rows of the result. None: the greatest number and one.

    Returns
    -------
    Variable
        ``[num_segments, ...]``

    Raises
    ------
    OutOfRangeError
        (an IndexError) for a number below 0, or not below `num_segments`.

    Examples
    --------
    >>> import dygraph
    >>> data = dygraph.to_variable([[1.0], [2.0], [5.0]])
    >>> dygraph.geometric.segment_{kind}(data, dygraph.to_variable([0, 0, 2])).tolist()
    {result}
    """
    return function


segment_sum = _segment("sum", "sum", "[[3.0], [0.0], [5.0]]")
segment_mean = _segment("mean", "mean", "[[1.5], [0.0], [5.0]]")
segment_max = _segment("max", "maximum", "[[2.0], [0.0], [5.0]]")
segment_min = _segment("min", "minimum", "[[1.0], [0.0], [5.0]]")


def _reduction(reduce_op, owner):
    check.choice(reduce_op, _REDUCTIONS, f"{owner}: reduce_op")
    return reduce_op.upper()


def _ends(src_index, dst_index, owner):
    return (
        check.variable(src_index, f"{owner}: src_index"),
        check.variable(dst_index, f"{owner}: dst_index"),
    )


def _rows(out_size, what):
    if out_size is None:
        return {}
    if isinstance(out_size, _core.Variable):
        return {"out_size": out_size}
    return {"out_size": [check.integer(out_size, what, 1)]}


def _message(x, y, message_op, owner):
    """Operands with equally many axes, and the operator's name of what is made of them."""
    check.choice(message_op, _MESSAGES, f"{owner}: message_op")
    check.variable(x, f"{owner}: x")
    if check.variable(y, f"{owner}: y").dtype is not x.dtype:
        raise ArgumentTypeError(
            f"{owner}: y must have the type of x, {x.dtype}, got {y.dtype}. Convert with astype()"
        )
    if not x.ndim or not y.ndim:
        raise InvalidArgumentError(
            f"{owner}: x and y must have rows, got shapes {list(x.shape)} and {list(y.shape)}"
        )
    x, y = _with_axes(x, y.ndim), _with_axes(y, x.ndim)
    if message_op == "sub":
        y = -y
    elif message_op == "div":
        if not y.dtype.is_floating:
            raise ArgumentTypeError(
                f"{owner}: message_op='div' takes floating-point numbers, got {y.dtype}. Convert "
                "with astype('float32')"
            )
        y = 1.0 / y
    return x, y, "ADD" if message_op in ("add", "sub") else "MUL"


def _with_axes(x, count):
    """`x` with ones behind the first axis until there are `count` axes."""
    return x if x.ndim >= count else ops.unsqueeze2(x, axes=list(range(1, 1 + count - x.ndim)))


def __getattr__(name):
    hint = "" if name.startswith("__") else did_you_mean(name, __all__)
    raise AttributeError(f"dygraph.geometric has no function '{name}'.{hint}")


def __dir__():
    return list(__all__)
