"""Programs: descriptions of computations that run without the Python that made them."""

from dygraph import CPUPlace, CUDAPinnedPlace, CUDAPlace
from static.executor import Executor
from static.io import load_inference_model, save_inference_model
from static.program import Block, Operator, Program, Variable
from static.scope import Scope, global_scope, scope_guard

__all__ = [
    "Block",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "Executor",
    "Operator",
    "Program",
    "Scope",
    "Variable",
    "global_scope",
    "load_inference_model",
    "save_inference_model",
    "scope_guard",
]
