"""What users of such a library expect to find, one short check for each.

The numbers come from NumPy or from calculation by hand. Each feature has tests of its own
elsewhere; this file shows that none is missing. More than 600 lines because the list of features is
long.
"""

import json

import numpy as np
import pytest

import dygraph
import dygraph.ops as F
import dygraph.static as fluid
from dygraph import nn
from dygraph.optimizer import SGD, Adam


def leaf(values, dtype="float64"):
    x = dygraph.to_variable(np.asarray(values, dtype))
    x.stop_gradient = False
    return x


def var(values, dtype=None):
    return dygraph.to_variable(np.asarray(values, dtype))


class TestTensors:
    def test_from_numpy(self):
        x = var([[1, 2], [3, 4]], "int32")
        assert (x.shape, x.dtype, x.tolist()) == ((2, 2), dygraph.int32, [[1, 2], [3, 4]])

    def test_shares_memory_with_numpy_where_asked(self):
        array = np.zeros(3)
        shared, copied = dygraph.from_dlpack(array), dygraph.to_variable(array)
        array[1] = 5
        assert (shared.tolist(), copied.tolist()) == ([0, 5, 0], [0, 0, 0])

    def test_on_a_place(self):
        with dygraph.guard(dygraph.CPUPlace()):
            assert dygraph.ones([2]).place == dygraph.CPUPlace()
        assert dygraph.ones([2]).to(dygraph.CPUPlace()).tolist() == [1, 1]

    def test_default_dtype(self):
        assert dygraph.get_default_dtype() == dygraph.float32
        dygraph.set_default_dtype("float64")
        try:
            assert dygraph.get_default_dtype() == dygraph.float64
            made = [dygraph.zeros([1]), dygraph.rand([1]), dygraph.randn([1]), dygraph.eye(2),
                    dygraph.arange(0.0, 1.0), dygraph.linspace(0, 1, 3), dygraph.normal(),
                    var([1.0], "float32")]  # fmt: skip
            assert {str(x.dtype) for x in made} == {"float64"}
            assert dygraph.arange(3).dtype == dygraph.int64
            with dygraph.guard(dtype="float32"):
                assert dygraph.ones([1]).dtype == dygraph.float32
            assert dygraph.ones([1], "float32").dtype == dygraph.float32
        finally:
            dygraph.set_default_dtype(None)
        assert dygraph.zeros([1]).dtype == dygraph.float32
        assert var([1.0]).dtype == dygraph.float64
        with pytest.raises(TypeError, match="must be a float type"):
            dygraph.set_default_dtype("int32")

    def test_no_axes_and_no_elements(self):
        assert (var(3.0) * 2).item() == 6.0
        assert var(3.0).shape == ()
        assert (dygraph.zeros([0, 3]) + 1).sum(axis=0).tolist() == [0, 0, 0]

    def test_slices(self):
        array = np.arange(24).reshape(2, 3, 4)
        x = var(array)
        for index in (1, -1, (0, slice(None, None, 2)), (..., -2), (None, 1), (slice(2, 0, -1),)):
            np.testing.assert_array_equal(x[index].numpy(), array[index])

    def test_assignment_with_gradient(self):
        x, v = leaf([1.0, 2.0, 3.0]), leaf([10.0])
        y = x * 1.0
        y[1:2] = v
        (y * var([1.0, 2.0, 3.0])).sum().backward()
        assert (x.gradient().tolist(), v.gradient().tolist()) == ([1, 0, 3], [2])

    def test_a_reshape_shares_until_one_is_written(self):
        x = dygraph.zeros([1000, 1000])
        before = dygraph.memory.used()
        y = x.reshape(-1)
        assert dygraph.memory.used() == before
        x.fill_(1.0)
        assert (x.sum().item(), y.sum().item()) == (1e6, 0.0)

    @pytest.mark.parametrize(
        ("name", "arguments", "expected"),
        [
            ("add_", ([1, 2, 3],), [1.25, 3, 7]),
            ("subtract_", (1,), [-0.75, 0, 3]),
            ("multiply_", (2,), [0.5, 2, 8]),
            ("divide_", (2,), [0.125, 0.5, 2]),
            ("pow_", (2,), [0.0625, 1, 16]),
            ("clip_", (0.5, 2.0), [0.5, 1, 2]),
            ("scale_", (2.0, 1.0), [1.5, 3, 9]),
            ("neg_", (), [-0.25, -1, -4]),
            ("copy_", (7,), [7, 7, 7]),
            ("fill_", (3,), [3, 3, 3]),
            ("zero_", (), [0, 0, 0]),
            ("abs_", (), [0.25, 1, 4]),
            ("ceil_", (), [1, 1, 4]),
            ("floor_", (), [0, 1, 4]),
            ("round_", (), [0, 1, 4]),
            ("exp_", (), np.exp([0.25, 1, 4])),
            ("log_", (), np.log([0.25, 1, 4])),
            ("sqrt_", (), [0.5, 1, 2]),
            ("rsqrt_", (), [2, 1, 0.5]),
            ("reciprocal_", (), [4, 1, 0.25]),
            ("square_", (), [0.0625, 1, 16]),
            ("relu_", (), [0.25, 1, 4]),
            ("sigmoid_", (), 1 / (1 + np.exp([-0.25, -1, -4]))),
            ("tanh_", (), np.tanh([0.25, 1, 4])),
        ],
    )
    def test_in_place(self, name, arguments, expected):
        x = var([0.25, 1.0, 4.0])
        assert getattr(x, name)(*(var(a) if isinstance(a, list) else a for a in arguments)) is x
        np.testing.assert_allclose(x.numpy(), expected, rtol=1e-12)

    def test_in_place_draws(self):
        x = dygraph.zeros([1000], "float64")
        assert x.uniform_(2.0, 3.0) is x and 2 <= x.min().item() <= x.max().item() < 3
        assert x.normal_(5.0, 0.0).tolist() == [5.0] * 1000

    def test_in_place_under_a_gradient(self):
        x = leaf([2.0, 3.0])
        y = x * 2.0
        z = y * y
        y.exp_()  # what z needs is kept
        z.sum().backward()
        assert x.gradient().tolist() == [16.0, 24.0]
        with pytest.raises(RuntimeError):
            x.add_(1.0)

    def test_in_place_keeps_shape_and_type(self):
        with pytest.raises(ValueError, match="must keep shape"):
            var([1.0]).add_(var([1.0, 2.0]))

    def test_gather_scatter_take_along_axis(self):
        x = var([[1.0, 2.0], [3.0, 4.0]])
        assert F.gather(x, var([1])).tolist() == [[3, 4]]
        assert F.scatter(x, var([0]), var([[9.0, 9.0]])).tolist() == [[9, 9], [3, 4]]
        assert F.take_along_axis(x, var([[1], [0]]), Axis=1).tolist() == [[2], [3]]

    def test_masks(self):
        x = var([1.0, -2.0, 3.0])
        assert F.masked_select(x, x > 0).tolist() == [1, 3]
        assert F.where(x > 0, x, x * 0).tolist() == [1, 0, 3]
        assert F.where_index(x > 0).tolist() == [[0], [2]]

    def test_order(self):
        x = var([3.0, 1.0, 2.0, 1.0])
        assert dygraph.sort(x).tolist() == [1, 1, 2, 3]
        assert x.argsort(descending=True).tolist()[0] == 0
        assert x.topk(2)[0].tolist() == [3, 2]
        assert x.unique().tolist() == [1, 2, 3]
        assert (x.argmax().item(), x.argmin().item()) == (0, 1)
        assert var([[1.0, 5.0], [7.0, 2.0]]).argmax(axis=1, keepdim=True).tolist() == [[1], [0]]

    def test_a_generator_of_ones_own(self):
        ours = dygraph.Generator(3)
        with ours:
            first = dygraph.rand([2]).tolist()
        dygraph.rand([5])
        state = ours.get_state()
        with ours:
            second = dygraph.rand([2]).tolist()
        ours.set_state(state)
        with ours:
            with dygraph.Generator(9):
                dygraph.rand([2])
            assert dygraph.rand([2]).tolist() == second
            for wrong in (ours.get_state, ours.__enter__, lambda: ours.set_state(state)):
                with pytest.raises(RuntimeError, match="outside the generator's own block"):
                    wrong()
        dygraph.seed(3)
        assert [dygraph.rand([2]).tolist(), dygraph.rand([2]).tolist()] == [first, second]
        assert first != second

    def test_values_as_python(self):
        assert (var(2.5).item(), var([[1, 2]]).tolist()) == (2.5, [[1, 2]])
        assert isinstance(var([1.0]).numpy(), np.ndarray)

    def test_elementary_methods(self):
        x = var([0.25, 4.0])
        assert x.sqrt().tolist() == [0.5, 2.0]
        assert (x.pow(2).tolist(), x.clip(max=1.0).tolist()) == ([0.0625, 16], [0.25, 1])
        assert (x.prod().item(), (x > 1).any().item(), (x > 1).all().item()) == (1.0, True, False)
        np.testing.assert_allclose(x.exp().log().numpy(), [0.25, 4.0])
        with pytest.raises(ValueError, match="min or max must be given"):
            x.clip()


