"""Sparse gradients from the embedding through the engine, clipping and decay to the step."""

import numpy as np
import pytest

import dygraph
from dygraph import _core, nn, optimizer, regularizer
from dygraph import ops as F

IDS = np.array([3, 1, 3, 0, 3])
HEIGHT, WIDTH = 7, 2


def table(seed=0):
    values = np.random.RandomState(seed).uniform(-1, 1, (HEIGHT, WIDTH))
    return dygraph.Parameter(values)


def lookup(w, ids, is_sparse):
    return F.lookup_table_v2(w, dygraph.to_variable(np.asarray(ids)), is_sparse=is_sparse)


def weights(n, seed=1):
    return dygraph.to_variable(np.random.RandomState(seed).uniform(-1, 1, (n, WIDTH)))


def dense(gradient):
    return (_core.to_dense(gradient) if _core.is_selected_rows(gradient) else gradient).numpy()


class TestAccumulation:
    """The gradient of a table used several times, sparse and not, against the dense one."""

    def loss(self, w, uses):
        total = 0.0
        for i, use in enumerate(uses):
            if use == "matmul":
                total = total + (F.tanh(w) * 0.5).sum()
            else:
                ids = np.roll(IDS, i)[: 5 - i]
                total = total + (lookup(w, ids, use == "sparse") * weights(5 - i, i)).sum()
        return total

    @pytest.mark.parametrize(
        ("uses", "stays"),
        [
            (["sparse"], True),
            (["sparse", "sparse"], True),
            (["sparse", "sparse", "sparse"], True),
            (["sparse", "dense"], False),
            (["dense", "sparse"], False),
            (["sparse", "matmul", "sparse"], False),
            (["matmul", "sparse", "dense"], False),
        ],
    )
    def test_engine(self, uses, stays):
        w, twin = table(), table()
        self.loss(w, uses).backward()
        self.loss(twin, [u.replace("sparse", "dense") for u in uses]).backward()
        assert _core.is_selected_rows(w.grad) == stays
        np.testing.assert_allclose(dense(w.grad), twin.grad.numpy(), rtol=1e-12, atol=1e-15)

    @pytest.mark.parametrize(
        "uses", [["sparse", "sparse"], ["sparse", "dense"], ["dense", "sparse"]]
    )
    def test_backward_twice(self, uses):
        w, twin = table(), table()
        for i, use in enumerate(uses):
            (lookup(w, IDS, use == "sparse") * weights(5, i)).sum().backward()
            (lookup(twin, IDS, False) * weights(5, i)).sum().backward()
        assert _core.is_selected_rows(w.grad) == (uses == ["sparse", "sparse"])
        np.testing.assert_allclose(dense(w.grad), twin.grad.numpy(), rtol=1e-12)

    def test_grad(self):
        w = table()
        loss = (lookup(w, IDS, True) * weights(5)).sum() + F.square(w).sum()
        (got,) = dygraph.grad([loss], [w])
        expected = 2 * w.numpy()
        np.add.at(expected, IDS, weights(5).numpy())
        np.testing.assert_allclose(dense(got), expected, rtol=1e-12)

    def test_a_table_that_was_computed(self):
        """The sparse gradient cannot go on through tanh: an error that says what to do."""
        w = table()
        loss = lookup(F.tanh(w), IDS, True).sum()
        with pytest.raises(TypeError, match=r"tanh_grad: Input\(Out@GRAD\).*is_sparse=False"):
            loss.backward()


MAKERS = {
    "sgd": lambda p, **k: optimizer.SGD(0.1, p, **k),
    "momentum": lambda p, **k: optimizer.Momentum(0.1, 0.9, p, **k),
    "nesterov": lambda p, **k: optimizer.Momentum(0.1, 0.9, p, use_nesterov=True, **k),
    "adam": lambda p, **k: optimizer.Adam(0.1, parameter_list=p, **k),
    "adagrad": lambda p, **k: optimizer.Adagrad(0.1, parameter_list=p, **k),
    "rmsprop": lambda p, **k: optimizer.RMSProp(0.1, parameter_list=p, momentum=0.5, **k),
    "centered": lambda p, **k: optimizer.RMSProp(0.1, parameter_list=p, centered=True, **k),
    "lamb": lambda p, **k: optimizer.Lamb(0.1, parameter_list=p, **k),
}
BATCHES = [[3, 1, 3], [0, 0, 5, 3], [1], [6, 3, 6, 6]]


