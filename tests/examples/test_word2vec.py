"""The words example, as a newcomer runs it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_word2vec_reaches_its_score():
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "word2vec.py")],
        cwd=ROOT,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    line = next(line for line in result.stdout.splitlines() if line.startswith("held-out loss"))
    loss, baseline = (float(part.split()[-1]) for part in line.split(",")[:2])
    assert loss < baseline - 0.1
    assert float(result.stdout.split("related words found ")[1].split()[0]) >= 0.4
    assert (ROOT / "examples" / "out" / "word_vectors.png").read_bytes().startswith(PNG)
    with np.load(ROOT / "examples" / "out" / "word_vectors.npz") as kept:
        lengths = np.linalg.norm(kept["vectors"], axis=1)
        assert len(kept["words"]) == len(lengths) > 1000
        np.testing.assert_allclose(lengths, 1.0, rtol=1e-5)