class TestBroadcastAndTypes:
    def test_as_numpy(self):
        assert (dygraph.ones([2, 1]) + dygraph.ones([3])).shape == (2, 3)

    def test_axis_of_fluid(self):
        y = F.elementwise_add(dygraph.zeros([2, 3, 4]), var([1, 2, 3], "float32"), axis=1)
        assert y.numpy()[:, :, 0].tolist() == [[1, 2, 3]] * 2

    def test_broadcast_to(self):
        x = leaf([1.0, 2.0])
        x.broadcast_to([3, 2]).sum().backward()
        assert x.gradient().tolist() == [3, 3]

    def test_promotion(self):
        assert dygraph.promote_types("int64", "float32") == dygraph.float32
        assert (var([1], "int32") + var([1.5], "float64")).dtype == dygraph.float64

    def test_scalars_keep_the_type(self):
        assert (dygraph.ones([1]) * 2.5).dtype == dygraph.float32


class TestAutograd:
    def test_backward_and_grad(self):
        x = leaf([3.0])
        (x * x).backward()
        assert x.gradient().tolist() == [6]
        assert dygraph.grad(x * x * x, x)[0].tolist() == [27]

    def test_second_order(self):
        x = leaf([3.0])
        (g,) = dygraph.grad(x * x * x, x, create_graph=True)
        assert dygraph.grad(g, x)[0].tolist() == [18]

    def test_switches(self):
        x = leaf([1.0])
        with dygraph.no_grad():
            assert (x * 2).stop_gradient
            with dygraph.enable_grad():
                assert not (x * 2).stop_gradient
        assert dygraph.no_grad(lambda: x * 2)().stop_gradient
        with dygraph.set_grad_enabled(False):
            assert not dygraph.is_grad_enabled()
            with dygraph.set_grad_enabled(True):
                assert dygraph.is_grad_enabled()
            assert not dygraph.is_grad_enabled()
        assert dygraph.is_grad_enabled()

    def test_set_grad_enabled_without_a_block(self):
        dygraph.set_grad_enabled(False)
        try:
            assert not dygraph.is_grad_enabled()
        finally:
            dygraph.set_grad_enabled(True)
        decorated = dygraph.set_grad_enabled(False)(dygraph.is_grad_enabled)
        assert (dygraph.is_grad_enabled(), decorated()) == (True, False)
        layer = nn.Linear(1, 1)
        layer.eval()
        with dygraph.set_grad_enabled(True):  # eval mode still rules
            assert layer(dygraph.ones([1, 1])).stop_gradient
        with pytest.raises(TypeError, match="must be a bool"):
            dygraph.set_grad_enabled(1)

    def test_one_gradient_stopped(self):
        x = leaf([3.0])
        (x * x.detach()).backward()
        assert x.gradient().tolist() == [3]

    def test_retain_graph(self):
        x = leaf([3.0])
        y = x * x
        y.backward(retain_graph=True)
        y.backward()
        assert x.gradient().tolist() == [12]
        with pytest.raises(RuntimeError, match="retain_graph=True"):
            y.backward()

    def test_gradients_between(self):
        x = leaf([3.0])
        y = x * x
        y.retain_grads()
        (y * 5.0).backward()
        assert y.gradient().tolist() == [5]

    def test_hooks(self):
        x = leaf([3.0])
        handle = x.register_hook(lambda g: g * 2)
        (x * x).backward()
        handle.remove()
        (x * x).backward()
        assert x.gradient().tolist() == [18]
        layer, seen = nn.Linear(1, 1), []
        layer.register_forward_pre_hook(lambda *_: seen.append("before"))
        layer.register_forward_post_hook(lambda *_: seen.append("after"))
        layer(dygraph.ones([1, 1]))
        assert seen == ["before", "after"]

    def test_functions_of_ones_own(self):
        class Double(dygraph.PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 7

        x = leaf([3.0])
        Double.apply(x).backward()
        assert x.gradient().tolist() == [7]

    def test_recompute(self):
        x = leaf([3.0])
        dygraph.recompute(lambda v: v * v, x).backward()
        assert x.gradient().tolist() == [6]

    def test_anomalies_are_located(self):
        with dygraph.detect_anomaly(), pytest.raises(ArithmeticError, match="log"):
            F.log(leaf([-1.0])).sum().backward()

    def test_graph(self):
        x = leaf([3.0])
        assert (x * x).exp().grad_fn.inputs[0][0].name == "elementwise_mul"

    def test_numeric_check(self):
        dygraph.check_grad(lambda x: (x * x).tanh(), [leaf([0.5, 1.0])])
        with pytest.raises(AssertionError):
            dygraph.check_grad(lambda x: x * x.detach(), [leaf([0.5])])

    def test_equal_runs_give_equal_bits(self):
        def run():
            x = leaf(np.linspace(0, 1, 1000).reshape(10, 100))
            (F.matmul_v2(x, x.transpose()).tanh() + x.sum()).sum().backward()
            return x.gradient().tobytes()

        assert run() == run()


class TestLayers:
    def test_containers_and_names(self):
        net = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1))
        assert [n for n, _ in net.named_parameters()] == [
            "0.weight", "0.bias", "1.weight", "1.bias",
        ]  # fmt: skip
        parts = nn.LayerDict({"a": nn.LayerList([nn.Linear(1, 1)])})
        assert len(parts.parameters()) == 2
        assert len(nn.ParameterList([dygraph.Parameter([1.0])]).parameters()) == 1

    @pytest.mark.parametrize(
        ("layer", "shape", "expected"),
        [
            (lambda: nn.Linear(3, 2), (4, 3), (4, 2)),
            (lambda: nn.Conv1D(3, 2, 3), (1, 3, 8), (1, 2, 6)),
            (lambda: nn.Conv2D(3, 2, 3), (1, 3, 8, 8), (1, 2, 6, 6)),
            (lambda: nn.Conv3D(3, 2, 3), (1, 3, 4, 4, 4), (1, 2, 2, 2, 2)),
            (lambda: nn.Conv1DTranspose(3, 2, 3), (1, 3, 8), (1, 2, 10)),
            (lambda: nn.Conv2DTranspose(3, 2, 3), (1, 3, 8, 8), (1, 2, 10, 10)),
            (lambda: nn.Conv3DTranspose(3, 2, 3), (1, 3, 4, 4, 4), (1, 2, 6, 6, 6)),
            (lambda: nn.AdaptiveAvgPool2D(2), (1, 3, 5, 5), (1, 3, 2, 2)),
            (lambda: nn.MaxPool2D(2), (1, 3, 4, 4), (1, 3, 2, 2)),
            (lambda: nn.BatchNorm(3), (2, 3, 4, 4), (2, 3, 4, 4)),
            (lambda: nn.LayerNorm([4]), (2, 4), (2, 4)),
            (lambda: nn.GroupNorm(4, 2), (2, 4, 3, 3), (2, 4, 3, 3)),
            (lambda: nn.InstanceNorm(3), (2, 3, 4, 4), (2, 3, 4, 4)),
            (lambda: nn.Dropout(0.5), (2, 3), (2, 3)),
            (lambda: nn.AlphaDropout(0.5), (2, 3), (2, 3)),
        ],
    )
    def test_shapes(self, layer, shape, expected):
        assert layer()(dygraph.ones(list(shape))).shape == expected

    def test_sparse_embedding_and_lazy_update(self):
        table = nn.Embedding([5, 2], is_sparse=True)
        before = table.weight.numpy()
        adam = Adam(0.1, parameter_list=table.parameters(), lazy_mode=True)
        for ids in ([1], [3]):
            table(var(ids)).sum().backward()
            assert table.weight.grad.is_selected_rows
            assert table.weight.gradient()[1].tolist() == ids
            adam.step()
            adam.clear_gradients()
        changed = (table.weight.numpy() != before).any(axis=1)
        assert changed.tolist() == [False, True, False, True, False]

    def test_attention(self):
        x = dygraph.ones([2, 3, 8])
        assert nn.MultiHeadAttention(8, 2)(x, x, x).shape == (2, 3, 8)

    def test_param_attr_and_initializers(self):
        from dygraph import initializer as init

        attr = dygraph.ParamAttr(
            name="w", initializer=init.Constant(2.0), learning_rate=0.5, trainable=True,
            regularizer=dygraph.regularizer.L2Decay(0.1),
            gradient_clip=dygraph.nn.ClipGradByValue(-1, 1),
        )  # fmt: skip
        layer = nn.Linear(1, 1, param_attr=attr, bias_attr=False)
        sgd = SGD(1.0, parameter_list=layer.parameters())
        (layer(dygraph.ones([1, 1])) * 100.0).sum().backward()
        sgd.step()
        # 100 is clipped to 1, the decay adds 0.2, half the rate takes 0.6
        np.testing.assert_allclose(layer.weight.numpy(), [[1.4]], rtol=1e-6)
        for start in (init.Xavier(), init.MSRA(), init.TruncatedNormal(0.0, 0.1)):
            assert 0 < abs(start([30, 30]).numpy()).max() < 1
        assert init.NumpyArrayInitializer(np.ones(2))([2]).tolist() == [1, 1]

    def test_tied_weights(self):
        class Tied(nn.Layer):
            def __init__(self):
                super().__init__(dtype="float64")
                self.words = nn.Embedding([3, 2], dtype="float64")
                self.weight = self.words.weight

            def forward(self, ids):
                return F.matmul_v2(self.words(ids), self.weight, trans_y=True)

        net = Tied()
        assert len(net.parameters()) == 1
        net.weight.set_value(np.eye(3, 2))
        net(var([0])).sum().backward()
        # row 0 stands in both factors, each once: 1 from the sum over columns, and the row itself
        assert net.weight.gradient().tolist() == [[2, 1], [1, 0], [1, 0]]

    def test_eval_of_one_layer(self):
        a, b = nn.Dropout(0.5), nn.Dropout(0.5)
        a.eval()
        assert (a.training, b.training) == (False, True)


