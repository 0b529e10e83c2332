"""Arrays of a program: lists of tensors that its operators write and read by number.

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
    """An array of a program, or a Python list."""
    if not _is_array(value) and not isinstance(value, list):
        given = f"'{value.name}', a {value.type}" if isinstance(value, Variable) else kind_of(value)
        raise ArgumentTypeError(
            f"{what} must be an array of create_array or array_write, got {given}"
        )
    return value


def _held(array):
    """An array as one Variable, which operators take: of a list."""
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
    """One integer, in a Variable."""
    if not isinstance(i, _core.Variable):
        raise ArgumentTypeError(
            f"{what} must be a Variable of one int64, got {kind_of(i)}. Make one with "
            "layers.fill_constant([1], 'int64', number)"
        )
    if str(i.dtype) not in ("int32", "int64"):
        raise ArgumentTypeError(f"{what} must be a Variable of one int64, got {i.dtype}")
    shape = tuple(i.desc.shape if isinstance(i, Variable) else i.shape)
    if any(n != 1 for n in shape):
        raise InvalidArgumentError(f"{what} must hold one integer, got shape {shape}")
    return i


def _table(table, what):
    if isinstance(table, Variable) and table.type != _TABLE:
        raise ArgumentTypeError(
            f"{what} must be a rank table of lod_rank_table, got '{table.name}', a {table.type}"
        )
    return table


def _new(kind, owner, program, dtype=None, name=None):
    """A variable of the current block that is no tensor."""
    return program.current_block().create_var(
        name=name or f"{unique_name.generate(owner)}.out", type=kind, dtype=dtype
    )


def create_array(dtype):
    """An empty array of the default main program, for `array_write`.

    Parameters
    ----------
    dtype : str or dtype
        Of its elements.

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
    """Put `x` into place `i` of an array, which grows where it is shorter.

    Parameters
    ----------
    x : Variable
        Of any shape.
    i : Variable
        One int64 of at least 0.
    array : Variable or list, optional
        None: a new array.

    Returns
    -------
    Variable or list
        The array.

    Raises
    ------
    ArgumentTypeError
        `i` is no integer Variable, `array` is no array, or it holds another type.
    InvalidArgumentError
        `i` holds not one element; the variables are of two programs.

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
    """The element at place `i` of an array.

    Parameters
    ----------
    array : Variable or list
    i : Variable
        One int64 of at least 0, less than the length.

    Returns
    -------
    Variable

    Raises
    ------
    ArgumentTypeError
        `array` is no array, or `i` no integer Variable.
    OutOfRangeError
        There is no such place; for a program, as it runs.
    PreconditionNotMetError
        Nothing was written there.
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
    """How many elements an array has: one int64.

    Parameters
    ----------
    array : Variable or list

    Returns
    -------
    Variable
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
    """The elements of an array as one tensor, and their sizes along `axis` as int32.

    Parameters
    ----------
    input : Variable or list
        An array whose elements differ in no other size.
    axis : int
        Along which they are joined, or the new axis.
    name : str, optional
    use_stack : bool
        True: along a new axis; False: along one they have.

    Returns
    -------
    (Variable, Variable)
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
    """The sequences of `x` at a level of its LoD, the longest first; equal ones in their order.

    Parameters
    ----------
    x : Variable
        With LoD.
    level : int

    Returns
    -------
    Variable
        A rank table, which the functions below take.
    """
    check.variable(x, "lod_rank_table: x")
    attrs = {"level": check.integer(level, "lod_rank_table: level", 0)}
    return run("lod_rank_table", {"X": x}, attrs)["Out"]


@layer
def max_sequence_len(rank_table):
    """The length of the longest sequence of a rank table: one int64."""
    _table(rank_table, "max_sequence_len: rank_table")
    return run("max_sequence_len", {"RankTable": rank_table})["Out"]


@layer
def lod_tensor_to_array(x, table):
    """An array of steps: element t holds row t of each sequence that is longer, longest first.

    Parameters
    ----------
    x : Variable
        With the LoD the table was made of.
    table : Variable
        Of `lod_rank_table`.
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
    """The rows of `lod_tensor_to_array`'s steps as sequences in their own order again."""
    x = _held(_array(x, "array_to_lod_tensor: x"))
    inputs = {"X": x, "RankTable": _table(table, "array_to_lod_tensor: table")}
    result = run("array_to_lod_tensor", inputs)["Out"]
    return with_levels(result, x.lod_level + 1 if isinstance(x, Variable) else 0)


@layer
def shrink_memory(x, i, table):
    """The rows of `x` whose sequences are longer than `i` steps."""
    check.variable(x, "shrink_memory: x")
    inputs = {
        "X": x, "I": _index(i, "shrink_memory: i"),
        "RankTable": _table(table, "shrink_memory: table"),
    }  # fmt: skip
    result = run("shrink_rnn_memory", inputs)["Out"]
    return with_levels(result, x.lod_level if isinstance(x, Variable) else 0)


@layer
def reorder_lod_tensor_by_rank(x, rank_table):
    """The sequences of `x`, or its rows where it has no LoD, in the order of the table.

    Parameters
    ----------
    x : Variable
        As many sequences or rows as the table has.
    rank_table : Variable
        Of `lod_rank_table`.
    """
    check.variable(x, "reorder_lod_tensor_by_rank: x")
    inputs = {"X": x, "RankTable": _table(rank_table, "reorder_lod_tensor_by_rank: rank_table")}
    return run("reorder_lod_tensor_by_rank", inputs)["Out"]


# By a mask ----------------------------------------------------------------------------------------


@layer
def split_lod_tensor(input, mask, level=0):
    """The rows or sequences of `input` where `mask` holds, and the others.

    Parameters
    ----------
    input : Variable
    mask : Variable
        bool ``[rows, 1]``.
    level : int
        Of the LoD, whose sequences stay whole.

    Returns
    -------
    (Variable, Variable)
    """
    check.variable(input, "split_lod_tensor: input")
    attrs = {"level": check.integer(level, "split_lod_tensor: level", 0)}
    found = run("split_lod_tensor", {"X": input, "Mask": mask}, attrs)
    return found["OutTrue"], found["OutFalse"]


@layer
def merge_lod_tensor(in_true, in_false, x, mask, level=0):
    """What `split_lod_tensor` parts, together again: rows of `in_true` where `mask` holds.

    Parameters
    ----------
    in_true, in_false : Variable
    x : Variable
        Whose LoD the result has.
    mask : Variable
        bool ``[rows, 1]``.
    level : int
    """
    check.variable(in_true, "merge_lod_tensor: in_true")
    inputs = {"X": x, "Mask": mask, "InTrue": in_true, "InFalse": in_false}
    attrs = {"level": check.integer(level, "merge_lod_tensor: level", 0)}
    return run("merge_lod_tensor", inputs, attrs)["Out"]
