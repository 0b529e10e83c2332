"""Run a script written for Fluid as it is: ``python -m dygraph.fluid script.py arguments``.

In that process ``paddle.fluid`` and ``paddle.v2.fluid`` are ``dygraph.static``, and ``paddle`` has
the names that such scripts use: ``batch``, ``dataset``, ``reader``, ``fluid``, ``v2``. A program of
one's own changes its import line instead, ``import dygraph.static as fluid``, and may import Paddle
beside it.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types

from dygraph.errors import PreconditionNotMetError, did_you_mean

__all__ = ["install", "run"]

_FLUID = ("paddle.fluid", "paddle.v2.fluid")
_PADDLE = ("batch", "dataset", "reader")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes ``import paddle.fluid.x`` return Fluid's module x of ours, and no second copy of it."""

    def __init__(self, modules):
        self._modules = modules  # by name: those of which the others are parts

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] != "paddle":
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__spec__.name
        sys.modules[name] = self._found(name)  # the result of the import statement

    def _found(self, name):
        for start, ours in self._modules.items():
            if name.startswith(f"{start}."):
                try:
                    return importlib.import_module(f"{ours}.{name[len(start) + 1 :]}")
                except ModuleNotFoundError:
                    break
        raise ModuleNotFoundError(
            f"No module named {name!r} in dygraph.fluid, which has paddle.fluid and "
            f"{', '.join(f'paddle.{n}' for n in _PADDLE)}. Names of Paddle 2 are in dygraph, "
            "dygraph.nn and dygraph.optimizer",
            name=name,
        )


def _package(name, docstring, **names):
    module = types.ModuleType(name, docstring)
    module.__path__ = []
    module.__dict__.update(names)

    def missing(wanted):
        known = [n for n in module.__dict__ if not n.startswith("_")]
        hint = did_you_mean(wanted, known)
        raise AttributeError(f"module {name!r} has no attribute '{wanted}'.{hint}")

    module.__getattr__ = missing
    return module


def install():
    """Serve ``paddle``, ``paddle.fluid`` and ``paddle.v2.fluid`` from here on, in this process.

    PreconditionNotMetError beside an imported Paddle.
    """
    there = sys.modules.get("paddle")
    if there is not None and getattr(there, "__doc__", None) == _DOC:
        return
    if there is not None:
        raise PreconditionNotMetError(
            "dygraph.fluid: paddle.fluid can be ours only in a process without Paddle, got "
            f"'{getattr(there, '__file__', 'a module paddle')}', which is imported. Change the "
            "script's import line: import dygraph.static as fluid"
        )
    import dygraph

    fluid = dygraph.static
    names = {name: getattr(dygraph, name) for name in _PADDLE}
    v2 = _package("paddle.v2", "Paddle v2, of which the names of Fluid scripts are here.",
                  fluid=fluid, **names)  # fmt: skip
    paddle = _package("paddle", _DOC, fluid=fluid, v2=v2, __version__=fluid.__version__, **names)
    sys.modules.update({"paddle": paddle, "paddle.v2": v2})
    sys.modules.update(dict.fromkeys(_FLUID, fluid))
    modules = dict.fromkeys(_FLUID, fluid.__name__)
    for name in ("dataset", "reader"):
        for package in ("paddle", "paddle.v2"):
            sys.modules[f"{package}.{name}"] = names[name]
            modules[f"{package}.{name}"] = names[name].__name__
    sys.meta_path.insert(0, _Finder(modules))


_DOC = "The names of Paddle that Fluid scripts use, from dygraph.fluid."


def run(arguments):
    """Run a script: its path, then its own arguments."""
    import os
    import runpy

    install()
    sys.argv[:] = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    runpy.run_path(arguments[0], run_name="__main__")


def __getattr__(name):
    hint = f" Write dygraph.static.{name}" if hasattr(_static(), name) else ""
    raise AttributeError(f"module 'dygraph.fluid' has no attribute '{name}'.{hint}")


def _static():
    return importlib.import_module("dygraph").static
