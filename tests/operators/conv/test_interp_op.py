"""bilinear_interp, nearest_interp, trilinear_interp against sums over places."""

from fractions import Fraction

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def matrix(size, out, nearest, corners, mode):
    """[out, size]: what each output takes from each input along an axis."""
    m = np.zeros((out, size))
    for o in range(out):
        if corners:
            at = Fraction(o * (size - 1), out - 1) if out > 1 else Fraction(0)
        else:
            at = Fraction(o * size, out)
            if mode == 0 and not nearest:
                at = max(Fraction((2 * o + 1) * size - out, 2 * out), Fraction(0))
        if nearest:
            m[o, min(int(at + Fraction(1, 2)) if corners else int(at), size - 1)] = 1
            continue
        low = min(int(at), size - 1)
        high = min(low + 1, size - 1)
        m[o, low] += 1 - (at - low) if high > low else 1
        if high > low:
            m[o, high] += at - low
    return m


def resize(x, sizes, method, attrs):
    last = attrs.get("data_layout", "NCHW") in ("NHWC", "NDHWC")
    x = np.moveaxis(x, -1, 1) if last else x
    for i, out in enumerate(sizes):
        m = matrix(
            x.shape[2 + i],
            out,
            method == "nearest",
            attrs.get("align_corners", True),
            attrs.get("align_mode", 1),
        )
        x = np.moveaxis(np.tensordot(x, m, (2 + i, 1)), -1, 2 + i)
    return np.moveaxis(x, 1, -1) if last else x


class TestBilinearInterp(OpTest):
    op_type = "bilinear_interp"
    shape = (2, 3, 4, 3)
    sizes = (7, 5)
    attrs = {}
    given = "attrs"
    elementwise = False
    grad_inputs = ["X"]

    def setUp(self):
        x = rand(*self.shape)
        names = ("out_d", "out_h", "out_w")[-len(self.sizes) :]
        self.inputs, self.attrs = {"X": x}, dict(self.attrs)
        if self.given == "attrs":
            self.attrs.update(zip(names, self.sizes, strict=True))
        elif self.given == "OutSize":
            self.inputs["OutSize"] = np.array(self.sizes, "int32")
        elif self.given == "SizeTensor":
            self.inputs["SizeTensor"] = [
                (f"size{i}", np.array([s], "int32")) for i, s in enumerate(self.sizes)
            ]
        elif self.given == "Scale":
            self.inputs["Scale"] = np.array([2.0], "float32")
        out = resize(x, self.sizes, self.op_type.split("_")[0], self.attrs)
        self.outputs = {"Out": out}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSmaller(TestBilinearInterp):
    sizes = (2, 2)


class TestOne(TestBilinearInterp):
    sizes = (1, 1)


class TestSame(TestBilinearInterp):
    sizes = (4, 3)


class TestBeginnings(TestBilinearInterp):
    attrs = {"align_corners": False}


class TestMiddles(TestBilinearInterp):
    attrs = {"align_corners": False, "align_mode": 0}


class TestMiddlesSmaller(TestBilinearInterp):
    shape = (1, 2, 9, 8)
    sizes = (4, 3)
    attrs = {"align_corners": False, "align_mode": 0}


class TestOutSize(TestBilinearInterp):
    given = "OutSize"


class TestSizeTensor(TestBilinearInterp):
    given = "SizeTensor"


class TestScaleTensor(TestBilinearInterp):
    given = "Scale"
    sizes = (8, 6)


class TestScale(TestBilinearInterp):
    given = None
    sizes = (6, 4)
    attrs = {"scale": 1.5}


class TestLast(TestBilinearInterp):
    attrs = {"data_layout": "NHWC", "align_corners": False}
    sizes = (6, 5)


class TestNearest(TestBilinearInterp):
    op_type = "nearest_interp"


class TestNearestCells(TestNearest):
    attrs = {"align_corners": False}
    sizes = (8, 2)


class TestNearestOne(TestNearest):
    sizes = (1, 6)


class TestTrilinear(TestBilinearInterp):
    op_type = "trilinear_interp"
    shape = (1, 2, 3, 2, 4)
    sizes = (4, 5, 3)


class TestTrilinearMiddles(TestTrilinear):
    attrs = {"align_corners": False, "align_mode": 0}


