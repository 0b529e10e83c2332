"""Functions of fluid.layers that are made of operators."""

import numpy as np
import pytest

import dygraph
import dygraph.ops as F
from dygraph.static import layers

RNG = np.random.default_rng(0)


def var(values, dtype=None):
    return dygraph.to_variable(np.asarray(values, dtype))


class TestReductions:
    @pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
    @pytest.mark.parametrize("dim", [None, 0, -1, [0, 2], [0, 1, 2], []])
    @pytest.mark.parametrize("keep", [False, True])
    def test_as_numpy(self, name, dim, keep):
        array = RNG.normal(size=(2, 3, 4))
        got = getattr(F, f"reduce_{name}")(var(array), dim=dim, keep_dim=keep)
        axis = None if dim in (None, []) else tuple(np.atleast_1d(dim))
        expected = getattr(np, name)(array, axis=axis, keepdims=keep)
        assert got.shape == expected.shape
        np.testing.assert_allclose(got.numpy(), expected)

    def test_logic(self):
        x = var([[True, False], [True, True]])
        assert F.reduce_all(x, 0).tolist() == [True, False]
        assert F.reduce_any(x).item() is True

    def test_gradient(self):
        x = dygraph.Parameter(np.ones((2, 3)))
        (F.reduce_mean(x) * 6.0).backward()
        assert x.gradient().tolist() == [[1] * 3] * 2

    def test_axes(self):
        with pytest.raises(IndexError, match="reduce_sum: dim must lie in"):
            F.reduce_sum(var([1.0]), dim=1)
        with pytest.raises(TypeError, match="reduce_sum: input must be a Variable"):
            F.reduce_sum([1.0])

    def test_positions(self):
        x = var([[1.0, 5.0], [7.0, 2.0]])
        assert (F.argmax(x).tolist(), F.argmin(x, axis=1).tolist()) == ([1, 0], [0, 1])

    def test_sums(self):
        out = dygraph.zeros([2])
        assert layers.sums([dygraph.ones([2])] * 3, out) is out
        assert out.tolist() == [3, 3]

    def test_questions(self):
        assert F.has_inf(var([1.0, np.inf])).item() and not F.has_inf(var([np.nan])).item()
        assert F.has_nan(var([1.0, np.nan])).item() and not F.has_nan(var([np.inf])).item()
        assert F.rank(dygraph.ones([2, 3])).item() == 2


class TestElements:
    def test_clamp_and_addcmul(self):
        assert layers.clamp(var([-1.0, 0.5, 2.0]), 0, 1).tolist() == [0, 0.5, 1]
        out = var([0.0])
        layers.addcmul(var([1.0]), var([2.0]), var([3.0]), 0.5, out)
        assert out.tolist() == [4]
        with pytest.raises(AttributeError, match="Fluid's is dygraph.static.layers.clamp"):
            F.clamp(var([1.0]), 0, 1)
        assert F.elementwise_equal(var([1, 2]), var([1, 3])).tolist() == [True, False]

    @pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
    def test_nonzero(self, dtype):
        x = var([[1, 0], [0, 1]], dtype)
        assert F.nonzero(x).tolist() == [[0, 0], [1, 1]]
        assert [p.tolist() for p in F.nonzero(x, as_tuple=True)] == [[[0], [1]], [[0], [1]]]

    def test_scatter_nd(self):
        got = F.scatter_nd(var([[1], [1], [0]]), var([1.0, 2.0, 4.0]), [3])
        assert got.tolist() == [4, 3, 0]

    def test_l2_normalize(self):
        x = RNG.normal(size=(3, 4))
        expected = x / np.linalg.norm(x, axis=1, keepdims=True)
        np.testing.assert_allclose(F.l2_normalize(var(x), 1).numpy(), expected, rtol=1e-6)
        np.testing.assert_allclose(F.l2_normalize(var(x[0]), -1).numpy(), expected[0], rtol=1e-6)

    def test_fsp_matrix(self):
        x, y = RNG.normal(size=(2, 3, 4, 5)), RNG.normal(size=(2, 6, 4, 5))
        expected = x.reshape(2, 3, 20) @ y.reshape(2, 6, 20).swapaxes(1, 2) / 20
        np.testing.assert_allclose(F.fsp_matrix(var(x), var(y)).numpy(), expected)
        with pytest.raises(ValueError, match="equal but for C"):
            F.fsp_matrix(var(x), var(y[:, :, :2]))


