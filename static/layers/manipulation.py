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
    """The axes in another order: axis `i` of the result is axis ``perm[i]`` of `x`.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    perm : list of int
        A permutation of the axes.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[x.shape[i] for i in perm]``, of the type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.transpose(to_variable([[1, 2, 3], [4, 5, 6]]), [1, 0]).tolist()
    [[1, 4], [2, 5], [3, 6]]
    """


@operator("flatten2")
def flatten(x, axis=1, name=None):
    """`x` as a matrix: the axes before `axis` make its rows, the others its columns.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    axis : int, default 1
        The first axis of the columns, from 0 to the number of axes.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        Two axes, of the type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> layers.flatten(dygraph.ones([2, 3, 4]), axis=2).shape
    (6, 4)
    """


@operator()
def stack(x, axis=0):
    """Variables of one shape along a new axis.

    Parameters
    ----------
    x : list of Variable
        Of one shape and any one type.
    axis : int, default 0
        The place of the new axis; negative ones count from the end.

    Returns
    -------
    Variable
        Their shape with ``len(x)`` put in at `axis`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.stack([to_variable([1, 2]), to_variable([3, 4])], axis=1).tolist()
    [[1, 3], [2, 4]]
    """


@operator()
def reverse(x, axis):
    """The elements in reverse order along one axis or several.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    axis : int or list of int
        The axes; negative ones count from the end.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.reverse(to_variable([[1, 2], [3, 4]]), axis=0).tolist()
    [[3, 4], [1, 2]]
    """


@operator(input="X")
def flip(input, dims, name=None):
    """The elements in reverse order along axes.

    Parameters
    ----------
    input : Variable
        Any shape and type.
    dims : list of int
        The axes; negative ones count from the end.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.flip(to_variable([[1, 2], [3, 4]]), dims=[0, 1]).tolist()
    [[4, 3], [2, 1]]
    """


@operator()
def expand_as(x, target_tensor, name=None):
    """`x`, repeated along each axis up to the shape of `target_tensor`.

    Parameters
    ----------
    x : Variable
        Any shape and type; its sizes divide those of `target_tensor`.
    target_tensor : Variable
        As many axes as `x`; only its shape is read.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape of `target_tensor`, the type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.expand_as(to_variable([[1, 2]]), dygraph.ones([2, 2])).tolist()
    [[1, 2], [1, 2]]
    """


@operator(input="X")
def meshgrid(input, name=None):
    """The coordinates of the points of a grid: ``out[i][k_0, k_1, ...] = input[i][k_i]``.

    Parameters
    ----------
    input : list of Variable
        One axis each, any one type.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    list of Variable
        One for each input, in the shape of the grid.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = layers.meshgrid([to_variable([1, 2]), to_variable([5, 6, 7])])
    >>> x.tolist(), y.tolist()
    ([[1, 1, 1], [2, 2, 2]], [[5, 6, 7], [5, 6, 7]])
    """


@layer
def squeeze(input, axes, name=None):
    """`x` without axes of size 1.

    Parameters
    ----------
    input : Variable
        Any shape and type.
    axes : list of int
        The axes to drop if their size is 1; an empty list: all of size 1. An axis of open size must
        have one element in the run.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The elements of `input`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> layers.squeeze(dygraph.ones([1, 2, 1]), [0]).shape
    (2, 1)
    """
    return ops.squeeze(input, axes if _core.holds_symbol(axes) else list(axes) or None)


@layer
def concat(input, axis=0, name=None):
    """Variables one after the other along an axis.

    Parameters
    ----------
    input : list of Variable
        Of one type, and of one shape but for `axis`.
    axis : int or Variable, default 0
        Negative ones count from the end; a Variable must have one element.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The sum of the sizes along `axis`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.concat([to_variable([[1], [2]]), to_variable([[3], [4]])], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    parts = list(input) if isinstance(input, (list, tuple)) else [input]
    if isinstance(axis, _core.Variable):
        return run("concat", {"X": parts, "AxisTensor": axis})["Out"]
    return run("concat", {"X": parts}, {"axis": check.integer(axis, "concat: axis")})["Out"]


@layer
def split(input, num_or_sections, dim=-1, name=None):
    """The parts of a variable along an axis.

    Parameters
    ----------
    input : Variable
        At least one axis, any type.
    num_or_sections : int or list of int
        How many equal parts; or the size of each, where one may be -1 for the rest.
    dim : int, default -1
        The axis; negative ones count from the end.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    list of Variable
        The parts, of the type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [v.tolist() for v in layers.split(to_variable([1.0, 2.0, 3.0]), [1, -1])]
    [[1.0], [2.0, 3.0]]
    >>> [v.tolist() for v in layers.split(to_variable([1.0, 2.0, 3.0, 4.0]), 2)]
    [[1.0, 2.0], [3.0, 4.0]]
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
    """The parts along an axis, without that axis.

    Parameters
    ----------
    x : Variable
        At least one axis, any type.
    axis : int, default 0
        Negative ones count from the end.
    num : int, optional
        The size of the axis, where it is unknown.

    Returns
    -------
    list of Variable
        As many as the size of the axis.

    Raises
    ------
    InvalidArgumentError
        The size of the axis is unknown, and `num` is not given.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [v.tolist() for v in layers.unstack(to_variable([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
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
    """The elements of `x` in another shape.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    shape : list of int or Variable
        The sizes: -1, at most once, for what the others leave over; 0 for the size of `x` at that
        place. Variables of one element may stand among them.
    actual_shape : Variable, optional
        The sizes as int32, in place of `shape`.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    inplace : bool, default False
        Accepted as in Fluid; not used.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The elements of `x`, in order.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> layers.reshape(dygraph.ones([2, 6]), [0, -1, 3]).shape
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
    """`input` with axes of size 1 put in.

    Parameters
    ----------
    input : Variable
        Any shape and type.
    axes : int, list of int or Variable
        The places of the new axes in the result; negative ones count from the end.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The elements of `input`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> layers.unsqueeze(dygraph.ones([2]), [0, 2]).shape
    (1, 2, 1)
    """
    return ops.unsqueeze(input, axes)


@layer
def expand(x, expand_times, name=None):
    """`x`, repeated along each axis.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    expand_times : list of int or Variable
        How often along each axis; Variables of one element may stand among the numbers.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        Each size times its count, of the type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.expand(to_variable([[1.0, 2.0]]), [2, 1]).tolist()
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
    """The elements moved along axes; those that leave at the end come in at the front.

    Parameters
    ----------
    input : Variable
        Any shape and type.
    shifts : int or list of int
        How far along each of `dims`; negative ones move to the front.
    dims : int or list of int, optional
        The axes; None: the variable is rolled as one row.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.roll(to_variable([1.0, 2.0, 3.0]), 1, 0).tolist()
    [3.0, 1.0, 2.0]
    """
    return ops.roll(input, shifts, dims)


@layer
def t(input, name=None):
    """The transposed matrix; variables of fewer than two axes unchanged.

    Parameters
    ----------
    input : Variable
        At most two axes, any type.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[columns, rows]``

    Raises
    ------
    InvalidArgumentError
        `input` has more than two axes.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.t(to_variable([[1, 2, 3]])).tolist()
    [[1], [2], [3]]
    """
    return input if len(check.variable(input, "t: input").shape) < 2 else ops.t(input)


__all__ = [
    "concat", "expand", "expand_as", "flatten", "flip", "meshgrid", "reshape", "reverse", "roll",
    "split", "squeeze", "stack", "t", "transpose", "unsqueeze", "unstack",
]  # fmt: skip
