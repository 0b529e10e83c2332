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
from dygraph.static.layers.making import activated, attributes, layer, run, table
from dygraph.static.layers.tensor import assign, filled, sized
from dygraph.static.unknown_sizes import numbers, variables

_FUNCTIONS = table([
    ("transpose(x, perm, name=None)", "The axes in another order.", "transpose2", "perm=axis"),
    ("flatten(x, axis=1, name=None)", "A matrix: the axes before `axis` are its rows.", "flatten2"),
    ("stack(x, axis=0)", "Variables of one shape along a new axis."),
    ("gather_nd(input, index, name=None)", "The parts of `input` at given indices.", "", "input=X"),
    ("index_select(input, index, dim=0)", "The parts along `dim` that `index` selects.", "",
     "input=X"),
    ("index_sample(x, index)", "The elements of each row of x that the row of `index` selects."),
    ("scatter_nd_add(ref, index, updates, name=None)", "`ref` plus `updates` at indices.", "",
     "ref=X"),
    ("reverse(x, axis)", "In reverse order along an axis or several."),
    ("flip(input, dims, name=None)", "In reverse order along axes.", "", "input=X"),
    ("expand_as(x, target_tensor, name=None)", "x repeated up to the shape of `target_tensor`."),
    ("hash(input, hash_size, num_hash=1, name=None)",
     "Hash values below `hash_size` for each row of integers.", "",
     "input=X hash_size=mod_by"),
    ("pad(x, paddings, pad_value=0.0, name=None)", "Padded before and after each axis."),
    ("pad_constant_like(x, y, pad_value=0.0, name=None)", "y, padded up to the shape of x."),
    (
        "pad2d(input, paddings=[0, 0, 0, 0], mode='constant', pad_value=0.0, data_format='NCHW', "
        "name=None)",
        "Images padded with pixels above, below, left and right.", "", "input=X",
    ),
    ("shard_index(input, index_num, nshards, shard_id, ignore_value=-1)",
     "The indices that belong to a shard, counted from its first one.", "", "input=X"),
    ("multiplex(inputs, index)", "Row i of the variable that ``index[i]`` selects.", "",
     "inputs=X index=Ids"),
    ("gather_tree(ids, parents)", "The paths of a beam search, traced back from their ends."),
    ("meshgrid(input, name=None)", "Variables of one axis as grids, each along another axis.", "",
     "input=X"),
    ("unique(x, dtype='int32')", "The distinct elements in order of appearance, and the "
     "index of each element in them."),
    ("unique_with_counts(x, dtype='int32')", "`unique`, with the count of each."),
])  # fmt: skip
__getattr__ = attributes(_FUNCTIONS, __name__)


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
        attrs["shape"] = _numbers(shape, "reshape: shape")
        inputs["ShapeTensor"] = _tensors(shape)
    made = run("reshape2", inputs, attrs)["Out"]
    if inputs.get("ShapeTensor") is not None:
        sized(made, [x.shape[i] if type(n) is int and n == 0 else n for i, n in enumerate(shape)])
    return activated(made, act, "reshape")


def _numbers(values, what):
    """The numbers of a list, with -1 for Variables."""
    return [-1 if isinstance(v, _core.Variable) else check.integer(v, what) for v in values]


def _tensors(values):
    """A Variable for each number of a list that holds Variables; None without Variables."""
    if not any(isinstance(v, _core.Variable) for v in values):
        return None
    return [v if isinstance(v, _core.Variable) else filled([1], "int32", v, "") for v in values]


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


@layer
def slice(input, axes, starts, ends):
    """The range from `starts` to before `ends` of each of `axes`; both may be Variables.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.slice(dygraph.to_variable([1.0, 2.0, 3.0]), [0], [1], [3]).tolist()
    [2.0, 3.0]
    """
    inputs, attrs = {"Input": input}, {"axes": list(axes)}
    unknown = False
    for slot, key, values in (("Starts", "starts", starts), ("Ends", "ends", ends)):
        if isinstance(values, _core.Variable):
            inputs[f"{slot}Tensor"], unknown = values, True
        else:
            values = variables(values)
            inputs[f"{slot}TensorList"] = _tensors(values)
            unknown = unknown or inputs[f"{slot}TensorList"] is not None
            attrs[key] = _numbers(values, f"slice: {key}")
    if unknown:
        attrs["infer_flags"] = [-1] * len(attrs["axes"])
    return run("slice", inputs, attrs)["Out"]


