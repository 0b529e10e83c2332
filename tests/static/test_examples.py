"""The examples in the docstrings of `static` do what they show."""

import doctest
import importlib
import pkgutil

import pytest

import static


def modules():
    yield "static"
    for found in pkgutil.walk_packages(static.__path__, "static."):
        yield found.name


def failed(tests):
    runner = doctest.DocTestRunner()
    return sum(runner.run(test).failed for test in tests)


@pytest.mark.parametrize("name", list(modules()))
def test_examples_in_docstrings(name):
    assert failed(doctest.DocTestFinder().find(importlib.import_module(name))) == 0


def test_the_example_of_a_class_of_the_core():
    (test,) = doctest.DocTestFinder(recurse=False).find(static.core.LoDTensorArray)
    assert len(test.examples) == 6 and failed([test]) == 0


def test_the_examples_are_found():
    tests = [t for n in modules() for t in doctest.DocTestFinder().find(importlib.import_module(n))]
    assert sum(len(test.examples) for test in tests) > 150
