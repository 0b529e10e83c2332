"""The character model, as a newcomer runs it."""

import pytest

from example_run import number_after, run, wrote_picture


@pytest.mark.slow
def test_char_lm_reaches_its_score_and_writes():
    text = run("char_lm", timeout=400)
    bits = number_after(text, "test bits a character")
    assert 1.0 < bits <= 2.4  # below 1.0 would be a fault of the measure, not a good model
    written = text.split("\n\n")[1]
    assert written.startswith("The ")
    assert len(set(written.split()) & {"the", "a", "of", "is", "to", "in", "and", "class"}) >= 3
    assert wrote_picture("char_lm.png")
