"""roi_align, roi_pool, psroi_pool, prroi_pool, roi_perspective_transform, deformable pooling."""

import math

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand

ROIS = np.array([[0.3, 0.7, 6.2, 5.9], [-2.3, 1.1, 4.4, 9.3], [2.1, 2.2, 2.6, 3.1]])
LOD = [[1, 2]]  # lengths
IMAGES = [0, 1, 1]


def hat(distance):
    return np.maximum(0, 1 - np.abs(distance))


def between(x, image, y, at):
    """X at a place between pixels of an image whose border goes on for a pixel; 0 beyond."""
    h, w = x.shape[2:]
    if not (-1 <= y <= h and -1 <= at <= w):
        return np.zeros(x.shape[1])
    y, at = min(max(y, 0), h - 1), min(max(at, 0), w - 1)
    weights = np.outer(hat(np.arange(h) - y), hat(np.arange(w) - at))
    return (x[image] * weights).sum((1, 2))


def roi_align(x, rois, attrs):
    high, wide = attrs["pooled_height"], attrs["pooled_width"]
    scale, half = attrs["spatial_scale"], 0.5 if attrs.get("aligned") else 0.0
    out = np.zeros((len(rois), x.shape[1], high, wide))
    for r, box in enumerate(rois * scale - half):
        size = box[2:] - box[:2]
        size = size if attrs.get("aligned") else np.maximum(size, 1)
        bins = size / [wide, high]
        count = [attrs["sampling_ratio"]] * 2
        if attrs["sampling_ratio"] <= 0:
            count = [math.ceil(b) for b in bins]
        for i, j in np.ndindex(high, wide):
            samples = [
                between(
                    x,
                    IMAGES[r],
                    box[1] + bins[1] * (i + (k + 0.5) / count[1]),
                    box[0] + bins[0] * (j + (m + 0.5) / count[0]),
                )
                for k, m in np.ndindex(count[1], count[0])
            ]
            out[r, :, i, j] = np.mean(samples, 0)
    return out


class TestRoiAlign(OpTest):
    options = {"sampling_ratio": 2}

    def setUp(self):
        self.op_type = "roi_align"
        self.attrs = {"spatial_scale": 0.7, "pooled_height": 2, "pooled_width": 3, **self.options}
        x = rand(2, 3, 5, 6)
        self.inputs = {"X": x, "ROIs": (ROIS, LOD)}
        self.outputs = {"Out": (roi_align(x, ROIS, self.attrs), LOD)}
        self.grad_inputs = ["X"]

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestRoiAlignAdaptive(TestRoiAlign):
    options = {"sampling_ratio": -1}


class TestRoiAlignAligned(TestRoiAlign):
    options = {"sampling_ratio": 2, "aligned": True}


class TestRoiPool(OpTest):
    def setUp(self):
        self.op_type = "roi_pool"
        self.attrs = {"spatial_scale": 0.7, "pooled_height": 2, "pooled_width": 3}
        x = np.random.permutation(2 * 3 * 5 * 6).reshape(2, 3, 5, 6) / 50.0  # no two alike
        self.inputs = {"X": x, "ROIs": (ROIS, LOD)}
        out, where = np.zeros((3, 3, 2, 3)), np.full((3, 3, 2, 3), -1)
        for r, box in enumerate(np.floor(ROIS * 0.7 + 0.5).astype(int)):
            size = np.maximum(box[2:] - box[:2] + 1, 1) / [3, 2]
            for c, i, j in np.ndindex(3, 2, 3):
                rows = [math.floor(i * size[1]) + box[1], math.ceil((i + 1) * size[1]) + box[1]]
                columns = [math.floor(j * size[0]) + box[0], math.ceil((j + 1) * size[0]) + box[0]]
                rows, columns = np.clip(rows, 0, 5), np.clip(columns, 0, 6)
                part = x[IMAGES[r], c, slice(*rows), slice(*columns)]
                if part.size:
                    out[r, c, i, j] = part.max()
                    (where[r, c, i, j],) = np.flatnonzero(x[IMAGES[r], c] == part.max())
        self.outputs = {"Out": (out, LOD), "Argmax": where}
        self.grad_inputs = ["X"]

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestPsroiPool(OpTest):
    def setUp(self):
        self.op_type = "psroi_pool"
        self.attrs = {
            "spatial_scale": 0.7, "pooled_height": 2, "pooled_width": 2, "output_channels": 2,
        }  # fmt: skip
        x = rand(2, 8, 5, 6)
        self.inputs = {"X": x, "ROIs": (ROIS, LOD)}
        out = np.zeros((3, 2, 2, 2))
        for r, box in enumerate(np.sign(ROIS) * np.floor(np.abs(ROIS) + 0.5)):
            start, end = box[:2] * 0.7, (box[2:] + 1) * 0.7
            size = np.maximum(end - start, 0.1) / 2
            for c, i, j in np.ndindex(2, 2, 2):
                low = np.floor(start + size * [j, i]).astype(int)
                high = np.ceil(start + size * [j + 1, i + 1]).astype(int)
                low, high = np.clip(low, 0, [6, 5]), np.clip(high, 0, [6, 5])
                part = x[IMAGES[r], (c * 2 + i) * 2 + j, low[1] : high[1], low[0] : high[0]]
                out[r, c, i, j] = part.mean() if part.size else 0
        self.outputs = {"Out": (out, LOD)}
        self.grad_inputs = ["X"]

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


