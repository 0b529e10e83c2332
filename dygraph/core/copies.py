"""Pickles and copies of a Variable: values, LoD, flags, name and attributes."""

from dygraph import _core
from dygraph.errors import ArgumentTypeError

Variable = _core.Variable


def _rebuild(cls, values, dtype, offsets, flags, name, state):
    made = cls.__new__(cls)
    if values is not None:
        Variable.__init__(made, values, lod=offsets or None, dtype=dtype)
    made.stop_gradient, made.persistable = flags
    if name:
        made.name = name
    if state:
        made.__dict__.update(state)
    return made


def reduce(self, protocol=2):
    """Pickles hold values, LoD, flags, name and attributes, but no gradient, hooks or history."""
    flags = (self.stop_gradient, self.persistable)
    state = dict(self.__dict__)
    state.pop("_exported", None)  # memory that other libraries look at
    if _core.is_empty(self):
        return _rebuild, (type(self), None, None, None, flags, self.name, state)
    if _core.is_selected_rows(self):
        raise ArgumentTypeError("selected rows cannot be copied or pickled. Pass to_dense() on")
    kind = _core.value_kind(self)
    if kind != "Tensor":
        raise ArgumentTypeError(f"a {kind} cannot be copied or pickled. Copy its parts")
    values = self.numpy(), str(self.dtype), _core.lod(self)
    return _rebuild, (type(self), *values, flags, self.name, state)


def deepcopy(self, memo):
    """Independent values with the same flags, without history, as from a pickle."""
    import copy

    parts = list(reduce(self)[1])
    parts[6] = copy.deepcopy(parts[6], memo)
    made = memo[id(self)] = _rebuild(*parts)
    return made


def shallow_copy(self):
    """As ``copy.deepcopy``, with shared attributes."""
    return _rebuild(*reduce(self)[1])
