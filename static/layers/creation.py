"""Constants, ranges, and variables for results."""

from dygraph import _core, ops, unique_name
from dygraph.core import check
from dygraph.static.layers.making import into, layer, run
from dygraph.static.layers.tensor import exact_text, filled
from dygraph.static.program import computes, default_main_program
from dygraph.static.unknown_sizes import Unknown, numbers


@layer
def fill_constant(shape, dtype, value, force_cpu=False, out=None):
    """A new variable with all elements equal to `value`.

    Parameters
    ----------
    shape : list of int or Variable
        The sizes; Variables of one int32 or int64 may stand among them, or one Variable for all.
    dtype : str or dtype
        The type of the elements.
    value : float, int, bool or Variable
        The elements; a Variable must have one element.
    force_cpu : bool, default False
        Whether to keep the result in host memory.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.

    Returns
    -------
    Variable
        Of the given shape and type.

    Raises
    ------
    ArgumentTypeError
        `shape` is no list, or `out` has another type.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     layers.fill_constant([2, 2], "float32", 1.5).tolist()
    [[1.5, 1.5], [1.5, 1.5]]
    """
    return into(out, filled(shape, dtype, value, "fill_constant", force_cpu), "fill_constant")


@layer
def fill_constant_batch_size_like(
    input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0, force_cpu=False
):
    """A constant with one size taken from `input`, as a rule that of the batch.

    Parameters
    ----------
    input : Variable
        Gives one size.
    shape : list of int
        The sizes; that at `output_dim_idx` is not read.
    dtype : str or dtype
        The type of the elements.
    value : float or int
        The elements.
    input_dim_idx : int, default 0
        The axis of `input` that gives the size.
    output_dim_idx : int, default 0
        The axis of the result that takes it.
    force_cpu : bool, default False
        Accepted as in Fluid; not used.

    Returns
    -------
    Variable
        Of the type `dtype`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> x = dygraph.ones([4, 2])
    >>> layers.fill_constant_batch_size_like(x, [-1, 1], "int64", 7).tolist()
    [[7], [7], [7], [7]]
    """
    attrs = {
        "shape": numbers(list(shape)), "dtype": dtype, "input_dim_idx": input_dim_idx,
        "output_dim_idx": output_dim_idx, "value": float(value),
        "str_value": exact_text(value, dtype, "fill_constant_batch_size_like"),
    }  # fmt: skip
    return run("fill_constant_batch_size_like", {"Input": input}, attrs)["Out"]


@layer
def zeros(shape, dtype, force_cpu=False):
    """A new variable of zeros.

    Parameters
    ----------
    shape : list of int or Variable
        The sizes, as in `fill_constant`.
    dtype : str or dtype
        The type of the elements.
    force_cpu : bool, default False
        Accepted as in Fluid; not used.

    Returns
    -------
    Variable
        Of the given shape and type.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     layers.zeros([2], "int64").tolist()
    [0, 0]
    """
    return filled(shape, dtype, 0, "zeros")


@layer
def ones(shape, dtype, force_cpu=False):
    """A new variable of ones.

    Parameters
    ----------
    shape : list of int or Variable
        The sizes, as in `fill_constant`.
    dtype : str or dtype
        The type of the elements.
    force_cpu : bool, default False
        Accepted as in Fluid; not used.

    Returns
    -------
    Variable
        Of the given shape and type.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     layers.ones([2], "int64").tolist()
    [1, 1]
    """
    return filled(shape, dtype, 1, "ones")


@layer
def zeros_like(x, out=None):
    """Zeros in the shape and type of `x`.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.zeros_like(to_variable([1.0, 2.0])).tolist()
    [0.0, 0.0]
    """
    return into(out, run("fill_any_like", {"X": x}, {"value": 0.0})["Out"], "zeros_like")


@layer
def ones_like(x, out=None):
    """Ones in the shape and type of `x`.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.ones_like(to_variable([3, 2])).tolist()
    [1, 1]
    """
    return into(out, run("fill_any_like", {"X": x}, {"value": 1.0})["Out"], "ones_like")


