"""Changes of shape: joining, splitting, selecting, padding.

Examples
--------
>>> import dygraph
>>> from dygraph import static
>>> x = dygraph.to_variable([[1.0, 2.0], [3.0, 4.0]])
>>> static.layers.transpose(x, [1, 0]).tolist()
[[1.0, 3.0], [2.0, 4.0]]
"""

from dygraph import _core, ops
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.making import activated, layer, operator, run
from dygraph.static.layers.tensor import number_tensors, plain_numbers, sized
from dygraph.static.unknown_sizes import numbers, variables


@operator("transpose2", perm="axis")
def transpose(x, perm, name=None):
    """The axes in another order."""


@operator("flatten2")
def flatten(x, axis=1, name=None):
    """A matrix: the axes before `axis` are its rows."""


@operator()
def stack(x, axis=0):
    """Variables of one shape along a new axis."""


@operator()
def reverse(x, axis):
    """In reverse order along an axis or several."""


@operator(input="X")
def flip(input, dims, name=None):
    """In reverse order along axes."""


@operator()
def expand_as(x, target_tensor, name=None):
    """x repeated up to the shape of `target_tensor`."""


@operator(input="X")
def meshgrid(input, name=None):
    """Variables of one axis as grids, each along another axis."""


@layer
def squeeze(input, axes, name=None):
    """Without axes of size 1: all, or those of `axes`.

    An axis of open size must have one element in the run.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.squeeze(dygraph.ones([1, 2, 1]), [0]).shape
    (2, 1)
    """
    return ops.squeeze(input, axes if _core.holds_symbol(axes) else list(axes) or None)


@layer
def concat(input, axis=0, name=None):
    """Variables concatenated along `axis`, a number or a Variable.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.concat([dygraph.ones([1]), dygraph.zeros([2])]).tolist()
    [1.0, 0.0, 0.0]
    """
    parts = list(input) if isinstance(input, (list, tuple)) else [input]
    if isinstance(axis, _core.Variable):
        return run("concat", {"X": parts, "AxisTensor": axis})["Out"]
    return run("concat", {"X": parts}, {"axis": check.integer(axis, "concat: axis")})["Out"]


@layer
def split(input, num_or_sections, dim=-1, name=None):
    """A list of parts along `dim`: a number of equal parts, or parts of given sizes (-1: the rest).

    >>> import dygraph
    >>> from dygraph import static
    >>> [v.tolist() for v in static.layers.split(dygraph.to_variable([1.0, 2.0, 3.0]), [1, -1])]
    [[1.0], [2.0, 3.0]]
    """
    check.variable(input, "split: input")
    axis = check.axis(dim, len(input.shape), "split: dim")
    attrs = {"axis": axis}
    if isinstance(num_or_sections, (list, tuple)):
        attrs["sections"] = [check.integer(n, "split: a section") for n in num_or_sections]
        count = len(num_or_sections)
    else:
        count = attrs["num"] = check.integer(num_or_sections, "split: num_or_sections", 1)
    return run("split", {"X": input}, attrs, {"Out": count})["Out"]


@layer
def unstack(x, axis=0, num=None):
    """A list of the parts along `axis`, without that axis; give `num` if the size is unknown.

    >>> import dygraph
    >>> from dygraph import static
    >>> [v.tolist() for v in static.layers.unstack(dygraph.to_variable([[1.0], [2.0]]))]
    [[1.0], [2.0]]
    """
    check.variable(x, "unstack: x")
    size = x.shape[check.axis(axis, len(x.shape), "unstack: axis")] if num is None else num
    if size < 0:
        raise check.open_size(
            f"unstack: num must be given for {x.shape} and axis {axis}",
            "Give num, or declare the size of the axis",
            InvalidArgumentError,
        )
    return run("unstack", {"X": x}, {"axis": axis, "num": size}, {"Y": size})["Y"]


@layer
def reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None):
    """``x`` with other sizes: -1 for the size that the others determine, 0 for that of ``x``.

    `actual_shape`, a Variable, overrides `shape`.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.reshape(dygraph.ones([2, 6]), [0, -1, 3]).shape
    (2, 2, 3)
    """
    inputs, attrs = {"X": x, "Shape": actual_shape}, {}
    if isinstance(shape, _core.Variable):
        inputs["Shape"] = shape if actual_shape is None else actual_shape
    else:
        plain = numbers(shape)
        if sum(type(n) is int and n == -1 for n in plain) < 2:
            shape = plain
        shape = variables(shape)
        attrs["shape"] = plain_numbers(shape, "reshape: shape")
        inputs["ShapeTensor"] = number_tensors(shape)
    made = run("reshape2", inputs, attrs)["Out"]
    if inputs.get("ShapeTensor") is not None:
        sized(made, [x.shape[i] if type(n) is int and n == 0 else n for i, n in enumerate(shape)])
    return activated(made, act, "reshape")


@layer
def unsqueeze(input, axes, name=None):
    """With axes of size 1 at the positions `axes` of the result.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.unsqueeze(dygraph.ones([2]), [0, 2]).shape
    (1, 2, 1)
    """
    return ops.unsqueeze(input, axes)


@layer
def expand(x, expand_times, name=None):
    """``x`` repeated along each axis by a list of counts, which may hold Variables or be one.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.expand(dygraph.to_variable([[1.0, 2.0]]), [2, 1]).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    if isinstance(expand_times, _core.Variable):
        return run("expand", {"X": x, "ExpandTimes": expand_times})["Out"]
    expand_times = variables(expand_times)
    inputs = {"X": x, "expand_times_tensor": number_tensors(expand_times)}
    times = plain_numbers(expand_times, "expand: times")
    made = run("expand", inputs, {"expand_times": times})["Out"]
    if inputs["expand_times_tensor"] is None:
        return made
    return sized(made, [n * t if n >= 0 <= t else -1 for n, t in zip(x.shape, times, strict=True)])


@layer
def roll(input, shifts, dims=None):
    """The elements rolled along `dims`, from the end to the front.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.roll(dygraph.to_variable([1.0, 2.0, 3.0]), 1, 0).tolist()
    [3.0, 1.0, 2.0]
    """
    return ops.roll(input, shifts, dims)


@layer
def t(input, name=None):
    """A transposed matrix; variables of one axis unchanged.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.t(dygraph.ones([2, 3])).shape
    (3, 2)
    """
    axes = len(check.variable(input, "t: input").shape)
    if axes > 2:
        raise InvalidArgumentError(f"t: input must have at most 2 axes, got {input.shape}")
    return input if axes < 2 else run("transpose2", {"X": input}, {"axis": [1, 0]})["Out"]


__all__ = [
    "concat", "expand", "expand_as", "flatten", "flip", "meshgrid", "reshape", "reverse", "roll",
    "split", "squeeze", "stack", "t", "transpose", "unsqueeze", "unstack",
]  # fmt: skip
