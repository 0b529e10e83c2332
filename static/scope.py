"""Scopes, which hold the variables of running programs."""

import contextlib
import threading

import numpy as np

from dygraph import _core, to_variable
from dygraph.errors import ArgumentTypeError, kind_of

__all__ = ["Scope", "global_scope", "scope_guard"]

Scope = _core.Scope


def _scope_text(self):
    names = self.local_var_names()
    shown = ", ".join(names[:4] + ["..."] * (len(names) > 4))
    return f"Scope({len(names)} variables{': ' * bool(names)}{shown})"


Scope.__repr__ = _scope_text  # type: ignore[method-assign]

_default = Scope()
_current = threading.local()


def global_scope():
    """The scope that programs run in by default: the innermost ``scope_guard``'s, or the process's.

    Returns
    -------
    Scope
        Its variables outlive the runs.

    Examples
    --------
    >>> from dygraph import static
    >>> scope = static.Scope()
    >>> with static.scope_guard(scope):
    ...     static.global_scope() is scope
    True
    """
    stack = getattr(_current, "stack", None)
    return stack[-1] if stack else _default


def set_rate(variable, rate):
    """Write a learning rate into a scope's variable, in its type, if startup has made it."""
    if variable is not None:
        dtype = "float32" if variable.is_empty() else str(variable.get().dtype)
        variable.set(to_variable(np.array([rate], dtype)))


@contextlib.contextmanager
def scope_guard(scope):
    """Make `scope` the global one of this thread inside a ``with`` block.

    Parameters
    ----------
    scope : Scope
        Programs that run in the block keep their variables in it.

    Raises
    ------
    TypeError
        `scope` is not a Scope.

    Examples
    --------
    >>> from dygraph import static
    >>> main, startup, scope = static.Program(), static.Program(), static.Scope()
    >>> with static.program_guard(main, startup), static.scope_guard(scope):
    ...     w = static.create_parameter([2], "float32", name="w")
    ...     _ = static.Executor().run(startup)
    >>> scope.local_var_names()
    ['w']
    """
    if not isinstance(scope, Scope):
        raise ArgumentTypeError(f"scope_guard takes a static.Scope, got {kind_of(scope)}")
    if not hasattr(_current, "stack"):
        _current.stack = []
    _current.stack.append(scope)
    try:
        yield
    finally:
        _current.stack.pop()
