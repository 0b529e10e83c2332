"""Programs from Python: `trace` records one call, `to_static` all paths through a function."""

from dygraph.jit.compiled import compile  # noqa: A004 - as in torch
from dygraph.jit.input_spec import InputSpec
from dygraph.jit.traced import (
    ProgramTranslator,
    TracedLayer,
    declarative,
    load,
    save,
    to_static,
    trace,
)

__all__ = [
    "InputSpec", "ProgramTranslator", "TracedLayer", "compile", "declarative", "load", "save",
    "to_static", "trace",
]  # fmt: skip


_ELSEWHERE = {"script": "dygraph.jit.to_static(function)"}


def __getattr__(name):
    hint = f". {_ELSEWHERE[name]} makes a program of it" if name in _ELSEWHERE else ""
    raise AttributeError(f"module 'dygraph.jit' has no attribute '{name}'{hint}")
