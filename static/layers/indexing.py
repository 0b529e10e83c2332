"""Selection of elements, and writes to selected ones."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.making import layer, operator, run
from dygraph.static.layers.tensor import filled, number_tensors, plain_numbers
from dygraph.static.unknown_sizes import variables


@operator(input="X")
def gather_nd(input, index, name=None):
    """The parts of `input` at given indices."""


@operator(input="X")
def index_select(input, index, dim=0):
    """The parts along `dim` that `index` selects."""


@operator()
def index_sample(x, index):
    """The elements of each row of x that the row of `index` selects."""


@operator(ref="X")
def scatter_nd_add(ref, index, updates, name=None):
    """`ref` plus `updates` at indices."""


@operator(input="X", hash_size="mod_by")
def hash(input, hash_size, num_hash=1, name=None):
    """Hash values below `hash_size` for each row of integers."""


@operator(input="X")
def shard_index(input, index_num, nshards, shard_id, ignore_value=-1):
    """The indices that belong to a shard, counted from its first one."""


@operator(inputs="X", index="Ids")
def multiplex(inputs, index):
    """Row i of the variable that ``index[i]`` selects."""


@operator()
def gather_tree(ids, parents):
    """The paths of a beam search, traced back from their ends."""


@operator()
def unique(x, dtype="int32"):
    """The distinct elements in order of appearance, and the index of each element in them."""


@operator()
def unique_with_counts(x, dtype="int32"):
    """`unique`, with the count of each."""


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
            inputs[f"{slot}TensorList"] = number_tensors(values)
            unknown = unknown or inputs[f"{slot}TensorList"] is not None
            attrs[key] = plain_numbers(values, f"slice: {key}")
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
    attrs = {key: plain_numbers(value, f"strided_slice: {key}") for key, value in attrs.items()}
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


__all__ = [
    "crop", "crop_tensor", "gather", "gather_nd", "gather_tree", "hash", "index_sample",
    "index_select", "multiplex", "scatter", "scatter_nd", "scatter_nd_add", "shard_index", "slice",
    "strided_slice", "unique", "unique_with_counts",
]  # fmt: skip
