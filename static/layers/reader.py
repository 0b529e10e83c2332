"""Readers as layers: a run takes its batch from a generator instead of being fed."""

from dygraph import unique_name
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.static import reading
from dygraph.static.program import default_main_program

__all__ = ["create_py_reader_by_data", "double_buffer", "py_reader", "read_file"]


def py_reader(capacity, shapes, dtypes, lod_levels=None, name=None, use_double_buffer=True):
    """Declare a reader: the startup program makes it, `read_file` gives its variables.

    Parameters
    ----------
    capacity : int
        How many batches a thread reads ahead.
    shapes : list of list of int
        The shape of each part of a batch, -1 for any size.
    dtypes : list of str or dtype
        Their element types.
    lod_levels : list of int, optional
        The number of levels of detail of each. Default: none.
    name : str, optional
        The name of the reader; None: one is made up.
    use_double_buffer : bool
        Fluid's; batches are always read ahead.

    Returns
    -------
    Reader
        Set its generator with ``decorate_sample_list_generator`` (also called
        ``decorate_paddle_reader``) or ``decorate_batch_generator``; ``start()`` begins a pass, runs
        read until ``core.EOFException``, ``reset()`` ends it.

    Raises
    ------
    ValueError
        `shapes`, `dtypes` and `lod_levels` differ in length.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     reader = static.layers.py_reader(64, [[-1, 3], [-1, 1]], ["float32", "int64"])
    ...     image, label = static.layers.read_file(reader)
    >>> image.shape, label.dtype
    ((-1, 3), dygraph.int64)
    """
    for value, what in ((shapes, "shapes"), (dtypes, "dtypes")):
        if not isinstance(value, (list, tuple)) or not value:
            raise ArgumentTypeError(
                f"py_reader: {what} must be a list with one for each part of a batch, got "
                f"{kind_of(value)}"
            )
    levels = [0] * len(shapes) if lod_levels is None else list(lod_levels)
    if not len(shapes) == len(dtypes) == len(levels):
        raise InvalidArgumentError(
            "py_reader: shapes, dtypes and lod_levels must have equal lengths, got "
            f"{len(shapes)}, {len(dtypes)} and {len(levels)}"
        )
    prefix = name or unique_name.generate("py_reader")
    fields = [
        {
            "name": f"{prefix}_slot_{i}", "dtype": str(dtype),
            "shape": [
                -1 if n is None or n == -1 else check.integer(n, "py_reader: a size") for n in shape
            ],
            "lod_level": check.integer(level, "py_reader: lod_level", 0),
        }
        for i, (shape, dtype, level) in enumerate(zip(shapes, dtypes, levels, strict=True))
    ]  # fmt: skip
    return reading.declare_reader(capacity, fields, name, "py_reader")


def create_py_reader_by_data(capacity, feed_list, name=None, use_double_buffer=True):
    """Declare a reader of batches for the variables of `feed_list`.

    Parameters
    ----------
    capacity : int
        How many batches a thread reads ahead.
    feed_list : list of Variable
        Results of `data`, which give the shapes and types.
    name : str, optional
        The name of the reader; None: one is made up.
    use_double_buffer : bool
        Fluid's; batches are always read ahead.

    Returns
    -------
    Reader
        As of `py_reader`.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 3])
    ...     reader = static.layers.create_py_reader_by_data(8, [x])
    ...     static.layers.read_file(reader).shape
    (-1, 3)
    """
    if not isinstance(feed_list, (list, tuple)) or not feed_list:
        raise ArgumentTypeError(
            "create_py_reader_by_data: feed_list must be a list of variables of a program, got "
            f"{kind_of(feed_list)}"
        )
    fields = [reading.field_of(variable) for variable in feed_list]
    return reading.declare_reader(capacity, fields, name, "create_py_reader_by_data")


def read_file(reader):
    """The variables that each run fills with a batch of a reader.

    Parameters
    ----------
    reader : Reader
        What `py_reader` gave.

    Returns
    -------
    Variable, or list of Variable
        One for each part of a batch.

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main, static.Program()):
    ...     reader = static.layers.py_reader(8, [[-1, 1]], ["int64"])
    ...     label = static.layers.read_file(reader)
    >>> label.shape, [op.type for op in main.global_block().ops]
    ((-1, 1), ['read'])
    """
    if not isinstance(reader, reading.Reader):
        raise ArgumentTypeError(
            f"read_file: reader must be what py_reader gives, got {kind_of(reader)}"
        )
    block = default_main_program().current_block()
    outputs = [
        block.create_var(
            name=unique_name.generate("read_file"), shape=field["shape"], dtype=field["dtype"],
            lod_level=field["lod_level"], persistable=False, stop_gradient=True,
        )
        for field in reader.fields
    ]  # fmt: skip
    reading.read(reader, outputs)
    return outputs[0] if len(outputs) == 1 else outputs


def double_buffer(reader, place=None, name=None):
    """The reader itself: threads already read its batches ahead, and copy them to a CUDA device.

    Parameters
    ----------
    reader : Reader
        What `py_reader` gives.
    place : CPUPlace or CUDAPlace, optional
        Accepted as in Fluid; not used: batches are copied to the place of the executor.
    name : str, optional
        Accepted as in Fluid; not used.

    Returns
    -------
    Reader
        `reader`

    Raises
    ------
    ArgumentTypeError
        `reader` is no reader.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     reader = static.layers.py_reader(8, [[-1, 1]], ["int64"])
    ...     static.layers.double_buffer(reader) is reader
    True
    """
    if not isinstance(reader, reading.Reader):
        raise ArgumentTypeError(
            f"double_buffer: reader must be what py_reader gives, got {kind_of(reader)}"
        )
    return reader
