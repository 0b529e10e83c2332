"""The detector of drawn shapes: as a newcomer runs it, and its parts by themselves."""

import numpy as np
import pytest

import dygraph
from example_run import ROOT, number_after, run, wrote_picture


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import detection

    return detection


@pytest.mark.slow
def test_detection_reaches_its_score():
    text = run("detection", timeout=600)
    assert number_after(text, "mean average precision") >= 0.9
    assert wrote_picture("detection.png")


def test_shapes_fill_their_boxes(example):
    for kind, share in (("circle", np.pi / 4), ("square", 1.0), ("triangle", 0.5)):
        mask = example.covered(kind, 10, 20, 24)
        rows, columns = np.nonzero(mask)
        assert (columns.min(), columns.max(), rows.max()) == (10, 33, 43)
        assert mask.sum() == pytest.approx(share * 24 * 24, rel=0.03)


def test_a_few_steps_lower_the_loss_and_boxes_are_drawn(example, tmp_path):
    rng = np.random.default_rng(0)
    samples = [example.draw(rng) for _ in range(16)]
    for _, boxes, labels in samples:
        assert len(boxes) == len(labels) >= 1
        assert (boxes >= 0).all() and (boxes <= 1).all() and set(labels) <= {1, 2, 3}
    with dygraph.guard(seed=0):
        detector, losses = example.Detector(width=4), []
        codes, scores, boxes, variances = detector(example.batch_of(samples)[0])
        assert codes.shape == (16, 160, 4) and scores.shape == (16, 160, 4)
        assert boxes.shape == variances.shape == (160, 4)
        example.train(detector, samples, 8, batch=16, say=losses.append)
        first, last = (float(text.split()[-1]) for text in losses)
        assert last < first
        detector.eval()
        assert 0 <= example.mean_average_precision(detector, samples) <= 1
        example.draw_boxes(detector, samples, tmp_path / "boxes.png")
    assert (tmp_path / "boxes.png").read_bytes().startswith(b"\x89PNG")


def test_right_boxes_score_1_and_moved_ones_0(example):
    rng = np.random.default_rng(0)
    images, boxes, labels = example.batch_of([example.draw(rng) for _ in range(4)])
    found = np.concatenate([labels.numpy(), np.ones(labels.shape), boxes.numpy()], 1)
    truth = np.concatenate([labels.numpy(), boxes.numpy()], 1).astype("float32")
    truth = dygraph.to_variable(truth, lod=labels.lod())
    for shift, score in ((0.0, 1.0), (0.5, 0.0)):
        moved = (found + [0, 0, shift, shift, shift, shift]).astype("float32")
        moved = dygraph.to_variable(moved, lod=labels.lod())
        got = dygraph.ops.detection_map(moved, truth, class_num=4)[3].item()
        assert got == pytest.approx(score, abs=1e-6)
