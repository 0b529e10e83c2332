"""The words example, as a newcomer runs it."""

import numpy as np
import pytest

from example_run import OUT, number_after, run, wrote_picture


@pytest.mark.slow
def test_word2vec_reaches_its_score():
    text = run("word2vec")
    line = next(line for line in text.splitlines() if line.startswith("held-out loss"))
    loss, baseline = (float(part.split()[-1]) for part in line.split(",")[:2])
    assert loss < baseline - 0.1
    assert number_after(text, "related words found") >= 0.4
    assert wrote_picture("word_vectors.png")
    with np.load(OUT / "word_vectors.npz") as kept:
        lengths = np.linalg.norm(kept["vectors"], axis=1)
        assert len(kept["words"]) == len(lengths) > 1000
        np.testing.assert_allclose(lengths, 1.0, rtol=1e-5)
