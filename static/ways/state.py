"""All that the rest of a function can see, as leaves that can be compared.

Leaves are Variables and numbers of the program (by uid), constants (by type and value), containers
(by length and keys), objects (by type and attributes). What cannot be compared equals nothing.
"""

import collections
import enum
import functools
import struct
import sys
import types

import numpy as np

from dygraph import _core
from dygraph.nn.layer import Layer
from dygraph.static.variable import Variable
from dygraph.static.ways.numbers import Number

__all__ = ["Leaf", "State"]

_CONSTANTS = {type(None), bool, int, str, bytes, type(Ellipsis), type(NotImplemented)}
_BY_TEXT = _core.dtype, _core.Place
_THEMSELVES = (
    types.ModuleType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, enum.Enum,
)  # fmt: skip
_AROUND = {property: ("fget", "fset", "fdel"), staticmethod: ("__func__",),
           classmethod: ("__func__",), functools.partial: ("func", "args", "keywords"),
           types.MethodType: ("__self__", "__func__")}  # fmt: skip
_BASES = {object, list, dict, tuple, set, frozenset, str, int, float, collections.OrderedDict,
          collections.defaultdict, collections.deque, BaseException, Exception}  # fmt: skip
_LAYERS_OWN = {"_parameters", "_buffers", "_sub_layers", "forward", "_made"}


class Leaf:
    """One value of a state.

    `kind` is "V" (Variable, `value` its uid), "N" (number of the program, (kind, uid)), "e" (eager
    Variable), "c" (constant) or the type of a container. `put` replaces the value in place; None
    if that is impossible.
    """

    __slots__ = ("kind", "value", "object", "put")

    def __init__(self, kind, value, object=None, put=None):
        self.kind, self.value, self.object, self.put = kind, value, object, put

    def equals(self, other):
        return self.kind == other.kind and self.value == other.value

    def light(self):
        """The same without the object, which would keep a whole run alive."""
        put = None if self.put is None else True
        return Leaf(self.kind, self.value, self.object if self.kind == "c" else None, put)

    @property
    def uid(self):
        """Of a Variable or number."""
        return self.value if self.kind == "V" else self.value[1]

    @property
    def is_number(self):
        return self.kind == "c" and self.value[0] in (bool, int, float)

    @property
    def kind_of_number(self):
        """bool, int or float; None for what is no number of Python's."""
        if self.kind == "N":
            return self.value[0]
        return self.value[0] if self.is_number else None

    def text(self):
        """What it is, for messages."""
        if self.kind in ("V", "e"):
            return "a Variable"
        if self.kind == "N":
            article = "an" if self.value[0] is int else "a"
            return f"{article} {self.value[0].__name__} that the program computes"
        if self.kind == "c":
            return repr(self.object)
        if self.kind in ("list", "tuple", "dict"):
            return f"a {self.kind} of {self.value[1]}"
        return f"a {self.kind}"


def constant_key(o):
    """A constant as something that is equal only where type and bits are; None for others."""
    kind = type(o)
    if kind in _CONSTANTS:
        return kind, o
    if kind is float:
        return kind, struct.pack("d", o)
    if kind is complex:
        return kind, struct.pack("dd", o.real, o.imag)
    if isinstance(o, np.generic):
        return kind, o.tobytes()
    if isinstance(o, _BY_TEXT):
        return kind, str(o)
    if kind in (range, slice):
        parts = [constant_key(p) for p in (o.start, o.stop, o.step)]
        return None if None in parts else (kind, tuple(parts))
    return None