def train(make, is_sparse, batches=BATCHES, **options):
    w = table()
    opt = make([w], **options)
    for i, ids in enumerate(batches):
        (lookup(w, ids, is_sparse) * weights(len(ids), i)).sum().backward()
        opt.step()
        opt.clear_gradients()
    return w.numpy(), opt


class TestOptimizers:
    @pytest.mark.parametrize("name", MAKERS)
    def test_sparse_is_as_dense(self, name):
        got, _ = train(MAKERS[name], True)
        expected, _ = train(MAKERS[name], False)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize(
        "rule",
        [
            nn.ClipGradByValue(-0.3, 0.2),
            nn.ClipGradByNorm(0.4),
            nn.ClipGradByGlobalNorm(0.4),
        ],
        ids=["value", "norm", "global"],
    )
    def test_clipping(self, rule):
        got, _ = train(MAKERS["sgd"], True, grad_clip=rule)
        expected, _ = train(MAKERS["sgd"], False, grad_clip=rule)
        plain, _ = train(MAKERS["sgd"], True)
        np.testing.assert_allclose(got, expected, rtol=1e-9)
        assert not np.allclose(got, plain)

    def test_clipped_gradients_stay_sparse(self):
        w = table()
        lookup(w, IDS, True).sum().backward()
        for rule in (
            nn.ClipGradByValue(0.5),
            nn.ClipGradByNorm(0.5),
            nn.ClipGradByGlobalNorm(0.5),
        ):
            ((_, g),) = rule.clip([(w, w.grad)])
            assert _core.is_selected_rows(g) and _core.rows(g) == [0, 1, 3]
        ((_, g),) = nn.ClipGradByValue(0.25, 0.5).clip([(w, w.grad)])
        assert not _core.is_selected_rows(g) and g.numpy()[5].tolist() == [0.25, 0.25]

    def test_global_norm_over_sparse_and_dense(self):
        w, v = table(), dygraph.Parameter(np.array([3.0]))
        lookup(w, IDS, True).sum().backward()
        (v * 2.0).backward()
        pairs = nn.ClipGradByGlobalNorm(1.0).clip([(w, w.grad), (v, v.grad)])
        counts = np.bincount(IDS, minlength=HEIGHT)
        norm = np.sqrt((2 * counts**2).sum() + 4.0)
        np.testing.assert_allclose(dense(pairs[0][1])[:, 0], counts / norm, rtol=1e-12)
        np.testing.assert_allclose(pairs[1][1].numpy(), [2.0 / norm], rtol=1e-12)

    @pytest.mark.parametrize("decay", [regularizer.L2Decay(0.5), regularizer.L1Decay(0.5)])
    def test_decay_reaches_every_row(self, decay):
        got, _ = train(MAKERS["sgd"], True, regularization=decay)
        expected, _ = train(MAKERS["sgd"], False, regularization=decay)
        np.testing.assert_allclose(got, expected, rtol=1e-9)
        assert not np.allclose(got[4], table().numpy()[4])  # row 4 is in no batch

    def test_lazy_adam(self):
        """Rows: those of the batches, each updated as often as it came, as if it were alone."""
        got, _ = train(MAKERS["adam"], True, lazy_mode=True)
        w, m, v = table().numpy(), np.zeros((HEIGHT, WIDTH)), np.zeros((HEIGHT, WIDTH))
        for t, ids in enumerate(BATCHES, 1):
            g = np.zeros((HEIGHT, WIDTH))
            np.add.at(g, ids, weights(len(ids), t - 1).numpy())
            at = sorted(set(ids))
            m[at] = 0.9 * m[at] + 0.1 * g[at]
            v[at] = 0.999 * v[at] + 0.001 * g[at] ** 2
            rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
            w[at] -= rate * m[at] / (np.sqrt(v[at]) + 1e-8)
        np.testing.assert_allclose(got, w, rtol=1e-5)
        np.testing.assert_array_equal(got[[2, 4]], table().numpy()[[2, 4]])

    @pytest.mark.parametrize(
        "kind", ["DecayedAdagrad", "Adadelta", "Adamax", "Ftrl", "NAdam", "RAdam", "Dpsgd"]
    )
    def test_others_say_that_they_take_tensors(self, kind):
        w = table()
        opt = getattr(optimizer, kind)(0.1, parameter_list=[w])
        lookup(w, IDS, True).sum().backward()
        before = w.numpy()
        with pytest.raises(TypeError, match=rf"{opt.operator}: Input\(Grad\) must be a tensor"):
            opt.step()
        np.testing.assert_array_equal(w.numpy(), before)


