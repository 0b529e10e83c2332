"""Annotations of the operators of a ``with`` block: a name scope, a device."""

import contextlib
import re

from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.static.program import default_main_program

__all__ = ["device_guard", "name_scope"]


@contextlib.contextmanager
def name_scope(prefix=None):
    """Group the operators described inside, for drawings and listings.

    Their attribute ``op_namescope`` is the path of the scopes; names of variables stay as they are.

    Parameters
    ----------
    prefix : str
        Not empty. A second scope of the same name at the same place gets a number.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()) as _, static.name_scope("encoder"):
    ...     x = static.layers.relu(static.data("x", [None, 2]))
    ...     with static.name_scope("block"):
    ...         y = static.layers.relu(x)
    >>> x.op.attr("op_namescope"), y.op.attr("op_namescope")
    ('/encoder/', '/encoder/block/')
    """
    if not isinstance(prefix, str):
        raise ArgumentTypeError(f"name_scope: prefix must be a string, got {kind_of(prefix)}")
    if not prefix or "/" in prefix:
        raise InvalidArgumentError(
            f"name_scope: prefix must be a name of at least one letter without '/', got {prefix!r}"
        )
    program = default_main_program()
    path = f"{program.name_scope}{prefix}"
    number = program.name_scopes[path]
    program.name_scopes[path] += 1
    with program.marked(
        program.op_role, program.op_role_var, f"{path}_{number}/" if number else f"{path}/"
    ):
        yield


@contextlib.contextmanager
def device_guard(device=None):
    """Name the device for the operators described inside.

    Their attribute ``op_device`` holds it. Programs run on their executor's place; the attribute is
    for other readers of the program.

    Parameters
    ----------
    device : str, optional
        ``"cpu"``, ``"gpu"`` or ``"gpu:0"`` with another number. None: no device.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()), static.device_guard("cpu"):
    ...     x = static.layers.relu(static.data("x", [None, 2]))
    >>> x.op.attr("op_device")
    'cpu'
    """
    if device is not None and not re.fullmatch(r"cpu|gpu(:\d+)?", str(device)):
        raise InvalidArgumentError(
            f"device_guard: device must be None, 'cpu', 'gpu' or 'gpu:0', got {device!r}"
        )
    program = default_main_program()
    before, program.op_device = program.op_device, device or ""
    try:
        yield
    finally:
        program.op_device = before
