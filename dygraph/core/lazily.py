"""Names of modules that load at the first use of one of their names (PEP 562)."""

import importlib
import sys


def names_of(table):
    """{name: module} of {module: "name name ..."}."""
    return {name: module for module, names in table.items() for name in names.split()}


def find(module, name):
    """The value of `name` in `module`, which is imported at the first use."""
    return getattr(sys.modules.get(module) or importlib.import_module(module), name)
