"""docs/kinds_of_python.md is what its script makes; what the script compares, it does compare."""

import importlib
from pathlib import Path

import pytest

import dygraph

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def kinds():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        yield importlib.import_module("kinds_of_python")


def test_the_page_is_what_the_script_makes(kinds):
    made = "python docs/kinds_of_python.py writes the page anew"
    assert kinds.PAGE.read_text(encoding="utf-8") == kinds.page(), made


def test_there_are_enough_kinds(kinds):
    refused = [one for one in kinds.KINDS if one.instead is not None]
    assert len(refused) >= 15 and len(kinds.KINDS) - len(refused) >= 30


def test_a_difference_is_noticed(kinds):
    ones = dygraph.ones([2])
    assert kinds.equal(kinds.bits(lambda: (ones, 3)), kinds.bits(lambda: [ones * 1, 3]))
    for other in (ones * 2, ones.astype("float64"), ones.reshape([2, 1]), (ones, 3)):
        got = kinds.bits(lambda other=other: other)
        assert not kinds.equal(got, kinds.bits(lambda: ones))
    error = kinds.bits(lambda: {}["a"])
    assert isinstance(error, KeyError) and kinds.equal(kinds.bits(lambda: {}["b"]), error)
    assert not kinds.equal(kinds.bits(lambda: ones), error)
    assert not kinds.equal(kinds.bits(lambda: [][0]), error)


def test_a_function_that_is_no_function_of_its_input_is_refused(kinds):
    calls = []

    def f(x):
        calls.append(1)
        return x * len(calls)

    captured, why = kinds.outcome(f)
    assert not captured and "the function changes" in why
