"""Layers against formulas in NumPy, initializers, ParamAttr."""

import numpy as np
import pytest

import dygraph
from dygraph import initializer, nn

RNG = np.random.default_rng(0)


def var(values, dtype="float32", grad=False):
    x = dygraph.to_variable(np.asarray(values, dtype))
    if grad:
        x.stop_gradient = False
    return x


class TestLinear:
    def test_formula(self):
        fc = nn.Linear(3, 2)
        a = RNG.normal(size=(5, 3)).astype("float32")
        expected = a @ fc.weight.numpy() + fc.bias.numpy()
        assert np.allclose(fc(var(a)).numpy(), expected, atol=1e-6)
        assert fc(var(a.reshape(5, 1, 3))).shape == (5, 1, 2)
        assert fc(var(np.zeros((0, 3)))).shape == (0, 2)

    def test_act_bias_dtype(self):
        fc = nn.Linear(3, 2, bias_attr=False, act="relu", dtype="float64")
        assert fc.bias is None and len(fc.parameters()) == 1
        a = RNG.normal(size=(4, 3))
        expected = np.maximum(a @ fc.weight.numpy(), 0)
        assert np.allclose(fc(var(a, "float64")).numpy(), expected)

    def test_bad_arguments(self):
        for bad in (None, "a", 1.5, [3]):
            with pytest.raises(TypeError):
                nn.Linear(bad, 2)
        with pytest.raises(ValueError):
            nn.Linear(0, 2)
        with pytest.raises(ValueError, match="relu"):
            nn.Linear(2, 2, act="rellu")
        with pytest.raises(TypeError):
            nn.Linear(2, 2, act=3)
        with pytest.raises(ValueError):
            nn.Linear(2, 2, act="matmul_v2")

    def test_bad_input(self):
        fc = nn.Linear(3, 2)
        for bad in (None, "a", 3.0, [], np.ones((2, 3), "float32")):
            with pytest.raises(TypeError):
                fc(bad)
        for shape in ((2, 4), ()):
            with pytest.raises(ValueError):
                fc(var(np.ones(shape)))
        with pytest.raises(TypeError):
            fc(var(np.ones((2, 3)), "int64"))


