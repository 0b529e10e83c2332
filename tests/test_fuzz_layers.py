"""Random bad arguments and inputs for every layer: errors must be Python's, nothing may crash.

As test_fuzz_operators.py, which says how; ``python tests/test_fuzz_layers.py LAYER NUMBER`` makes
one call again.
"""

import inspect
import random
import warnings

import pytest

import dygraph
import fuzzing
from dygraph import _core, nn
from fuzzing import (
    ALLOWED,
    DTYPES,
    FLOATS,
    GARBAGE,
    SMALL_INTS,
    TEXTS,
    WILD_INTS,
    show,
    some_shape,
    some_variable,
)

GROUPS = 2
ABSTRACT = {"Layer", "RNNCellBase"}  # have no forward
SIZES = [1, 1, 2, 2, 3, 4, 6, 8]
CHOICES = [*TEXTS, "relu", "tanh", "bidirectional", "mean", "none", "channel", "all", "element"]


def some_argument(r, parameter):
    """A value for a constructor's argument: often what fits, else anything."""
    p = r.random()
    default = parameter.default
    if p < 0.08:
        return r.choice(GARBAGE)
    if p < 0.14:
        return r.choice(WILD_INTS)
    if p < 0.18:
        return r.choice(CHOICES)
    if p < 0.24:
        return [r.choice(SMALL_INTS) for _ in range(r.choice([0, 1, 2, 2, 3, 4]))]
    if isinstance(default, bool):
        return r.random() < 0.5
    if isinstance(default, str):
        return r.choice(DTYPES if parameter.name == "dtype" else CHOICES)
    if isinstance(default, float):
        return r.choice(FLOATS)
    if parameter.name in ("size", "normalized_shape"):
        return [r.choice(SIZES) for _ in range(r.choice([1, 2]))]
    if parameter.name.startswith("cell"):
        return nn.LSTMCell(r.choice(SIZES), r.choice(SIZES))
    if parameter.name.endswith("layer"):
        return nn.TransformerEncoderLayer(2 * r.choice(SIZES), 2, 4)
    return r.choice(SIZES)


def some_input(r, shape, dtype):
    p = r.random()
    if p < 0.05:
        return r.choice(GARBAGE)
    if p < 0.1:
        return tuple(some_variable(r, shape, dtype) for _ in range(r.choice([0, 1, 2, 3])))
    if r.random() < 0.3:
        dtype = r.choice(DTYPES)
    return some_variable(r, shape if r.random() < 0.6 else some_shape(r), dtype)


def make_call(name, number):
    """(constructor's arguments, inputs, the rest of the randomness)."""
    r = random.Random(f"{name}:{number}")
    kind = getattr(nn, name)
    arguments = {}
    for parameter in list(inspect.signature(kind.__init__).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty or r.random() < 0.3:
            arguments[parameter.name] = some_argument(r, parameter)
    shape = tuple(r.choice(SIZES) for _ in range(r.choice([1, 2, 2, 3, 3, 4, 4, 5])))
    forward = list(inspect.signature(kind.forward).parameters.values())[1:]
    count = sum(q.default is q.empty for q in forward)
    count += r.choice([0, 0, 0, 1, 2, -1])
    return arguments, [some_input(r, shape, "float32") for _ in range(max(count, 0))], r


def variables_in(value):
    if isinstance(value, (list, tuple)):
        return [v for item in value for v in variables_in(item)]
    return [value] if isinstance(value, _core.Variable) else []


def play(name, number):
    warnings.simplefilter("ignore")
    try:
        arguments, inputs, r = make_call(name, number)
        layer = getattr(nn, name)(**arguments)
        repr(layer), layer.state_dict()
        if r.random() < 0.3:
            layer.eval()
        results = variables_in(layer(*inputs))
        for v in results:
            if v.size < 10**6:
                v.numpy()
        tops = [v for v in results if not v.stop_gradient]
        if tops:
            _core.backward(tops, [], False, False)
            dygraph.optimizer.SGD(0.1, layer.parameters()).step()
    except ALLOWED:
        pass


def describe(name, number):
    arguments, inputs, _ = make_call(name, number)
    return f"{name}({arguments})({', '.join(show(v) for v in inputs)})"


def groups():
    kinds = {n: getattr(nn, n) for n in nn.__all__ if n not in ABSTRACT}
    names = [n for n, k in kinds.items() if isinstance(k, type) and issubclass(k, nn.Layer)]
    return [names[i::GROUPS] for i in range(GROUPS)]


@pytest.mark.parametrize("group", range(GROUPS))
def test_bad_calls(group):
    fuzzing.run_group(__file__, describe, groups()[group], 60, 60)


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_many_bad_calls(group):
    fuzzing.run_group(__file__, describe, groups()[group], 1500, 280)


if __name__ == "__main__":
    fuzzing.main(play, describe)
