"""Programs: descriptions of computations that run without the Python code that made them."""

if __name__ != "dygraph.static":
    raise ImportError(
        f"the module {__name__!r} is dygraph.static: write `from dygraph import static`, or "
        "`import dygraph.static as fluid` in a script for Fluid",
        name=__name__,
    )

import importlib
import sys
from typing import Any as _Any

from dygraph import CPUPlace, CUDAPinnedPlace, CUDAPlace, ParamAttr
from dygraph.core.lazily import find as _find
from dygraph.errors import did_you_mean
from dygraph.static import (
    backward,
    clip,
    contrib,
    core,
    debugger,
    dygraph,
    evaluator,
    initializer,
    install_check,
    io,
    layer_helper,
    layers,
    metrics,
    nets,
    optimizer,
    passes,
    profiler,
    regularizer,
    unique_name,
    var_types,  # noqa: F401 - gives the variables of scopes get_selected_rows
)
from dygraph.static.backward import append_backward, gradients
from dygraph.static.compiler import BuildStrategy, CompiledProgram, ExecutionStrategy
from dygraph.static.core import LoDTensor, LoDTensorArray, Tensor
from dygraph.static.debugger import draw_graph
from dygraph.static.difference import diff
from dygraph.static.environment import (
    __version__ as __version__,
)
from dygraph.static.environment import (
    cuda_pinned_places,
    cuda_places,
    is_compiled_with_cuda,
    require_version,
)
from dygraph.static.executor import Executor
from dygraph.static.fold import fold_inference
from dygraph.static.guards import device_guard, name_scope
from dygraph.static.input import embedding, one_hot
from dygraph.static.io import load, load_inference_model, save, save_inference_model
from dygraph.static.memory_passes import memory_optimize, release_memory
from dygraph.static.parallel_executor import ParallelExecutor
from dygraph.static.parameters import WeightNormParamAttr, create_global_var, create_parameter
from dygraph.static.program import (
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
from dygraph.static.scope import Scope, global_scope, scope_guard
from dygraph.static.source import to_code


def data(name, shape, dtype="float32", lod_level=0):
    """Declare a fed variable, with its whole shape.

    Parameters
    ----------
    name : str
        The name under which it is fed.
    shape : list of int or None
        None or -1: any size.
    dtype : str or dtype
        The type of the elements.
    lod_level : int
        The number of levels of detail of the feed; 0 for ordinary arrays.

    Returns
    -------
    Variable
        Of the main program.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.data("image", [None, 3, 32, 32]).shape
    (-1, 3, 32, 32)
    """
    from dygraph.static.layers.data import declare
    from dygraph.static.variable import sizes_of

    return declare(name, sizes_of(shape, "data"), dtype, lod_level, "LOD_TENSOR", True, True)


# Names of both modes, under the modules of Fluid.
_SHARED = {
    "io.data_feeder": "DataFeeder create_lod_tensor create_random_int_lodtensor",
    "reader": "batch",
    "core.compat": "disable_dygraph disable_imperative enable_dygraph enable_imperative",
    "core.base": "in_dygraph_mode",
    "core.flags": "get_flags set_flags",
    "jit.input_spec": "InputSpec",
    "saving": "load_dygraph save_dygraph",
    "static.transpiler": "DistributeTranspiler DistributeTranspilerConfig",
}
_SHARED = {name: module for module, names in _SHARED.items() for name in names.split()}

# Modules of Fluid that load at first use.
_LAZY = {
    "data_feeder", "dataset", "debuger", "framework", "lod_tensor", "param_attr", "reader",
    "transpiler",
}
fluid = sys.modules[__name__]  # in scripts that import `paddle`


def __getattr__(name: str) -> _Any:
    if name in _SHARED:
        return _find(f"dygraph.{_SHARED[name]}", name)
    if name in _LAZY:
        return importlib.import_module(f"dygraph.static.{name}")
    raise AttributeError(f"static has no '{name}'.{did_you_mean(name, __dir__())}")


def __dir__():
    return sorted({*globals(), *_SHARED, *_LAZY})


__all__ = [
    "Block", "BuildStrategy", "CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "CompiledProgram",
    "ExecutionStrategy", "Executor", "LoDTensor", "LoDTensorArray", "OpRole", "Operator",
    "ParallelExecutor", "ParamAttr", "Parameter", "Program", "Scope", "Tensor", "Variable",
    "WeightNormParamAttr", "append_backward", "backward", "clip", "contrib", "core",
    "cpu_places", "create_global_var", "create_parameter", "cuda_pinned_places", "cuda_places",
    "data", "debugger", "default_main_program", "default_startup_program", "device_guard", "diff",
    "draw_graph", "dygraph", "embedding", "evaluator", "fold_inference", "global_scope",
    "gradients", "initializer", "install_check", "io", "is_compiled_with_cuda", "layer_helper",
    "layers", "load", "load_inference_model", "memory_optimize", "metrics", "name_scope", "nets",
    "one_hot", "optimizer", "passes", "profiler", "program_guard", "regularizer",
    "release_memory", "require_version", "save",
    "save_inference_model", "scope_guard", "switch_main_program", "switch_startup_program",
    "to_code", "unique_name",
]  # fmt: skip