def integral(f, a, b):
    """Of a function that is linear between whole numbers."""
    points = np.unique(np.clip([a, *np.arange(math.ceil(a), math.floor(b) + 1), b], a, b))
    return sum((f(p) + f(q)) / 2 * (q - p) for p, q in zip(points, points[1:], strict=False))


class TestPrroiPool(OpTest):
    def setUp(self):
        self.op_type = "prroi_pool"
        self.attrs = {"spatial_scale": 0.7, "pooled_height": 2, "pooled_width": 2}
        x = rand(2, 2, 5, 6)
        self.inputs = {"X": x, "ROIs": (ROIS, LOD)}
        out = np.zeros((3, 2, 2, 2))
        for r, box in enumerate(ROIS * 0.7):
            size = (box[2:] - box[:2]) / 2
            for i, j in np.ndindex(2, 2):
                low = box[:2] + size * [j, i]
                rows = [integral(lambda t, y=y: hat(t - y), low[1], low[1] + size[1])
                        for y in range(5)]  # fmt: skip
                columns = [integral(lambda t, y=y: hat(t - y), low[0], low[0] + size[0])
                           for y in range(6)]  # fmt: skip
                out[r, :, i, j] = (x[IMAGES[r]] * np.outer(rows, columns)).sum((1, 2)) / size.prod()
        self.outputs = {"Out": (out, LOD)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "ROIs"], "Out")


class TestRoiPerspectiveTransform(OpTest):
    """A rectangle without perspective: its rows and columns at even distances."""

    def setUp(self):
        self.op_type = "roi_perspective_transform"
        self.attrs = {"transformed_height": 3, "transformed_width": 3}
        x = rand(2, 2, 5, 6)
        quads = np.array([[0.4, 1.1, 3.4, 1.1, 3.4, 3.6, 0.4, 3.6]])
        self.inputs = {"X": x, "ROIs": (quads, [[0, 1]])}
        out = np.zeros((1, 2, 3, 3))
        for i, j in np.ndindex(3, 3):
            out[0, :, i, j] = between(x, 1, 1.1 + 1.25 * i, 0.4 + 1.5 * j)
        self.outputs = {"Out": out, "Mask": np.ones((1, 1, 3, 3), "int32")}
        self.grad_inputs = ["X"]

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestDeformablePsroiPooling(OpTest):
    def setUp(self):
        self.op_type = "deformable_psroi_pooling"
        self.attrs = {
            "output_dim": 2, "group_size": [1, 2], "pooled_height": 2, "pooled_width": 2,
            "part_size": [2, 2], "sample_per_part": 2, "trans_std": 0.2, "spatial_scale": 0.7,
        }  # fmt: skip
        x, trans = rand(2, 4, 7, 8), rand(3, 2, 2, 2)
        self.inputs = {"Input": x, "ROIs": (ROIS + 1, LOD), "Trans": trans}
        out, count = np.zeros((3, 2, 2, 2)), np.zeros((3, 2, 2, 2))
        for r, box in enumerate(np.sign(ROIS + 1) * np.floor(np.abs(ROIS + 1) + 0.5)):
            start, end = box[:2] * 0.7 - 0.5, (box[2:] + 1) * 0.7 - 0.5
            size = np.maximum(end - start, 0.1)
            for c, i, j in np.ndindex(2, 2, 2):
                low = start + size / 2 * [j, i] + trans[r, :, i, j] * 0.2 * size
                values = []
                for k, m in np.ndindex(2, 2):
                    at = low + size / 4 * [m, k]
                    if (at >= -0.5).all() and at[0] <= 7.5 and at[1] <= 6.5:
                        values.append(between(x, IMAGES[r], at[1], at[0])[c * 2 + j])
                count[r, c, i, j] = len(values)
                out[r, c, i, j] = np.mean(values) if values else 0
        self.outputs = {"TopCount": count, "Output": out}
        self.grad_inputs, self.grad_outputs = ["Input", "Trans"], ["Output"]

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Input", "Trans"], "Output")


def run(op, rois, lod=None, x=(1, 1, 4, 4), **attrs):
    slots = {"X": _core.to_variable(np.ones(x)), "ROIs": _core.to_variable(rois, lod=lod)}
    slots.update({k: _core.to_variable(attrs.pop(k)) for k in ("RoisNum", "RoisLod") if k in attrs})
    return _core.run_op(op, slots, attrs, {})["Out"].numpy()


BOX = np.array([[0.0, 0.0, 2.0, 2.0]])
POOLS = ["roi_align", "roi_pool", "psroi_pool", "prroi_pool"]