class TestLosses:
    def test_softmax_cross_entropy(self):
        logits, label = var([[1.0, 2.0], [3.0, 1.0]]), var([[1], [-100]])
        loss = F.softmax_with_cross_entropy(logits, label, ignore_index=-100)
        np.testing.assert_allclose(loss.numpy(), [[np.log(1 + np.exp(-1))], [0]])
        soft = F.softmax_with_cross_entropy(logits[:1], var([[0.5, 0.5]]), soft_label=True)
        np.testing.assert_allclose(soft.numpy(), [[np.log(1 + np.exp(-1)) + 0.5]])

    def test_differences(self):
        x, y = var([0.0, 3.0]), var([1.0, 1.0])
        assert (F.mse_loss(x, y).item(), F.l1_loss(x, y).item()) == (2.5, 1.5)
        assert nn.SmoothL1Loss()(x, y).item() == pytest.approx((0.5 + 1.5) / 2)
        assert F.huber_loss(x, y, delta=1.0).numpy().ravel().tolist() == [0.5, 1.5]

    def test_of_probabilities(self):
        x, y = var([0.0]), var([1.0])
        np.testing.assert_allclose(F.binary_cross_entropy_with_logits(x, y).item(), np.log(2))
        q = var([[0.5, 0.5]])
        assert F.kldiv_loss(q.log(), q, reduction="sum").item() == pytest.approx(0)
        assert nn.NLLLoss()(var([[-1.0, -2.0]]), var([1])).item() == 2
        assert F.triplet_margin_loss(x[None], x[None], y[None], margin=3.0).item() == pytest.approx(
            2, abs=1e-5
        )
        assert F.margin_ranking_loss(x, y, y).item() == 1
        assert F.cosine_embedding_loss(q, q, y).item() == pytest.approx(0, abs=1e-7)

    def test_label_smoothing(self):
        np.testing.assert_allclose(
            F.label_smooth(var([[0.0, 1.0]]), epsilon=0.1).numpy(), [[0.05, 0.95]], rtol=1e-6
        )