class State:
    """Takes the leaves of objects.

    Parameters
    ----------
    uid_of : function
        The uid of a symbolic Variable.
    kept : dict
        Objects that are compared by identity, by id, so that no id is given out again.
    """

    def __init__(self, uid_of, kept):
        self._uid_of, self._kept = uid_of, kept
        self._seen = {}
        self.leaves = {}

    def add(self, name, o, put=None):
        """All of an object that stands under a name."""
        self.walk(o, (name,), put)
        return self

    def _identity(self, o):
        """What is equal for this object alone; its id is given to no other from here on."""
        self._kept[id(o)] = o
        return id(o)

    def _class(self, kind):
        """A class in a key. One that the function makes is another in each run."""
        return (kind.__module__, kind.__qualname__) if is_local(kind) else kind

    def _type(self, o, path):
        if not is_local(o):
            return self.leaf(path, "same", self._identity(o))
        names = [n for n in vars(o) if n not in ("__dict__", "__weakref__")]
        bases = tuple(self._class(base) for base in o.__mro__[1:])
        self.leaf(path, "class", (self._class(o), bases, tuple(names)))
        for name in names:
            put = lambda v, name=name: setattr(o, name, v)  # noqa: E731
            self.walk(vars(o)[name], (*path, ("a", name)), put)
        return None

    def leaf(self, path, kind, value, o=None, put=None):
        self.leaves[path] = Leaf(kind, value, o, put)

    def walk(self, o, path, put):
        if isinstance(o, Variable):
            return self.leaf(path, "V", self._uid_of(o), o, put)
        if type(o) is Number:
            return self.leaf(path, "N", (o.kind, self._uid_of(o.value)), o, put)
        key = constant_key(o)
        if key is not None:
            return self.leaf(path, "c", key, o, put)
        if isinstance(o, _core.Variable):
            which = self._identity(o) if o.persistable else repr(_core.digest(o))
            return self.leaf(path, "e", (which, o.stop_gradient), o, put)
        kind = type(o)
        if issubclass(kind, tuple):
            return self._tuple(o, path, put)
        if id(o) in self._seen:
            return self.leaf(path, "ref", self._seen[id(o)], None, put)
        self._seen[id(o)] = path
        walk = (
            getattr(o, "walk_ways", None)
            if kind.__module__.startswith("dygraph.static.ways")
            else None
        )
        if walk is not None:
            return walk(self, path)
        if kind.__module__.startswith("dygraph.static.ways"):
            return None  # hooks, and what explores
        if isinstance(o, (list, collections.deque)):
            self.leaf(path, kind.__name__, (self._class(kind), len(o)), o, put)
            for i, item in enumerate(o):
                self.walk(item, (*path, i), lambda v, i=i: o.__setitem__(i, v))
        elif isinstance(o, dict):
            self._dict(o, path, kind)
        elif isinstance(o, (set, frozenset)):
            keys = [constant_key(item) for item in o]
            value = object() if None in keys else frozenset(keys)
            return self.leaf(path, "set", (kind, value))
        elif isinstance(o, types.FunctionType):
            return self._function(o, path)
        elif kind in _AROUND:
            self.leaf(path, kind.__name__, kind)
            for part in _AROUND[kind]:
                self.walk(getattr(o, part), (*path, part), None)
            return None
        elif isinstance(o, type):
            return self._type(o, path)
        elif isinstance(o, _THEMSELVES):
            return self.leaf(path, "same", self._identity(o))
        elif isinstance(o, np.ndarray):
            value = object() if o.dtype.hasobject else (o.dtype.str, o.shape, o.tobytes())
            return self.leaf(path, "array", value)
        elif isinstance(o, (_views)):
            self.leaf(path, "view", (kind, len(o)))
            return [self.walk(item, (*path, i), None) for i, item in enumerate(o)]
        elif isinstance(o, types.CellType):
            return self._cell(o, path)
        elif not is_plain(kind):
            unknown = hasattr(o, "__next__") or hasattr(o, "send")
            value = object() if unknown else self._identity(o)
            return self.leaf(path, kind.__name__, value, o)
        return self._attributes(o, path, kind)

    def _tuple(self, o, path, put):
        kind = type(o)
        self.leaf(path, "tuple", (self._class(kind), len(o)), o, put)
        items = list(o)
        make = kind._make if hasattr(kind, "_make") else kind

        def renew(i, v):
            items[i] = v
            put(make(items))

        for i, item in enumerate(o):
            inner = None if put is None else (lambda v, i=i: renew(i, v))
            self.walk(item, (*path, i), inner)
        return None

    def _dict(self, o, path, kind):
        keys = []
        for key in o:
            known = constant_key(key)
            if known is None and isinstance(key, tuple):
                parts = [constant_key(part) for part in key]
                known = None if None in parts else ("tuple", *parts)
            if known is None:
                is_value = isinstance(key, _core.Variable)
                known = object() if is_value else ("same", self._identity(key))
            keys.append(known)
        self.leaf(path, "dict", (self._class(kind), len(o), tuple(keys)), o)
        for number, key in enumerate(o):
            name = key if isinstance(key, str) else f"#{number}"
            self.walk(o[key], (*path, ("k", name)), lambda v, key=key: o.__setitem__(key, v))

    def _function(self, o, path):
        self.leaf(path, "function", (o.__code__, id(o.__globals__)))
        for i, cell in enumerate(o.__closure__ or ()):
            self._cell(cell, (*path, "cell", i))
        for part in (o.__defaults__, o.__kwdefaults__, o.__dict__):
            if part:
                self.walk(part, (*path, "default"), None)

    def _cell(self, cell, path):
        try:
            inside = cell.cell_contents
        except ValueError:
            return self.leaf(path, "empty", None)
        return self.walk(inside, path, lambda v: setattr(cell, "cell_contents", v))

    def _attributes(self, o, path, kind):
        if isinstance(o, Layer) and is_own_class(kind):
            return self.leaf(path, "layer", (self._identity(o), o.training))
        given = getattr(o, "__dict__", {})
        skipped = _LAYERS_OWN if isinstance(o, Layer) else ()
        names = [n for n in given if n not in skipped]
        for base in kind.__mro__:
            slots = base.__dict__.get("__slots__", ())
            slots = [slots] if isinstance(slots, str) else slots
            names += [n for n in slots if n not in ("__dict__", "__weakref__") and hasattr(o, n)]
        identity = self._identity(o) if isinstance(o, Layer) else None
        self.leaf((*path, "."), "object", (self._class(kind), identity, tuple(names)), o)
        if is_local(kind):
            self.walk(kind, (*path, "class"), None)
        if isinstance(o, BaseException):
            self.walk(o.args, (*path, "args"), None)
        if isinstance(o, (str, int, float)):
            self.leaf((*path, "="), "plain", repr(o))
        for name in names:
            value = given[name] if name in given else getattr(o, name)
            self.walk(value, (*path, ("a", name)), lambda v, name=name: setattr(o, name, v))
        return None


_views: tuple = type({}.keys()), type({}.values()), type({}.items())


def is_local(kind):
    """Whether a function makes the class."""
    return "<locals>" in kind.__qualname__


def is_own_class(kind):
    """Whether a class is one of this library's."""
    return kind.__module__.split(".")[0] in ("dygraph", "static")


def is_plain(kind):
    """Whether attributes are all that an object of this class holds: classes made by Python."""
    for base in kind.__mro__:
        if base in _BASES or (isinstance(base, type) and issubclass(base, BaseException)):
            continue
        if not base.__flags__ & (1 << 9):
            return False
        module = sys.modules.get(base.__module__)
        file = getattr(module, "__file__", None)
        if file is None and base.__module__ != "__main__" and module is not None:
            return module.__spec__ is None
        if file is not None and not file.endswith(".py"):
            return False
    return True