class TestImages:
    def test_corners_stay(self):
        x = var([[[[0.0, 2.0], [4.0, 6.0]]]])
        got = F.resize_bilinear(x, out_shape=[3, 3]).numpy()[0, 0]
        np.testing.assert_allclose(got, [[0, 1, 2], [2, 3, 4], [4, 5, 6]])
        assert F.image_resize(x, scale=2.0, resample="NEAREST").shape == (1, 1, 4, 4)
        assert F.resize_nearest(x, var([1, 1])).shape == (1, 1, 1, 1)

    def test_volumes(self):
        got = F.resize_trilinear(dygraph.ones([1, 1, 2, 2, 2]), [3, 4, 5])
        np.testing.assert_allclose(got.numpy(), np.ones((1, 1, 3, 4, 5)), rtol=1e-6)

    def test_sizes_win(self):
        x = dygraph.ones([1, 1, 2, 2])
        assert F.image_resize(x, [3, 3], 2.0, actual_shape=var([5, 4])).shape == (1, 1, 5, 4)
        assert F.image_resize_short(dygraph.ones([1, 1, 3, 4]), 6).shape == (1, 1, 6, 8)

    def test_what_does_not_fit(self):
        x = dygraph.ones([1, 1, 2, 2])
        with pytest.raises(ValueError, match="out_shape or scale must be given"):
            F.image_resize(x)
        with pytest.raises(ValueError, match="resample must be one of"):
            F.image_resize(x, [2, 2], resample="CUBIC")
        last = F.image_resize(dygraph.ones([1, 2, 3, 5]), [4, 6], data_format="NHWC")
        assert last.shape == (1, 4, 6, 5)
        with pytest.raises(ValueError, match="data_format for BILINEAR must be one of 'NCHW'"):
            F.image_resize(x, [2, 2], data_format="NCDHW")
        with pytest.raises(ValueError, match="input must have pixels"):
            F.image_resize_short(dygraph.ones([1, 1, 0, 2]), 2)

    def test_adaptive_pools(self):
        x = var(np.arange(16.0).reshape(1, 1, 4, 4))
        assert F.adaptive_pool2d(x, 2).tolist() == [[[[5, 7], [13, 15]]]]
        assert F.adaptive_pool2d(x, 2, "avg").tolist() == [[[[2.5, 4.5], [10.5, 12.5]]]]
        out, places = F.adaptive_pool2d(x, 1, require_index=True)
        assert (out.item(), places.item()) == (15, 15)
        assert F.adaptive_pool3d(dygraph.ones([1, 1, 4, 4, 4]), 2, "avg").shape == (1, 1, 2, 2, 2)
        with pytest.raises(ValueError, match="require_index must be False"):
            F.adaptive_pool2d(x, 2, "avg", True)


class TestDraws:
    def test_sizes_follow(self):
        x = dygraph.ones([5, 2])
        assert F.uniform_random_batch_size_like(x, [-1, 3]).shape == (5, 3)
        assert F.gaussian_random_batch_size_like(x, [3, -1], 1, 1).shape == (3, 2)
        assert F.uniform_random_batch_size_like(x, [-1, 3], min=2.0, max=3.0).min().item() >= 2
        with pytest.raises(IndexError, match="output_dim_idx"):
            F.uniform_random_batch_size_like(x, [-1, 3], output_dim_idx=2)


class TestLosses:
    def test_focal(self):
        x = RNG.normal(size=(4, 3))
        label = np.array([[1], [3], [0], [-1]])
        got = F.sigmoid_focal_loss(var(x), var(label, "int32"), var([2], "int32"))
        p = 1 / (1 + np.exp(-x))
        expected = -0.75 * p**2 * np.log(1 - p) / 2
        for row, column in ((0, 0), (1, 2)):
            q = p[row, column]
            expected[row, column] = -0.25 * (1 - q) ** 2 * np.log(q) / 2
        expected[3] = 0
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)
        with pytest.raises(ValueError, match=r"Label must be \[rows, 1\]"):
            F.sigmoid_focal_loss(var(x), var([1]), var([1]))

    def test_focal_gradient(self):
        label, count = var([[1], [2], [0]], "int32"), var([2], "int32")
        x = dygraph.Parameter(RNG.normal(size=(3, 2)))
        dygraph.check_grad(lambda x: F.sigmoid_focal_loss(x, label, count), [x])

    def test_hsigmoid(self):
        x, w = RNG.normal(size=(2, 3)), RNG.normal(size=(1, 3))
        got = F.hsigmoid(var(x), var([[0], [1]]), var(w), num_classes=2).numpy()
        z = x @ w.T
        expected = np.log1p(np.exp(z)) - np.array([[0], [1]]) * z
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_sequence_steps():
    x = dygraph.to_variable(np.arange(3.0)[:, None], lod=[[0, 2, 3]])
    assert F.sequence_first_step(x).tolist() == [[0], [2]]
    assert F.sequence_last_step(x).tolist() == [[1], [2]]
    assert F.lod_append(x, [0, 1, 2, 3]).lod() == [[0, 2, 3], [0, 1, 2, 3]]