class TestOptimizers:
    @pytest.mark.parametrize("name", "SGD Momentum Adam AdamW Adamax NAdam RAdam RMSProp".split())
    def test_they_minimize(self, name):
        w = dygraph.Parameter(np.array([1.0]))
        extra = {"momentum": 0.5} if name == "Momentum" else {}
        rule = getattr(dygraph.optimizer, name)(learning_rate=0.05, parameter_list=[w], **extra)
        for _ in range(60):
            rule.minimize((w * w).sum())
        assert abs(w.item()) < 0.6

    def test_groups(self):
        a, b = dygraph.Parameter([1.0]), dygraph.Parameter([1.0])
        groups = [{"params": [a]}, {"params": [b], "learning_rate": 0.1, "weight_decay": 1.0}]
        sgd = SGD(1.0, parameter_list=groups)
        (a + b).sum().backward()
        sgd.step()
        np.testing.assert_allclose([a.item(), b.item()], [0.0, 0.8], atol=1e-6)

    def test_schedules(self):
        for name in "NoamDecay CosineDecay LinearLrWarmup ReduceLROnPlateau".split():
            assert callable(getattr(dygraph, name))
        rate = fluid.dygraph.PiecewiseDecay([2], [0.5, 0.25], begin=0)
        assert [float(rate()) for _ in range(3)] == [0.5, 0.5, 0.25]
        assert callable(dygraph.lr.OneCycleLR)

    @pytest.mark.parametrize(
        ("clip", "expected"),
        [
            (dygraph.nn.ClipGradByValue(-1.0, 1.0), [1, 1]),
            (dygraph.nn.ClipGradByNorm(1.0), [0.6, 0.8]),
            (dygraph.nn.ClipGradByGlobalNorm(2.5), [1.5, 2.0]),
        ],
    )
    def test_clips(self, clip, expected):
        w = dygraph.Parameter(np.zeros(2))
        sgd = SGD(1.0, parameter_list=[w], grad_clip=clip)
        (w * var([3.0, 4.0])).sum().backward()
        sgd.step()
        np.testing.assert_allclose(-w.numpy(), expected)

    @pytest.mark.parametrize(
        ("decay", "expected"),
        [(dygraph.regularizer.L1Decay(0.5), 1.5), (dygraph.regularizer.L2Decay(0.25), 1.5)],
    )
    def test_decays(self, decay, expected):
        w = dygraph.Parameter(np.array([2.0]))
        sgd = SGD(1.0, parameter_list=[w], regularization=decay)
        (w * 0.0).sum().backward()
        sgd.step()
        assert w.item() == expected