@layer
def strided_slice(input, axes, starts, ends, strides):
    """`slice` with steps `strides`.

    >>> import dygraph
    >>> from dygraph import static
    >>> x = dygraph.to_variable([1.0, 2.0, 3.0])
    >>> static.layers.strided_slice(x, [0], [0], [3], [2]).tolist()
    [1.0, 3.0]
    """
    attrs = {"axes": axes, "starts": starts, "ends": ends, "strides": strides}
    attrs = {key: _numbers(value, f"strided_slice: {key}") for key, value in attrs.items()}
    return run("strided_slice", {"Input": input}, attrs)["Out"]


@layer
def crop(x, shape=None, offsets=None, name=None):
    """A part of ``x`` of `shape`, numbers or a Variable of that shape, from `offsets` on.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.crop(dygraph.to_variable([1.0, 2.0, 3.0]), [2], [1]).tolist()
    [2.0, 3.0]
    """
    return _cropped("crop", "Y", x, shape, offsets)


@layer
def crop_tensor(x, shape=None, offsets=None, name=None):
    """A part of ``x`` of `shape`, numbers or a Variable that holds them, from `offsets` on.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.crop_tensor(dygraph.to_variable([1.0, 2.0, 3.0]), [2], [1]).tolist()
    [2.0, 3.0]
    """
    return _cropped("crop_tensor", "Shape", x, shape, offsets)


def _cropped(op, slot, x, shape, offsets):
    check.variable(x, f"{op}: x")
    inputs, attrs = {"X": x}, {}
    if isinstance(shape, _core.Variable):
        inputs[slot] = shape
        attrs["shape"] = None if op == "crop" else [-1] * len(x.shape)
    else:
        attrs["shape"] = list(x.shape if shape is None else shape)
        if op == "crop" and any(type(n) is int and n < 0 for n in attrs["shape"]):
            raise check.open_size(
                f"crop: the sizes of the part must be known, got {attrs['shape']}",
                "Use static.layers.crop_tensor, where -1 is what follows the offset",
                InvalidArgumentError,
            )
    if isinstance(offsets, _core.Variable):
        inputs["Offsets"] = offsets
    else:
        attrs["offsets"] = [0] * len(x.shape) if offsets is None else list(offsets)
    return run(op, inputs, attrs)["Out"]


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
    inputs = {"X": x, "expand_times_tensor": _tensors(expand_times)}
    times = _numbers(expand_times, "expand: times")
    made = run("expand", inputs, {"expand_times": times})["Out"]
    if inputs["expand_times_tensor"] is None:
        return made
    return sized(made, [n * t if n >= 0 <= t else -1 for n, t in zip(x.shape, times, strict=True)])


@layer
def gather(input, index, overwrite=True):
    """The rows of `input` that `index` selects; `overwrite` is for the gradient.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.gather(dygraph.to_variable([5.0, 6.0]), dygraph.to_variable([1])).tolist()
    [6.0]
    """
    return run("gather", {"X": input, "Index": index}, {"overwrite": overwrite})["Out"]


@layer
def scatter(input, index, updates, name=None, overwrite=True):
    """`input` with the rows that `index` selects replaced by `updates`, or increased by them.

    >>> import dygraph
    >>> from dygraph import static
    >>> x, two = dygraph.zeros([3]), dygraph.to_variable([2])
    >>> static.layers.scatter(x, two, dygraph.ones([1])).tolist()
    [0.0, 0.0, 1.0]
    """
    inputs = {"X": input, "Ids": index, "Updates": updates}
    return run("scatter", inputs, {"overwrite": overwrite})["Out"]


@layer
def scatter_nd(index, updates, shape, name=None):
    """Zeros of `shape` with `updates` added at the positions of `index`.

    >>> import dygraph
    >>> from dygraph import static
    >>> places, values = dygraph.to_variable([[1], [1]]), dygraph.to_variable([9.0, 1.0])
    >>> static.layers.scatter_nd(places, values, [3]).tolist()
    [0.0, 10.0, 0.0]
    """
    check.variable(updates, "scatter_nd: updates")
    base = filled(check.shape(shape, "scatter_nd: shape"), updates.dtype, 0, "scatter_nd")
    return run("scatter_nd_add", {"X": base, "Index": index, "Updates": updates})["Out"]


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


__all__ = sorted([
    *_FUNCTIONS, "concat", "crop", "crop_tensor", "diag_embed", "expand", "gather", "reshape",
    "roll", "scatter", "scatter_nd", "slice", "split", "squeeze", "strided_slice", "t", "unsqueeze",
    "unstack",
])  # fmt: skip
