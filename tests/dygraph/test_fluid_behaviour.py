"""What Fluid's names do that have no other test file; test_fluid_names.py has their arguments.

Modes, BackwardStrategy, grad's no_grad_vars, DataParallel, BilinearTensorProduct, TreeConv, clips,
unique names.
"""

import numpy as np
import pytest

import dygraph


def leaf(values):
    x = dygraph.to_variable(np.asarray(values, "float64"))
    x.stop_gradient = False
    return x


class TestModes:
    def test_enabled_always(self):
        assert dygraph.enabled()
        dygraph.enable_dygraph()
        dygraph.enable_imperative(dygraph.CPUPlace())
        assert dygraph.enabled()
        assert dygraph.to_variable([1.0]).place == dygraph.CPUPlace()
        dygraph.disable_imperative()
        dygraph.disable_dygraph()
        assert (dygraph.to_variable([1.0]) + 1).tolist() == [2.0]

    def test_a_place_must_be_one(self):
        with pytest.raises(TypeError, match="must be a place"):
            dygraph.enable_dygraph(3)

    def test_to_variable_takes_name_second(self):
        assert dygraph.to_variable(np.ones(2), "weights", True).name == "weights"


class TestBackwardStrategy:
    @pytest.mark.parametrize("sort", [True, False])
    def test_backward_and_grad_take_it(self, sort):
        strategy = dygraph.BackwardStrategy()
        strategy.sort_sum_gradient = sort
        x = leaf([3.0])
        (x * x).backward(strategy)
        assert x.gradient().tolist() == [6.0]
        (g,) = dygraph.grad(x * x * x, x, backward_strategy=strategy)
        assert g.tolist() == [27.0]

    def test_nothing_else(self):
        with pytest.raises(TypeError, match="must be a BackwardStrategy"):
            leaf([1.0]).backward(backward_strategy=True)


class TestNoGradVars:
    def test_are_constants(self):
        x = leaf([3.0])
        a, b = x * x, x * 2.0
        y = a * b
        (g,) = dygraph.grad(y, x, no_grad_vars=[a], retain_graph=True)
        assert g.tolist() == [18.0]  # 2 a
        (g,) = dygraph.grad(y, x, no_grad_vars=b)
        assert g.tolist() == [36.0]  # 2 x b

    def test_a_leaf_may_be_one(self):
        x, w = leaf([3.0]), leaf([4.0])
        (gx,) = dygraph.grad(x * w + w, x, no_grad_vars=[w])
        assert gx.tolist() == [4.0]
        assert w.grad is None

    def test_nothing_left_is_an_error_or_none(self):
        x = leaf([3.0])
        a = x * x
        with pytest.raises(ValueError, match="does not influence"):
            dygraph.grad(a * 2.0, x, no_grad_vars=[a], retain_graph=True)
        assert dygraph.grad(a * 2.0, x, no_grad_vars=[a], allow_unused=True) == [None]

    def test_infinite_parts_do_not_leak(self):
        x = leaf([0.0])
        bad = dygraph.ops.sqrt(x)  # its derivative here is infinite
        (g,) = dygraph.grad(bad * 1.0 + x * 5.0, x, no_grad_vars=[bad])
        assert g.tolist() == [5.0]

    def test_second_order(self):
        x = leaf([3.0])
        a = x * x
        (g,) = dygraph.grad(a * x, x, create_graph=True, no_grad_vars=[a])  # a
        (h,) = dygraph.grad(g, x)  # 2 x
        assert (g.tolist(), h.tolist()) == ([9.0], [6.0])


class TestDataParallel:
    def test_one_process_is_the_layer(self):
        inner = dygraph.nn.Linear(2, 1, dtype="float64")
        inner.weight.set_value(np.array([[1.0], [2.0]]))
        model = dygraph.DataParallel(inner, dygraph.prepare_context())
        out = model(dygraph.to_variable(np.array([[3.0, 4.0]])))
        assert out.tolist() == [[11.0]]
        loss = model.scale_loss(out.mean())
        loss.backward()
        model.apply_collective_grads()
        assert inner.weight.gradient().tolist() == [[3.0], [4.0]]
        assert model.parameters() == inner.parameters()
        assert sorted(model.state_dict()) == ["bias", "weight"]
        state = {"weight": np.zeros((2, 1)), "bias": np.full(1, 7.0)}
        model.set_dict(state)
        assert model(dygraph.to_variable(np.array([[3.0, 4.0]]))).tolist() == [[7.0]]
        model.eval()
        assert not inner.training

    def test_a_launcher_whose_processes_do_not_meet(self, monkeypatch):
        monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
        monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
        monkeypatch.setenv("PADDLE_TRAINER_ENDPOINTS", "a:1,b:2")
        env = dygraph.ParallelEnv()
        assert (env.nranks, env.local_rank, env.trainer_endpoints) == (2, 1, ["a:1", "b:2"])
        with pytest.raises(RuntimeError, match="2"):  # tests/distributed has those that do
            dygraph.prepare_context()

    @pytest.mark.parametrize(
        ("name", "value"),
        [("PADDLE_TRAINERS_NUM", "two"), ("PADDLE_TRAINERS_NUM", "0"), ("PADDLE_TRAINER_ID", "1")],
    )
    def test_an_environment_that_makes_no_sense(self, monkeypatch, name, value):
        monkeypatch.setenv(name, value)
        with pytest.raises(ValueError, match=name):
            dygraph.ParallelEnv()

    def test_a_layer_must_be_one(self):
        with pytest.raises(TypeError, match="must be a Layer"):
            dygraph.DataParallel(lambda x: x)
        with pytest.raises(TypeError, match="prepare_context"):
            dygraph.DataParallel(dygraph.nn.Linear(2, 1), 1)


