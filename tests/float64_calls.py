"""Calls on float64 that tell a float attribute from the nearest number of float32."""

import functools

import numpy as np

import fuzz_calls
from dygraph import _core

_CHANGES = (lambda v: v * 0.7 + 0.013, lambda v: v * 1.1 + 0.003, lambda v: -0.3 - v)


def rounded(number):
    return float(np.float32(number))


def float_attrs(op):
    return [a for a in fuzz_calls.describe(op)["attrs"] if a["type"] == "a float"]


# Every float attribute of every operator.
PAIRS = [(op, a["name"]) for op in _core.op_names() for a in float_attrs(op)]


def wide(call):
    """The call with float64 in the place of float32."""
    call = call.copy()
    for values in call.inputs.values():
        for i, v in enumerate(values):
            if fuzz_calls.holds_value(v) and not _core.is_selected_rows(v) and v.dtype == "float32":
                values[i] = _core.to_variable(v.numpy().astype("float64"), lod=_core.lod(v) or None)
    for name, value in call.attrs.items():
        if value == "float32":
            call.attrs[name] = "float64"
    return call


def bits(results):
    """Bytes of the results by slot."""
    return {slot: [bytes_of(v) for v in values] for slot, values in sorted(results.items())}


def bytes_of(v):
    if not fuzz_calls.holds_value(v):
        return None
    return (_core.to_dense(v) if _core.is_selected_rows(v) else v).numpy().tobytes()


def with_attr(call, name, value):
    call = call.copy()
    call.attrs[name] = value
    return call


@functools.cache
def telling(op, name):
    """A call whose results tell the attribute from the nearest float; None where none does."""
    default = next(a["default"] for a in float_attrs(op) if a["name"] == name)
    for sound in fuzz_calls.sound_calls(op):
        call = wide(sound)
        for change in _CHANGES:
            number = change(call.attrs.get(name, default))
            exact = with_attr(call, name, number)
            found = fuzz_calls.results_of(op, exact)
            near = fuzz_calls.results_of(op, with_attr(call, name, rounded(number)))
            if found is not None and near is not None and bits(found) != bits(near):
                return exact
    return None
