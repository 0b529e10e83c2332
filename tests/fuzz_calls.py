"""Calls that operators accept, gradients of every order among them, and ways to damage them.

Sound calls come from the cases of tests/operators; that of a gradient operator is made of its
forward call: inputs, results, and gradients shaped like either.
"""

import functools
import importlib
import sys
import zlib
from pathlib import Path

import numpy as np

from dygraph import _core
from fuzzing import (
    ALLOWED,
    DTYPES,
    GARBAGE,
    SIZES,
    WILD_INTS,
    some_shape,
    some_values,
    some_variable,
)

CASES = Path(__file__).parent / "operators"
MOST_ELEMENTS = 3000  # of a case's inputs together
MOST_CASES = 8  # of one operator, those of different attributes first
LONG = [17, 20, 41]  # more than a tensor has axes


class Call:
    """Variables by slot, always in lists; attributes; how many outputs, or None."""

    def __init__(self, inputs, attrs, outputs=None):
        self.inputs, self.attrs, self.outputs = inputs, attrs, outputs

    def copy(self):
        inputs = {slot: list(values) for slot, values in self.inputs.items()}
        return Call(inputs, dict(self.attrs), dict(self.outputs) if self.outputs else None)


@functools.cache
def describe(op):
    return _core.describe_op(op)


def forward_of(op):
    """(the operator it is a gradient of, or itself; the order)."""
    names, order = set(_core.op_names()), 0
    while op.endswith("_grad") and op[:-5] in names:
        op, order = op[:-5], order + 1
    return op, order


def modules_with_cases():
    files = sorted(CASES.glob("*/test_*.py"))
    for folder in (CASES.parent, *{path.parent for path in files}):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    for path in files:
        yield importlib.import_module(path.stem)


@functools.cache
def cases():
    """{operator: cases, set up}, those with few elements first."""
    from op_test import OpTest

    found, seen = {}, set()
    for module in modules_with_cases():
        for cls in vars(module).values():
            if not (isinstance(cls, type) and issubclass(cls, OpTest)) or cls in seen:
                continue
            seen.add(cls)
            case = cls("setUp")
            np.random.seed(zlib.crc32(cls.__qualname__.encode()))
            try:
                case.setUp()
            except Exception:  # a base class, which lacks what its heirs say
                continue
            if case.op_type:
                found.setdefault(case.op_type, []).append(case)
    return found


def variables_of(case):
    from op_test import entries, split_lod

    slots, elements = {}, 0
    for slot, value in case.inputs.items():
        slots[slot] = []
        for entry in entries({slot: value}).values():
            array, lod = split_lod(entry)
            array = np.asarray(array)
            elements += array.size
            slots[slot].append(_core.to_variable(array, lod=lod))
    return slots, elements


@functools.cache
def sound_calls(op):
    """Calls that the operator accepts, few and small."""
    forward, order = forward_of(op)
    if order == 0:
        sized = []
        for case in cases().get(op, []):
            try:
                slots, elements = variables_of(case)
                counts = {s: len(v) for s, v in case.outputs.items() if isinstance(v, list)}
                if elements <= MOST_ELEMENTS:
                    sized.append((elements, Call(slots, case.call_attrs(), counts)))
            except ALLOWED:
                continue
        sized.sort(key=lambda entry: entry[0])
        kinds, calls = set(), []
        for first in (True, False):
            for _, call in sized:
                kind = repr(sorted(call.attrs.items()))
                if (kind not in kinds) == first and call not in calls and len(calls) < MOST_CASES:
                    kinds.add(kind)
                    calls.append(call)
        return [call for call in calls if results_of(op, call) is not None]
    calls = []
    for call in sound_calls(op[:-5]):
        results = results_of(op[:-5], call)
        made = gradient_call(op, call, results)
        if made is not None and results_of(op, made) is not None:
            calls.append(made)
    return calls


