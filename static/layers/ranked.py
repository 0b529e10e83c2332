"""Sequences sorted by length and split into steps, as DynamicRNN does, and rows split by a mask."""

from dygraph import _core, to_variable
from dygraph.core import check
from dygraph.errors import ArgumentTypeError
from dygraph.static.layers.arrays import one_index, whole
from dygraph.static.layers.making import layer, run
from dygraph.static.layers.sequence import with_levels
from dygraph.static.program import Variable

__all__ = [
    "array_to_lod_tensor", "lod_rank_table", "lod_tensor_to_array", "max_sequence_len",
    "merge_lod_tensor", "reorder_lod_tensor_by_rank", "shrink_memory", "split_lod_tensor",
]  # fmt: skip


def _table(table, what):
    if isinstance(table, Variable) and table.type != "LOD_RANK_TABLE":
        raise ArgumentTypeError(
            f"{what} must be a rank table of lod_rank_table, got '{table.name}', a {table.type}"
        )
    return table


@layer
def lod_rank_table(x, level=0):
    """Rank the sequences of `x` by length, the longest first; ties keep their order.

    Parameters
    ----------
    x : Variable
        With LoD.
    level : int
        The level of LoD whose sequences are ranked.

    Returns
    -------
    Variable
        A rank table: the numbers and lengths of the sequences in that order. `max_sequence_len`,
        `lod_tensor_to_array`, `array_to_lod_tensor`, `shrink_memory` and
        `reorder_lod_tensor_by_rank` take it.

    Raises
    ------
    ArgumentTypeError
        `x` is not a Variable.
    InvalidArgumentError
        `x` does not have that level of LoD; in a program, when it runs.

    Examples
    --------
    >>> import numpy as np, dygraph
    >>> from dygraph.static import layers
    >>> rows = np.array([[1], [2], [3]], "float32")
    >>> x = dygraph.to_variable(rows, lod=[[0, 1, 3]])  # [1] and [2, 3]
    >>> table = layers.lod_rank_table(x)
    >>> layers.reorder_lod_tensor_by_rank(x, table).tolist()
    [[2.0], [3.0], [1.0]]
    """
    check.variable(x, "lod_rank_table: x")
    attrs = {"level": check.integer(level, "lod_rank_table: level", 0)}
    return run("lod_rank_table", {"X": x}, attrs)["Out"]


@layer
def max_sequence_len(rank_table):
    """The length of the longest sequence of a rank table.

    Parameters
    ----------
    rank_table : Variable
        A result of `lod_rank_table`.

    Returns
    -------
    Variable
        One int64.

    Raises
    ------
    ArgumentTypeError
        `rank_table` is not a rank table.

    Examples
    --------
    >>> import numpy as np, dygraph
    >>> from dygraph.static import layers
    >>> rows = np.array([[1], [2], [3]], "float32")
    >>> x = dygraph.to_variable(rows, lod=[[0, 1, 3]])  # [1] and [2, 3]
    >>> layers.max_sequence_len(layers.lod_rank_table(x)).tolist()
    [2]
    """
    _table(rank_table, "max_sequence_len: rank_table")
    return run("max_sequence_len", {"RankTable": rank_table})["Out"]


@layer
def lod_tensor_to_array(x, table):
    """Split sequences into steps: element t holds row t of every sequence longer than t.

    Parameters
    ----------
    x : Variable
        With the LoD from which the table was made.
    table : Variable
        A result of `lod_rank_table`.

    Returns
    -------
    Variable or list of Variable
        An array of a program, or a list of eager Variables. Within an element, the row of the
        longest sequence comes first.

    Raises
    ------
    ArgumentTypeError
        `x` is not a Variable, or `table` is not a rank table.
    InvalidArgumentError
        `x` has other sequences than the table; in a program, when it runs.

    Examples
    --------
    >>> import numpy as np, dygraph
    >>> from dygraph.static import layers
    >>> rows = np.array([[1], [2], [3]], "float32")
    >>> x = dygraph.to_variable(rows, lod=[[0, 1, 3]])  # [1] and [2, 3]
    >>> table = layers.lod_rank_table(x)
    >>> steps = layers.lod_tensor_to_array(x, table)
    >>> [step.tolist() for step in steps]
    [[[2.0], [1.0]], [[3.0]]]
    >>> layers.array_to_lod_tensor(steps, table).tolist()
    [[1.0], [2.0], [3.0]]
    """
    check.variable(x, "lod_tensor_to_array: x")
    inputs = {"X": x, "RankTable": _table(table, "lod_tensor_to_array: table")}
    array = run("lod_tensor_to_array", inputs)["Out"]
    if isinstance(array, Variable):
        return array
    numbers = range(_core.array_length(array))
    return [_core.ops.read_from_array(array, to_variable([k])) for k in numbers]


