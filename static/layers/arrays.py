"""Arrays: lists of tensors that a program writes and reads by index.

On eager Variables an array is a Python list.

Examples
--------
>>> import dygraph
>>> from static import layers
>>> zero = dygraph.to_variable([0])
>>> array = layers.array_write(dygraph.to_variable([1.0, 2.0]), zero)
>>> layers.array_read(array, zero).tolist(), layers.array_length(array).tolist()
([1.0, 2.0], [1])
"""

from dygraph import _core, check, to_variable, unique_name
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    PreconditionNotMetError,
    kind_of,
)
from static import bodies
from static.layers.making import layer, run
from static.layers.sequence import with_levels
from static.program import Variable, default_main_program

__all__ = [
    "array_length", "array_read", "array_to_lod_tensor", "array_write", "create_array",
    "lod_rank_table", "lod_tensor_to_array", "max_sequence_len", "merge_lod_tensor",
    "reorder_lod_tensor_by_rank", "shrink_memory", "split_lod_tensor", "tensor_array_to_tensor",
]  # fmt: skip

_ARRAY, _TABLE = "LOD_TENSOR_ARRAY", "LOD_RANK_TABLE"


def _is_array(value):
    return isinstance(value, Variable) and value.type == _ARRAY


def _array(value, what):
    """Check for an array of a program or a Python list."""
    if not _is_array(value) and not isinstance(value, list):
        given = f"'{value.name}', a {value.type}" if isinstance(value, Variable) else kind_of(value)
        raise ArgumentTypeError(
            f"{what} must be an array of create_array or array_write, got {given}"
        )
    return value


def _held(array):
    """The array as one Variable, as operators take it; a list is converted."""
    if not isinstance(array, list):
        return array
    held = None
    for number, element in enumerate(array):
        if element is not None:
            held = _core.ops.write_to_array(element, to_variable([number]), array=held)
    if held is None:
        raise InvalidArgumentError("an array must hold an element, got an empty list")
    return held


def _index(i, what):
    """Check for a Variable of one integer."""
    if not isinstance(i, _core.Variable):
        raise ArgumentTypeError(
            f"{what} must be a Variable of one int64, got {kind_of(i)}. Make one with "
            "layers.fill_constant([1], 'int64', number)"
        )
    if str(i.dtype) not in ("int32", "int64"):
        raise ArgumentTypeError(f"{what} must be a Variable of one int64, got {i.dtype}")
    shape = tuple(i.desc.shape if isinstance(i, Variable) else i.shape)
    if any(n != 1 for n in shape):
        raise check.open_size(
            f"{what} must hold one integer, got shape {shape}",
            "Declare or reduce it to one element",
            InvalidArgumentError,
        )
    return i


def _table(table, what):
    if isinstance(table, Variable) and table.type != _TABLE:
        raise ArgumentTypeError(
            f"{what} must be a rank table of lod_rank_table, got '{table.name}', a {table.type}"
        )
    return table


def _new(kind, owner, program, dtype=None, name=None):
    """A variable of the current block that is not a tensor."""
    return program.current_block().create_var(
        name=name or f"{unique_name.generate(owner)}.out", type=kind, dtype=dtype
    )


def create_array(dtype):
    """An empty array in the default main program, for `array_write`.

    Parameters
    ----------
    dtype : str or dtype
        The type of its elements.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.create_array("float32").type
    'LOD_TENSOR_ARRAY'
    """
    return _new(_ARRAY, "array", default_main_program(), dtype)


def array_write(x, i, array=None):
    """Write `x` to index `i` of an array, which grows as needed.

    Parameters
    ----------
    x : Variable
        Of any shape.
    i : Variable
        One int64, at least 0.
    array : Variable or list, optional
        None: a new array. A list takes eager Variables.

    Returns
    -------
    Variable or list
        The array.

    Raises
    ------
    ArgumentTypeError
        `i` is not an integer Variable, `array` is not an array, or its elements have another type.
    InvalidArgumentError
        `i` does not hold exactly one element, or the variables belong to different programs.
    OutOfRangeError
        `i` is negative; in a program, when it runs.

    Examples
    --------
    >>> import static
    >>> from static import layers
    >>> with static.program_guard(static.Program()):
    ...     i = layers.fill_constant([1], "int64", 0)
    ...     array = layers.array_write(layers.fill_constant([2], "float32", 7.0), i)
    ...     static.Executor().run(fetch_list=[layers.array_read(array, i)])
    [array([7., 7.], dtype=float32)]
    """
    check.variable(x, "array_write: x")
    _index(i, "array_write: i")
    if array is not None:
        _array(array, "array_write: array")
    if not isinstance(x, Variable) and not isinstance(i, Variable) and not _is_array(array):
        return _written([] if array is None else array, x, _number(i, "array_write"))
    for value in (x, i, array):
        if value is not None:
            program = bodies.program_of(value, "array_write", "Give variables of one kind")
    with bodies.taken_back(program):
        if array is None:
            array = _new(_ARRAY, "array_write", program, x.dtype)
        else:
            unique_name.generate("array_write")
        if array.dtype is not None and str(array.dtype) != str(x.dtype):
            raise ArgumentTypeError(
                f"array_write: the array '{array.name}' holds {array.dtype}, got x of {x.dtype}. "
                "Cast it with layers.cast"
            )
        program.current_block().append_op("write_to_array", {"X": x, "I": i}, {"Out": array})
    return array


