"""Functions of variables of `data`, for indices of any shape; Fluid's ``fluid.embedding``."""

from dygraph import ops
from dygraph.core import check
from dygraph.static.layers.learnt import looked_up
from dygraph.static.layers.making import layer, run

__all__ = ["embedding", "one_hot"]


@layer(parameters=True)
def embedding(
    input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None,
    dtype="float32",
):  # fmt: skip
    """The rows of a table that `input` selects, as an additional last axis.

    `layers.embedding` takes a last axis of 1 away from `input`.

    Parameters
    ----------
    input : Variable
        Row numbers of any shape, int64 or int32.
    size : list of int
        Rows and columns of the table.
    is_sparse : bool, default False
        Whether the gradient of the table is SelectedRows.
    is_distributed : bool, default False
        Whether `DistributeTranspiler` divides the table among the parameter servers; `is_sparse`
        must be True then. One process keeps the whole table.
    padding_idx : int, optional
        The row that reads as 0; a negative one counts from the end.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the table.
    dtype : str or dtype, default "float32"
        The type of the table.

    Returns
    -------
    Variable
        ``input.shape + (columns,)``, of the type `dtype`.

    Raises
    ------
    ArgumentTypeError
        `input` does not hold integers.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.embedding(static.data("words", [None, 1], "int64"), [1000, 8]).shape
    (-1, 1, 8)
    """
    return looked_up(
        "lookup_table_v2", input, size, is_sparse, padding_idx, param_attr, dtype, is_distributed
    )


@layer
def one_hot(input, depth, allow_out_of_range=False):
    """1 at the index that each number gives, 0 elsewhere, as an additional last axis.

    `layers.one_hot` takes a last axis of 1 away from `input`.

    Parameters
    ----------
    input : Variable
        int32 or int64, of any shape, from 0 to below `depth`.
    depth : int
        The length of the new axis.
    allow_out_of_range : bool, default False
        Whether other numbers give zeros; if not, they raise.

    Returns
    -------
    Variable
        float32, ``input.shape + (depth,)``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph import static
    >>> static.one_hot(to_variable([1, 0]), 3).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    check.variable(input, "one_hot: input")
    attrs = {
        "depth": check.integer(depth, "one_hot: depth", 1),
        "allow_out_of_range": bool(allow_out_of_range),
    }
    return run("one_hot", {"X": ops.unsqueeze2(input, axes=[-1])}, attrs)["Out"]