@layer
def array_to_lod_tensor(x, table):
    """Join steps to sequences in their original order: the inverse of `lod_tensor_to_array`.

    Parameters
    ----------
    x : Variable or list
        An array with an element for each step.
    table : Variable
        A result of `lod_rank_table`.

    Returns
    -------
    Variable
        With the LoD of the table.

    Raises
    ------
    InvalidArgumentError
        No sequence has a step, or the array does not fit the table; in a program, when it runs.
    ArgumentTypeError
        `x` is not an array, or `table` is not a rank table.

    Examples
    --------
    >>> import numpy as np, dygraph
    >>> from dygraph.static import layers
    >>> rows = np.array([[1], [2], [3]], "float32")
    >>> x = dygraph.to_variable(rows, lod=[[0, 1, 3]])  # [1] and [2, 3]
    >>> table = layers.lod_rank_table(x)
    >>> steps = [step * 10.0 for step in layers.lod_tensor_to_array(x, table)]
    >>> joined = layers.array_to_lod_tensor(steps, table)
    >>> joined.tolist(), joined.lod()
    ([[10.0], [20.0], [30.0]], [[0, 1, 3]])
    """
    x = whole(x, "array_to_lod_tensor: x")
    inputs = {"X": x, "RankTable": _table(table, "array_to_lod_tensor: table")}
    result = run("array_to_lod_tensor", inputs)["Out"]
    return with_levels(result, x.lod_level + 1 if isinstance(x, Variable) else 0)


@layer
def shrink_memory(x, i, table):
    """The first rows of `x`: one for each sequence longer than `i` steps.

    Parameters
    ----------
    x : Variable
        One row for each sequence, in the order of the table.
    i : Variable
        One int64.
    table : Variable
        A result of `lod_rank_table`.

    Returns
    -------
    Variable

    Raises
    ------
    ArgumentTypeError
        `x` is not a Variable, `i` not an integer one, or `table` is not a rank table.
    InvalidArgumentError
        `i` does not hold exactly one element. When it runs: `x` has fewer rows than sequences are
        left, or more than the table has.
    OutOfRangeError
        `i` is negative; in a program, when it runs.

    Examples
    --------
    Sequences of 1 and 2 steps; in step 1 the longer one is left, whose row comes first:

    >>> import numpy as np, dygraph
    >>> from dygraph.static import layers
    >>> x = dygraph.to_variable(np.zeros((3, 1), "float32"), lod=[[0, 1, 3]])
    >>> table = layers.lod_rank_table(x)
    >>> memory = dygraph.to_variable([[5.0], [6.0]])
    >>> for step in (0, 1):
    ...     print(layers.shrink_memory(memory, dygraph.to_variable([step]), table).tolist())
    [[5.0], [6.0]]
    [[5.0]]
    """
    check.variable(x, "shrink_memory: x")
    inputs = {
        "X": x, "I": one_index(i, "shrink_memory: i"),
        "RankTable": _table(table, "shrink_memory: table"),
    }  # fmt: skip
    result = run("shrink_rnn_memory", inputs)["Out"]
    return with_levels(result, x.lod_level if isinstance(x, Variable) else 0)


