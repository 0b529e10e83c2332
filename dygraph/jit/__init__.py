"""Programs from Python: `trace` records one call, `to_static` all paths through a function."""

from dygraph.jit.input_spec import InputSpec
from dygraph.jit.traced import ProgramTranslator, TracedLayer, declarative, load, to_static, trace

__all__ = [
    "InputSpec", "ProgramTranslator", "TracedLayer", "declarative", "load", "to_static", "trace",
]  # fmt: skip
