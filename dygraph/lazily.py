"""Names of modules that load when one of them is first asked for (PEP 562)."""

import importlib


def names_of(table):
    """{name: module} of {module: "name name ..."}."""
    return {name: module for module, names in table.items() for name in names.split()}


def load(namespace, module, names):
    """Import `module` and put its `names` into `namespace`, where they are found from then on."""
    loaded = importlib.import_module(module)
    namespace.update({name: getattr(loaded, name) for name in names.split()})
