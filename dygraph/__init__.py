"""dygraph: eager tensors, gradients and programs.

>>> import dygraph
>>> with dygraph.guard(seed=1):
...     w = dygraph.to_variable([2.0])
...     w.stop_gradient = False
...     (w * w).backward()
>>> w.gradient()
array([4.])
"""

from dygraph import (
    _core,
    beside,
    errors,
    initializer,
    memory,
    nn,
    ops,
    optimizer,
    regularizer,
    unique_name,
)
from dygraph._core import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    Place,
    Variable,
    bfloat16,
    bool_,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    num_threads,
    set_num_threads,
    uint8,
)
from dygraph.autograd.custom import Function, PyLayer
from dygraph.autograd.recording import (
    enable_grad,
    grad_enabled,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from dygraph.core import flags as _flags
from dygraph.core import spellings
from dygraph.core.base import (
    Generator,
    get_default_dtype,
    get_rng_state,
    grad,
    guard,
    in_dygraph_mode,
    seed,
    set_default_dtype,
    set_rng_state,
    to_variable,
)
from dygraph.core.compat import (
    BackwardStrategy,
    disable_dygraph,
    disable_imperative,
    enable_dygraph,
    enable_imperative,
    enabled,
)
from dygraph.core.exchange import from_dlpack
from dygraph.core.flags import get_flags, set_flags
from dygraph.core.lazily import names_of as _names_of
from dygraph.core.promotion import promote_types, result_type
from dygraph.core.registry import explain, load_library, op_info, op_names, run_op
from dygraph.core.sparse import selected_rows
from dygraph.core.variable import Parameter
from dygraph.functions.reductions import all, any, max, mean, min, prod, sum
from dygraph.inspect.saved import saved
from dygraph.inspect.watch import detect_anomaly
from dygraph.nn.param_attr import ParamAttr

__version__ = _core.__version__

_flags.warn_about_environment()
beside.install()

# Aliases of operators whose own name is Fluid's internal one.
matmul = ops.matmul_v2
reshape = ops.reshape2
transpose = ops.transpose2

# Modules that load at first use, with those of their names that are available here as well.
_LAZY = {
    "autograd": "recompute",
    "callbacks": "",
    "checkpoint": "",
    "data_feeder": "DataFeeder create_lod_tensor create_random_int_lodtensor",
    "dataset": "",
    "drawing": "draw",
    "gradient_check": "check_grad",
    "io": "",
    "jit": "ProgramTranslator TracedLayer declarative",
    "lr": "CosineDecay ExponentialDecay InverseTimeDecay LambdaDecay LearningRateDecay "
    "LinearLrWarmup MultiStepDecay NaturalExpDecay NoamDecay PiecewiseDecay PolynomialDecay "
    "ReduceLROnPlateau StepDecay",
    "metrics": "",
    "model": "Model",
    "model_summary": "summary",
    "nets": "",
    "notebook": "release",
    "npz": "",
    "parallel": "DataParallel ParallelEnv prepare_context",
    "profiler": "",
    "reader": "batch",
    "safetensors": "",
    "saving": "load load_dygraph load_fluid_params save save_dygraph save_fluid_params",
    "static": "",
}
_LAZY_NAMES = _names_of(_LAZY)


def __getattr__(name):
    """Layers and operators are available here as well; rare modules load at first use."""
    if name in _LAZY:
        import importlib

        return beside.load() if name == "static" else importlib.import_module(f"dygraph.{name}")
    if name in _LAZY_NAMES:
        return getattr(__getattr__(_LAZY_NAMES[name]), name)
    for module in (nn, ops):
        if name in module.__all__:
            return getattr(module, name)
    hint = "" if name.startswith("_") else errors.did_you_mean(name, __dir__())
    hint = f" {spellings.OF_MODULE[name]}." if name in spellings.OF_MODULE else hint
    raise AttributeError(f"module 'dygraph' has no attribute '{name}'.{hint}")


def load_ipython_extension(shell):
    """``%load_ext dygraph``: a failed cell releases its variables at once; see `notebook`."""
    __getattr__("notebook").install(shell)


def unload_ipython_extension(shell):
    """``%unload_ext dygraph``: tracebacks keep their frames again."""
    __getattr__("notebook").uninstall(shell)


# Hidden from completion: modules whose names are available here, and functions for IPython.
_INNER = set(
    "base beside check comparison compat copies creation custom elements exchange flags foreign "
    "images in_place index_arrays indexing lazily losses manipulation numpy_functions "
    "numpy_protocol param_attr printing products promotion recording reductions registry sparse "
    "spellings variable watch "
    "load_ipython_extension unload_ipython_extension".split()
)
# Names of Python's own functions, which ``import *`` leaves as they are.
_PYTHONS = {"all", "any", "max", "min", "sum"}
__all__ = sorted(
    {n for n in globals() if not n.startswith("_")}.union(_LAZY_NAMES) - _INNER - _PYTHONS
)


def __dir__():
    return sorted({*__all__, *_PYTHONS, *nn.__all__, *ops.__all__, *_LAZY, "__version__"})