class TestTrilinearLast(TestTrilinear):
    attrs = {"align_corners": False, "data_layout": "NDHWC"}
    sizes = (4, 3, 3)


def exact(x, sizes, attrs):
    """Rational means, cut off."""
    x = x[0, 0].astype(int)
    rows, columns = (
        [
            [Fraction(v).limit_denominator(1000) for v in row]
            for row in matrix(n, out, False, *attrs)
        ]
        for n, out in zip(x.shape, sizes, strict=True)
    )
    return [
        [int(sum(r[i] * c[j] * int(x[i, j]) for i, j in np.ndindex(*x.shape))) for c in columns]
        for r in rows
    ]


@pytest.mark.parametrize("corners,mode", [(True, 1), (False, 0), (False, 1)])
@pytest.mark.parametrize("sizes", [(3, 3), (7, 5), (9, 11), (2, 1)])
def test_bytes_are_averaged_and_cut_off(corners, mode, sizes):
    x = np.random.RandomState(3).randint(0, 256, (1, 1, 4, 6)).astype("uint8")
    got = run("bilinear_interp", x, out_h=sizes[0], out_w=sizes[1], align_corners=corners,
              align_mode=mode)  # fmt: skip
    assert got.dtype == "uint8"
    assert got.numpy()[0, 0].tolist() == exact(x, sizes, (corners, mode))


def test_bytes_as_paddle_averages_them():
    """What Paddle 2.6.2 gives."""
    x = (np.arange(16).reshape(1, 1, 4, 4) * 15 + 1).astype("uint8")
    got = run("bilinear_interp", x, out_h=3, out_w=3).numpy().ravel()
    assert got.tolist() == [1, 23, 46, 91, 113, 136, 181, 203, 226]
    got = run("bilinear_interp", x, out_h=3, out_w=3, align_corners=False, align_mode=0).numpy()
    assert got.ravel().tolist() == [13, 33, 53, 93, 113, 133, 173, 193, 213]
    got = run("nearest_interp", x, out_h=3, out_w=3).numpy().ravel()
    assert got.tolist() == [1, 31, 46, 121, 151, 166, 181, 211, 226]
    got = run("trilinear_interp", x[:, :, None], out_d=2, out_h=3, out_w=3).numpy()
    assert got[0, 0, 1].ravel().tolist() == [1, 23, 46, 91, 113, 136, 181, 203, 226]


def run(op, x, **attrs):
    return _core.run_op(op, {"X": _core.to_variable(x)}, attrs)["Out"]


def test_whole_numbers_are_met_exactly():
    """49 cells to one each: a ratio in floating point would miss some."""
    x = np.arange(49.0).reshape(1, 1, 1, 49)
    got = run("nearest_interp", x, out_h=1, out_w=147, align_corners=False).numpy().ravel()
    assert got.tolist() == np.repeat(np.arange(49.0), 3).tolist()
    x[0, 0, 0, 1] = np.nan
    got = run("bilinear_interp", x, out_h=1, out_w=97).numpy().ravel()
    assert np.isnan(got).sum() == 3 and got[4:].tolist() == (np.arange(4, 97) / 2).tolist()


def test_wrong_input():
    x = np.ones((1, 1, 2, 2), "float32")
    with pytest.raises(ValueError, match="the sizes of Out must be positive, got 0. Give scale"):
        run("bilinear_interp", x)
    with pytest.raises(ValueError, match="scale must give sizes of at least 1"):
        run("bilinear_interp", x, scale=0.1)
    with pytest.raises(ValueError, match="scale must give sizes"):
        run("nearest_interp", x, scale=1e30)
    with pytest.raises(ValueError, match="X must have 5 axes"):
        run("trilinear_interp", x, scale=2.0)
    with pytest.raises(ValueError, match="must not be empty in space"):
        run("bilinear_interp", x[:, :, :0], out_h=2, out_w=2)
    with pytest.raises(ValueError, match="data_layout must be one of .*got 'AnyLayout'"):
        run("bilinear_interp", x, out_h=3, out_w=3, data_layout="AnyLayout")
    assert run("bilinear_interp", x[:0], out_h=3, out_w=3).shape == (0, 1, 3, 3)
