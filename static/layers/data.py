"""Declarations of fed variables."""

from dygraph.errors import AlreadyExistsError, ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.static.program import default_main_program
from dygraph.static.variable import sizes_of

__all__ = ["data"]


def data(
    name, shape, append_batch_size=True, dtype="float32", lod_level=0, type="LOD_TENSOR",
    stop_gradient=True,
):  # fmt: skip
    """Declare a fed variable.

    Parameters
    ----------
    name : str
        The name under which it is fed.
    shape : list of int
        Sizes of one sample; -1 for the batch is put in front unless a size is already -1 or None.
    append_batch_size : bool
        False: `shape` is the whole shape.
    dtype : str or dtype
        The type of the elements.
    lod_level : int
        The number of levels of detail of the feed; 0 for ordinary arrays.
    type : str
        Fluid's; ``LOD_TENSOR``.
    stop_gradient : bool
        False: `gradients` can compute its gradient.

    Returns
    -------
    Variable
        Of the main program.

    Raises
    ------
    AlreadyExistsError
        The program has a variable of this name.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.data("x", shape=[13]).shape
    (-1, 13)
    """
    shape = sizes_of(shape, "data")
    if append_batch_size and not any(size < 0 for size in shape):
        shape = [-1, *shape]
    return declare(name, shape, dtype, lod_level, type, stop_gradient, False)


def declare(name, shape, dtype, lod_level, type, stop_gradient, check):
    """A fed variable of the main program's global block."""
    block = default_main_program().global_block()
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(f"data: name must be a string, got {kind_of(name)}")
    if any(size < -1 for size in shape):
        raise InvalidArgumentError(
            f"data: sizes must be at least 0, or -1 or None for any, got {shape}"
        )
    if block.has_var(name):
        raise AlreadyExistsError(
            f"data: the program has a variable '{name}' already, created at "
            f"{block.created_at(name)}"
        )
    return block.create_var(
        name=name, shape=shape, dtype=dtype, lod_level=lod_level, persistable=False,
        stop_gradient=stop_gradient, type=type, need_check_feed=True if check else None,
        is_data=True,
    )  # fmt: skip
