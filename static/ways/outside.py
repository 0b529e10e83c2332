"""What lives on after a call: it is looked at before and after a run, and brought back."""

import collections
import types

from dygraph import _core
from dygraph.nn.layer import Layer
from static.ways.state import is_own_class, is_plain

_LEFT_ALONE = (
    type, types.ModuleType, types.BuiltinFunctionType, str, bytes, int, float, complex, type(None),
    _core.Variable,
)  # fmt: skip
_MISSING = object()


class Outside:
    """Objects that a function can reach from outside: arguments, `self`, globals, cells."""

    def __init__(self):
        self._noted, self._order, self._seen = {}, [], set()

    def note_root(self, function):
        """The function that is explored, and what it belongs to."""
        owner = getattr(function, "__self__", None)
        if owner is not None:
            self.note(owner, "self")
        self.note(function, "self" if isinstance(function, Layer) else "function")

    def note_globals(self, function):
        """What the code of a function names of its module."""
        code, variables = function.__code__, function.__globals__
        if (id(code), id(variables)) in self._seen:
            return
        self._seen.add((id(code), id(variables)))
        for name in code.co_names:
            value = variables.get(name, _MISSING)
            if value is _MISSING and name in _builtins(variables):
                continue
            self._order.append(("global", (variables, name), value, name))
            if value is not _MISSING:
                self.note(value, name)

    def _note_function(self, function):
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self._order.append(("cell", cell, value, name))
            self.note(value, name)
        for part in (function.__defaults__, function.__kwdefaults__, function.__dict__):
            if part:
                self.note(part, function.__name__)

    def note(self, o, name):
        """An object and what it holds, as they are now."""
        todo = [(o, name)]
        while todo:
            o, name = todo.pop()
            if isinstance(o, _LEFT_ALONE) or id(o) in self._noted:
                continue
            kind = type(o)
            if isinstance(o, types.FunctionType):
                self._add(o, name, ())
                self._note_function(o)
            elif isinstance(o, types.MethodType):
                todo.append((o.__self__, name))
                todo.append((o.__func__, name))
            elif isinstance(o, (list, tuple, collections.deque)):
                self._add(o, name, list(o))
                todo.extend((item, f"{name}[{i}]") for i, item in enumerate(o))
            elif isinstance(o, dict):
                self._add(o, name, list(o.items()))
                todo.extend((item, f"{name}[{key!r}]") for key, item in o.items())
            elif isinstance(o, set):
                self._add(o, name, list(o))
            elif isinstance(o, Layer) or (is_plain(kind) and hasattr(o, "__dict__")):
                if is_own_class(kind) and not isinstance(o, Layer):
                    continue
                self._add(o, name, _attributes(o))
                if isinstance(o, Layer) and "_parameters" in o.__dict__:
                    for group in ("_parameters", "_buffers"):
                        content = list(getattr(o, group).items())
                        self._order.append(("group", getattr(o, group), content, name))
                        self._noted[id(getattr(o, group))] = getattr(o, group)
                hidden = ("_made", "_pre_hooks", "_post_hooks")
                todo.extend((v, f"{name}.{n}") for n, v in _attributes(o) if n not in hidden)

    def _add(self, o, name, content):
        self._noted[id(o)] = o
        if not isinstance(o, (tuple, types.FunctionType)):
            self._order.append(("object", o, content, name))

    def changed(self):
        """The name of what is another now, or None; everything is brought back."""
        first = None
        for kind, o, before, name in reversed(self._order):
            different = _CHECKS[kind](o, before, True)
            if different is not None:
                first = name + different
        return first

    def is_changed(self):
        """Whether anything is another now; what Layers keep as parameters and buffers apart."""
        return any(
            kind != "group" and _CHECKS[kind](o, before, False) is not None
            for kind, o, before, _ in self._order
        )


def _builtins(variables):
    found = variables.get("__builtins__", {})
    return found if isinstance(found, dict) else vars(found)


def _same(a, b):
    if a is b:
        return True
    return type(a) is type(b) and isinstance(a, (int, float, str, bytes)) and repr(a) == repr(b)


def _attributes(o):
    """Attributes of an object; of a Layer those that are no parameters and no buffers."""
    if not isinstance(o, Layer) or "_parameters" not in o.__dict__:
        return list(o.__dict__.items())
    own = {*o._parameters, *o._buffers, "forward"}
    return [(n, v) for n, v in o.__dict__.items() if n not in own]


def _global(place, before, restore):
    variables, name = place
    if _same(variables.get(name, _MISSING), before):
        return None
    if not restore:
        return ""
    if before is _MISSING:
        del variables[name]
    else:
        variables[name] = before
    return ""


def _cell(cell, before, restore):
    try:
        now = cell.cell_contents
    except ValueError:
        now = _MISSING
    if _same(now, before):
        return None
    if restore:
        cell.cell_contents = before
    return ""


def _object(o, before, restore):
    if isinstance(o, (dict, set, list, collections.deque)):
        now = list(o.items()) if isinstance(o, dict) else list(o)
        if len(now) == len(before) and all(map(_equal, now, before)):
            return None
        if restore:
            o.clear()
            o.update(before) if isinstance(o, (dict, set)) else o.extend(before)
        return ""
    now = _attributes(o)
    if len(now) == len(before) and all(map(_equal, now, before)):
        return None
    kept = dict(before)
    found = next((n for n, v in now if n not in kept or not _same(v, kept[n])), None)
    found = found or next((n for n in kept if n not in o.__dict__), "__dict__")
    if restore:
        for name, _ in now:
            del o.__dict__[name]
        o.__dict__.update(before)
    return f".{found}"


_CHECKS = {"global": _global, "cell": _cell, "object": _object, "group": _object}


def _equal(a, b):
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) == 2:
        return _same(a[0], b[0]) and _same(a[1], b[1])
    return _same(a, b)
