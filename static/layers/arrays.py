"""Arrays: lists of tensors that a program writes and reads by index.

On eager Variables an array is a Python list.

Examples
--------
>>> import dygraph
>>> from dygraph.static import layers
>>> zero = dygraph.to_variable([0])
>>> array = layers.array_write(dygraph.to_variable([1.0, 2.0]), zero)
>>> layers.array_read(array, zero).tolist(), layers.array_length(array).tolist()
([1.0, 2.0], [1])
"""

from dygraph import _core, to_variable, unique_name
from dygraph.core import check
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.static import bodies
from dygraph.static.layers.making import layer, run
from dygraph.static.program import Variable, computes, default_main_program

__all__ = ["array_length", "array_read", "array_write", "create_array", "tensor_array_to_tensor"]

_ARRAY = "LOD_TENSOR_ARRAY"


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


def whole(array, what):
    """The array as one Variable, as operators take it; a list is converted."""
    if not isinstance(_array(array, what), list):
        return array
    held = None
    for number, element in enumerate(array):
        if element is not None:
            held = _core.ops.write_to_array(element, to_variable([number]), array=held)
    if held is None:
        raise InvalidArgumentError("an array must hold an element, got an empty list")
    return held


def one_index(i, what):
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


def _new(kind, owner, program, dtype=None, name=None):
    """A variable of the current block that is not a tensor."""
    return program.current_block().create_var(
        name=name or f"{unique_name.generate(owner)}.out", type=kind, dtype=dtype
    )


def create_array(dtype):
    """An empty array in the default main program, for `array_write`; a list in a `guard`.

    Parameters
    ----------
    dtype : str or dtype
        The type of its elements.

    Returns
    -------
    Variable

    Raises
    ------
    InvalidArgumentError
        There is no such type.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.create_array("float32").type
    'LOD_TENSOR_ARRAY'
    """
    return [] if computes() else _new(_ARRAY, "array", default_main_program(), dtype)


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
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program()):
    ...     i = layers.fill_constant([1], "int64", 0)
    ...     array = layers.array_write(layers.fill_constant([2], "float32", 7.0), i)
    ...     static.Executor().run(fetch_list=[layers.array_read(array, i)])
    [array([7., 7.], dtype=float32)]
    """
    check.variable(x, "array_write: x")
    one_index(i, "array_write: i")
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
        What `create_array` or `array_write` made.
    i : Variable
        One int64, at least 0 and less than the length.

    Returns
    -------
    Variable
        The element, of the type of the array.

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
    >>> from dygraph.static import layers
    >>> array = [dygraph.to_variable([1.0]), dygraph.to_variable([2.0])]
    >>> layers.array_read(array, dygraph.to_variable([1])).tolist()
    [2.0]
    """
    _array(array, "array_read: array")
    one_index(i, "array_read: i")
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
        What `create_array` or `array_write` made.

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
    >>> from dygraph.static import layers
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
        The name of the results.
    use_stack : bool
        True: stack along a new axis. False: concatenate.

    Returns
    -------
    (Variable, Variable)
        The tensor, and the int32 sizes of the elements along `axis`.

    Raises
    ------
    ArgumentTypeError
        `input` is not an array.
    InvalidArgumentError
        The array is empty, there is no such axis, or the elements do not fit; in a program, when it
        runs.
    PreconditionNotMetError
        Nothing has been written to an element; in a program, when it runs.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> array = [dygraph.to_variable([1.0]), dygraph.to_variable([2.0, 3.0])]
    >>> joined, sizes = layers.tensor_array_to_tensor(array, axis=0)
    >>> joined.tolist(), sizes.tolist()
    ([1.0, 2.0, 3.0], [1, 2])
    """
    input = whole(input, "tensor_array_to_tensor: input")
    attrs = {
        "axis": check.integer(axis, "tensor_array_to_tensor: axis"), "use_stack": bool(use_stack)
    }  # fmt: skip
    found = run("tensor_array_to_tensor", {"X": input}, attrs)
    return found["Out"], found["OutIndex"]
