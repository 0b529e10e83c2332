"""Equal bits: eager calls, the Executor, compiled programs, the Predictor, C files."""

import functools
import sys
import tempfile
from pathlib import Path

import pytest

import dygraph

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import same_bits  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "same_bits.md"


@functools.cache
def operators(family):
    return same_bits.compare(family)


@functools.cache
def ways(name):
    before = dygraph.get_flags(list(same_bits.OWN))
    found = next(m for m in same_bits.models() if m[0] == name)
    with tempfile.TemporaryDirectory() as folder:
        try:
            dygraph.set_flags(same_bits.OWN)
            return same_bits.model_ways(*found[1:], folder)
        finally:
            dygraph.set_flags(before)


MODELS = [m[0] for m in same_bits.models()]


@pytest.mark.parametrize("family", same_bits.FAMILIES)
def test_operators(family):
    assert operators(family) > 0 or family == "random"


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    found = ways(name)
    assert {"eager", "Executor", "compiled", "Predictor"} <= set(found)
    for way, bits in found.items():
        assert bits == found["eager"], way


def tables():
    counts = {f: operators(f) for f in same_bits.FAMILIES if operators(f)}
    return same_bits.written(counts, {name: ways(name) for name in MODELS})


def test_the_page_says_what_was_compared():
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index(same_bits.BEGIN) + len(same_bits.BEGIN)
    assert text[begin : text.index(same_bits.END)] == tables()


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index(same_bits.BEGIN) + len(same_bits.BEGIN)
    PAGE.write_text(text[:begin] + tables() + text[text.index(same_bits.END) :], encoding="utf-8")
