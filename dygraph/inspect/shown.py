"""One line for an object: its class and the arguments that made it."""

import inspect

import numpy as np

from dygraph._core import Variable

__all__ = ["Shown", "short", "text"]

_LONGEST = 120  # characters of one argument
_SOME = 6  # elements of a list


def short(value):
    """A value on one line: arrays by shape, long lists by their beginning, functions by name."""
    if isinstance(value, (Variable, np.ndarray)):
        shape = list(value.shape)
        name = f"'{value.name}', " if isinstance(value, Variable) and value.name else ""
        return f"{type(value).__name__}({name}shape={shape}, dtype={value.dtype})"
    if isinstance(value, (list, tuple)) and len(value) > _SOME:
        inner = ", ".join(map(short, value[:2]))
        return f"[{inner}, ... {len(value)} in all]"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(short, value))
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, type) or inspect.isroutine(value):
        return getattr(value, "__name__", type(value).__name__)
    if isinstance(value, dict) and len(value) > _SOME:
        return f"dict of {len(value)}"
    if isinstance(value, (np.generic, np.dtype)):
        return str(value)
    if type(value).__repr__ is object.__repr__:
        return type(value).__name__
    line = repr(value).split("\n")[0]
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def text(thing, /, without=(), **more):
    """``Class(argument=value, ...)``: the arguments of the constructor that the object keeps under
    their names and that differ from their defaults, except `without`, then `more`.
    """
    kept, parts = dict(getattr(thing, "__dict__", {})), []
    try:
        parameters = inspect.signature(type(thing).__init__).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    for p in parameters:
        value = kept.get(p.name, kept.get(f"_{p.name}", p.empty))
        if value is p.empty or p.name in (*more, *without) or _is_default(value, p.default):
            continue
        parts.append(f"{p.name}={short(value)}")
    parts += [f"{name}={short(value)}" for name, value in more.items()]
    return f"{type(thing).__name__}({', '.join(parts)})"


def _is_default(value, default):
    if value is default:
        return True
    if isinstance(value, bool) or isinstance(default, bool):
        return False
    both = (str, bytes) if isinstance(value, (str, bytes)) else (int, float)
    return isinstance(value, both) and isinstance(default, both) and value == default


class Shown:
    """Base of classes whose `repr` is the class and its arguments.

    >>> from dygraph.inspect.shown import Shown
    >>> class Noise(Shown):
    ...     def __init__(self, scale, seed=0):
    ...         self.scale, self.seed = scale, seed
    >>> Noise(0.5), Noise(0.5, seed=3)
    (Noise(scale=0.5), Noise(scale=0.5, seed=3))
    """

    def __repr__(self):
        return text(self)
