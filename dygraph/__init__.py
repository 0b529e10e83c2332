"""dygraph: eager tensors, gradients and programs.

>>> import dygraph
>>> with dygraph.guard(seed=1):
...     w = dygraph.to_variable([2.0])
...     w.stop_gradient = False
...     (w * w).backward()
>>> w.gradient()
array([4.])
"""

import os as _os

# libgomp reads it when it loads. Measured by benchmarks/spin.py: enough spinning to bridge the gap
# between two kernels, little enough to leave a busy neighbour its core.
if "OMP_WAIT_POLICY" not in _os.environ:
    _os.environ.setdefault("GOMP_SPINCOUNT", "10000")

from dygraph import (  # noqa: E402  # noqa: E402
    _core,
    clip,
    errors,
    functional,
    initializer,
    memory,
    nets,
    nn,
    optimizer,
    regularizer,
    unique_name,
)
from dygraph import flags as _flags  # noqa: E402
from dygraph._core import (  # noqa: E402
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
from dygraph.base import grad, guard, in_dygraph_mode, seed, to_variable  # noqa: E402
from dygraph.custom import Function, PyLayer  # noqa: E402
from dygraph.flags import get_flags, set_flags  # noqa: E402
from dygraph.nn import (  # noqa: E402
    BatchNorm,
    Conv2D,
    Dropout,
    Embedding,
    Layer,
    LayerList,
    Linear,
    ParameterList,
    Pool2D,
    Sequential,
)
from dygraph.param_attr import ParamAttr  # noqa: E402
from dygraph.recording import enable_grad, grad_enabled, no_grad  # noqa: E402
from dygraph.registry import explain, load_library, op_info, op_names, run_op  # noqa: E402
from dygraph.saved import saved  # noqa: E402
from dygraph.variable import Parameter  # noqa: E402
from dygraph.watch import detect_anomaly  # noqa: E402

__version__ = _core.__version__

_flags.warn_about_environment()

# Second names for operators whose own is Fluid's inner one.
matmul = functional.matmul_v2
reshape = functional.reshape2
transpose = functional.transpose2

# Modules that load when they are first asked for, and names that stand for one of theirs.
_LAZY = (
    "autograd",
    "checkpoint",
    "drawing",
    "gradient_check",
    "jit",
    "profiler",
    "saving",
    "static",
)
_LAZY_NAMES = {
    "check_grad": "gradient_check",
    "draw": "drawing",
    "load": "saving",
    "load_dygraph": "saving",
    "load_fluid_params": "saving",
    "recompute": "autograd",
    "save": "saving",
    "save_dygraph": "saving",
    "save_fluid_params": "saving",
}


def __getattr__(name):
    """Operators stand at the top as well; programs load when they are first asked for."""
    if name in _LAZY:
        import importlib

        return importlib.import_module("static" if name == "static" else f"dygraph.{name}")
    if name in _LAZY_NAMES:
        return getattr(__getattr__(_LAZY_NAMES[name]), name)
    if name in functional.__all__:
        return getattr(functional, name)
    hint = "" if name.startswith("_") else errors.did_you_mean(name, __dir__())
    raise AttributeError(f"module 'dygraph' has no attribute '{name}'.{hint}")


def __dir__():
    return sorted({*globals(), *functional.__all__, *_LAZY, *_LAZY_NAMES})


__all__ = sorted([*(n for n in globals() if not n.startswith("_")), *_LAZY_NAMES])