class TestBilinearTensorProduct:
    def test_formula(self):
        rng = np.random.default_rng(0)
        layer = dygraph.nn.BilinearTensorProduct(3, 4, 5, act="tanh", dtype="float64")
        w, b = rng.normal(size=(5, 3, 4)), rng.normal(size=(1, 5))
        layer.set_state_dict({"weight": w, "bias": b})
        x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
        got = layer(dygraph.to_variable(x), dygraph.to_variable(y))
        np.testing.assert_allclose(got.numpy(), np.tanh(np.einsum("bm,kmn,bn->bk", x, w, y) + b))

    def test_without_bias(self):
        layer = dygraph.nn.BilinearTensorProduct(2, 2, 1, bias_attr=False)
        assert layer.bias is None
        assert layer(dygraph.ones([3, 2]), dygraph.ones([3, 2])).shape == (3, 1)

    def test_sizes(self):
        with pytest.raises(ValueError, match="output_dim must be at least 1"):
            dygraph.nn.BilinearTensorProduct(2, 2, 0)


class TestTreeConv:
    def tree(self, **kwargs):
        layer = dygraph.nn.TreeConv(2, 1, act=None, bias_attr=False, dtype="float64", **kwargs)
        # left, right and top weigh 100, 10 and 1, for the sum of a node's features
        layer.weight.set_value(np.array([[[[100.0]], [[10.0]], [[1.0]]]] * 2))
        return layer

    def run(self, layer, edges, features=None):
        nodes = np.array([[[1.0, 0], [0, 2], [4, 0], [0, 8], [16, 0]]])
        nodes = nodes if features is None else features
        out = layer(dygraph.to_variable(nodes), dygraph.to_variable(np.array([edges])))
        return out.numpy()[..., 0, 0].tolist()

    def test_windows_of_two_levels(self):
        # 1 has the children 2, 3, 4; t = 1/2 for them, l = 0, 1/4, 1/2 and r = (1 - l) / 2
        edges = [[1, 2], [1, 3], [1, 4], [0, 0], [2, 5]]
        left = (0 * 2 + 0.25 * 4 + 0.5 * 8) * 100
        right = (0.5 * 2 + 0.375 * 4 + 0.25 * 8) * 10
        top = 1 + 0.5 * (2 + 4 + 8)
        assert self.run(self.tree(), edges) == [[left + right + top, 2, 4, 8, 0]]

    def test_an_only_child_stands_in_the_middle(self):
        # chain 1 - 2 - 3, three levels: t = 2/3 and 1/3
        got = self.run(self.tree(max_depth=3), [[1, 2], [2, 3]])[0][0]
        one, two = 1 / 3 * 0.5, 2 / 3 * 0.5  # l
        expected = 1 + 2 * (100 * one + 10 * (1 - one) / 3 + 2 / 3)
        expected += 4 * (100 * two + 10 * (1 - two) * 2 / 3 + 1 / 3)
        assert got == pytest.approx(expected, rel=1e-12)

    def test_depth_one_is_the_node_alone(self):
        assert self.run(self.tree(max_depth=1), [[1, 2], [1, 3]]) == [[1, 2, 4, 0, 0]]

    def test_a_circle_ends(self):
        assert len(self.run(self.tree(max_depth=9), [[1, 2], [2, 1]])[0]) == 5

    def test_gradients(self):
        rng = np.random.default_rng(0)
        layer = dygraph.nn.TreeConv(2, 3, num_filters=2, max_depth=3, dtype="float64")
        edges = dygraph.to_variable([[[1, 2], [1, 3], [2, 4]]])

        def loss(x):
            return layer(x, edges).sum()

        x = leaf(rng.normal(size=(1, 4, 2)))
        loss(x).backward()
        for variable in (x, layer.weight, layer.bias):
            values, got = variable.numpy(), variable.gradient()
            at = tuple(rng.integers(0, n) for n in values.shape)
            ends = []
            for step in (1e-6, -1e-6):
                moved = values.copy()
                moved[at] += step
                variable.set_value(moved)
                ends.append(loss(x).item())
            variable.set_value(values)
            assert got[at] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-8)

    def test_nodes_must_exist(self):
        with pytest.raises(IndexError, match=r"nodes in \[1, 5\], and 0 at its end, got 6"):
            self.run(self.tree(), [[1, 6]])
        with pytest.raises(IndexError, match="got -1"):
            self.run(self.tree(), [[-1, 2]])

    def test_shapes_must_fit(self):
        layer = self.tree()
        nodes, edges = dygraph.ones([1, 3, 2], "float64"), dygraph.ones([1, 2, 2], "int64")
        with pytest.raises(ValueError, match=r"nodes_vector must be \[batch, nodes, 2\]"):
            layer(dygraph.ones([1, 3, 4], "float64"), edges)
        with pytest.raises(ValueError, match=r"edge_set must be \[1, edges, 2\]"):
            layer(nodes, dygraph.ones([2, 2, 2], "int64"))
        with pytest.raises(TypeError, match="must hold integers"):
            layer(nodes, dygraph.ones([1, 2, 2]))