@layer
def reorder_lod_tensor_by_rank(x, rank_table):
    """Reorder the sequences of `x`, or its rows if it has no LoD, to the order of the table.

    Parameters
    ----------
    x : Variable
        As many sequences or rows as the table has sequences.
    rank_table : Variable
        A result of `lod_rank_table`.

    Returns
    -------
    Variable

    Raises
    ------
    ArgumentTypeError
        `x` is not a Variable, or `rank_table` is not a rank table.
    InvalidArgumentError
        `x` has another number of sequences or rows than the table; in a program, when it runs.

    Examples
    --------
    >>> import numpy as np, dygraph
    >>> from dygraph.static import layers
    >>> x = dygraph.to_variable(np.zeros((3, 1), "float32"), lod=[[0, 1, 3]])
    >>> table = layers.lod_rank_table(x)  # the second sequence is the longer one
    >>> layers.reorder_lod_tensor_by_rank(dygraph.to_variable([[5.0], [6.0]]), table).tolist()
    [[6.0], [5.0]]
    """
    check.variable(x, "reorder_lod_tensor_by_rank: x")
    inputs = {"X": x, "RankTable": _table(rank_table, "reorder_lod_tensor_by_rank: rank_table")}
    return run("reorder_lod_tensor_by_rank", inputs)["Out"]


# By a mask ----------------------------------------------------------------------------------------


@layer
def split_lod_tensor(input, mask, level=0):
    """Split the rows, or sequences, of `input` by a mask.

    Parameters
    ----------
    input : Variable
        Rows of any type, with or without LoD.
    mask : Variable
        bool ``[rows, 1]``, one for each row or sequence.
    level : int
        The level of LoD whose sequences are kept whole.

    Returns
    -------
    (Variable, Variable)
        Those where `mask` is true, and the others.

    Raises
    ------
    ArgumentTypeError
        `input` or `mask` is not a Variable, or `mask` not of bool.
    InvalidArgumentError
        `mask` does not have an element for each row or sequence, or there is no such level; in a
        program, when it runs.

    Examples
    --------
    >>> import numpy as np, dygraph
    >>> from dygraph.static import layers
    >>> x = dygraph.to_variable(np.array([[1], [2], [3]], "float32"))
    >>> large, small = layers.split_lod_tensor(x, x > 1.5)
    >>> large.tolist(), small.tolist()
    ([[2.0], [3.0]], [[1.0]])
    >>> layers.merge_lod_tensor(large * 10.0, small, x, x > 1.5).tolist()
    [[1.0], [20.0], [30.0]]
    """
    check.variable(input, "split_lod_tensor: input")
    attrs = {"level": check.integer(level, "split_lod_tensor: level", 0)}
    found = run("split_lod_tensor", {"X": input, "Mask": mask}, attrs)
    return found["OutTrue"], found["OutFalse"]


@layer
def merge_lod_tensor(in_true, in_false, x, mask, level=0):
    """Merge rows or sequences by a mask: the inverse of `split_lod_tensor`.

    Parameters
    ----------
    in_true, in_false : Variable
        The rows for those places where `mask` is true, and for the others.
    x : Variable
        The result takes its LoD.
    mask : Variable
        bool ``[rows, 1]``.
    level : int
        The level of LoD whose sequences are kept whole.

    Returns
    -------
    Variable

    Raises
    ------
    ArgumentTypeError
        An argument is not a Variable, or `mask` is not of bool.
    InvalidArgumentError
        `in_true` or `in_false` does not have a row or sequence for each of its places, their rows
        differ in shape, or `mask` does not fit `x`; in a program, when it runs.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> x = dygraph.to_variable([[1.0], [2.0], [3.0]])
    >>> odd = dygraph.to_variable([[True], [False], [True]])
    >>> a, b = dygraph.to_variable([[10.0], [30.0]]), dygraph.to_variable([[-2.0]])
    >>> layers.merge_lod_tensor(a, b, x, odd).tolist()
    [[10.0], [-2.0], [30.0]]
    """
    check.variable(in_true, "merge_lod_tensor: in_true")
    inputs = {"X": x, "Mask": mask, "InTrue": in_true, "InFalse": in_false}
    attrs = {"level": check.integer(level, "merge_lod_tensor: level", 0)}
    return run("merge_lod_tensor", inputs, attrs)["Out"]