@pytest.mark.parametrize("op", POOLS)
@pytest.mark.parametrize(
    ("rois", "lod", "said"),
    [
        (BOX * np.nan, [[0, 1]], "finite"),
        (BOX + 1e30, [[0, 1]], "finite"),
        (BOX, None, "level of detail"),
        (BOX, [[0, 0, 1]], "images"),
        (np.ones((1, 5)), [[0, 1]], "[regions, 4]"),
    ],
)
def test_bad_regions_are_refused(op, rois, lod, said):
    with pytest.raises(ValueError, match=said.replace("[", r"\[")):
        run(op, rois, lod)


@pytest.mark.parametrize("op", POOLS)
@pytest.mark.parametrize("name", ["pooled_height", "pooled_width", "spatial_scale"])
def test_no_bins_are_refused(op, name):
    with pytest.raises(ValueError, match=name):
        run(op, BOX, [[0, 1]], **{name: 0})


@pytest.mark.parametrize("op", ["roi_align", "roi_pool"])
def test_counts_and_offsets_say_the_images(op):
    rois = np.concatenate([BOX, BOX])
    expected = run(op, rois, [[0, 2, 2]], x=(2, 1, 4, 4))
    for given in ({"RoisNum": np.array([2, 0], "int32")}, {"RoisLod": np.array([0, 2, 2])}):
        np.testing.assert_array_equal(run(op, rois, x=(2, 1, 4, 4), **given), expected)
    for given in (
        {"RoisNum": np.array([3, -1], "int32")},
        {"RoisNum": np.array([1, 0], "int32")},
        {"RoisLod": np.array([0, 3, 2])},
        {"RoisLod": np.array([1, 1, 2])},
    ):
        with pytest.raises(ValueError, match="Rois"):
            run(op, rois, x=(2, 1, 4, 4), **given)


@pytest.mark.parametrize("op", POOLS)
def test_large_and_turned_boxes_take_no_time_and_no_pixels_outside(op):
    rois = np.array([[-1e8, -1e8, 1e8, 1e8], [3.0, 3.0, 1.0, 1.0], [50.0, 50.0, 60.0, 60.0]])
    out = run(op, rois, [[0, 3]])
    assert out.shape == (3, 1, 1, 1)
    assert np.isfinite(out).all()
    assert (out <= 1).all() and (out >= 0).all()
    assert out[2] == 0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_more_samples_than_floats_count(dtype):
    """2**26 samples a pixel apart, of which 8 + 1 lie from -1 to 8."""
    rois = np.array([[-(2.0**25), 0.0, 2.0**25, 4.0]], dtype)
    x = np.ones((1, 1, 8, 8), dtype)
    given = {"X": _core.to_variable(x), "ROIs": _core.to_variable(rois, lod=[[0, 1]])}
    out = _core.run_op("roi_align", given, {}, {})["Out"].item()
    assert out == 9 / 2**26


@pytest.mark.parametrize("shape", [(50, 1, 1, 1), (1, 2, 1, 1), (1, 1)])
def test_argmax_of_other_regions_is_refused(shape):
    x, rois = _core.to_variable(np.ones((1, 1, 4, 4))), _core.to_variable(BOX, lod=[[0, 1]])
    argmax = _core.to_variable(np.zeros(shape, "int64"))
    given = {"X@GRAD@GRAD": x, "ROIs": rois, "Argmax": argmax}
    with pytest.raises(ValueError, match="Argmax.* must"):
        _core.run_op("roi_pool_grad_grad", given, {}, {})
    given = {"X": x, "ROIs": rois, "Argmax": argmax, "Out@GRAD": _core.to_variable(np.ones(shape))}
    with pytest.raises(ValueError, match="Argmax.* must"):
        _core.run_op("roi_pool_grad", given, {}, {})


def test_endless_sampling_is_refused():
    x, rois = _core.to_variable(np.ones((1, 1, 4, 4))), _core.to_variable(BOX, lod=[[0, 1]])
    trans = _core.to_variable(np.zeros((1, 2, 1, 1)))
    for op, given, attr in [
        ("roi_align", {"X": x, "ROIs": rois}, "sampling_ratio"),
        ("deformable_psroi_pooling", {"Input": x, "ROIs": rois, "Trans": trans}, "sample_per_part"),
    ]:
        with pytest.raises(ValueError, match=f"{attr} must lie in .*1000.*got"):
            _core.run_op(op, given, {attr: 2**31 - 1}, {})


def test_argmax_outside_is_refused():
    x, rois = _core.to_variable(np.ones((1, 1, 4, 4))), _core.to_variable(BOX, lod=[[0, 1]])
    for at in (16, -2):
        with pytest.raises(IndexError, match="Argmax"):
            _core.run_op(
                "roi_pool_grad",
                {"X": x, "ROIs": rois, "Argmax": _core.to_variable(np.full((1, 1, 1, 1), at)),
                 "Out@GRAD": _core.to_variable(np.ones((1, 1, 1, 1)))}, {}, {},
            )  # fmt: skip
