"""The character model, as a newcomer runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_char_lm_reaches_its_score_and_writes():
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "char_lm.py")],
        cwd=ROOT,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    bits = float(result.stdout.split("test bits a character ")[1].split()[0])
    assert 1.0 < bits <= 2.4  # below 1.0 would be a fault of the measure, not a good model
    text = result.stdout.split("\n\n")[1]
    assert text.startswith("The ")
    assert len(set(text.split()) & {"the", "a", "of", "is", "to", "in", "and", "class"}) >= 3
    assert (ROOT / "examples" / "out" / "char_lm.png").read_bytes().startswith(PNG)