def _number(i, owner):
    number = int(i.item())
    if number < 0:
        raise OutOfRangeError(f"{owner}: i must be at least 0, got {number}")
    return number


def _written(array, x, number):
    array.extend([None] * (number + 1 - len(array)))
    array[number] = x
    return array


def array_read(array, i):
    """The element at index `i` of an array.

    Parameters
    ----------
    array : Variable or list
    i : Variable
        One int64, at least 0 and less than the length.

    Returns
    -------
    Variable

    Raises
    ------
    ArgumentTypeError
        `array` is not an array, or `i` is not an integer Variable.
    OutOfRangeError
        There is no such index; in a program, when it runs.
    PreconditionNotMetError
        Nothing has been written to that index; in a program, when it runs.

    Examples
    --------
    >>> import dygraph
    >>> from static import layers
    >>> array = [dygraph.to_variable([1.0]), dygraph.to_variable([2.0])]
    >>> layers.array_read(array, dygraph.to_variable([1])).tolist()
    [2.0]
    """
    _array(array, "array_read: array")
    _index(i, "array_read: i")
    if isinstance(array, list) and not isinstance(i, Variable):
        number = _number(i, "array_read")
        if number >= len(array):
            raise OutOfRangeError(f"array_read: i must be in [0, {len(array)}), got {number}")
        if array[number] is None:
            raise PreconditionNotMetError(
                f"array_read: nothing has been written to element {number} of {len(array)}"
            )
        return array[number]
    for value in (array, i):
        program = bodies.program_of(value, "array_read", "Give variables of one kind")
    with bodies.taken_back(program), program.layer(unique_name.generate("array_read")):
        return run("read_from_array", {"X": array, "I": i})["Out"]


def array_length(array):
    """The number of elements of an array.

    Parameters
    ----------
    array : Variable or list

    Returns
    -------
    Variable
        One int64.

    Raises
    ------
    ArgumentTypeError
        `array` is not an array.

    Examples
    --------
    >>> import dygraph
    >>> from static import layers
    >>> layers.array_length([dygraph.to_variable([1.0]), dygraph.to_variable([2.0])]).tolist()
    [2]
    """
    if isinstance(_array(array, "array_length: array"), list):
        return to_variable([len(array)])
    program = bodies.program_of(array, "array_length", "")
    with bodies.taken_back(program), program.layer(unique_name.generate("array_length")):
        length = run("lod_array_length", {"X": array})["Out"]
    length.stop_gradient = True
    return length


@layer
def tensor_array_to_tensor(input, axis=1, name=None, use_stack=False):
    """Concatenate or stack the elements of an array.

    Parameters
    ----------
    input : Variable or list
        An array. To be concatenated, its elements may differ in size along `axis` only; to be
        stacked, in no size.
    axis : int
        The axis to concatenate along, or the new axis.
    name : str, optional
    use_stack : bool
        True: stack along a new axis. False: concatenate.

    Returns
    -------
    (Variable, Variable)
        The tensor, and the int32 sizes of the elements along `axis`.

    Examples
    --------
    >>> import dygraph
    >>> from static import layers
    >>> array = [dygraph.to_variable([1.0]), dygraph.to_variable([2.0, 3.0])]
    >>> joined, sizes = layers.tensor_array_to_tensor(array, axis=0)
    >>> joined.tolist(), sizes.tolist()
    ([1.0, 2.0, 3.0], [1, 2])
    """
    input = _held(_array(input, "tensor_array_to_tensor: input"))
    attrs = {
        "axis": check.integer(axis, "tensor_array_to_tensor: axis"), "use_stack": bool(use_stack)
    }  # fmt: skip
    found = run("tensor_array_to_tensor", {"X": input}, attrs)
    return found["Out"], found["OutIndex"]


# By rank ------------------------------------------------------------------------------------------


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

    Examples
    --------
    >>> import numpy as np, dygraph
    >>> from static import layers
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

    Examples
    --------
    >>> import numpy as np, dygraph
    >>> from static import layers
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
    """
    x = _held(_array(x, "array_to_lod_tensor: x"))
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
    """
    check.variable(x, "shrink_memory: x")
    inputs = {
        "X": x, "I": _index(i, "shrink_memory: i"),
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
    mask : Variable
        bool ``[rows, 1]``, one for each row or sequence.
    level : int
        The level of LoD whose sequences are kept whole.

    Returns
    -------
    (Variable, Variable)
        Those where `mask` is true, and the others.

    Examples
    --------
    >>> import numpy as np, dygraph
    >>> from static import layers
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
    """
    check.variable(in_true, "merge_lod_tensor: in_true")
    inputs = {"X": x, "Mask": mask, "InTrue": in_true, "InFalse": in_false}
    attrs = {"level": check.integer(level, "merge_lod_tensor: level", 0)}
    return run("merge_lod_tensor", inputs, attrs)["Out"]
