"""Programs: descriptions of computations that run without the Python that made them."""

import dygraph
from dygraph import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    ParamAttr,
    clip,
    initializer,
    regularizer,
    unique_name,
)
from dygraph.errors import did_you_mean
from static import (
    backward,
    core,
    debugger,
    evaluator,
    io,
    layers,
    metrics,
    nets,
    optimizer,
    profiler,
)
from static.backward import append_backward, gradients
from static.debugger import draw_graph
from static.difference import diff
from static.executor import Executor
from static.fold import fold_inference
from static.io import load, load_inference_model, save, save_inference_model
from static.parameters import create_global_var, create_parameter
from static.program import (
    Block,
    Operator,
    OpRole,
    Parameter,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    program_guard,
    switch_main_program,
    switch_startup_program,
)
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


# What belongs to data and to both worlds, found where scripts for Fluid look for it.
_SHARED = ("DataFeeder", "batch", "dataset", "reader")


def __getattr__(name):
    if name not in _SHARED:
        raise AttributeError(f"static has no '{name}'.{did_you_mean(name, __all__)}")
    value = globals()[name] = getattr(dygraph, name, None) or getattr(dygraph.reader, name)
    return value


def __dir__():
    return sorted({*globals(), *_SHARED})


__all__ = [
    "Block", "CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "Executor", "OpRole", "Operator",
    "ParamAttr", "Parameter", "Program", "Scope", "Variable", "append_backward", "backward",
    "clip", "core", "create_global_var", "create_parameter", "data", "debugger",
    "default_main_program", "default_startup_program", "diff", "draw_graph", "dygraph",
    "evaluator", "fold_inference", "global_scope", "gradients", "initializer", "io", "layers",
    "load", "load_inference_model", "metrics", "nets", "optimizer", "profiler", "program_guard",
    "regularizer", "save", "save_inference_model", "scope_guard", "switch_main_program",
    "switch_startup_program", "to_code", "unique_name",
]  # fmt: skip
