"""The transformer encoder on passages of documentation, as a newcomer runs it."""

import numpy as np
import pytest

from example_run import ROOT, number_after, run, wrote_picture


@pytest.mark.slow
def test_sequence_classifier_reaches_its_score():
    text = run("sequence_classifier")
    assert number_after(text, "test accuracy") >= 0.85
    assert number_after(text, "of the commonest answer") <= 0.4
    assert wrote_picture("sequence_classifier.png")


def test_no_passage_trains_and_tests(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import sequence_classifier as example

    monkeypatch.setattr(example, "SOURCES", {"a": "json textwrap", "b": "string argparse"})
    passages = example.load_passages(np.random.default_rng(0))
    texts = {kind: {tuple(words) for words in passages[kind][0]} for kind in (True, False)}
    assert texts[True] and not texts[True] & texts[False]
    for kind in (True, False):
        words, labels = passages[kind]
        assert len(words) == len(labels) == len(texts[kind])
        assert all(len(passage) == example.LENGTH for passage in words)
        assert not {w for passage in words for w in passage} & example.NAMES
    table, size = example.numbered(passages, size=50)
    assert size == 50
    assert table[True][0].max() == 49  # all numbers are used by training's own words
    assert table[False][0].max() <= 49
