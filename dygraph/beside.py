"""Import of the package `static` beside this one, in spite of folders of that name.

Many projects have a folder ``static`` for pictures and style sheets. Python treats such a folder as
a package too, and it hides ours if that is installed editable.
"""

import importlib
import importlib.machinery
import os
import sys

_HOME = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "static")
_FILE = os.path.join(_HOME, "__init__.py")


def _is_ours(path):
    return path is not None and os.path.realpath(path) == os.path.realpath(_FILE)


class _Finder:
    """Finds `static` for ``import static`` if the path has only a folder of that name."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "static":
            return None
        found = importlib.machinery.PathFinder.find_spec(name)
        if found is not None and found.origin is not None:
            return None  # a package with an __init__.py: Python's own rule applies
        loader = importlib.machinery.SourceFileLoader(name, _FILE)
        spec = importlib.machinery.ModuleSpec(name, loader, origin=_FILE, is_package=True)
        spec.submodule_search_locations, spec.has_location = [_HOME], True
        return spec


def install():
    """Serve ``import static`` from here on; once."""
    if not any(f is _Finder for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder)


def load():
    """The package. ImportError if another package of its name comes first."""
    module = sys.modules.get("static")
    if module is not None and _is_ours(getattr(module, "__file__", None)):
        return module
    if module is None:
        found = importlib.machinery.PathFinder.find_spec("static")
        other = None if found is None else found.origin
    else:
        other = getattr(module, "__file__", None)
    if other is not None and not _is_ours(other):
        raise ImportError(
            f"dygraph.static: the module 'static' must be dygraph's own, got '{other}', which "
            "comes first in sys.path. Rename that package, or run from another folder",
            name="static",
        )
    sys.modules.pop("static", None)  # a folder
    return importlib.import_module("static")