class TestSequences:
    @pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN"])
    def test_layers_both_ways(self, kind):
        net = getattr(nn, kind)(3, 4, num_layers=2, direction="bidirect", time_major=False)
        assert net(dygraph.ones([2, 5, 3]))[0].shape == (2, 5, 8)

    def test_cells_and_lengths(self):
        assert nn.LSTMCell(3, 4)(dygraph.ones([2, 3]))[0].shape == (2, 4)
        out, _ = nn.GRU(3, 4, time_major=False)(
            dygraph.ones([2, 5, 3]), sequence_length=var([2, 5])
        )
        assert out.numpy()[0, 2:].any() == np.False_

    def test_a_step_of_ones_own(self):
        class Sum(nn.RNNCellBase):
            @property
            def state_shape(self):
                return (1,)

            def forward(self, inputs, states):
                total = states + inputs
                return total, total

        out, last = nn.RNN(Sum())(var([[[1.0], [2.0], [3.0]]]), dygraph.zeros([1, 1], "float64"))
        assert (out.numpy().ravel().tolist(), last.tolist()) == ([1, 3, 6], [[6]])

    def test_ragged_batches(self):
        x = dygraph.to_variable(np.arange(5.0)[:, None], lod=[[0, 2, 5]])
        assert F.sequence_pool(x, pooltype="SUM").tolist() == [[1], [9]]
        assert F.sequence_reverse(x).numpy().ravel().tolist() == [1, 0, 4, 3, 2]
        nested = dygraph.to_variable(np.arange(5.0)[:, None], lod=[[0, 1, 3], [0, 2, 3, 5]])
        assert F.sequence_pool(nested, pooltype="SUM").lod() == [[0, 1, 3]]


