"""The examples in the docstrings of `static` do what they show."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

from dygraph import static


def modules():
    yield "dygraph.static"
    for found in pkgutil.walk_packages(static.__path__, "dygraph.static."):
        yield found.name


def examples(name):
    """The tests of a module, which see what they import and no more."""
    return doctest.DocTestFinder().find(importlib.import_module(name), globs={})


def failed(tests):
    runner = doctest.DocTestRunner()
    return sum(runner.run(test).failed for test in tests)


@pytest.mark.parametrize("name", list(modules()))
def test_examples_in_docstrings(name):
    assert failed(examples(name)) == 0


def test_the_example_of_a_class_of_the_core():
    (test,) = doctest.DocTestFinder(recurse=False).find(static.core.LoDTensorArray)
    assert len(test.examples) == 7 and failed([test]) == 0


def test_the_examples_are_found():
    tests = [t for n in modules() for t in examples(n)]
    assert sum(len(test.examples) for test in tests) > 1000


def test_control_flow_has_documentation_with_examples():
    """Each of these functions says what it takes, gives and raises, and has an example."""
    modules = [
        importlib.import_module(f"dygraph.static.layers.{name}")
        for name in ("arrays", "beams", "choices", "loops", "ranked")
    ]
    values = [getattr(module, name) for module in modules for name in module.__all__]
    functions = [value for value in values if inspect.isfunction(value)]
    functions += [static.layers.rnn, static.layers.dynamic_decode]
    assert len(functions) >= 20
    for function in functions:
        for section in ("Parameters", "Returns", "Raises", "Examples"):
            underlined = f"{section}\n    {'-' * len(section)}\n"
            assert underlined in function.__doc__, (function.__name__, section)


CLASSES = """
BasicDecoder BeamSearchDecoder DecodeHelper Decoder DynamicRNN GRUCell GreedyEmbeddingHelper IfElse
LSTMCell RNNCell SampleEmbeddingHelper StaticRNN Switch TrainingHelper While
""".split()


@pytest.mark.parametrize("name", CLASSES)
def test_classes_of_control_flow_have_examples(name):
    assert "    Examples\n    --------\n" in getattr(static.layers, name).__doc__
