"""Arguments and results of captured functions: Variables in nested containers."""

from dygraph import _core
from dygraph.static.ways.explore import Input
from dygraph.static.ways.state import constant_key

__all__ = ["build", "inputs_for", "key_of", "leaves", "replaced", "variables_in"]


def build(structure, take):
    """Results in the containers of the function."""
    kind = structure[0]
    if kind == "Variable":
        return take()
    if kind == "number":
        return structure[1](take().item())
    if kind == "constant":
        return structure[3]
    if issubclass(kind, dict):
        return kind((key, build(s, take)) for key, s in structure[1])
    items = [build(s, take) for s in structure[1]]
    return kind._make(items) if hasattr(kind, "_make") else kind(items)


def leaves(structure, value):
    """The leaves of a result, in the order of `build`."""
    if structure[0] in ("Variable", "number"):
        return [value]
    if structure[0] == "constant":
        return []
    if issubclass(structure[0], dict):
        return [leaf for key, s in structure[1] for leaf in leaves(s, value[key])]
    return [leaf for s, v in zip(structure[1], value, strict=True) for leaf in leaves(s, v)]


def variables_in(value, out):
    if isinstance(value, _core.Variable):
        out.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            variables_in(item, out)
    elif isinstance(value, dict):
        for item in value.values():
            variables_in(item, out)
    return out


def inputs_for(names, variables, pattern):
    used = set()
    for name, variable, shape in zip(names, variables, pattern, strict=True):
        while name in used:
            name += "_"
        used.add(name)
        lod = _core.lod(variable)
        yield Input(
            name, shape, str(variable.dtype), len(lod) if lod else 0, variable.stop_gradient
        )


def replaced(value, inputs):
    if isinstance(value, (_core.Variable, Input)):
        return next(inputs)
    if isinstance(value, (list, tuple)):
        items = [replaced(item, inputs) for item in value]
        return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)
    if isinstance(value, dict):
        return {key: replaced(item, inputs) for key, item in value.items()}
    return value


def key_of(value):
    if isinstance(value, _core.Variable):
        lod = _core.lod(value)
        return str(value.dtype), value.ndim, len(lod) if lod else 0, value.stop_gradient
    if isinstance(value, (list, tuple)):
        return (type(value), *map(key_of, value))
    if isinstance(value, dict):
        return (dict, *((key, key_of(item)) for key, item in value.items()))
    constant = constant_key(value)
    return ("id", id(value)) if constant is None else constant