class TestData:
    def test_workers(self):
        data = dygraph.io.TensorDataset([np.arange(6.0)])
        loader = dygraph.io.DataLoader(data, batch_size=2, num_workers=2)
        assert [b[0].tolist() for b in loader] == [[0, 1], [2, 3], [4, 5]]

    def test_readers(self):
        from dygraph import reader

        made = reader.batch(reader.map_readers(lambda x: x * x, lambda: iter(range(4))), 2)
        assert list(made()) == [[0, 1], [4, 9]]
        assert sorted(reader.shuffle(lambda: iter(range(4)), 4)()) == [0, 1, 2, 3]
        assert list(reader.buffered(lambda: iter(range(4)), 2)()) == [0, 1, 2, 3]
        assert list(reader.xmap_readers(lambda x: -x, lambda: iter(range(3)), 2, 2, True)()) == [
            0, -1, -2,
        ]  # fmt: skip

    def test_datasets_without_a_network(self):
        image, label = next(dygraph.dataset.digits.train()())
        assert np.asarray(image).size == 64 and 0 <= int(label) <= 9


class TestMemory:
    def test_statistics(self):
        dygraph.memory.reset_peak()
        before = dygraph.memory.used()
        x = dygraph.ones([1024])
        assert dygraph.memory.used() - before >= 4096
        del x
        assert dygraph.memory.used() == before
        assert dygraph.memory.peak() - before >= 4096


