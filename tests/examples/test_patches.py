"""The residual network on patches of photographs, as a newcomer runs it."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_patches_reaches_its_score():
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "patches.py")],
        cwd=ROOT,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert float(result.stdout.split("test accuracy ")[1].split()[0]) >= 0.95
    picture = ROOT / "examples" / "out" / "patches.png"
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_no_pixel_trains_and_tests(monkeypatch):
    """Blocks tile rectangles, so it is enough that the rectangles of a photograph are apart."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import patches

    boxes = [(number, *box) for number, region in patches.REGIONS.values() for box in region]
    for (n, left, top, right, bottom), (m, x0, y0, x1, y1) in itertools.combinations(boxes, 2):
        assert n != m or right <= x0 or x1 <= left or bottom <= y0 or y1 <= top
    blocks = patches.load_blocks()
    for kind in (True, False):
        assert all(block.shape == (3, 64, 64) for block, _ in blocks[kind])
        assert {label for _, label in blocks[kind]} == set(range(5))
    assert (len(blocks[True]), len(blocks[False])) == (52, 26)
