"""The main job, as a newcomer runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_digits_reaches_its_score_and_runs_without_its_model():
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "digits.py")],
        cwd=ROOT,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "bit-identical" in result.stdout
    accuracy = float(result.stdout.split("test accuracy ")[1].split()[0])
    assert accuracy >= 0.98
    for name in ("learning_curve.png", "confusion_matrix.png"):
        assert (ROOT / "examples" / "out" / name).read_bytes().startswith(PNG)