class TestConv2D:
    def test_formula(self):
        conv = nn.Conv2D(2, 3, 3, stride=2, padding=1)
        a = RNG.normal(size=(1, 2, 5, 5)).astype("float32")
        w, padded = conv.weight.numpy(), np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
        expected = np.zeros((1, 3, 3, 3))
        for f in range(3):
            for i in range(3):
                for j in range(3):
                    window = padded[0, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
                    expected[0, f, i, j] = (window * w[f]).sum()
        assert np.allclose(conv(var(a)).numpy(), expected, atol=1e-5)

    def test_shapes_and_groups(self):
        assert nn.Conv2D(4, 6, (3, 1), groups=2).weight.shape == (6, 2, 3, 1)
        out = nn.Conv2D(4, 6, (3, 1), groups=2, bias_attr=False)(var(np.ones((2, 4, 8, 8))))
        assert out.shape == (2, 6, 6, 8)

    def test_bad(self):
        for args in ((None, 1, 3), ("a", 1, 3), (1, 1, "a"), (1, 1, None), (1, 1.5, 3)):
            with pytest.raises(TypeError):
                nn.Conv2D(*args)
        for args in ((0, 1, 3), (1, 1, 0), (1, 1, (3, 3, 3)), (1, 1, []), (1, 1, 3, 0)):
            with pytest.raises(ValueError):
                nn.Conv2D(*args)
        with pytest.raises(ValueError):
            nn.Conv2D(3, 4, 3, groups=2)
        conv = nn.Conv2D(3, 4, 3)
        for shape in ((2, 3, 8), (2, 2, 8, 8), (2, 3, 2, 2), ()):
            with pytest.raises(ValueError):
                conv(var(np.ones(shape)))
        with pytest.raises(TypeError):
            conv(None)


class TestPool2D:
    def test_formula(self):
        a = RNG.normal(size=(1, 2, 4, 4)).astype("float32")
        blocks = a.reshape(1, 2, 2, 2, 2, 2)
        assert np.allclose(nn.Pool2D(2, "max", 2)(var(a)).numpy(), blocks.max((3, 5)))
        assert np.allclose(nn.Pool2D(2, "avg", 2)(var(a)).numpy(), blocks.mean((3, 5)), atol=1e-6)
        whole = nn.Pool2D(pool_type="avg", global_pooling=True)(var(a)).numpy()
        assert np.allclose(whole[..., 0, 0], a.mean((2, 3)), atol=1e-6)

    def test_bad(self):
        for args in ((), (2, "median"), (0,), (2, "max", 0), (2, "max", 1, -1)):
            with pytest.raises(ValueError):
                nn.Pool2D(*args)
        for args in (("a",), (None,), (2, "max", 1.5)):
            with pytest.raises(TypeError):
                nn.Pool2D(*args)
        with pytest.raises(ValueError):
            nn.Pool2D(2)(var(np.ones((2, 3))))


class TestBatchNorm:
    def test_train_and_eval(self):
        bn = nn.BatchNorm(3, momentum=0.8)
        a = RNG.normal(2.0, 3.0, (4, 3, 5, 5)).astype("float32")
        mean, variance = a.mean((0, 2, 3)), a.var((0, 2, 3))
        shape = (1, 3, 1, 1)
        expected = (a - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + 1e-5)
        assert np.allclose(bn(var(a)).numpy(), expected, atol=1e-4)
        assert np.allclose(bn._mean.numpy(), 0.2 * mean, atol=1e-5)
        assert np.allclose(bn._variance.numpy(), 0.8 + 0.2 * variance, rtol=1e-4)
        running = bn._mean.numpy(), bn._variance.numpy()
        got = bn.eval()(var(a)).numpy()
        expected = (a - running[0].reshape(shape)) / np.sqrt(running[1].reshape(shape) + 1e-5)
        assert np.allclose(got, expected, atol=1e-4)
        assert np.array_equal(bn._mean.numpy(), running[0])

    def test_state_and_buffers(self):
        bn = nn.BatchNorm(3)
        assert sorted(bn.state_dict()) == ["_mean", "_variance", "bias", "weight"]
        assert len(bn.parameters()) == 2 and len(bn.buffers()) == 2

    def test_running_values_keep_no_graph(self):
        bn, x = nn.BatchNorm(3), var(np.ones((4, 3, 2, 2)), grad=True)
        bn(x)
        assert bn._mean.stop_gradient and bn._mean.is_leaf

    def test_bad(self):
        for bad in (None, "a", 1.5):
            with pytest.raises(TypeError):
                nn.BatchNorm(bad)
        with pytest.raises(ValueError):
            nn.BatchNorm(3, momentum=2.0)
        with pytest.raises(ValueError):
            nn.BatchNorm(3, data_layout="CHWN")
        with pytest.raises(ValueError):
            nn.BatchNorm(3)(var(np.ones((2, 4, 2, 2))))


class TestEmbedding:
    @pytest.mark.parametrize("sparse", [False, True])
    def test_rows_and_gradient(self, sparse):
        table = nn.Embedding([5, 2], is_sparse=sparse)
        ids = np.array([[1, 3], [3, 0]])
        out = table(var(ids, "int64"))
        assert np.array_equal(out.numpy(), table.weight.numpy()[ids])
        out.backward(np.ones(out.shape, "float32"))
        grad = table.weight.gradient()
        assert isinstance(grad, tuple) == sparse
        dense = np.zeros((5, 2), "float32")
        np.add.at(dense, ids.reshape(-1), 1.0)
        assert np.array_equal(table.weight.grad.numpy(), dense)

    def test_padding(self):
        table = nn.Embedding([5, 2], padding_idx=-5)
        assert table(var([0, 1], "int64")).numpy()[0].tolist() == [0.0, 0.0]

    def test_bad(self):
        for bad in (None, "ab", 5, [1.5, 2]):
            with pytest.raises(TypeError):
                nn.Embedding(bad)
        for bad in ([5], [], [0, 2], [1, 2, 3], [-1, 2]):
            with pytest.raises(ValueError):
                nn.Embedding(bad)
        with pytest.raises(ValueError):
            nn.Embedding([5, 2], padding_idx=5)
        with pytest.raises(IndexError):
            nn.Embedding([5, 2])(var([7], "int64"))
        with pytest.raises(TypeError):
            nn.Embedding([5, 2])(var([1.0]))


class TestDropout:
    def test_modes(self):
        x = var(np.ones(10000))
        down, up = nn.Dropout(0.25, dropout_implementation="downgrade_in_infer"), nn.Dropout(0.25)
        got = down(x).numpy()
        assert set(np.unique(got)) == {0.0, 1.0} and 0.7 < got.mean() < 0.8
        got = up(x).numpy()
        assert np.allclose(np.unique(got), [0.0, 1 / 0.75]) and 0.95 < got.mean() < 1.05
        assert np.allclose(down.eval()(x).numpy(), 0.75) and np.allclose(up.eval()(x).numpy(), 1.0)

    def test_seed_fixes_the_zeros(self):
        drop, x = nn.Dropout(0.5, seed=3), var(np.ones(100))
        assert np.array_equal(drop(x).numpy(), drop(x).numpy())
        free = nn.Dropout(0.5)
        assert not np.array_equal(free(x).numpy(), free(x).numpy())

    def test_bad(self):
        for bad in (None, "a", [0.5]):
            with pytest.raises(TypeError):
                nn.Dropout(bad)
        for bad in (-0.1, 1.5):
            with pytest.raises(ValueError):
                nn.Dropout(bad)
        with pytest.raises(ValueError):
            nn.Dropout(0.5, dropout_implementation="other")


def test_activations():
    x = np.array([[-1.0, 0.0, 2.0]], "float32")
    e = np.exp(x)
    assert nn.ReLU()(var(x)).numpy().tolist() == [[0.0, 0.0, 2.0]]
    assert np.allclose(nn.Sigmoid()(var(x)).numpy(), e / (1 + e), atol=1e-6)
    assert np.allclose(nn.Tanh()(var(x)).numpy(), np.tanh(x), atol=1e-6)
    assert np.allclose(nn.Softmax()(var(x)).numpy(), e / e.sum(), atol=1e-6)
    with pytest.raises(TypeError):
        nn.Softmax("a")


class TestParamAttr:
    def test_reaches_the_parameter(self):
        decay = dygraph.regularizer.L2Decay(0.1)
        attr = dygraph.ParamAttr("w", initializer.Constant(2.0), 0.5, decay, False)
        w = nn.Linear(2, 2, param_attr=attr).weight
        assert w.name == "w" and w.numpy().tolist() == [[2.0, 2.0], [2.0, 2.0]]
        assert w.learning_rate == 0.5 and w.regularizer is decay and not w.trainable

    def test_short_forms(self):
        assert nn.Linear(2, 2, param_attr="v").weight.name == "v"
        assert nn.Linear(2, 2, param_attr=initializer.Constant(1.0)).weight.numpy().all()
        with pytest.raises(TypeError, match="Write bias_attr=False for a layer without a bias"):
            nn.Linear(2, 2, param_attr=False)

    def test_bad(self):
        for kwargs in (
            {"name": 3},
            {"initializer": 3},
            {"learning_rate": "a"},
            {"learning_rate": None},
            {"regularizer": 3},
            {"gradient_clip": 3},
        ):
            with pytest.raises(TypeError):
                dygraph.ParamAttr(**kwargs)
        with pytest.raises(ValueError):
            dygraph.ParamAttr(learning_rate=-1)


class TestInitializers:
    SHAPE = [200, 300]

    def draw(self, init, shape=None):
        with dygraph.guard(seed=5):
            return init(shape or self.SHAPE, "float32").numpy()

    def test_constant_and_array(self):
        assert (self.draw(initializer.Constant(3.0), [2, 2]) == 3.0).all()
        a = np.arange(4.0)
        assert np.array_equal(self.draw(initializer.NumpyArrayInitializer(a), [4]), a)
        with pytest.raises(ValueError):
            self.draw(initializer.NumpyArrayInitializer(a), [5])
        with pytest.raises(TypeError):
            initializer.NumpyArrayInitializer([1.0])

    def test_uniform(self):
        a = self.draw(initializer.Uniform(-2.0, 3.0))
        assert a.min() >= -2.0 and a.max() < 3.0
        assert abs(a.mean() - 0.5) < 0.03 and abs(a.std() - 5 / np.sqrt(12)) < 0.03

    def test_normal(self):
        a = self.draw(initializer.Normal(1.0, 2.0))
        assert abs(a.mean() - 1.0) < 0.03 and abs(a.std() - 2.0) < 0.03
        b = self.draw(initializer.TruncatedNormal(1.0, 2.0))
        assert np.abs(b - 1.0).max() <= 4.0 + 1e-5 and abs(b.mean() - 1.0) < 0.03

    def test_xavier(self):
        a = self.draw(initializer.Xavier())
        limit = np.sqrt(6 / 500)
        assert np.abs(a).max() <= limit and abs(a.std() - limit / np.sqrt(3)) < 0.01 * limit
        a = self.draw(initializer.Xavier(uniform=False))
        assert abs(a.std() - np.sqrt(2 / 500)) < 0.001
        a = self.draw(initializer.Xavier(fan_in=1, fan_out=5))
        assert 0.99 < np.abs(a).max() <= 1.0

    def test_msra_counts_the_window(self):
        a = self.draw(initializer.MSRA(), [100, 20, 3, 3])
        assert 0.99 < np.abs(a).max() / np.sqrt(6 / 180) <= 1.0 + 1e-6
        a = self.draw(initializer.MSRA(uniform=False))
        assert abs(a.std() - np.sqrt(2 / 200)) < 0.002

    def test_seed_of_its_own(self):
        init = initializer.Uniform(seed=9)
        assert np.array_equal(init([5]).numpy(), init([5]).numpy())
        assert not np.array_equal(
            initializer.Uniform()([5]).numpy(), initializer.Uniform()([5]).numpy()
        )

    def test_0d_and_zero_size(self):
        assert initializer.Xavier()([]).shape == () and initializer.MSRA()([0, 3]).shape == (0, 3)

    def test_bad(self):
        for bad in (None, "a", [1.0]):
            with pytest.raises(TypeError):
                initializer.Constant(bad)
            with pytest.raises(TypeError):
                initializer.Uniform(bad)
            with pytest.raises(TypeError):
                initializer.Normal(bad)
        with pytest.raises(ValueError):
            initializer.Uniform(1.0, 0.0)
        with pytest.raises(ValueError):
            initializer.Normal(0.0, -1.0)
        for shape in (None, "ab", 3):
            with pytest.raises(TypeError):
                initializer.Constant()(shape)
