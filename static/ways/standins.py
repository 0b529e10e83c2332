"""Replacements of Python's functions, and of some of ours, in converted code.

They are equivalent for plain arguments.
"""

import dygraph
from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core.variable import Parameter as EagerParameter
from dygraph.static.variable import Parameter, Variable
from dygraph.static.ways.arrays import Array
from dygraph.static.ways.graph import here
from dygraph.static.ways.numbers import Number, as_variable
from dygraph.static.ways.sequences import Range, Walk, size_of

__all__ = ["STANDINS"]

ops = _core.ops


def _range(*numbers):
    return Range(*numbers) if any(_is_symbolic(n) for n in numbers) else range(*numbers)


def _is_symbolic(value):
    return type(value) is Number or isinstance(value, Variable)


def _len(value):
    if isinstance(value, Variable):
        if not value.desc.shape:
            return len(value)
        n = value.desc.shape[0]
        return size_of(value, 0) if n == -1 else n
    if isinstance(value, (Range, Array)):
        return value.length()
    return len(value)


def _enumerate(iterable, start=0):
    if not _can_walk(iterable):
        return enumerate(iterable, start)
    return Walk("enumerate", [iterable], start)


def _zip(*iterables, strict=False):
    if not iterables or not all(_can_walk(i) for i in iterables):
        return zip(*iterables, strict=strict)
    walk = Walk("zip", iterables, strict)
    if walk.open and strict:
        raise modes.ways.refuse(
            f"zip(strict=True) at {here()} cannot check lengths that are known when the program "
            "runs. Leave strict out"
        )
    return walk


def _reversed(sequence):
    if not _can_walk(sequence) or isinstance(sequence, (Walk, _core.Variable)):
        return reversed(sequence)
    return Walk("reversed", [sequence])


def _can_walk(value):
    return type(value) in (list, tuple, range, str, dict, Walk, Range, Array) or isinstance(
        value, _core.Variable
    )


def _type(*given):
    if len(given) == 1 and type(given[0]) is Number:
        return given[0].kind
    if len(given) == 1 and isinstance(given[0], Variable):
        return EagerParameter if isinstance(given[0], Parameter) else _core.Variable
    return type(*given)


def _isinstance(value, kinds):
    if isinstance(value, Parameter) and isinstance(kinds, (type, tuple)):
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        return isinstance(value, kinds) or EagerParameter in kinds
    return isinstance(value, kinds)


def _int(value=0, *base):
    if type(value) is Number and not base:
        if value.kind is float:
            raise value.refused("int()", "Compute with whole numbers")
        return Number(value.as_kind(int), int)
    if isinstance(value, Variable) and not base:
        dtype = str(value.dtype)
        if dtype.startswith(("int", "uint", "bool")) and _single(value):
            return Number(value.reshape([]).astype("int64"), int)
    return int(value, *base)


def _float(value=0.0):
    if type(value) is Number:
        return Number(value.as_kind(float), float)
    if isinstance(value, Variable) and str(value.dtype) != "float16" and _single(value):
        return Number(value.detach().reshape([]).astype("float64"), float)
    return float(value)


def _single(value):
    return all(n == 1 for n in value.desc.shape)


def _bool(value=False):
    return bool(value)


def _print(*values, **how):
    ways = modes.ways
    if not any(_is_symbolic(v) for v in values) or how:
        raise ways.refuse(
            f"print() of plain text, or with {sorted(how) or 'options'}, at {here()} would be left "
            "out: a program prints Variables. Print one with the text, or print after the call"
        )
    text = ""
    for value in values:
        if _is_symbolic(value):
            shown = value.value if type(value) is Number else value
            ways.pseudo("print", {"In": [shown]}, ways.meta_of(shown), {"message": text})
            text = ""
        else:
            text += f"{value} "
    return None


def _reshape(x, shape, *rest, **named):
    if isinstance(x, Variable) and not rest and not named and isinstance(shape, (list, tuple)):
        return x.reshape(list(shape))
    return dygraph.reshape(x, shape, *rest, **named)


def _arange(*numbers, **named):
    if not any(type(n) is Number for n in numbers) or named:
        return dygraph.arange(*numbers, **named)
    walk = Range(*numbers)
    return ops.range(
        *(as_variable(n, int).reshape([1]) for n in (walk.start, walk.stop, walk.step))
    )


def _stack(x, axis=0, *rest, **named):
    if isinstance(x, Array) and not rest and not named:
        return x.joined("stack()", "array_stack", axis=axis)
    return dygraph.stack(x, axis, *rest, **named)


def _concat(x, axis=0, *rest, **named):
    if isinstance(x, Array) and not rest and not named:
        return x.joined("concat()", "array_concat", axis=axis)
    return dygraph.concat(x, axis, *rest, **named)


STANDINS = {
    type: _type,
    isinstance: _isinstance,
    range: _range, len: _len, enumerate: _enumerate, zip: _zip, reversed: _reversed, int: _int,
    float: _float, bool: _bool, print: _print, dygraph.stack: _stack, dygraph.concat: _concat,
    dygraph.reshape: _reshape, dygraph.arange: _arange,
}  # fmt: skip
