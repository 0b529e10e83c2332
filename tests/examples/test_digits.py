"""The main job, as a newcomer runs it."""

import pytest

from example_run import number_after, run, wrote_picture


@pytest.mark.slow
def test_digits_reaches_its_score_and_runs_without_its_model():
    text = run("digits")
    assert "bit-identical" in text
    assert number_after(text, "test accuracy") >= 0.98
    assert wrote_picture("learning_curve.png")
    assert wrote_picture("confusion_matrix.png")
