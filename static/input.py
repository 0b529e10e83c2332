"""Functions of variables of `data`, for indices of any shape; Fluid's ``fluid.embedding``."""

from dygraph import CPUPlace, ops
from dygraph.core import check
from dygraph.static.layers.learnt import looked_up
from dygraph.static.layers.making import layer, run

__all__ = ["cpu_places", "embedding", "one_hot"]


@layer(parameters=True)
def embedding(
    input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None,
    dtype="float32",
):  # fmt: skip
    """The rows of a table that `input` selects, as an additional last axis.

    Parameters
    ----------
    input : Variable
        int64 row indices, of any shape. (`layers.embedding` removes a last axis of 1.)
    size, is_sparse, is_distributed, padding_idx, param_attr, dtype
        As of `layers.embedding`.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.embedding(static.data("words", [None, 1], "int64"), [1000, 8]).shape
    (-1, 1, 8)
    """
    return looked_up("lookup_table_v2", input, size, is_sparse, padding_idx, param_attr, dtype)


@layer
def one_hot(input, depth, allow_out_of_range=False):
    """1 at the index that each number gives, 0 elsewhere, as an additional last axis.

    Parameters
    ----------
    input : Variable
        int32 or int64, of any shape. (`layers.one_hot` removes a last axis of 1.)
    depth : int
    allow_out_of_range : bool
        True: numbers outside ``[0, depth)`` give zeros.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.one_hot(static.data("label", [None], "int64"), 10).shape
    (-1, 10)
    """
    check.variable(input, "one_hot: input")
    attrs = {
        "depth": check.integer(depth, "one_hot: depth", 1),
        "allow_out_of_range": bool(allow_out_of_range),
    }
    return run("one_hot", {"X": ops.unsqueeze2(input, axes=[-1])}, attrs)["Out"]


def cpu_places(device_count=None):
    """A list of CPU places; one by default, since the processor is one device.

    >>> from dygraph import static
    >>> static.cpu_places(2)
    [CPUPlace(), CPUPlace()]
    """
    count = 1 if device_count is None else check.integer(device_count, "cpu_places: count", 1)
    return [CPUPlace()] * count
