"""The lists and dicts of a program: `block.ops` and `block.vars` edit it, the others are read.

What is read raises when it is edited and names the call to write: it is made of what the program
holds, so that an edit of it alone would leave the program, its bytes and its runs as they were.
"""

from collections.abc import ItemsView, Iterable, MutableMapping, MutableSequence, ValuesView

from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    UnimplementedError,
    kind_of,
)

__all__ = ["Operators", "ShownDict", "ShownList", "Variables", "shown"]

_WORDS = {
    "__delitem__": "del", "__iadd__": "+=", "__imul__": "*=", "__ior__": "|=",
    "__setitem__": "assignment",
}  # fmt: skip


# What is read -------------------------------------------------------------------------------------


class _Shown:
    __slots__ = ()

    def __reduce__(self):
        plain = self.__class__.__mro__[2]  # copies and pickles are the reader's own
        return plain, (plain(self),)


class ShownList(_Shown, list):
    """A list whose edits raise UnimplementedError; `what` it is, and `fix`, the call to write."""

    __slots__ = ("what", "fix")

    def __init__(self, values=(), what="", fix=""):
        list.__init__(self, values)
        self.what, self.fix = what, fix


class ShownDict(_Shown, dict):
    """A dict whose edits raise UnimplementedError, as of `ShownList`."""

    __slots__ = ("what", "fix")

    def __init__(self, values=(), what="", fix=""):
        dict.__init__(self, values)
        self.what, self.fix = what, fix


def _refusing(name):
    def method(self, *args, **kwargs):
        raise UnimplementedError(
            f"{self.what}: {_WORDS.get(name, f'{name}()')} would leave the program unchanged. "
            f"Write {self.fix}"
        )

    method.__name__ = name
    return method


_EDITS = {
    ShownList: "append clear extend insert pop remove reverse sort __delitem__ __iadd__ __imul__ "
    "__setitem__",
    ShownDict: "clear pop popitem setdefault update __delitem__ __ior__ __setitem__",
}
for _class, _names in _EDITS.items():
    for _name in _names.split():
        setattr(_class, _name, _refusing(_name))


def shown(value, what, fix):
    """Lists and dicts, also inside dicts, as read-only ones; other values unchanged."""
    if type(value) is list:
        return ShownList(value, what, fix)
    if type(value) is dict:
        return ShownDict({k: shown(v, what, fix) for k, v in value.items()}, what, fix)
    return value


# What is edited -----------------------------------------------------------------------------------


class Operators(MutableSequence):
    """The operators of a block, in the order they run: a list whose edits are edits of the block.

    An operator has one position in one program; AlreadyExistsError for a second one. Slices and
    sums are ordinary lists.
    """

    __slots__ = ("_block", "_core")

    def __init__(self, block):
        self._block, self._core = block, block.core

    def __len__(self):
        return self._core.op_count

    def __iter__(self):
        return iter(self._core.ops())

    def __reversed__(self):
        return reversed(self._core.ops())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._core.ops()[index]
        return self._core.op(self._at(index))

    def __contains__(self, op):
        return isinstance(op, self._block.operator_class) and self._core.index(op.desc) >= 0

    def index(self, op, start=0, stop=None):
        """The index of an operator; ValueError if it is not in the list."""
        return self._core.ops().index(op, start, len(self) if stop is None else stop)

    def __eq__(self, other):
        if isinstance(other, Operators):
            other = list(other)
        return list(self) == other if isinstance(other, list) else NotImplemented

    def __setitem__(self, index, value):
        ops = self._core.ops()
        ops[index] = value
        self.put(ops)

    def __delitem__(self, index):
        if isinstance(index, slice):
            ops = self._core.ops()
            del ops[index]
            self.put(ops)
        else:
            self._core.remove(self._at(index))

    def insert(self, index, op):
        """Insert an operator before the one of this index."""
        self._require(op)
        self._core.insert(slice(index, None).indices(len(self))[0], op)

    def append(self, op):
        """Append an operator."""
        self._require(op)
        self._core.insert(len(self), op)

    def extend(self, ops):
        """Append operators: all of them, or none if one cannot be appended."""
        self.put([*self._core.ops(), *ops])

    def __iadd__(self, ops):
        self.extend(ops)
        return self

    def __imul__(self, times):
        self.put(self._core.ops() * times)
        return self

    def clear(self):
        """Remove all."""
        self.put([])

    def reverse(self):
        """Reverse the order of the operators."""
        self.put(self._core.ops()[::-1])

    def sort(self, *, key=None, reverse=False):
        """Sort the operators by their keys."""
        self.put(sorted(self._core.ops(), key=key, reverse=reverse))

    def put(self, ops):
        """Have these and no others."""
        if not isinstance(ops, Iterable):
            raise ArgumentTypeError(f"block.ops holds a list of operators, got {kind_of(ops)}")
        ops = list(ops)
        for op in ops:
            self._require(op)
        self._core.set_ops(ops)

    def copy(self):
        """A list of its own."""
        return list(self)

    __copy__ = copy

    def __add__(self, other):
        return list(self) + list(other)

    def __radd__(self, other):
        return list(other) + list(self)

    def __mul__(self, times):
        return list(self) * times

    __rmul__ = __mul__

    def __repr__(self):
        return repr(list(self))

    def _at(self, index):
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise ArgumentTypeError(f"block.ops: an index must be a number, got {kind_of(index)}")
        count = len(self)
        if not -count <= index < count:
            raise OutOfRangeError(
                f"block.ops: block {self._block.idx} has {count} operators, got number {index}"
            )
        return index.__index__() % count

    def _require(self, op):
        if not isinstance(op, self._block.operator_class):
            raise ArgumentTypeError(
                f"block.ops holds operators of programs, got {kind_of(op)}. Make one with "
                "block.append_op(...)"
            )


