"""Selection of elements, and writes to selected ones."""

from dygraph import _core, ops
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.making import layer, operator, run
from dygraph.static.layers.tensor import number_tensors, plain_numbers
from dygraph.static.unknown_sizes import variables


@operator(input="X")
def gather_nd(input, index, name=None):
    """The parts of `input` at the places that the rows of `index` give.

    ``out[i] = input[index[i, 0], ..., index[i, k - 1]]``, where a place has `k` numbers.

    Parameters
    ----------
    input : Variable
        At least `k` axes, any type.
    index : Variable
        int32 or int64 ``[..., k]``; negative numbers count from the end.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``index.shape[:-1] + input.shape[k:]``

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1, 2], [3, 4]])
    >>> layers.gather_nd(x, to_variable([[0, 1], [1, 0]])).tolist()
    [2, 3]
    >>> layers.gather_nd(x, to_variable([[1]])).tolist()
    [[3, 4]]
    """


@operator(input="X")
def index_select(input, index, dim=0):
    """The parts along `dim` whose numbers `index` holds.

    Parameters
    ----------
    input : Variable
        At least one axis, any type.
    index : Variable
        int32 or int64 ``[n]``; negative numbers count from the end.
    dim : int, default 0
        The axis to select along.

    Returns
    -------
    Variable
        The shape of `input` with `n` along `dim`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1, 2, 3], [4, 5, 6]])
    >>> layers.index_select(x, to_variable([2, 0]), dim=1).tolist()
    [[3, 1], [6, 4]]
    """


@operator()
def index_sample(x, index):
    """From each row its own elements: ``out[i, j] = x[i, index[i, j]]``.

    Parameters
    ----------
    x : Variable
        ``[rows, n]``, any type.
    index : Variable
        int32 or int64 ``[rows, m]``; negative numbers count from the end.

    Returns
    -------
    Variable
        ``[rows, m]``, of the type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([[1, 2, 3], [4, 5, 6]]), to_variable([[0, 2], [1, 1]])
    >>> layers.index_sample(x, y).tolist()
    [[1, 3], [5, 5]]
    """


@operator(ref="X")
def scatter_nd_add(ref, index, updates, name=None):
    """`ref` with `updates` added at the places that the rows of `index` give.

    ``out[index[i, 0], ..., index[i, k - 1]] += updates[i]``; places that repeat add up.

    Parameters
    ----------
    ref : Variable
        At least `k` axes; float32, float64 or an integer type.
    index : Variable
        int32 or int64 ``[..., k]``; negative numbers count from the end.
    updates : Variable
        ``index.shape[:-1] + ref.shape[k:]``, of the type of `ref`.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `ref`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> ref = to_variable([1.0, 1.0, 1.0])
    >>> layers.scatter_nd_add(ref, to_variable([[1], [1]]), to_variable([9.0, 2.0])).tolist()
    [1.0, 12.0, 1.0]
    """


@operator(input="X", hash_size="mod_by")
def hash(input, hash_size, num_hash=1, name=None):
    """Hash values of rows of integers: XXH64 of a row's bytes, with seeds 0, 1, ..., modulo
    `hash_size`.

    Parameters
    ----------
    input : Variable
        int32 or int64 ``[..., row]``.
    hash_size : int
        Hash values lie below it.
    num_hash : int, default 1
        How many hash values of each row.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        int64 ``[..., num_hash, 1]``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> out = layers.hash(to_variable([[1, 2], [1, 2]]), hash_size=100, num_hash=3)
    >>> out.shape, out[0].tolist() == out[1].tolist(), bool((out < 100).all())
    ((2, 3, 1), True, True)
    """


@operator(input="X")
def shard_index(input, index_num, nshards, shard_id, ignore_value=-1):
    """The place of each index on one of several shards.

    Each shard has ``ceil(index_num / nshards)`` indices.

    Parameters
    ----------
    input : Variable
        int32 or int64 ``[..., 1]``, from 0 to below `index_num`.
    index_num : int
        How many indices there are.
    nshards : int
        How many shards.
    shard_id : int
        The shard asked for, from 0 to below `nshards`.
    ignore_value : int, default -1
        Stands for indices of other shards.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.shard_index(to_variable([[1], [11]]), index_num=20, nshards=2, shard_id=1).tolist()
    [[-1], [1]]
    """