class TestClip:
    def test_error_clip_limits_what_passes(self):
        x = leaf([3.0])
        y = x * 10.0
        y.register_hook(dygraph.static.clip.ErrorClipByValue(max=0.5, min=-0.25))
        (y * y).backward()
        assert x.gradient().tolist() == [5.0]
        with pytest.raises(ValueError, match="max without min must be at least 0"):
            dygraph.static.clip.ErrorClipByValue(max=-1.0)

    def test_set_gradient_clip(self):
        w = dygraph.Parameter([1.0])
        dygraph.static.clip.set_gradient_clip(dygraph.nn.ClipGradByValue(-0.5, 0.5), [w])
        sgd = dygraph.optimizer.SGD(1.0, parameter_list=[w])
        (w * 100.0).backward()
        sgd.step()
        assert w.tolist() == [0.5]
        with pytest.raises(TypeError, match="param_list must be a list"):
            dygraph.static.clip.set_gradient_clip(dygraph.nn.ClipGradByNorm(1.0))
        with pytest.raises(TypeError, match="a rule such as ClipGradByNorm"):
            dygraph.static.clip.set_gradient_clip(1.0, [w])
        with pytest.raises(TypeError, match=r"param_list\[0\] must be a Parameter"):
            dygraph.static.clip.set_gradient_clip(dygraph.nn.ClipGradByNorm(1.0), [1])


class TestBilinearInitializer:
    def test_enlarges_a_ramp_evenly(self):
        weight = dygraph.initializer.BilinearInitializer()([1, 1, 4, 4], "float64")
        line = np.array([0.25, 0.75, 0.75, 0.25])
        np.testing.assert_array_equal(weight.numpy()[0, 0], np.outer(line, line))
        odd = dygraph.initializer.Bilinear()([2, 1, 3, 3], "float64").numpy()
        np.testing.assert_array_equal(odd[1, 0, 1], [0.1875, 0.5625, 0.5625])

    @pytest.mark.parametrize("shape", [[2, 2], [1, 1, 3, 4]])
    def test_shape(self, shape):
        with pytest.raises(ValueError, match="filters, channels, k, k"):
            dygraph.initializer.Bilinear()(shape)


class TestUniqueNames:
    def test_prefix_and_switch(self):
        from dygraph import unique_name

        with unique_name.guard("net_"):
            assert unique_name.generate("fc") == "net_fc_0"
            before = unique_name.switch()
            assert unique_name.generate("fc") == "fc_0"
            unique_name.switch(before)
            assert unique_name.generate("fc") == "net_fc_1"
        with pytest.raises(TypeError, match="UniqueNameGenerator"):
            unique_name.switch(3)
        with pytest.raises(TypeError, match="new_para_name_checker must be None"):
            unique_name.switch(None, 3)


class TestLayerAndVariable:
    def test_create_variable(self):
        layer = dygraph.nn.Layer("net", "float64")
        v = layer.create_variable("total", persistable=True)
        assert v.name == f"{layer.full_name()}.total"
        assert (v.persistable, v.dtype) == (True, dygraph.float64)
        assert layer.create_variable().name != layer.create_variable().name

    def test_a_layer_has_no_backward(self):
        with pytest.raises(RuntimeError, match="on the loss"):
            dygraph.nn.Linear(1, 1).backward()

    def test_named_sublayers_leaves_out_a_set(self):
        net = dygraph.nn.Sequential(dygraph.nn.Linear(1, 1), dygraph.nn.Linear(1, 1))
        assert [name for name, _ in net.named_sublayers(layers_set={net[0]})] == ["1"]

    def test_facts_of_a_variable(self):
        x = dygraph.to_variable([[1.0], [2.0]], name="x", lod=[[0, 1, 2]])
        assert (x.lod_level, x.grad_name) == (1, "x@GRAD")
        assert "[2.]" in x.to_string(True)


def test_attention_of_heads():
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 5, 6))
    got = dygraph.nets.scaled_dot_product_attention(*map(dygraph.to_variable, (q, k, v)), 2)
    parts = []
    for h in range(2):
        scores = q[..., 2 * h : 2 * h + 2] @ k[..., 2 * h : 2 * h + 2].swapaxes(1, 2) / 2**0.5
        weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        parts.append(weights @ v[..., 3 * h : 3 * h + 3])
    np.testing.assert_allclose(got.numpy(), np.concatenate(parts, -1))
    with pytest.raises(ValueError, match="divisible by num_heads 3"):
        dygraph.nets.scaled_dot_product_attention(*map(dygraph.to_variable, (q, k, v)), 3)
