"""Names of modules that load when one of them is first asked for (PEP 562)."""

import importlib
import sys


def names_of(table):
    """{name: module} of {module: "name name ..."}."""
    return {name: module for module, names in table.items() for name in names.split()}


def find(module, name):
    """What `name` is in `module`, which is imported at the first question."""
    return getattr(sys.modules.get(module) or importlib.import_module(module), name)
