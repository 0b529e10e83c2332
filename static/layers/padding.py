"""Padding, and matrices from diagonals."""

from dygraph import _core, ops
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.making import layer, operator, run
from dygraph.static.layers.manipulation import unsqueeze
from dygraph.static.layers.tensor import assign


@operator()
def pad(x, paddings, pad_value=0.0, name=None):
    """`x` with a border around it.

    Along axis `i`, ``paddings[2 * i]`` places come before and ``paddings[2 * i + 1]`` after.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    paddings : list of int
        Two numbers for each axis, not below 0.
    pad_value : float, default 0.0
        What stands in the border.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.pad(to_variable([1.0, 2.0]), [1, 2], pad_value=9.0).tolist()
    [9.0, 1.0, 2.0, 9.0, 9.0]
    """


@operator()
def pad_constant_like(x, y, pad_value=0.0, name=None):
    """`y`, padded at the end of each axis up to the shape of `x`.

    Parameters
    ----------
    x : Variable
        Only its shape is read.
    y : Variable
        As many axes as `x`, none longer; any type.
    pad_value : float, default 0.0
        What stands in the border.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape of `x`, the type of `y`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.pad_constant_like(dygraph.ones([2, 2]), to_variable([[1.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """


@operator(input="X")
def pad2d(
    input, paddings=[0, 0, 0, 0], mode="constant", pad_value=0.0, data_format="NCHW",  # noqa: B006
    name=None,
):  # fmt: skip
    """Images with a border of pixels.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``, or with the channels last for ``"NHWC"``; any type.
    paddings : list of int or Variable, default [0, 0, 0, 0]
        Pixels above, below, on the left and on the right.
    mode : str, default "constant"
        ``"constant"``: `pad_value`. ``"reflect"``: the image mirrored, without its border pixel.
        ``"edge"``: the border pixel repeated.
    pad_value : float, default 0.0
        What stands in a constant border.
    data_format : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> image = to_variable([[[[1.0, 2.0]]]])
    >>> layers.pad2d(image, [0, 0, 1, 1]).tolist()
    [[[[0.0, 1.0, 2.0, 0.0]]]]
    >>> layers.pad2d(image, [0, 0, 1, 1], mode="edge").tolist()
    [[[[1.0, 1.0, 2.0, 2.0]]]]
    """


@layer
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last axis of `input` on a diagonal, 0 elsewhere.

    Parameters
    ----------
    input : Variable or array
        ``[..., n]``, with `n` known; any type.
    offset : int, default 0
        The diagonal: 0 for the main one, positive above it, negative below.
    dim1, dim2 : int, default -2 and -1
        The axes of the result that make the matrices, by default the last two.

    Returns
    -------
    Variable
        With two axes of size ``n + abs(offset)`` in place of the last.

    Raises
    ------
    InvalidArgumentError
        The last size of `input` is unknown, or `dim1` and `dim2` are the same.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.diag_embed(to_variable([1.0, 2.0]), offset=1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]
    """
    if not isinstance(input, _core.Variable):
        input = assign(input)
    rank, offset = len(input.shape), check.integer(offset, "diag_embed: offset")
    if rank == 0 or input.shape[-1] < 1:
        raise check.open_size(
            f"diag_embed: the last size of input must be known and at least 1, got shape "
            f"{list(input.shape)}",
            kind=InvalidArgumentError,
        )
    axes = [check.axis(dim1, rank + 1, "diag_embed: dim1")]
    axes.append(check.axis(dim2, rank + 1, "diag_embed: dim2"))
    if axes[0] == axes[1]:
        raise InvalidArgumentError(f"diag_embed: dim1 and dim2 must differ, got {dim1} and {dim2}")
    # Element i lies at i * (size + 1), or further by the offset, in the matrix written as a row.
    count = input.shape[-1]
    size = count + abs(offset)
    before, ahead = offset if offset > 0 else -offset * size, [0] * (rank - 1)
    spread = unsqueeze.__wrapped__(input, [rank])
    row = run("pad", {"X": spread}, {"paddings": [0, 0] * rank + [0, size]})["Out"]
    row = ops.reshape2(row, shape=ahead + [count * (size + 1)])
    after = max(0, size * size - before - count * (size + 1))
    around = [0, 0] * (rank - 1) + [before, after]
    row = run("pad", {"X": row}, {"paddings": around})["Out"]
    row = run("slice", {"Input": row},
              {"axes": [rank - 1], "starts": [0], "ends": [size * size]})["Out"]  # fmt: skip
    made = ops.reshape2(row, shape=ahead + [size, size])
    order = iter(range(rank - 1))
    places = {axes[0]: rank - 1, axes[1]: rank}
    order = [places[a] if a in places else next(order) for a in range(rank + 1)]
    return ops.transpose2(made, axis=order)


__all__ = [
    "diag_embed", "pad", "pad2d", "pad_constant_like",
]  # fmt: skip
