"""grid_sampler and affine_grid."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def sample(x, grid):
    n, c, h, w = x.shape
    out = np.zeros((n, c, *grid.shape[1:3]), x.dtype)
    for image, i, j in np.ndindex(*grid.shape[:3]):
        px = (grid[image, i, j, 0] + 1) / 2 * (w - 1)
        py = (grid[image, i, j, 1] + 1) / 2 * (h - 1)
        for row in range(h):
            for column in range(w):
                weight = max(0, 1 - abs(px - column)) * max(0, 1 - abs(py - row))
                out[image, :, i, j] += weight * x[image, :, row, column]
    return out


def places(n, h, w, size, reach=1.0):
    """Places between pixels, where the slope has no jump."""
    pixel = rand(n, h, w, 2, low=-reach, high=reach)
    scale = np.array([(size[1] - 1) / 2, (size[0] - 1) / 2])
    at = (pixel + 1) * scale
    at = np.where(np.abs(at - np.round(at)) < 0.1, np.round(at) + 0.15, at)
    return at / scale - 1


class TestGridSampler(OpTest):
    shape = (2, 3, 4, 5)
    out = (3, 4)
    reach = 0.9
    elementwise = False

    def setUp(self):
        self.op_type = "grid_sampler"
        x, grid = rand(*self.shape), places(self.shape[0], *self.out, self.shape[2:], self.reach)
        self.inputs = {"X": x, "Grid": grid}
        self.outputs = {"Output": sample(x, grid)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Grid"], "Output")


class TestPartlyOutside(TestGridSampler):
    reach = 2.0


class TestOneImage(TestGridSampler):
    shape = (1, 1, 2, 2)
    out = (2, 2)


class TestAffineGrid(OpTest):
    elementwise = False
    shape = [2, 3, 4, 5]
    as_tensor = False

    def setUp(self):
        self.op_type = "affine_grid"
        n, _, h, w = self.shape
        theta = rand(n, 2, 3)
        self.inputs = {"Theta": theta}
        if self.as_tensor:
            self.inputs["OutputShape"] = np.array(self.shape, "int32")
        else:
            self.attrs = {"output_shape": self.shape}
        xs = np.linspace(-1, 1, w) if w > 1 else np.zeros(1)
        ys = np.linspace(-1, 1, h) if h > 1 else np.zeros(1)
        base = np.stack([*np.meshgrid(xs, ys), np.ones((h, w))], -1)
        self.outputs = {"Output": np.einsum("hwk,nik->nhwi", base, theta)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Theta"], "Output")


class TestAffineGridTensor(TestAffineGrid):
    as_tensor = True


class TestAffineGridLine(TestAffineGrid):
    shape = [1, 1, 1, 3]


def run(op, **slots):
    attrs = {k: slots.pop(k) for k in list(slots) if k == "output_shape"}
    return _core.run_op(op, {k: _core.to_variable(v) for k, v in slots.items()}, attrs)["Output"]


def test_the_identity_reads_the_image():
    x = np.random.RandomState(0).rand(1, 2, 4, 5)
    theta = np.array([[[1.0, 0, 0], [0, 1, 0]]])
    grid = run("affine_grid", Theta=theta, output_shape=[1, 2, 4, 5]).numpy()
    np.testing.assert_allclose(run("grid_sampler", X=x, Grid=grid).numpy(), x, rtol=1e-12)


def test_places_that_are_no_places():
    grid = np.array([np.nan, 0, np.inf, 0, 1e30, -1e30, -np.inf, np.nan]).reshape(1, 2, 2, 2)
    got = run("grid_sampler", X=np.ones((1, 1, 3, 3)), Grid=grid).numpy()
    assert (got == 0).all()


def test_wrong_shapes():
    x = np.ones((2, 1, 3, 3), "float32")
    with pytest.raises(ValueError, match=r"Grid must have shape \[N, H', W', 2\]"):
        run("grid_sampler", X=x, Grid=x)
    with pytest.raises(ValueError, match="one number of images"):
        run("grid_sampler", X=x, Grid=np.ones((1, 3, 3, 2), "float32"))
    theta = np.ones((2, 2, 3), "float32")
    with pytest.raises(ValueError, match="as many as Theta"):
        run("affine_grid", Theta=theta, output_shape=[3, 1, 2, 2])
    with pytest.raises(ValueError, match="with positive height and width"):
        run("affine_grid", Theta=theta, output_shape=[2, 1, 0, 2])
    with pytest.raises(ValueError, match=r"must be \[N, C, H, W\], got 0 sizes"):
        run("affine_grid", Theta=theta)
    with pytest.raises(ValueError, match=r"Theta must have shape \[N, 2, 3\]"):
        run("affine_grid", Theta=theta[0], output_shape=[2, 1, 2, 2])