@layer
def full(shape, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """A new variable with all elements equal to `fill_value`.

    Parameters
    ----------
    shape : list of int or Variable
        The sizes, as in `fill_constant`.
    fill_value : float, int, bool or Variable
        The elements; a Variable must have one element.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    dtype : str or dtype, optional
        None is float32.
    device : str, optional
        Accepted as in Fluid; not used.
    stop_gradient : bool, default True
        Whether the gradient stops at the result.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        Of the given shape and type.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     layers.full([2], 3).tolist()
    [3.0, 3.0]
    """
    made = into(out, filled(shape, dtype or "float32", fill_value, "full"), "full")
    made.stop_gradient = stop_gradient
    return made


@layer
def full_like(input, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """A new variable of the shape of `input` with all elements equal to `fill_value`.

    Parameters
    ----------
    input : Variable
        Any shape and type.
    fill_value : float, int or bool
        The elements.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    dtype : str or dtype, optional
        None is the type of `input`.
    device : str, optional
        Accepted as in Fluid; not used.
    stop_gradient : bool, default True
        Whether the gradient stops at the result.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape of `input`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> layers.full_like(dygraph.ones([2]), 3.0).tolist()
    [3.0, 3.0]
    """
    value = fill_value if _core.holds_symbol(fill_value) else float(fill_value)
    attrs = {"value": value, "dtype": dtype}
    made = into(out, run("fill_any_like", {"X": input}, attrs)["Out"], "full_like")
    made.stop_gradient = stop_gradient
    return made


@layer
def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32"):
    """A matrix with ones on the main diagonal and 0 elsewhere, or a batch of it.

    Parameters
    ----------
    num_rows : int
        The number of rows.
    num_columns : int, optional
        The number of columns; None: as many as rows.
    batch_shape : list of int, optional
        The axes in front of the matrix.
    dtype : str or dtype, default "float32"
        The type of the elements.

    Returns
    -------
    Variable
        ``batch_shape + [num_rows, num_columns]``

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     layers.eye(2, 3).tolist(), layers.eye(2, batch_shape=[4]).shape
    ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], (4, 2, 2))
    """
    columns = num_rows if num_columns is None else num_columns
    attrs = {"num_rows": num_rows, "num_columns": columns, "dtype": dtype}
    made = run("eye", {}, attrs)["Out"]
    if not batch_shape:
        return made
    sizes = check.shape(batch_shape, "eye: batch_shape")
    made = ops.reshape2(made, shape=[1] * len(sizes) + [num_rows, columns])
    return ops.tile(made, repeat_times=[*sizes, 1, 1])


def _scalar(value, dtype):
    """A Variable of one element that holds `value`, of type `dtype`."""
    if isinstance(value, Unknown):
        value = value.tensor()
    if isinstance(value, _core.Variable):
        return value if str(value.dtype) == str(dtype) else ops.cast(value, dtype)
    return filled([1], dtype, value, "range")


@layer
def range(start, end, step, dtype):
    """The numbers from `start` to before `end`, in steps of `step`.

    Parameters
    ----------
    start, end, step : float, int or Variable
        A Variable must have one element; the step is not 0.
    dtype : str or dtype
        float32, float64, int32 or int64.

    Returns
    -------
    Variable
        ``[count]``, of the type `dtype`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     layers.range(0, 6, 2, "int32").tolist()
    [0, 2, 4]
    """
    ends = {"Start": start, "End": end, "Step": step}
    return run("range", {slot: _scalar(value, dtype) for slot, value in ends.items()})["Out"]


@layer
def arange(start, end, step=1, dtype=None, name=None):
    """`range` with a default step and type.

    Parameters
    ----------
    start, end, step : float, int or Variable
        A Variable must have one element; the step is not 0 and by default 1.
    dtype : str or dtype, optional
        None is float32.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[count]``, of the type `dtype`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     layers.arange(0, 3).tolist()
    [0.0, 1.0, 2.0]
    """
    ends = {"Start": start, "End": end, "Step": step}
    dtype = dtype or "float32"
    return run("range", {slot: _scalar(value, dtype) for slot, value in ends.items()})["Out"]


@layer
def linspace(start, stop, num, dtype):
    """`num` evenly spaced numbers from `start` to `stop`, with both ends.

    Parameters
    ----------
    start, stop : float, int or Variable
        A Variable must have one element.
    num : int or Variable
        How many numbers; a Variable must have one element.
    dtype : str or dtype
        float32, float64, int32 or int64.

    Returns
    -------
    Variable
        ``[num]``, of the type `dtype`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     layers.linspace(0, 1, 5, "float32").tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    inputs = {
        "Start": _scalar(start, dtype), "Stop": _scalar(stop, dtype), "Num": _scalar(num, "int32"),
    }  # fmt: skip
    return run("linspace", inputs)["Out"]


def create_tensor(dtype, name=None, persistable=False):
    """An empty variable of the current block for results; an eager one inside `dygraph.guard`.

    Parameters
    ----------
    dtype : str or dtype
        The type of the elements.
    name : str, optional
        The name of the variable; None: one is made up.
    persistable : bool, default False
        Whether it keeps its value between runs.

    Returns
    -------
    Variable
        Without a shape until something is written to it.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.create_tensor("float32", name="total").name
    'total'
    """
    name = name or unique_name.generate("create_tensor")
    if computes():
        made = _core.Variable()  # empty: a write gives it shape and type
        made.name, made.persistable = name, bool(persistable)
        return made
    block = default_main_program().current_block()
    return block.create_var(name=name, dtype=dtype, persistable=persistable)


__all__ = [
    "arange", "create_tensor", "eye", "fill_constant", "fill_constant_batch_size_like", "full",
    "full_like", "linspace", "ones", "ones_like", "range", "zeros", "zeros_like",
]  # fmt: skip
