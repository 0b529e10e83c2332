"""dygraph: eager tensors, gradients and programs.

The functions here follow the Python array API standard, see docs/array_api.md; layers are in
`dygraph.nn`, operators with their slots in `dygraph.ops`.

>>> import dygraph
>>> with dygraph.guard(seed=1):
...     w = dygraph.to_variable([2.0])
...     w.stop_gradient = False
...     (w * w).backward()
>>> w.gradient()
array([4.], dtype=float32)
"""

from dygraph import (
    _core,
    errors,
    functions,
    initializer,
    memory,
    nn,
    ops,
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
    complex64,
    complex128,
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
from dygraph.core import hints as _hints
from dygraph.core import spellings as _spellings
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
from dygraph.core.lazily import find as _find
from dygraph.core.lazily import names_of as _names_of
from dygraph.core.promotion import promote_types, result_type
from dygraph.core.registry import explain, load_library, op_info, op_names, run_op
from dygraph.core.sparse import selected_rows
from dygraph.core.variable import Parameter
from dygraph.inspect.saved import saved
from dygraph.inspect.watch import detect_anomaly
from dygraph.nn.param_attr import ParamAttr

__version__ = _core.__version__

_flags.warn_about_environment()


# The constants of the array API standard.
__array_api_version__ = "2024.12"
e, inf, nan, newaxis, pi = 2.718281828459045, float("inf"), float("nan"), None, 3.141592653589793

# Modules that load at first use, with those of their names that are available here as well.
_LAZY = {
    "amp": "",
    "autograd": "recompute",
    "autograd.gradient_check": "check_grad",
    "callbacks": "",
    "checkpoint": "",
    "codegen": "",
    "core.places": "cpu_places cuda_pinned_places cuda_places get_device is_compiled_with_cuda "
    "set_device",
    "cuda": "",
    "dataset": "",
    "distributed": "",
    "distributed.parallel": "DataParallel ParallelEnv prepare_context",
    "distribution": "",
    "fft": "",
    "geometric": "",
    "inference": "",
    "inspect.drawing": "draw",
    "io": "",
    "io.data_feeder": "DataFeeder create_lod_tensor create_random_int_lodtensor",
    "linalg": "",
    "jit": "ProgramTranslator TracedLayer declarative",
    "lr": "CosineDecay ExponentialDecay InverseTimeDecay LambdaDecay LearningRateDecay "
    "LinearLrWarmup MultiStepDecay NaturalExpDecay NoamDecay PiecewiseDecay PolynomialDecay "
    "ReduceLROnPlateau StepDecay",
    "metrics": "",
    "nets": "",
    "notebook": "release",
    "onnx": "",
    "optimizer": "",
    "profiler": "",
    "quantization": "",
    "reader": "batch",
    "regularizer": "",
    "safetensors": "",
    "signal": "",
    "saving": "load load_dygraph load_fluid_params save save_dygraph save_fluid_params",
    "special": "",
    "static": "",
    "text": "",
    "training.model": "Model",
    "training.model_summary": "summary",
    "vision": "",
}
_LAZY_NAMES = _names_of(_LAZY)
_MODULES = {name for name in _LAZY if "." not in name}

# What completion shows beside the functions in `functions.NAMES`.
_SHOWN = (
    "__array_api_version__ __version__ bfloat16 bool callbacks checkpoint complex128 complex64 "
    "CPUPlace detect_anomaly dtype e enable_grad errors explain fft float16 float32 float64 "
    "from_dlpack Function Generator get_default_dtype grad guard inf initializer int16 int32 "
    "int64 int8 io is_grad_enabled jit Layer linalg load lr memory metrics Model nan newaxis nn "
    "no_grad num_threads ops optimizer ParamAttr Parameter pi Place profiler recompute "
    "result_type save seed set_default_dtype set_flags set_grad_enabled set_num_threads static "
    "summary to_variable transpose uint8 Variable"
).split()
# Names of Python's own functions and types, which ``import *`` leaves as they are.
_PYTHONS = {"abs", "all", "any", "bool", "max", "min", "pow", "round", "sum"}
__all__ = sorted({*functions.NAMES, *_SHOWN} - _PYTHONS - {"__version__", "static"})
# Functions of Paddle 2, torch and NumPy beside the standard's; NumPy's pad takes all axes.
_MORE = {*" ".join(ops.COMPOSED.values()).split(), *ops.ELEMENTS.split(), "index_add"} - {"pad"}

bool = bool_


def __getattr__(name):
    """Functions and rare modules load at the first use; layers are available here as well."""
    if name in functions.NAMES:
        globals()[name] = functions.find(name)  # a module's __getattr__ takes 0.5 us
        return globals()[name]
    if name in _MODULES:
        import importlib

        return importlib.import_module(f"dygraph.{name}")
    if name in _LAZY_NAMES:
        return _find(f"dygraph.{_LAZY_NAMES[name]}", name)
    if name in _MORE:
        globals()[name] = getattr(ops, name)
        return globals()[name]
    if name in nn.__all__:
        return getattr(nn, name)
    if name in _hints.OF_MODULE:
        hint = f" {_hints.OF_MODULE[name]}"
    elif name in ops.__all__:
        hint = f" Operators with their slots are in dygraph.ops: dygraph.ops.{name}"
    else:
        hint = "" if name.startswith("_") else errors.did_you_mean(name, [*__dir__(), *nn.__all__])
    raise _spellings.refuse("dygraph", name, hint)


def load_ipython_extension(shell):
    """``%load_ext dygraph``: a failed cell releases its variables at once; see `notebook`."""
    __getattr__("notebook").install(shell)


def unload_ipython_extension(shell):
    """``%unload_ext dygraph``: tracebacks keep their frames again."""
    __getattr__("notebook").uninstall(shell)


def __dir__():
    return sorted({*functions.NAMES, *_SHOWN})
