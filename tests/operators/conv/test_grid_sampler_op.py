"""grid_sampler and affine_grid."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def place(g, size, padding, corners):
    """The pixel that a number of Grid means along an axis, brought into the image by `padding`."""
    at = (g + 1) / 2 * (size - 1) if corners else ((g + 1) * size - 1) / 2
    if padding == "reflection":
        low, high = (0, size - 1) if corners else (-0.5, size - 0.5)
        while high > low and not low <= at <= high:
            at = 2 * low - at if at < low else 2 * high - at
    if padding != "zeros":
        at = min(max(at, 0), size - 1)
    return at


def sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=True):
    """A sum over all pixels, weighted by their distance along each axis."""
    sizes = x.shape[2:]
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]), x.dtype)
    for image, *point in np.ndindex(*grid.shape[:-1]):
        numbers = grid[(image, *point)][::-1]  # x comes first
        at = [place(g, n, padding_mode, align_corners) for g, n in zip(numbers, sizes, strict=True)]
        if mode == "nearest":
            at = [np.sign(p) * np.floor(abs(p) + 0.5) for p in at]
        for pixel in np.ndindex(*sizes):
            weight = np.prod([max(0, 1 - abs(p - i)) for p, i in zip(at, pixel, strict=True)])
            out[(image, slice(None), *point)] += weight * x[(image, slice(None), *pixel)]
    return out


def places(shape, sizes, reach, corners=True, kinks=0.0):
    """Places that have no jump of the slope near them; jumps lie at whole pixels plus `kinks`."""
    sizes = np.array(sizes[::-1])
    scale = np.maximum(sizes - 1, 1) / 2 if corners else sizes / 2
    pixel = (rand(*shape, len(sizes), low=-reach, high=reach) + 1) * scale
    pixel = pixel if corners else pixel - 0.5
    step = np.round(pixel - kinks)
    pixel = np.where(np.abs(pixel - kinks - step) < 0.1, step + kinks + 0.15, pixel)
    return (pixel if corners else pixel + 0.5) / scale - 1


class TestGridSampler(OpTest):
    shape = (2, 3, 4, 5)
    out = (3, 4)
    reach = 0.9
    kinks = 0.0
    options = {}
    elementwise = False

    def setUp(self):
        self.op_type = "grid_sampler"
        self.attrs = dict(self.options)
        corners = self.options.get("align_corners", True)
        out = (self.shape[0], *self.out)
        grid = places(out, self.shape[2:], self.reach, corners, self.kinks)
        self.inputs = {"X": rand(*self.shape), "Grid": grid}
        self.outputs = {"Output": sample(self.inputs["X"], grid, **self.options)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Grid"], "Output")


class TestPartlyOutside(TestGridSampler):
    reach = 2.0


class TestBorders(TestPartlyOutside):
    """align_corners=False: -1 and 1 are the borders."""

    options = {"align_corners": False}


class TestBorderPadding(TestPartlyOutside):
    options = {"padding_mode": "border"}


class TestBorderPaddingOfBorders(TestPartlyOutside):
    options = {"padding_mode": "border", "align_corners": False}


class TestReflection(TestPartlyOutside):
    reach = 5.0
    options = {"padding_mode": "reflection"}


class TestReflectionOfBorders(TestPartlyOutside):
    """Mirrors at half pixels; beyond the middles of the outermost pixels the slope is 0."""

    shape, reach = (1, 2, 4, 4), 5.0
    options = {"padding_mode": "reflection", "align_corners": False}


class TestNearest(TestPartlyOutside):
    kinks = 0.5
    options = {"mode": "nearest"}


class TestNearestOfBorders(TestNearest):
    options = {"mode": "nearest", "align_corners": False, "padding_mode": "border"}


class TestNearestReflection(TestNearest):
    options = {"mode": "nearest", "padding_mode": "reflection"}


class TestVolume(TestGridSampler):
    shape, out = (2, 2, 3, 2, 4), (2, 1, 3)
    reach = 1.5


class TestVolumeOfBorders(TestVolume):
    options = {"align_corners": False, "padding_mode": "border"}


class TestVolumeReflection(TestVolume):
    options = {"padding_mode": "reflection"}


class TestVolumeNearest(TestVolume):
    kinks = 0.5
    options = {"mode": "nearest", "padding_mode": "border"}


class TestOneImage(TestGridSampler):
    shape = (1, 1, 2, 2)
    out = (2, 2)


class TestOnePixelReflection(TestGridSampler):
    shape, out = (1, 2, 1, 3), (2, 2)
    options = {"padding_mode": "reflection"}


class TestAffineGrid(OpTest):
    elementwise = False
    shape = [2, 3, 4, 5]
    as_tensor = False
    corners = True

    def setUp(self):
        self.op_type = "affine_grid"
        n, _, *sizes = self.shape
        axes = len(sizes)
        theta = rand(n, axes, axes + 1)
        self.inputs = {"Theta": theta}
        self.attrs = {} if self.corners else {"align_corners": False}
        if self.as_tensor:
            self.inputs["OutputShape"] = np.array(self.shape, "int32")
        else:
            self.attrs["output_shape"] = self.shape
        lines = []
        for size in sizes:
            if self.corners:
                lines.append(np.linspace(-1, 1, size) if size > 1 else np.zeros(1))
            else:
                borders = np.linspace(-1, 1, size + 1)
                lines.append((borders[:-1] + borders[1:]) / 2)
        base = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(sizes)], -1)
        self.outputs = {"Output": np.einsum("...k,nik->n...i", base, theta)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Theta"], "Output")


class TestAffineGridTensor(TestAffineGrid):
    as_tensor = True


class TestAffineGridLine(TestAffineGrid):
    shape = [1, 1, 1, 3]


class TestAffineGridBorders(TestAffineGrid):
    corners = False


class TestAffineGridVolume(TestAffineGrid):
    shape = [2, 1, 3, 2, 4]


class TestAffineGridVolumeBorders(TestAffineGrid):
    shape, corners, as_tensor = [2, 1, 3, 1, 4], False, True


ATTRS = ("output_shape", "mode", "padding_mode", "align_corners")


def run(op, **slots):
    attrs = {k: slots.pop(k) for k in list(slots) if k in ATTRS}
    return _core.run_op(op, {k: _core.to_variable(v) for k, v in slots.items()}, attrs)["Output"]


# Rows by (align_corners, mode, padding_mode): what Paddle 2.6.2 reads of 1 to 36 at `PLACES`.
PLACES = [[-2.5, 0.3], [0.2, 1.3], [-0.3, -0.6], [1, 1], [-1, -1], [0.1, 0], [3, -4], [0.49, 0.51]]
PADDLE = {
    (True, "bilinear", "zeros"): [0, 8.5, 8.75, 36, 1, 18.75, 0, 27.375],
    (True, "bilinear", "border"): [20.5, 34, 8.75, 36, 1, 18.75, 6, 27.375],
    (True, "bilinear", "reflection"): [24.25, 29.5, 8.75, 36, 1, 18.75, 16, 27.375],
    (True, "nearest", "zeros"): [0, 0, 9, 36, 1, 22, 0, 29],
    (True, "nearest", "border"): [19, 34, 9, 36, 1, 22, 6, 29],
    (True, "nearest", "reflection"): [23, 28, 9, 36, 1, 22, 19, 29],
    (False, "bilinear", "zeros"): [0, 0, 6.8, 9, 0.25, 18.8, 0, 29.15],
    (False, "bilinear", "border"): [21.4, 34.1, 6.8, 36, 1, 18.8, 6, 29.15],
    (False, "bilinear", "reflection"): [25.4, 31.7, 6.8, 36, 1, 18.8, 16, 29.15],
    (False, "nearest", "zeros"): [0, 0, 9, 0, 0, 22, 0, 29],
    (False, "nearest", "border"): [19, 34, 9, 36, 1, 22, 6, 29],
    (False, "nearest", "reflection"): [23, 34, 9, 36, 1, 22, 19, 29],
}  # fmt: skip


@pytest.mark.parametrize("how", PADDLE, ids=lambda how: "-".join(map(str, how)))
def test_every_mode_reads_what_paddle_reads(how):
    corners, mode, padding = how
    x = np.arange(1, 37, dtype="float32").reshape(1, 1, 6, 6)
    grid = np.array(PLACES, "float32").reshape(1, 2, 4, 2)
    got = run("grid_sampler", X=x, Grid=grid, align_corners=corners, mode=mode,
              padding_mode=padding)  # fmt: skip
    np.testing.assert_allclose(got.numpy().ravel(), PADDLE[how], atol=1e-4)


def test_the_identity_reads_the_image():
    x = np.random.RandomState(0).rand(1, 2, 4, 5)
    theta = np.array([[[1.0, 0, 0], [0, 1, 0]]])
    grid = run("affine_grid", Theta=theta, output_shape=[1, 2, 4, 5]).numpy()
    np.testing.assert_allclose(run("grid_sampler", X=x, Grid=grid).numpy(), x, rtol=1e-12)


def test_places_that_are_no_places():
    grid = np.array([np.nan, 0, np.inf, 0, 1e30, -1e30, -np.inf, np.nan]).reshape(1, 2, 2, 2)
    got = run("grid_sampler", X=np.ones((1, 1, 3, 3)), Grid=grid).numpy()
    assert (got == 0).all()
    got = run("grid_sampler", X=np.ones((1, 1, 3, 3)), Grid=grid, padding_mode="border").numpy()
    assert got.ravel().tolist() == [0, 1, 1, 0]  # infinity has a nearest border
    got = run("grid_sampler", X=np.ones((1, 1, 3, 3)), Grid=grid, padding_mode="reflection").numpy()
    assert got.ravel().tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_an_image_without_pixels_gives_zeros(padding):
    x, grid = np.ones((1, 2, 0, 3)), np.zeros((1, 1, 2, 2))
    got = run("grid_sampler", X=x, Grid=grid, padding_mode=padding, align_corners=False).numpy()
    assert got.shape == (1, 2, 1, 2) and (got == 0).all()


def test_wrong_shapes():
    x = np.ones((2, 1, 3, 3), "float32")
    with pytest.raises(ValueError, match=r"Grid must have shape \[N, H', W', 2\]"):
        run("grid_sampler", X=x, Grid=x)
    with pytest.raises(ValueError, match="one number of images"):
        run("grid_sampler", X=x, Grid=np.ones((1, 3, 3, 2), "float32"))
    theta = np.ones((2, 2, 3), "float32")
    with pytest.raises(ValueError, match="as many as Theta"):
        run("affine_grid", Theta=theta, output_shape=[3, 1, 2, 2])
    with pytest.raises(ValueError, match="with positive sizes in space"):
        run("affine_grid", Theta=theta, output_shape=[2, 1, 0, 2])
    with pytest.raises(ValueError, match=r"or \[N, C, D, H, W\], got 0 sizes"):
        run("affine_grid", Theta=theta)
    with pytest.raises(ValueError, match=r"Theta must have shape \[N, 2, 3\]"):
        run("affine_grid", Theta=theta[0], output_shape=[2, 1, 2, 2])
    with pytest.raises(ValueError, match=r"Theta must have shape \[N, 3, 4\] for images of 5 axes"):
        run("affine_grid", Theta=theta, output_shape=[2, 1, 2, 2, 2])
    with pytest.raises(ValueError, match=r"Grid must have shape \[N, D', H', W', 3\] for X"):
        run("grid_sampler", X=x[..., None], Grid=np.ones((2, 3, 3, 2), "float32"))
    with pytest.raises(ValueError, match="X must have 4 axes, NCHW, or 5, NCDHW"):
        run("grid_sampler", X=x[0], Grid=x[0])
    with pytest.raises(
        ValueError, match="mode must be one of 'bilinear', 'nearest', got 'bicubic'"
    ):
        run("grid_sampler", X=x, Grid=np.ones((2, 1, 1, 2), "float32"), mode="bicubic")