def results_of(op, call):
    """Variables by output slot, in lists, all that can be made; None where the call is refused."""
    counts = {}
    if forward_of(op)[1] == 0:
        counts = {s["name"]: 1 for s in describe(op)["outputs"] if not s["duplicable"]}
    counts.update(call.outputs or {})
    _core.set_generator_state(7, 0)
    for outputs in (counts, call.outputs):
        try:
            results = _core.run_op(op, call.inputs, call.attrs, outputs)
        except ALLOWED:
            continue
        found = {s: v if isinstance(v, list) else [v] for s, v in results.items()}
        return {s: [v for v in values if holds_value(v)] for s, values in found.items()}
    return None


def holds_value(v):
    try:
        return v is not None and v.dtype is not None
    except ALLOWED:
        return False


def like(value):
    """Numbers of the value's shape, type and level of detail."""
    if _core.is_selected_rows(value):
        return value
    generator = np.random.RandomState(zlib.crc32(repr(value.shape).encode()))
    numbers = generator.uniform(-1, 1, tuple(value.shape)).astype(value.dtype.name)
    return _core.to_variable(numbers, lod=_core.lod(value) or None)


def gradient_call(op, call, results):
    """The call of a gradient operator behind a forward call; None where something is missing."""
    known, inputs, info = {**call.inputs, **results}, {}, describe(op)
    for slot in info["inputs"]:
        name = slot["name"]
        if name in known:
            inputs[name] = known[name]
        elif name.endswith("@GRAD") and known.get(name[:-5]):
            inputs[name] = [like(v) for v in known[name[:-5]]]
        elif not slot["dispensable"]:
            return None
        if not inputs.get(name):
            inputs.pop(name, None)
    names = {a["name"] for a in info["attrs"]}
    attrs = {k: v for k, v in call.attrs.items() if k in names}
    slots = {s["name"] for s in info["inputs"]}
    outputs = {}
    for slot in info["outputs"]:
        base = slot["name"].removesuffix("@GRAD")
        if slot["duplicable"]:
            outputs[slot["name"]] = len(inputs.get(base, []))
        elif base in slots and base not in inputs:  # no Bias, no Bias@GRAD
            outputs[slot["name"]] = 0
    return Call(inputs, attrs, outputs or None)


# Damage


def other_shape(r, shape):
    shape = list(shape)
    kind = r.randrange(6)
    if kind == 0 or not shape:
        return some_shape(r)
    i = r.randrange(len(shape))
    if kind == 1:
        shape[i] = r.choice(SIZES)
    elif kind == 2:
        shape[i] = max(shape[i] + r.choice([-1, 1]), 0)
    elif kind == 3:
        del shape[i]
    elif kind == 4:
        shape.insert(i, r.choice([1, 1, 2, 3]))
    else:
        r.shuffle(shape)
    return tuple(shape)


def other_variable(r, v):
    """Another shape, type, level of detail, order, or wild numbers in place of v."""
    kind = r.random()
    if not holds_value(v) or _core.is_selected_rows(v) or kind < 0.05:
        return some_variable(r, some_shape(r), r.choice(DTYPES))
    shape, dtype = tuple(v.shape), v.dtype.name
    if kind < 0.65:
        shape = other_shape(r, shape)
        if np.prod([float(s) for s in shape]) > 10000:
            shape = some_shape(r)
        made = _core.to_variable(some_values(r, shape, dtype))
        lod = _core.lod(v)
        if lod and shape and shape[0] == v.shape[0] and r.random() < 0.7:
            _core.set_lod(made, lod)
        return made
    if kind < 0.75:
        return _core.to_variable(some_values(r, shape, r.choice(DTYPES)))
    if kind < 0.85 and not dtype.startswith("float"):
        numbers = v.numpy().copy()
        limits = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if numbers.size:
            at = r.randrange(numbers.size)
            numbers.reshape(-1)[at] = min(max(r.choice([-1, 7, *WILD_INTS]), limits[0]), limits[1])
        made = _core.to_variable(numbers)
        if _core.lod(v):
            _core.set_lod(made, _core.lod(v))
        return made
    if kind < 0.9 and len(shape) in (4, 5):
        return _core.to_layout(v, "NHWC")
    made = _core.to_variable(some_values(r, shape, dtype))
    if shape and 0 < shape[0] < 100 and r.random() < 0.8:
        cuts = sorted(r.randrange(shape[0] + 1) for _ in range(r.choice([0, 1, 2, 5])))
        levels = [[0, *cuts, shape[0]]]
        if r.random() < 0.2:
            levels.insert(0, [0, r.randrange(len(levels[0])), len(levels[0]) - 1])
        try:
            _core.set_lod(made, levels)
        except ALLOWED:
            pass
    return made


