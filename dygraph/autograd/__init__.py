"""Derivatives: Jacobians, Hessians and products with them, recomputing, switches of recording."""

from dygraph.core.lazily import find
from dygraph.errors import did_you_mean

TYPE_CHECKING = False  # True for mypy, which knows the name; avoids the import of typing
if TYPE_CHECKING:
    from dygraph.autograd.custom import Function as Function
    from dygraph.autograd.derivatives import (
        hessian,
        hvp,
        jacobian,
        jvp,
        recompute,
        saved_value_hooks,
        vjp,
    )
    from dygraph.core.base import grad as grad

# Loaded at the first use: `import dygraph` needs the switches of recording alone.
__all__ = ["hessian", "hvp", "jacobian", "jvp", "recompute", "saved_value_hooks", "vjp"]


def __getattr__(name):
    if name in ("Function", "grad"):  # as in torch; they are `dygraph.Function` and `dygraph.grad`
        return find("dygraph", name)
    if name in __all__:
        return find("dygraph.autograd.derivatives", name)
    hints, refuse = (
        find("dygraph.core.module_hints", "OF_AUTOGRAD"),
        find("dygraph.core.spellings", "refuse"),
    )
    hint = "" if name.startswith("__") else did_you_mean(name, __all__)
    hint = f" {hints[name]}" if name in hints else hint
    raise refuse("dygraph.autograd", name, hint)


def __dir__():
    return list(__all__)