class TestSaving:
    def test_partial_loading_reports(self):
        net = nn.Linear(2, 1)
        report = net.set_state_dict({"weight": np.ones((2, 1)), "other": np.ones(1)}, strict=False)
        assert (list(report.missing), list(report.unexpected)) == (["bias"], ["other"])
        assert net.weight.tolist() == [[1], [1]]

    def test_safetensors_and_no_pickle(self, tmp_path):
        dygraph.save({"w": var([1.0, 2.0])}, tmp_path / "w.safetensors")
        assert dygraph.load(tmp_path / "w.safetensors")["w"].tolist() == [1, 2]
        (tmp_path / "evil").write_bytes(b"\x80\x04cos\nsystem\n.")
        with pytest.raises(ValueError):
            dygraph.load(tmp_path / "evil")

    def test_a_checkpoint_has_everything(self, tmp_path):
        net = nn.Linear(1, 1)
        adam = Adam(0.1, parameter_list=net)
        net(dygraph.ones([1, 1])).sum().backward()
        adam.step()
        dygraph.checkpoint.save(tmp_path / "c", net, adam, step=7)
        wanted, draws = net.weight.numpy(), dygraph.rand([2]).tolist()
        net.weight.set_value(np.zeros((1, 1), "float32"))
        assert dygraph.checkpoint.load(tmp_path / "c", net, adam).step == 7
        assert net.weight.tolist() == wanted.tolist()
        assert dygraph.rand([2]).tolist() == draws


