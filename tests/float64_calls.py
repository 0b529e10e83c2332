"""Calls on float64 that tell a float attribute from the nearest number of float32."""

import functools

import numpy as np

import fuzz_calls
from dygraph import _core

_CHANGES = (
    lambda v: v * 0.7 + 0.013, lambda v: v * 1.1 + 0.003, lambda v: v * 0.01 + 0.003,
    lambda v: -0.3 - v,
)  # fmt: skip


def rounded(number):
    return float(np.float32(number))


def float_attrs(op):
    return [a for a in fuzz_calls.describe(op)["attrs"] if a["type"] == "a float"]


# Every float attribute of every operator.
PAIRS = [(op, a["name"]) for op in _core.op_names() for a in float_attrs(op)]


def wide(op, call):
    """The call with float64 in the place of float32."""
    call = call.copy()
    for values in call.inputs.values():
        for i, v in enumerate(values):
            if fuzz_calls.holds_value(v) and not _core.is_selected_rows(v) and v.dtype == "float32":
                values[i] = _core.to_variable(v.numpy().astype("float64"), lod=_core.lod(v) or None)
    names = {a["name"] for a in fuzz_calls.describe(op)["attrs"] if a["is_dtype"]}
    if "dtype" in names and call.attrs.get("dtype", "float32") in ("float32", 5, None):
        call.attrs["dtype"] = "float64"
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


def at_the_bend(call, number):
    """The call, and calls with an element between the number and the nearest float, for those that
    compare elements, or differences of elements, with the attribute."""
    yield call
    middle = (number + rounded(number)) / 2
    floats = [
        (slot, i)
        for slot, values in call.inputs.items()
        for i, v in enumerate(values)
        if fuzz_calls.holds_value(v) and not _core.is_selected_rows(v) and v.dtype == "float64"
    ]
    for at in floats:
        for value in (middle, -middle):
            yield _with_first(call, {at: value})
            yield _with_first(call, {**dict.fromkeys(floats[:2], 0.0), at: value})


def _with_first(call, numbers):
    """The call with other first elements in inputs, by (slot, place)."""
    changed = call.copy()
    for (slot, i), value in numbers.items():
        v = changed.inputs[slot][i]
        array = v.numpy().copy()
        array.reshape(-1)[:1] = value
        changed.inputs[slot][i] = _core.to_variable(array, lod=_core.lod(v) or None)
    return changed


# What else a call says so that its results depend on the attribute.
_ALSO = {("dpsgd", "batch_size"): {"sigma": 1.0}, ("uniform_random", "diag_val"): {"diag_num": 1}}


def _own_calls(op, name):
    """Calls of operators that have no cases."""

    def call(attrs, outputs=None, **slots):
        inputs = {slot: [_core.to_variable(np.array(v))] for slot, v in slots.items()}
        return [fuzz_calls.Call(inputs, attrs, outputs)]

    if op == "clip_by_norm":
        return call({}, X=[3.0, 4.0])
    if op == "coalesce_tensor":
        attrs = {"dtype": "float64", "set_constant": True}
        return call(attrs, {"Output": 1, "FusedOutput": 1}, Input=[1.0, 2.0])
    if op == "update_loss_scaling":
        attrs = {"incr_every_n_steps": 1, "decr_every_n_nan_or_inf": 1}
        zero = np.zeros(1, "int32")
        return call(
            attrs, {"Out": 1}, X=[1.0], FoundInfinite=[name == "decr_ratio"],
            PrevLossScaling=[8.0], InGoodSteps=zero, InBadSteps=zero,
        )  # fmt: skip
    return []


def calls_with(op, name):
    """(call, number): sound calls on float64 in which the attribute is the number; of a gradient
    operator, behind forward calls with it."""
    default = next(a["default"] for a in float_attrs(op) if a["name"] == name)
    if fuzz_calls.forward_of(op)[1] and name in {a["name"] for a in float_attrs(op[:-5])}:
        for call, number in calls_with(op[:-5], name):
            results = fuzz_calls.results_of(op[:-5], call)
            made = results and fuzz_calls.gradient_call(op, call, results)
            if made:
                yield made, number
        return
    for sound in [*fuzz_calls.sound_calls(op), *_own_calls(op, name)]:
        call = wide(op, sound)
        call.attrs.update(_ALSO.get((op, name), {}))
        for change in _CHANGES:
            number = change(call.attrs.get(name, default))
            yield with_attr(call, name, number), number


@functools.cache
def telling(op, name):
    """A call whose results tell the attribute from the nearest float; None where none does."""
    for call, number in calls_with(op, name):
        for exact in at_the_bend(call, number):
            found = fuzz_calls.results_of(op, exact)
            near = fuzz_calls.results_of(op, with_attr(exact, name, rounded(number)))
            if found is not None and near is not None and bits(found) != bits(near):
                return exact
    return None
