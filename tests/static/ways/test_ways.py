"""Functions become graphs that give eager's bits on every input, or are refused with a line."""

import os

import pytest

import dygraph
from dygraph.static.ways.explore import Input
from dygraph.static.ways.graph import Refused
from refusals import unhelpful

from . import graph_runner, program_runner
from .cases import INPUTS, cases_of
from .functions import (
    branches,
    calls,
    constants,
    errors,
    lists,
    outside,
    ranges,
    refused_loops,
    states,
    while_loops,
)  # fmt: skip

MODULES = [
    branches, calls, states, errors, outside, while_loops, ranges, lists, refused_loops,
    constants,
]  # fmt: skip
CASES = [case for module in MODULES for case in cases_of(module)]


def bits(result):
    """A result as something to compare: types, shapes and bits."""
    if isinstance(result, dygraph.Variable):
        array = result.numpy()
        return str(array.dtype), array.shape, array.tobytes()
    if isinstance(result, (list, tuple)):
        return type(result), [bits(r) for r in result]
    if isinstance(result, dict):
        return {k: bits(v) for k, v in result.items()}
    return type(result), result


def outcome(function):
    """What a call gives or raises."""
    try:
        with dygraph.no_grad():
            return "gives", bits(function())
    except Exception as error:
        return "raises", type(error), str(error)


def same_in_a_program(got, want):
    """An error is the library's of that kind, with the type in its text where there is none."""
    if got[0] == want[0] == "raises":
        return issubclass(got[1], want[1]) or want[1].__name__ in got[2] or want[1] is got[1]
    return got == want


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_function(function):
    argument = Input("x", [None, 3], "float32")
    if function.becomes is not None:
        with pytest.raises(Refused) as refusal:
            graph_runner.explored(function, argument)
        text = str(refusal.value)
        assert function.becomes in text
        assert unhelpful(text, os.path.basename(function.__code__.co_filename)) is None
        return
    explorer = graph_runner.explored(function, argument)
    for x in INPUTS:
        want = outcome(lambda x=x: function(dygraph.to_variable(x)))
        got = outcome(lambda x=x: graph_runner.run(explorer, {"x": dygraph.to_variable(x)}))
        assert got == want
        if program_runner.RUNS:
            x = dygraph.to_variable(x)
            got = outcome(lambda x=x: program_runner.run(explorer, {"x": x}))
            assert same_in_a_program(got, want)


def test_there_are_enough_functions():
    assert len(CASES) >= 120
