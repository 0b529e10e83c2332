"""Every operator's help() ends in an example; here they run, as pasted."""

import doctest
import inspect

import pytest

import dygraph
from dygraph import _core, ops

_FUNCTIONS = {n: getattr(ops, n) for n in ops.__all__}
OPERATORS = [
    n for n, f in _FUNCTIONS.items() if not inspect.isfunction(f) and f.__module__ != "dygraph"
]


def test_all_operators_are_here():
    assert len(OPERATORS) > 250
    assert {"relu", "matmul_v2", "conv2d", "adam"} <= set(OPERATORS)


@pytest.mark.parametrize("name", OPERATORS)
def test_example(name):
    play(name, getattr(ops, name), f"F.{name}(")


# They have no function, since they stand in programs; `dygraph.run_op` calls them.
@pytest.mark.parametrize(
    "name",
    ["delete_var", "feed", "fetch", "load", "load_combine", "print", "save", "save_combine"],
)
def test_example_of_an_operator_of_programs(name):
    play(name, getattr(_core.ops, name), f"dygraph.run_op('{name}', ")


def play(name, function, call):
    example = inspect.getdoc(function).split("Examples\n--------\n")[1]
    test = doctest.DocTestParser().get_doctest(example, {}, name, None, 0)
    assert call in example and any(part.want for part in test.examples)
    said = []
    dygraph.seed(0)
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(
        test, out=said.append
    )
    assert result.failed == 0, "".join(said)
