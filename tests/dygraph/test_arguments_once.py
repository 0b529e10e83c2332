"""An argument under another library's name beside ours raises, whatever the two values are."""

import inspect

import numpy as np
import pytest

import dygraph
from dygraph.functions import arguments
from dygraph.nn import functional
from dygraph.nn.functional import spelling

UNNAMED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
)
X = dygraph.to_variable(np.arange(6.0).reshape(2, 3))


def pairs():
    """(its name, function, ours, another name) of all functions that know other names."""
    found = []
    for module in (dygraph, functional, dygraph.Variable):
        for name in sorted(dir(module)):
            function = getattr(module, name, None)
            if name.startswith("_") or not callable(function) or isinstance(function, type):
                continue
            try:
                parameters = inspect.signature(function).parameters
            except ValueError:  # of the core, without a signature
                continue
            if module is functional:
                table = spelling._SAME if hasattr(function, "__wrapped__") else {}
            else:
                table = arguments._SPELLINGS if "spellings" in parameters else {}
            parameters = {n: p for n, p in parameters.items() if p.kind not in UNNAMED}
            for other, ours in table.items():
                own = next((n for n in ours if n in parameters), None)
                if own and other not in parameters:
                    found.append((f"{module.__name__}.{name}", function, own, other))
    return found


PAIRS = pairs()


def test_many_functions_know_other_names():
    names = {name for name, *_ in PAIRS}
    assert len(names) > 130
    assert {"dygraph.tensordot", "dygraph.sum", "dygraph.nn.functional.softmax"} <= names


@pytest.mark.parametrize(("function", "ours", "other"), [p[1:] for p in PAIRS],
                         ids=[f"{p[0]}({p[2]}, {p[3]})" for p in PAIRS])  # fmt: skip
def test_both_names_raise(function, ours, other):
    parameter = inspect.signature(function).parameters[ours]
    value = None if parameter.default is parameter.empty else parameter.default
    first = [] if next(iter(inspect.signature(function).parameters)) == ours else [X]
    for a, b in ((value, value), (value, None), (1, value)):
        with pytest.raises(TypeError, match=f"got the argument '{ours}' twice.* as '{other}'"):
            function(*first, **{ours: a, other: b})


def test_a_place_and_another_name():
    for call in (
        lambda: dygraph.tensordot(X, X, 2, dims=1),
        lambda: dygraph.sum(X, None, dim=0),
        lambda: X.sum(None, dim=0),
        lambda: dygraph.mean(X, 0, False, keepdim=True),
        lambda: dygraph.argmax(X, None, dim=0),
        lambda: dygraph.unsqueeze(X, 0, dim=0),
        lambda: dygraph.flip(X, None, dims=0),
        lambda: dygraph.sum(X, dim=0, dims=0),
        lambda: dygraph.tril(X, 0, diagonal=1),
        lambda: X.var(0, axis=0, correction=1),
        lambda: X.split(num=3, num_or_sections=3),
    ):
        with pytest.raises(TypeError):
            call()
