"""Nested lists, tuples and dicts of Variables, for functions of users.

>>> from dygraph.static import nested
>>> nested.leaves({"b": 1, "a": [2, (3,)]})
[2, 3, 1]
>>> nested.packed((0, [0]), [5, 6])
(5, [6])
"""

__all__ = ["different", "leaves", "mapped", "packed"]


def _parts(value):
    """The parts of a list, tuple or dict with their keys; None for other types."""
    if isinstance(value, dict):
        return [(key, value[key]) for key in sorted(value, key=repr)]
    return list(enumerate(value)) if isinstance(value, (list, tuple)) else None


def leaves(value):
    """The leaves of nested lists, tuples and dicts, in order; dicts by their keys."""
    parts = _parts(value)
    if parts is None:
        return [value]
    return [leaf for _, part in parts for leaf in leaves(part)]


def packed(like, values):
    """The structure of `like` with these values as leaves."""
    return _packed(like, iter(values))


def _packed(like, values):
    parts = _parts(like)
    if parts is None:
        return next(values)
    made = {key: _packed(part, values) for key, part in parts}
    if isinstance(like, dict):
        return type(like)((key, made[key]) for key in like)
    if hasattr(like, "_fields"):  # a namedtuple
        return type(like)(*made.values())
    return type(like)(made.values())


def mapped(function, first, *others):
    """The structure of `first`, with ``function`` of its leaves and those of the others."""
    columns = [leaves(value) for value in (first, *others)]
    return packed(first, [function(*row) for row in zip(*columns, strict=True)])


def different(first, second, at=""):
    """The first difference of two structures, as two texts; None if they are equal."""
    old, new = _parts(first), _parts(second)
    if old is None and new is None:
        return None
    if old is None or new is None or isinstance(first, dict) != isinstance(second, dict):
        return _shown(first, at), _shown(second, at)
    if [key for key, _ in old] != [key for key, _ in new]:
        return _shown(first, at), _shown(second, at)
    for (key, part), (_, other) in zip(old, new, strict=True):
        found = different(part, other, f"{at}[{key!r}]")
        if found:
            return found
    return None


def _shown(value, at):
    parts = _parts(value)
    if parts is None:
        text = "None" if value is None else f"a {type(value).__name__}"
    elif isinstance(value, dict):
        text = f"a dict of {[key for key, _ in parts]}"
    else:
        text = f"a {type(value).__name__} of {len(parts)}"
    return f"{text} at {at}" if at else text
