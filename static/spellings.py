"""Modules by Fluid's names: ``static.initializer``, ``static.framework``, ``static.debuger``.

Several of Fluid's modules serve both modes and are in `dygraph`; they can be imported under
``static`` as well, as the same modules. There is no module ``paddle``: it would hide an installed
Paddle, or be hidden by it. Scripts for Fluid change only their import lines,
``import paddle.fluid as fluid`` to ``import dygraph.static as fluid``, ``import paddle`` to
``import dygraph.static as paddle``.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys

__all__ = ["MODULES", "find", "install"]

MODULES = {
    "clip": "dygraph.clip",
    "data_feeder": "dygraph.io.data_feeder",
    "dataset": "dygraph.dataset",
    "debuger": "static.debugger",
    "fluid": "static",
    "framework": "static",
    "initializer": "dygraph.initializer",
    "lod_tensor": "dygraph.io.data_feeder",
    "param_attr": "dygraph.nn.param_attr",
    "reader": "dygraph.reader",
    "regularizer": "dygraph.regularizer",
    "unique_name": "dygraph.unique_name",
}


def find(name):
    """The module that ``static.<name>`` means; None for a name that is not in the table."""
    first, _, rest = name.partition(".")
    if first not in MODULES:
        return None
    return importlib.import_module(MODULES[first] + (rest and f".{rest}"))


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes ``import static.<name>`` return that module, so that none is loaded twice."""

    def find_spec(self, fullname, path=None, target=None):
        package, _, name = fullname.partition(".")
        if package != "static" or name.partition(".")[0] not in MODULES:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__spec__.name
        try:
            sys.modules[name] = find(name.partition(".")[2])  # the result of the import statement
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name) from error


def install():
    """Install the finder, once."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