def damage_slot(r, call, slot):
    values = call.inputs.setdefault(slot, [])
    kind = r.random()
    if not isinstance(values, list) or not all(isinstance(v, _core.Variable) for v in values):
        return  # garbage already
    if not values:  # a surplus slot
        values.append(some_variable(r, some_shape(r), r.choice(["float32", "float64", *DTYPES])))
        others = [v for given in call.inputs.values() if isinstance(given, list) for v in given]
        if r.random() < 0.5:
            values[0] = r.choice(others)
    elif kind < 0.1:
        del call.inputs[slot]
    elif kind < 0.15:
        call.inputs[slot] = r.choice([[], r.choice(GARBAGE), values * 2])
    elif kind < 0.3 and len(values) > 0:
        change = r.choice(["less", "more", "turned", "many"])
        if change == "less":
            del values[r.randrange(len(values))]
        elif change == "more":
            values.insert(r.randrange(len(values) + 1), r.choice(values))
        elif change == "turned":
            values.reverse()
        else:
            values *= r.choice([2, 3, 17])
    else:
        i = r.randrange(len(values))
        values[i] = other_variable(r, values[i])


def damage_outputs(r, call, info):
    counts = dict(call.outputs or {})
    slot = r.choice(info["outputs"])
    now = counts.get(slot["name"], 1)
    choices = [0, 1, 2, 3, 17, now + 1, max(now - 1, 0)] if slot["duplicable"] else [0, 1, 1, 2]
    counts[slot["name"]] = r.choice(choices)
    call.outputs = counts


def damage_attr(r, call, info, some_attr):
    attr = r.choice(info["attrs"])
    value = call.attrs.get(attr["name"], attr["default"])
    if isinstance(value, list) and value and r.random() < 0.6:
        value, i = list(value), r.randrange(len(value))
        change = r.randrange(4)
        if change == 0:
            del value[i]
        elif change == 1:
            value.insert(i, value[i])
        elif change == 2:
            value += [r.choice(value)] * (r.choice(LONG) - len(value))
        else:
            value[i] = r.choice([-1, 0, 1, 2, 3, *WILD_INTS[:3]])
    else:
        value = some_attr(r, attr)
    call.attrs[attr["name"]] = value


def damaged_call(r, op, some_attr):
    """A sound call with up to three things changed, or None where the operator has no sound one."""
    calls = sound_calls(op)
    if not calls:
        return None
    call, info = r.choice(calls).copy(), describe(op)
    for _ in range(r.choice([0, 1, 1, 1, 1, 2, 2, 3])):
        kind = r.random()
        if kind < 0.7 and info["inputs"]:
            damage_slot(r, call, r.choice(info["inputs"])["name"])
        elif kind < 0.8:
            damage_outputs(r, call, info)
        elif info["attrs"]:
            damage_attr(r, call, info, some_attr)
    for values in call.inputs.values():
        for i, v in enumerate(values if isinstance(values, list) else []):
            if isinstance(v, _core.Variable) and r.random() < 0.3:
                try:
                    values[i] = v.detach()
                    values[i].stop_gradient = False
                except ALLOWED:
                    pass
    inputs = {
        slot: v[0] if isinstance(v, list) and len(v) == 1 and r.random() < 0.5 else v
        for slot, v in call.inputs.items()
    }
    return inputs, call.attrs, call.outputs
