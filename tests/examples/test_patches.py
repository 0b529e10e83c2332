"""The residual network on patches of photographs, as a newcomer runs it."""

import itertools

import pytest

from example_run import ROOT, number_after, run, wrote_picture


@pytest.mark.slow
def test_patches_reaches_its_score():
    text = run("patches")
    assert number_after(text, "test accuracy") >= 0.95
    assert wrote_picture("patches.png")


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
