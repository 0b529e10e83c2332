"""Every operator as a function: input slots first, in lower case, then attributes by name.

The functions are made from the registry, so this list is complete by itself; ``help(relu)`` shows
formula, slots and attributes. Operators that only compute gradients are left to `dygraph.run_op`.
Beside them stand a few functions that are made of operators, from `dygraph.images` and
`dygraph.losses`.

Examples
--------
>>> import dygraph.functional as F
>>> import dygraph
>>> F.relu(dygraph.to_variable([-1.0, 2.0])).numpy()
array([0., 2.])
"""

import re

from dygraph import _core, creation, images, losses, manipulation, products
from dygraph.errors import did_you_mean

_gradient = re.compile(r"_grad2?($|_)")
_COMPOSED = (images, creation, losses, manipulation, products)
__all__ = []


def _add_operators():
    """Take in what the registry has by now; called again when a library was loaded."""
    names = [n for n in dir(_core.ops) if not n.startswith("_") and not _gradient.search(n)]
    functions = {name: getattr(_core.ops, name) for name in names}
    for module in _COMPOSED:
        functions.update({name: getattr(module, name) for name in module.__all__})
    __all__[:] = sorted(functions)
    globals().update(functions)


_add_operators()


def __getattr__(name):
    hint = "" if name.startswith("__") else did_you_mean(name, __all__)
    raise AttributeError(f"dygraph.functional has no operator '{name}'.{hint}")


def __dir__():
    return list(__all__)