@operator(inputs="X", index="Ids")
def multiplex(inputs, index):
    """Row `i` of the variable whose number ``index[i]`` is.

    Parameters
    ----------
    inputs : list of Variable
        Of one shape ``[rows, ...]`` and any one type.
    index : Variable
        int32 or int64 ``[rows, 1]``.

    Returns
    -------
    Variable
        The shape and type of the inputs.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([[1], [2]]), to_variable([[10], [20]])
    >>> layers.multiplex([x, y], to_variable([[1], [0]])).tolist()
    [[10], [2]]
    """


@operator()
def gather_tree(ids, parents):
    """The whole sequences of a beam search, traced back from their last step.

    Parameters
    ----------
    ids : Variable
        What each beam chose at each step, int32 or int64 ``[time, batch, beam]``.
    parents : Variable
        The beam of the step before that each beam continues, of the shape of `ids`.

    Returns
    -------
    Variable
        The shape and type of `ids`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> ids = to_variable([[[1, 2]], [[3, 4]]])
    >>> parents = to_variable([[[0, 0]], [[1, 0]]])
    >>> layers.gather_tree(ids, parents).tolist()
    [[[2, 1]], [[3, 4]]]
    """


@operator()
def unique(x, dtype="int32"):
    """The distinct elements in order of first appearance, and the place of each element in them.

    Parameters
    ----------
    x : Variable
        One axis; float32, float64, int32 or int64.
    dtype : str or dtype, default "int32"
        The type of the indices, int32 or int64.

    Returns
    -------
    out : Variable
        ``[count]``, of the type of `x`.
    index : Variable
        The shape of `x`: ``x = out[index]``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> out, index = layers.unique(to_variable([5, 2, 5, 3]))
    >>> out.tolist(), index.tolist()
    ([5, 2, 3], [0, 1, 0, 2])
    """


@operator()
def unique_with_counts(x, dtype="int32"):
    """`unique`, and how often each distinct element appears.

    Parameters
    ----------
    x : Variable
        One axis; float32, float64, int32 or int64.
    dtype : str or dtype, default "int32"
        The type of the indices and counts, int32 or int64.

    Returns
    -------
    out : Variable
        ``[count]``, of the type of `x`.
    index : Variable
        The shape of `x`: ``x = out[index]``.
    counts : Variable
        The shape of `out`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> out, index, counts = layers.unique_with_counts(to_variable([5, 2, 5, 3]))
    >>> out.tolist(), counts.tolist()
    ([5, 2, 3], [2, 1, 1])
    """


@layer
def slice(input, axes, starts, ends):
    """The range from `starts` to before `ends` along axes.

    Parameters
    ----------
    input : Variable
        Any shape and type.
    axes : list of int
        The axes to cut.
    starts, ends : list of int or Variable
        One number for each of `axes`; negative ones count from the end, too great ones stop at it.
        Variables of one element may stand among them.

    Returns
    -------
    Variable
        The shape of `input` but for `axes`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1, 2, 3], [4, 5, 6]])
    >>> layers.slice(x, axes=[1], starts=[1], ends=[3]).tolist()
    [[2, 3], [5, 6]]
    """
    inputs, attrs = {"Input": input}, {"axes": list(axes)}
    unknown = False
    for slot, key, values in (("Starts", "starts", starts), ("Ends", "ends", ends)):
        if isinstance(values, _core.Variable):
            inputs[f"{slot}Tensor"], unknown = values, True
        else:
            values = variables(values)
            inputs[f"{slot}TensorList"] = number_tensors(values)
            unknown = unknown or inputs[f"{slot}TensorList"] is not None
            attrs[key] = plain_numbers(values, f"slice: {key}")
    if unknown:
        attrs["infer_flags"] = [-1] * len(attrs["axes"])
    return run("slice", inputs, attrs)["Out"]


