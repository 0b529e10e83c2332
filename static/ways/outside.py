"""State that outlives a call: compared before and after a run, and restored."""

import collections
import sys
import types

import numpy as np

from dygraph import _core
from dygraph.core.sizes import is_library
from dygraph.inspect.watch import is_own_file
from dygraph.nn.layer import Layer
from dygraph.static.ways.state import is_own_class, is_plain

_LEFT_ALONE = (
    types.ModuleType, types.BuiltinFunctionType, str, bytes, int, float, complex, type(None),

)  # fmt: skip
_MISSING = object()


class Outside:
    """Objects that a function can reach from outside: arguments, `self`, globals, cells."""

    def __init__(self):
        self._noted, self._order, self._seen = {}, [], set()
        self.variables = []  # eager ones outside Layers, which Python may read

    def note_root(self, function):
        """The explored function and its owner."""
        owner = getattr(function, "__self__", None)
        if owner is not None:
            self.note(owner, "self")
        self.note(function, "self" if isinstance(function, Layer) else "function")

    def note_forward(self, layer):
        """The forward in a Layer's own attributes, if it has one."""
        before = layer.__dict__.get("forward", _MISSING)
        self._order.append(("global", (layer.__dict__, "forward"), before, "self.forward"))

    def note_globals(self, function):
        """The names of the module that the code of a function uses."""
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
            if isinstance(value, types.ModuleType) and _is_users(value):
                for inner in code.co_names:
                    if inner in vars(value):
                        found = vars(value)[inner]
                        where = f"{name}.{inner}"
                        self._order.append(("global", (vars(value), inner), found, where))
                        self.note(found, where)

    def note_code(self):
        """The globals that the user's functions among the noted objects use."""
        done = set()
        while True:
            found = [o for o in self._noted.values() if isinstance(o, types.FunctionType)]
            for o in list(self._noted.values()):
                if isinstance(o, type):
                    found += [f for f in vars(o).values() if isinstance(f, types.FunctionType)]
            found = [f for f in found if id(f) not in done]
            if not found:
                return
            for function in found:
                done.add(id(function))
                file = function.__code__.co_filename
                if not is_own_file(file) and not is_library(file):
                    self._note_function(function)
                    self.note_globals(function)

    def note_some(self, o, name, without):
        """The attributes of an object, by identity, and those of its own objects."""
        todo = [(o, name)]
        while todo:
            o, name = todo.pop()
            for attribute, value in list(o.__dict__.items()):
                if attribute in without:
                    continue
                where = f"{name}.{attribute}"
                self._order.append(("global", (o.__dict__, attribute), value, where))
                if is_own_class(type(value)) and hasattr(value, "__dict__"):
                    todo.append((value, where))

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
        """An object and its current contents."""
        todo = [(o, name)]
        while todo:
            o, name = todo.pop()
            if isinstance(o, _LEFT_ALONE) or id(o) in self._noted:
                continue
            if isinstance(o, _core.Variable):
                self._noted[id(o)] = o
                self.variables.append((o, name))
                continue
            kind = type(o)
            if isinstance(o, type):
                self._note_class(o)
            elif isinstance(o, np.ndarray):
                self._noted[id(o)] = o
                self._order.append(("array", o, o.copy(), name))
            elif isinstance(o, types.FunctionType):
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
                self._note_class(kind)
                if isinstance(o, Layer) and "_parameters" in o.__dict__:
                    for group in ("_parameters", "_buffers"):
                        content = list(getattr(o, group).items())
                        self._order.append(("group", getattr(o, group), content, name))
                        self._noted[id(getattr(o, group))] = getattr(o, group)
                hidden = ("_made", "_pre_hooks", "_post_hooks")
                todo.extend((v, f"{name}.{n}") for n, v in _attributes(o) if n not in hidden)

    def _note_class(self, kind):
        for base in kind.__mro__:
            if id(base) in self._noted or not is_plain(base) or is_own_class(base):
                continue
            module = sys.modules.get(base.__module__)
            if base.__flags__ & (1 << 9) and (module is None or _is_users(module)):
                self._noted[id(base)] = base
                content = list(vars(base).items())
                self._order.append(("class", base, content, base.__name__))

    def _add(self, o, name, content):
        self._noted[id(o)] = o
        if not isinstance(o, (tuple, types.FunctionType)):
            self._order.append(("object", o, content, name))

    def guard(self, call):
        """Make a `_core.CapturedCall` compare the current state before each call."""
        for kind, o, before, _ in self._order:
            if kind == "global":
                call.guard_item(*o)
            elif kind == "cell":
                call.guard_cell(o)
            elif kind == "class":
                call.guard_class(o)
            elif kind == "array":
                call.guard_array(o, before)
            elif isinstance(o, (list, dict)):
                call.guard_content(o)
            elif hasattr(o, "__dict__"):
                call.guard_attributes(o)
            else:
                raise TypeError(f"{type(o).__name__} is compared by Python alone")

    def changed(self):
        """The name of a changed object, or None; restores the state."""
        first = None
        for kind, o, before, name in reversed(self._order):
            different = _CHECKS[kind](o, before, True)
            if different is not None:
                first = name + different
        return first

    def is_changed(self):
        """Whether any object has changed, except for parameters and buffers of Layers."""
        return self.first_change(groups=False) is not None

    def first_change(self, groups=True):
        """The name of a changed object, or None."""
        for kind, o, before, name in self._order:
            if groups or kind != "group":
                different = _CHECKS[kind](o, before, False)
                if different is not None:
                    return name + different
        return None


def _is_users(module):
    file = getattr(module, "__file__", None)
    return file is None or not (is_own_file(file) or is_library(file))


def _builtins(variables):
    found = variables.get("__builtins__", {})
    return found if isinstance(found, dict) else vars(found)


def _same(a, b):
    if a is b:
        return True
    return type(a) is type(b) and isinstance(a, (int, float, str, bytes)) and repr(a) == repr(b)


def _attributes(o):
    """Attributes of an object; for a Layer, without parameters and buffers."""
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


def _class(kind, before, restore):
    now, kept = dict(vars(kind)), dict(before)
    different = [n for n in {**now, **kept} if now.get(n, _MISSING) is not kept.get(n, _MISSING)]
    different = [n for n in different if not n.startswith(("__", "_abc"))]
    if not different:
        return None
    for name in different if restore else ():
        if name in kept:
            setattr(kind, name, kept[name])
        else:
            delattr(kind, name)
    return f".{different[0]}"


def _array(o, before, restore):
    if o.dtype.hasobject or (o.shape == before.shape and o.tobytes() == before.tobytes()):
        return None
    if restore:
        o[...] = before
    return ""


_CHECKS = {
    "global": _global, "cell": _cell, "object": _object, "group": _object, "class": _class,
    "array": _array,
}  # fmt: skip


def _equal(a, b):
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) == 2:
        return _same(a[0], b[0]) and _same(a[1], b[1])
    return _same(a, b)