class _Values(ValuesView):
    def __iter__(self):
        return iter(self._mapping.core.vars())


class _Items(ItemsView):
    def __iter__(self):
        core = self._mapping.core
        return iter(list(zip(core.var_names(), core.vars(), strict=True)))


class Variables(MutableMapping):
    """The variables of a block by name: a dict whose edits are edits of the block.

    A variable that an operator uses cannot be removed; the PreconditionNotMetError names the
    operator. A removed variable can be inserted again under its name.
    """

    __slots__ = ("_block", "core")

    def __init__(self, block):
        self._block, self.core = block, block.core

    def __len__(self):
        return self.core.var_count

    def __iter__(self):
        return iter(self.core.var_names())

    def __reversed__(self):
        return reversed(self.core.var_names())

    def __contains__(self, name):
        return isinstance(name, str) and self.core.has(name)

    def __getitem__(self, name):
        found = self.core.find(name) if isinstance(name, str) else None
        if found is None:
            raise KeyError(name)
        return found

    def get(self, name, default=None):
        """The variable of this name; `default` if there is none."""
        found = self.core.find(name) if isinstance(name, str) else None
        return default if found is None else found

    def values(self):
        """The variables, in order of declaration."""
        return _Values(self)

    def items(self):
        """Names and variables, in order of declaration."""
        return _Items(self)

    def __delitem__(self, name):
        if name not in self:
            raise KeyError(name)
        self._block.remove_var(name)

    def __setitem__(self, name, variable):
        if self.get(name) is variable:
            return
        self._require(name, variable)
        if name in self:
            raise InvalidArgumentError(
                f"block.vars: the name '{name}' is that of another variable. Remove that one "
                f"first: block.remove_var('{name}')"
            )
        self._block.put_var(variable)

    def _require(self, name, variable):
        if not isinstance(variable, self._block.variable_class):
            raise ArgumentTypeError(
                f"block.vars holds variables of programs, got {kind_of(variable)}. Declare one "
                "with block.create_var(...)"
            )
        if variable.name != name:
            raise InvalidArgumentError(
                f"block.vars: the key must be the name of the variable, got '{variable.name}' for "
                f"'{name}'. Write block.rename_var('{variable.name}', '{name}')"
            )

    def popitem(self):
        """Remove the newest variable; returns its name and itself."""
        if not self:
            raise NotFoundError("block.vars: there must be a variable to remove, got none")
        name = self.core.var_names()[-1]
        return name, self.pop(name)

    def clear(self):
        """Remove all variables, or none if an operator uses one."""
        self.put({})

    def put(self, variables):
        """Replace all variables by these, in the declared order."""
        if not isinstance(variables, (dict, Variables)):
            raise ArgumentTypeError(f"block.vars holds variables by name, got {kind_of(variables)}")
        for name, variable in variables.items():
            if self.get(name) is not variable:
                self._require(name, variable)
        gone = dict.fromkeys(n for n, v in self.items() if variables.get(n) is not v)
        kept = [name for name in self if name not in gone]
        if [name for name in variables if name in self and name not in gone] != kept:
            raise UnimplementedError(
                "block.vars: variables keep the order in which they were declared, got another one"
            )
        self._block.remove_vars(gone)
        for name, variable in variables.items():
            self[name] = variable

    def copy(self):
        """A dict of its own."""
        return dict(self.items())

    __copy__ = copy

    def __or__(self, other):
        return {**self, **other}

    def __ror__(self, other):
        return {**other, **self}

    def __ior__(self, other):
        self.update(other)
        return self

    def __repr__(self):
        return repr(self.copy())