class TestDebugging:
    def test_profile(self, tmp_path):
        path = tmp_path / "trace.json"
        with dygraph.profiler.Profiler() as profile:
            F.relu(dygraph.ones([4]))
        profile.export_chrome_trace(str(path))
        assert any(e.get("name") == "relu" for e in json.loads(path.read_text())["traceEvents"])
        assert "relu" in str(profile.summary())

    def test_summary_of_a_model(self):
        assert "Linear" in repr(dygraph.summary(nn.Linear(3, 2), dygraph.ones([1, 3])))

    def test_non_finite_results(self):
        dygraph.set_flags({"FLAGS_check_nan_inf": True})
        try:
            with pytest.raises(ArithmeticError, match="log"):
                F.log(var([-1.0]))
        finally:
            dygraph.set_flags({"FLAGS_check_nan_inf": False})

    def test_log_of_calls(self, capfd):
        dygraph.set_flags({"FLAGS_log_calls": True})
        try:
            F.relu(var([1.0]))
        finally:
            dygraph.set_flags({"FLAGS_log_calls": False})
        assert "relu" in capfd.readouterr().err

    def test_errors_point_at_the_layer_and_line(self):
        net = nn.Sequential(nn.Linear(3, 2))
        with pytest.raises(ValueError, match="last axis of input must be 3") as error:
            net(dygraph.ones([1, 4]))
        assert "Sequential.0 (Linear)" in str(error.value)

    def test_seed(self):
        dygraph.seed(5)
        first = dygraph.rand([3]).tolist()
        dygraph.seed(5)
        assert dygraph.rand([3]).tolist() == first


class TestTogetherWithOthers:
    def test_numpy(self):
        x = leaf([1.0, 4.0])
        assert np.asarray(x).tolist() == [1, 4]
        y = np.sqrt(x)
        y.sum().backward()
        assert x.gradient().tolist() == [0.5, 0.25]
        assert isinstance(np.ones(2) + x, dygraph.Variable)

    def test_dlpack_both_ways(self):
        x = dygraph.ones([2])
        assert np.from_dlpack(x).tolist() == [1, 1]
        assert dygraph.from_dlpack(np.arange(2)).tolist() == [0, 1]

    def test_display(self):
        assert repr(dygraph.ones([1])) == (
            "Variable([1.], shape=(1,), dtype=float32, place=CPUPlace(), stop_gradient=True)"
        )
        assert "<" in dygraph.ones([1])._repr_html_()

    def test_fit(self):
        x = np.arange(8, dtype="float32").reshape(8, 1)
        net = nn.Linear(1, 1)
        model = dygraph.Model(net)
        model.prepare(SGD(0.02, parameter_list=net.parameters()), F.mse_loss)
        history = model.fit(
            dygraph.io.TensorDataset([x, 2 * x]), epochs=30, batch_size=8, verbose=0
        )
        assert history["loss"][-1] < history["loss"][0] / 10

    def test_metrics(self):
        metric = dygraph.metrics.Auc()
        metric.update(np.array([0.1, 0.8, 0.4, 0.9]), np.array([0, 1, 1, 0]))
        assert metric.eval() == pytest.approx(0.5)
