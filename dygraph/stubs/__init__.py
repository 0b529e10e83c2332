"""Types for editors and mypy, written from the registry: ``python -m dygraph.stubs [DIR]``.

The core and the operators exist only at run time, and the types of layers and optimizers stand in
their docstrings, so signatures are written to ``.pyi`` files beside the modules when the package is
built. They are not kept in the repository.
"""

import importlib
import inspect
import re
from pathlib import Path

from dygraph import _core, functions, ops
from dygraph.stubs.classes import classes_stub
from dygraph.stubs.core import core_stub
from dygraph.stubs.signatures import HEAD, IMPORTS, USED, function_text, python_types

__all__ = ["generate", "write"]

# Whose classes users make.
_OF_CLASSES = (
    "callbacks", "initializer", "io", "lr", "metrics", "nn", "optimizer", "regularizer",
    "training.model",
)  # fmt: skip

# A context manager, or a decorator with or without parentheses.
_SWITCHES = ("enable_grad", "no_grad")
_MODE = """\
_F = TypeVar("_F", bound=Callable[..., Any])

class _GradMode:
    def __enter__(self) -> _GradMode: ...
    def __exit__(self, *error: object) -> None: ...
    def __call__(self, function: _F, /) -> _F: ...

"""
_SWITCH = """\
@overload
def {name}() -> _GradMode: ...
@overload
def {name}(func: _F, /) -> _F: ...
"""


def _ops_stub():
    body = "".join(function_text(n, getattr(ops, n)) for n in ops.__all__)
    return f"{HEAD}{IMPORTS}from dygraph._core import {USED}\n\n{body}"


def _functional_stub():
    """`dygraph.nn.functional`; optional arguments by the names of PyTorch and Paddle 2 too."""
    from dygraph.nn import functional

    given, defined = [], []
    for name in functional.__all__:
        function = getattr(functional, name)
        own = function.__name__
        if function is getattr(ops, name, None):
            given.append(f"from dygraph.ops import {name} as {name}\n")
        elif function is getattr(ops, own, None):
            given.append(f"from dygraph.ops import {own} as _{name}\n")
            defined.append(f"{name} = _{name}\n")
        else:
            defined.append(function_text(name, function))
    imports = f"from dygraph._core import {USED}\n{''.join(given)}"
    return f"{HEAD}{IMPORTS}{imports}\n{''.join(defined)}"


def reexport(name, value):
    """The import line of a class or of another library's object."""
    return f"from {value.__module__} import {name} as {name}\n"


def _package_stub():
    """`dygraph` itself: everything that is reached there."""
    import dygraph
    from dygraph import nn

    homes = {
        name: module
        for module in _OF_CLASSES
        for name in importlib.import_module(f"dygraph.{module}").__all__
    }
    shown = {*dir(dygraph), *nn.__all__, *dygraph._MORE, *dygraph._LAZY_NAMES, *dygraph._MODULES}
    own = {"load_ipython_extension", "unload_ipython_extension"}
    shown |= {n for n, v in vars(dygraph).items() if not inspect.ismodule(v)} - own
    lines, definitions = [], []
    for name in sorted(n for n in shown if not n.startswith("_")):
        value = getattr(dygraph, name)
        if name in _SWITCHES:
            definitions.append(_SWITCH.format(name=name))
        elif name in functions.NAMES:
            definitions.append(function_text(name, value))
        elif value is None or type(value) in (float, _core.dtype):
            definitions.append(f"{name}: {'dtype' if type(value) is _core.dtype else 'Any'}\n")
        elif inspect.ismodule(value):
            inner = value.__name__ != name
            lines.append(
                f"from dygraph import {name} as {name}\n" if inner else f"import {name} as {name}\n"
            )
        elif value is getattr(ops, name, None):
            lines.append(f"from dygraph.ops import {name} as {name}\n")
        elif value is getattr(ops, getattr(value, "__name__", ""), None):
            lines.append(f"from dygraph.ops import {value.__name__} as _{name}\n")
            definitions.append(f"{name} = _{name}\n")
        elif name in homes and inspect.isclass(value):
            lines.append(f"from dygraph.{homes[name]} import {name} as {name}\n")
        elif value is getattr(_core, name, None):
            lines.append(f"from dygraph._core import {name} as {name}\n")
        elif inspect.isfunction(value) and python_types(value, name)[1] != "Any":
            definitions.append(function_text(name, value))
        else:
            lines.append(reexport(name, value))
    used = ", ".join(n for n in USED.split(", ") if n not in dir(dygraph))
    imports = f"from dygraph._core import {used}\n"
    body = re.sub(
        r"(?<!def )\b(bool|float|int)\b(?!\(|: dtype)", r"builtins.\1", "".join(definitions)
    )
    versions = "__version__: str\n__array_api_version__: str\n"
    return f"{HEAD}{IMPORTS}{imports}{''.join(lines)}\n{_MODE}{versions}{body}"


def generate():
    """The texts of the stubs by their path inside the package.

    >>> from dygraph import stubs
    >>> "def relu(x: Variable) -> Variable: ..." in stubs.generate()["ops.pyi"]
    True
    """
    return {
        "_core.pyi": core_stub(),
        "ops.pyi": _ops_stub(),
        "__init__.pyi": _package_stub(),
        "nn/functional/__init__.pyi": _functional_stub(),
        **dict(classes_stub(f"dygraph.{name}") for name in _OF_CLASSES),
    }


def write(folder):
    """Write the stubs into a folder with the package's modules; returns the paths."""
    paths = []
    for name, text in generate().items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths
