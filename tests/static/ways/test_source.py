"""Hooks that observe nothing: functions do what they did."""

import difflib
import heapq
import inspect
import json.decoder
import json.encoder
import statistics
import string
import textwrap
import types

import pytest

from dygraph.static.ways.hooks import HOOKS, Hooks
from dygraph.static.ways.source import convert, has_hooks

from . import idle_functions


class Converting(Hooks):
    """Idle, but what a converted function calls is converted as well."""

    def __init__(self):
        self.made = 0

    def call(self, function):
        plain = getattr(function, "__func__", function)
        if not isinstance(plain, types.FunctionType) or has_hooks(plain):
            return function
        new = convert(plain, self)
        if new is None:
            return function
        self.made += 1
        return new if plain is function else types.MethodType(new, function.__self__)


def outcome(function, *args):
    """What a call gives or raises, as something to compare."""
    try:
        result = function(*args)
        if isinstance(result, types.GeneratorType):
            result = list(result)
        return "gives", result
    except Exception as error:
        trace, lines = error.__traceback__, []
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == idle_functions.__file__:
                lines.append(trace.tb_lineno)
            trace = trace.tb_next
        return "raises", type(error), str(error), lines


CASES = [
    (name, args)
    for name, function in vars(idle_functions).items()
    if isinstance(function, types.FunctionType) and hasattr(function, "cases")
    for args in function.cases
]


@pytest.mark.parametrize(("name", "args"), CASES, ids=str)
def test_function_does_what_it_did(name, args):
    function = getattr(idle_functions, name)
    hooks = Converting()
    made = convert(function, hooks)
    assert made is not None, "the source was not found"
    assert outcome(made, *args) == outcome(function, *args)


def _numbers():
    return [3.5, 1.25, 8.0, -2.5, 1.25, 7.0]


LIBRARY = [
    (textwrap.wrap, ("the quick brown fox jumps over the lazy dog " * 4, 30)),
    (textwrap.dedent, ("    a\n      b\n    c\n",)),
    (textwrap.fill, ("long words  and\ttabs " * 9, 22)),
    (textwrap.shorten, ("hello world and everyone in it", 18)),
    (textwrap.indent, ("a\nb\n\nc", "> ")),
    (statistics.mean, (_numbers(),)),
    (statistics.median, (_numbers(),)),
    (statistics.pstdev, (_numbers(),)),
    (statistics.variance, (_numbers(),)),
    (statistics.multimode, (_numbers(),)),
    (statistics.quantiles, (_numbers(),)),
    (statistics.mean, ([],)),
    (heapq.merge, ([1, 4, 9], [2, 3, 11])),
    (heapq.nsmallest, (3, _numbers())),
    (heapq.nlargest, (2, _numbers())),
    (difflib.ndiff, (["a\n", "b\n", "c\n"], ["a\n", "c\n", "d\n"])),
    (difflib.get_close_matches, ("appel", ["ape", "apple", "peach", "puppy"])),
    (difflib.unified_diff, (list("abcdefg"), list("abxdefz"))),
    (string.capwords, ("some words here",)),
    (json.decoder.JSONDecoder().decode, ('{"a": [1, 2.5, null, {"b": "c"}]}',)),
    (json.decoder.JSONDecoder().decode, ('{"a": [1, 2.5',)),
    (json.encoder.JSONEncoder(indent=2).encode, ({"a": [1, 2.5, None, {"b": "c"}]},)),
    (json.encoder.py_encode_basestring_ascii, ("text \u00e4 \n",)),
    (inspect.cleandoc, ("One.\n\n    Two.\n      Three.\n",)),
]


@pytest.mark.parametrize(
    ("function", "args"), LIBRARY,
    ids=[f"{i}-{function.__name__}" for i, (function, _) in enumerate(LIBRARY)],
)  # fmt: skip
def test_library_function_does_what_it_did(function, args):
    hooks = Converting()
    made = hooks.call(function)
    assert hooks.made == 1

    def run(f):
        result = outcome(lambda: f(*args))
        return ("gives", list(result[1])) if hasattr(result[1], "__next__") else result

    assert run(made) == run(function)


def test_cells_defaults_and_names_stay():
    made = convert(idle_functions.closure(3), Hooks())
    assert made(4) == 7
    assert made.__name__ == "inner"
    assert made.__defaults__ == (10,)
    assert HOOKS in made.__code__.co_freevars


def test_lines_stay():
    function = idle_functions.fails_at_a_line
    result = outcome(convert(function, Hooks()), 1)
    assert result[3] == [function.__code__.co_firstlineno + 3]


@pytest.mark.parametrize("name", ["reads_locals", "runs_text", "waits"])
def test_functions_that_look_at_their_frame_stay_as_they_are(name):
    assert convert(getattr(idle_functions, name), Hooks()) is None


def test_function_without_source_stays_as_it_is():
    made = {}
    exec("def f(x):\n    return x + 1\n", made)
    assert convert(made["f"], Hooks()) is None
    assert convert(eval("lambda x: x + 1"), Hooks()) is None


def test_another_source_under_the_same_name_is_not_taken(tmp_path):
    file = tmp_path / "model.py"
    file.write_text("def f(x):\n    return x + 1\n")
    made = {}
    exec(compile(file.read_text(), str(file), "exec"), made)
    file.write_text("def f(x):\n    return x + 2\n")
    assert convert(made["f"], Hooks()) is None


def test_two_lambdas_on_a_line_are_not_mixed_up():
    one, two = idle_functions.two_lambdas()
    for function, want in ((one, 6), (two, 8)):
        made = convert(function, Hooks())
        assert made is None or made(5) == want
