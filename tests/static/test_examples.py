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


@pytest.mark.parametrize("name", list(modules()))
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner()
    assert sum(runner.run(test).failed for test in doctest.DocTestFinder().find(module)) == 0


def test_the_examples_are_found():
    tests = [t for n in modules() for t in doctest.DocTestFinder().find(importlib.import_module(n))]
    assert sum(len(test.examples) for test in tests) > 150
