"""Padding, and matrices from diagonals."""

from dygraph import _core, ops
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.making import layer, operator, run
from dygraph.static.layers.manipulation import unsqueeze
from dygraph.static.layers.tensor import assign


@operator()
def pad(x, paddings, pad_value=0.0, name=None):
    """Padded before and after each axis."""


@operator()
def pad_constant_like(x, y, pad_value=0.0, name=None):
    """y, padded up to the shape of x."""


@operator(input="X")
def pad2d(
    input, paddings=[0, 0, 0, 0], mode="constant", pad_value=0.0, data_format="NCHW",  # noqa: B006
    name=None,
):  # fmt: skip
    """Images padded with pixels above, below, left and right."""


@layer
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last axis of `input` on a diagonal, 0 elsewhere.

    Parameters
    ----------
    input : Variable or array
        ``[..., n]``, with `n` known.
    offset : int
        The diagonal: 0 for the main one, positive above it, negative below.
    dim1, dim2 : int
        The axes of the result, of size ``n + abs(offset)``, that make the matrices.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.diag_embed(dygraph.to_variable([1.0, 2.0]), offset=1).tolist()
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