class TestMemory:
    SHAPE = (200_000, 64)
    TABLE = 200_000 * 64 * 4  # bytes

    def peak_of(self, make, is_sparse, **options):
        """Bytes at most in use in a step, beyond what was in use before it."""
        w = dygraph.Parameter(np.zeros(self.SHAPE, "float32"))
        opt = make([w], **options)
        ids = dygraph.to_variable(np.arange(512) * 7 % 200_000)
        for _ in range(2):  # the second finds the optimizer's state
            dygraph.memory.reset_peak()
            before = dygraph.memory.used()
            F.lookup_table_v2(w, ids, is_sparse=is_sparse).sum().backward()
            opt.step()
            opt.clear_gradients()
        return dygraph.memory.peak() - before

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("sgd", {}),
            ("adam", {"lazy_mode": True}),
            ("adam", {}),
            ("momentum", {}),
            ("adagrad", {}),
            ("rmsprop", {}),
            ("sgd", {"grad_clip": nn.ClipGradByGlobalNorm(0.1)}),
            ("adagrad", {"grad_clip": nn.ClipGradByValue(0.1)}),
        ],
    )
    def test_no_dense_gradient(self, name, options):
        assert self.peak_of(MAKERS[name], True, **options) < self.TABLE / 20

    def test_a_dense_one_would_be_seen(self):
        assert self.peak_of(MAKERS["sgd"], False) >= self.TABLE


class TestVariable:
    def test_parts(self):
        x = dygraph.selected_rows([2, 0, 2], 4, np.array([[1.0], [2.0], [3.0]]))
        assert x.is_selected_rows() and x.rows() == [2, 0, 2] and x.height() == 4
        assert x.shape == (4, 1) and x.rows_value().numpy().tolist() == [[1.0], [2.0], [3.0]]
        assert x.merged().rows() == [0, 2]
        assert x.merged().rows_value().numpy().tolist() == [[2.0], [4.0]]
        assert x.to_dense().numpy().tolist() == [[2.0], [0.0], [4.0], [0.0]]

    def test_a_gradient(self):
        w = table()
        lookup(w, IDS, True).sum().backward()
        assert w.grad.rows() == IDS.tolist() and w.grad.height() == HEIGHT

    def test_a_tensor(self):
        x = dygraph.to_variable(np.ones((2, 3)))
        assert not x.is_selected_rows() and x.to_dense() is x
        for name in ("rows", "height", "rows_value", "merged"):
            with pytest.raises(TypeError, match=rf"{name}\(\) is for selected rows"):
                getattr(x, name)()

    def test_bad_parts(self):
        value = np.ones((1, 2))
        for arguments, error in (
            (([4], 4, value), IndexError),
            (([-1], 4, value), IndexError),
            (([0, 1], 4, value), ValueError),
            (([0], -1, value), ValueError),
            ((["a"], 4, value), TypeError),
            (("a", 4, value), TypeError),
            ((3, 4, value), TypeError),
            (([0], 4.5, value), TypeError),
            (([0], 4, np.float64(1.0)), ValueError),
        ):
            with pytest.raises(error):
                dygraph.selected_rows(*arguments)
