"""Programs: descriptions of computations that run without the Python that made them."""

from dygraph import CPUPlace, CUDAPinnedPlace, CUDAPlace, ParamAttr, initializer, regularizer
from static.program import (
    Block,
    OpRole,
    Operator,
    Parameter,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    program_guard,
    switch_main_program,
    switch_startup_program,
)
from static import debugger, layers, nets, optimizer  # noqa: I001 - after the programs they append to
from static.backward import append_backward, gradients
from static.debugger import draw_graph
from static.difference import diff
from static.executor import Executor
from static.io import load, load_inference_model, save, save_inference_model
from static.parameters import create_global_var, create_parameter
from static.scope import Scope, global_scope, scope_guard
from static.source import to_code


def data(name, shape, dtype="float32", lod_level=0):
    """Declare a variable that is fed, with its whole shape.

    Parameters
    ----------
    name : str
    shape : list of int or None
        None or -1: any size.
    dtype : str or dtype
    lod_level : int

    Returns
    -------
    Variable

    Examples
    --------
    >>> import static
    >>> with static.program_guard(static.Program()):
    ...     static.data("image", [None, 3, 32, 32]).shape
    (-1, 3, 32, 32)
    """
    sizes = [-1 if size is None else int(size) for size in shape]
    from static.layers.data import declare

    return declare(name, sizes, dtype, lod_level, "LOD_TENSOR", True, True)


__all__ = [
    "Block", "CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "Executor", "OpRole", "Operator",
    "ParamAttr", "Parameter", "Program", "Scope", "Variable", "append_backward",
    "create_global_var", "create_parameter", "data", "debugger", "default_main_program",
    "default_startup_program", "diff", "draw_graph", "global_scope", "gradients", "initializer", "layers",
    "load", "load_inference_model", "nets", "optimizer", "program_guard", "regularizer", "save", "save_inference_model",
    "scope_guard", "switch_main_program", "switch_startup_program", "to_code",
]  # fmt: skip