@layer
def strided_slice(input, axes, starts, ends, strides):
    """Every `strides`-th element from `starts` to before `ends` along axes.

    Parameters
    ----------
    input : Variable
        Any shape and type.
    axes : list of int
        The axes to cut.
    starts, ends : list of int
        One number for each of `axes`; negative ones count from the end.
    strides : list of int
        The steps, not 0; a negative one goes backward.

    Returns
    -------
    Variable
        The shape of `input` but for `axes`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([1.0, 2.0, 3.0, 4.0])
    >>> layers.strided_slice(x, [0], [0], [4], [2]).tolist()
    [1.0, 3.0]
    """
    attrs = {"axes": axes, "starts": starts, "ends": ends, "strides": strides}
    attrs = {key: plain_numbers(value, f"strided_slice: {key}") for key, value in attrs.items()}
    return run("strided_slice", {"Input": input}, attrs)["Out"]


@layer
def crop(x, shape=None, offsets=None, name=None):
    """The part of `x` of the sizes `shape` that begins at `offsets`.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    shape : list of int or Variable, optional
        The sizes; a Variable gives its own shape. None: the shape of `x`.
    offsets : list of int or Variable, optional
        One for each axis; a Variable holds them. None: 0.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        Of the given shape, of the type of `x`.

    Raises
    ------
    InvalidArgumentError
        A size in `shape` is unknown.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.crop(to_variable([[1, 2, 3], [4, 5, 6]]), [1, 2], [1, 0]).tolist()
    [[4, 5]]
    """
    return _cropped("crop", "Y", x, shape, offsets)


@layer
def crop_tensor(x, shape=None, offsets=None, name=None):
    """The part of `x` of the sizes `shape` that begins at `offsets`; -1 is all that follows the
    offset.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    shape : list of int or Variable, optional
        The sizes; a Variable holds them. None: the shape of `x`.
    offsets : list of int or Variable, optional
        One for each axis; a Variable holds them. None: 0.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        Of the given shape, of the type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.crop_tensor(to_variable([[1, 2, 3], [4, 5, 6]]), [1, -1], [1, 1]).tolist()
    [[5, 6]]
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
def gather(input, index, overwrite=True):
    """The rows of `input` whose numbers `index` holds.

    Parameters
    ----------
    input : Variable
        At least one axis, any type.
    index : Variable
        int32 or int64 ``[n]`` or ``[n, 1]``.
    overwrite : bool, default True
        For the gradient of rows that repeat: whether the last one counts, or their sum.

    Returns
    -------
    Variable
        ``[n] + input.shape[1:]``

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.gather(to_variable([[1, 2], [3, 4]]), to_variable([1, 1])).tolist()
    [[3, 4], [3, 4]]
    """
    return run("gather", {"X": input, "Index": index}, {"overwrite": overwrite})["Out"]


@layer
def scatter(input, index, updates, name=None, overwrite=True):
    """`input` with `updates` in the rows whose numbers `index` holds.

    Parameters
    ----------
    input : Variable
        At least one axis; float32, float64, int32 or int64.
    index : Variable
        int32 or int64 ``[n]``.
    updates : Variable
        ``[n] + input.shape[1:]``, of the type of `input`.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    overwrite : bool, default True
        True: `updates` replace the rows. False: the sum of the updates of a row replaces it.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, updates = dygraph.ones([3]), to_variable([5.0])
    >>> layers.scatter(x, to_variable([2]), updates).tolist()
    [1.0, 1.0, 5.0]
    """
    inputs = {"X": input, "Ids": index, "Updates": updates}
    return run("scatter", inputs, {"overwrite": overwrite})["Out"]


scatter_nd = layer(ops.scatter_nd)


__all__ = [
    "crop", "crop_tensor", "gather", "gather_nd", "gather_tree", "hash", "index_sample",
    "index_select", "multiplex", "scatter", "scatter_nd", "scatter_nd_add", "shard_index", "slice",
    "strided_slice", "unique", "unique_with_counts",
]  # fmt: skip
