"""static.fold_inference: normalisation in the weights, results as before but for rounding."""

import numpy as np
import pytest

import dygraph
from dygraph import jit, nn, static

TOLERANCE = 1e-5  # of the largest value of the output, as documented


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


class Chain(dygraph.Layer):
    """Layers in a row; running statistics and factors are not those of a new layer."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)
        for i, layer in enumerate(self.layers.sublayers()):
            if isinstance(layer, (nn.BatchNorm, nn.BatchNorm2D)):
                unlike_new(layer, i)

    def forward(self, x):
        return self.layers(x)


def unlike_new(norm, seed):
    size = norm.weight.shape
    norm.weight.set_value(numbers(*size, seed=seed) + 1.5)
    norm.bias.set_value(numbers(*size, seed=seed + 1))
    norm._mean.set_value(numbers(*size, seed=seed + 2))
    norm._variance.set_value(np.abs(numbers(*size, seed=seed + 3)) + 0.5)


def folded(net, *shape):
    """(types before, types after, largest difference, largest value)."""
    x = dygraph.to_variable(numbers(*shape, seed=9))
    net.eval()
    _, traced = jit.trace(net, [x])
    before = traced.program.serialize_to_string()
    small = static.fold_inference(traced.program, traced.scope)
    assert traced.program.serialize_to_string() == before
    x = numbers(5, *shape[1:], seed=10)
    want = net(dygraph.to_variable(x)).numpy()
    executor = static.Executor()
    (got,) = executor.run(small, {"x": x}, traced.fetch_names, scope=traced.scope)
    (same,) = executor.run(traced.program, {"x": x}, traced.fetch_names, scope=traced.scope)
    assert same.tobytes() == want.tobytes()  # neither program nor weights have changed
    assert got.shape == want.shape and got.dtype == want.dtype
    assert np.abs(got - want).max() <= TOLERANCE * np.abs(want).max()
    return [types(p) for p in (traced.program, small)]


def types(program):
    return [op.type for op in program.global_block().ops if op.type not in ("feed", "fetch")]


NETS = {
    "conv": (lambda: [nn.Conv2D(3, 4, 3, bias_attr=False), nn.BatchNorm(4)], (2, 3, 6, 6)),
    "conv with bias": (lambda: [nn.Conv2D(3, 4, 3), nn.BatchNorm(4)], (2, 3, 6, 6)),
    "conv, relu behind": (
        lambda: [nn.Conv2D(3, 4, 3), nn.BatchNorm(4), nn.ReLU()], (2, 3, 6, 6),
    ),
    "relu of the norm": (lambda: [nn.Conv2D(3, 4, 3), nn.BatchNorm(4, act="relu")], (2, 3, 6, 6)),
    "grouped": (lambda: [nn.Conv2D(4, 6, 3, groups=2), nn.BatchNorm(6)], (2, 4, 6, 6)),
    "depthwise": (lambda: [nn.Conv2D(4, 4, 3, groups=4), nn.BatchNorm(4)], (2, 4, 6, 6)),
    "transposed": (lambda: [nn.Conv2DTranspose(3, 4, 3), nn.BatchNorm(4)], (2, 3, 6, 6)),
    "transposed, grouped": (
        lambda: [nn.Conv2DTranspose(4, 6, 3, groups=2), nn.BatchNorm(6)], (2, 4, 6, 6),
    ),
    "linear": (lambda: [dygraph.Linear(6, 4), nn.BatchNorm(4)], (3, 6)),
    "linear without bias": (
        lambda: [dygraph.Linear(6, 4, bias_attr=False), nn.BatchNorm(4), nn.ReLU()], (3, 6),
    ),
    "two": (
        lambda: [
            nn.Conv2D(3, 4, 3), nn.BatchNorm(4), nn.ReLU(), nn.Conv2D(4, 5, 3), nn.BatchNorm(5),
        ],
        (2, 3, 8, 8),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NETS)
def test_folds(name):
    make, shape = NETS[name]
    before, after = folded(Chain(*make()), *shape)
    norms = {"batch_norm", "fused_batch_norm_act", "fused_bn_add_activation"}
    assert norms & set(before) and not norms & set(after)
    assert "relu" in before or "fused_batch_norm_act" in before or "relu" not in after


def test_the_new_weights_are_those_of_the_formula():
    net = Chain(nn.Conv2D(2, 3, 1, bias_attr=False), nn.BatchNorm(3, epsilon=0.25))
    conv, norm = net.layers[0], net.layers[1]
    net.eval()
    _, traced = jit.trace(net, [dygraph.to_variable(numbers(2, 2, 4, 4))])
    small = static.fold_inference(traced.program, traced.scope)
    factor = norm.weight.numpy() / np.sqrt(norm._variance.numpy() + 0.25)
    weight = traced.scope.find_var(f"{conv.weight.name}.folded").get().numpy()
    np.testing.assert_allclose(weight, conv.weight.numpy() * factor.reshape(-1, 1, 1, 1), rtol=1e-6)
    bias = traced.scope.find_var(f"{norm.bias.name}.folded").get().numpy()
    np.testing.assert_allclose(
        bias, norm.bias.numpy() - norm._mean.numpy() * factor, rtol=1e-5, atol=1e-6
    )
    kept = {v.name for v in small.list_vars() if v.persistable} - {"feed", "fetch"}
    assert kept == {f"{conv.weight.name}.folded", f"{norm.bias.name}.folded"}


def test_channels_last():
    x, w = numbers(2, 5, 5, 3), numbers(4, 3, 3, 3, seed=1)
    stats = [np.abs(numbers(4, seed=s)) + 0.5 for s in range(4)]
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        image = static.data("x", [None, 5, 5, 3], "float32")
        made = static.layers.conv2d(image, 4, 3, bias_attr=False, data_format="NHWC")
        out = static.layers.batch_norm(made, is_test=True, data_layout="NHWC")
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    conv, norm = main.global_block().ops
    scope.find_var(conv.input("Filter")[0]).set(w)
    for slot, value in zip(("Scale", "Bias", "Mean", "Variance"), stats, strict=True):
        scope.find_var(norm.input(slot)[0]).set(value)
    small = static.fold_inference(main, scope)
    assert types(small) == ["conv2d", "elementwise_add"]
    (want,) = executor.run(main, {"x": x}, [out], scope=scope)
    (got,) = executor.run(small, {"x": x}, [out.name], scope=scope)
    scale, bias, mean, variance = stats
    by_hand = sum(
        np.einsum("nhwc,oc->nhwo", x[:, i : i + 3, j : j + 3], w[:, :, i, j])
        for i in range(3)
        for j in range(3)
    )
    by_hand = (by_hand - mean) / np.sqrt(variance + 1e-5) * scale + bias
    for array in (want, got):
        np.testing.assert_allclose(array, by_hand, atol=1e-4)


class Shared(dygraph.Layer):
    """One convolution, two normalisations: each needs weights of its own."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2D(3, 4, 3)
        self.first, self.second = nn.BatchNorm(4), nn.BatchNorm(4)
        unlike_new(self.first, 1)
        unlike_new(self.second, 5)

    def forward(self, x):
        return self.first(self.conv(x)) - self.second(self.conv(x * 2.0))


def test_shared_filters_are_folded_apart():
    before, after = folded(Shared(), 2, 3, 6, 6)
    assert before.count("batch_norm") == 2 and "batch_norm" not in after


class Tapped(dygraph.Layer):
    def __init__(self, where):
        super().__init__()
        self.where = where
        self.conv, self.norm = nn.Conv2D(3, 4, 3), nn.BatchNorm(4)
        unlike_new(self.norm, 1)

    def forward(self, x):
        made = self.conv(x)
        if self.where == "filter":
            return self.norm(made) * dygraph.mean(self.conv.weight)
        return self.norm(made) + made


def test_what_another_operator_reads_stays():
    before, after = folded(Tapped("value"), 2, 3, 6, 6)
    assert "batch_norm" in after
    before, after = folded(Tapped("filter"), 2, 3, 6, 6)  # the filter is not changed by folding
    assert "batch_norm" not in after


def test_channels_of_another_axis_stay():
    class Steps(dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.linear, self.norm = dygraph.Linear(6, 4), nn.BatchNorm(5)
            unlike_new(self.norm, 1)

        def forward(self, x):  # [N, 5, 6]: channels are the steps
            return self.norm(self.linear(x))

    assert "batch_norm" in folded(Steps(), 2, 5, 6)[1]


class Summed(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2D(3, 3, 3, padding=1, bias_attr=False)
        self.norm = nn.BatchNorm(3, act="relu")
        unlike_new(self.norm, 1)

    def forward(self, x):
        return self.norm(self.conv(x), x)


def test_a_summand_before_the_activation():
    before, after = folded(Summed(), 2, 3, 6, 6)
    assert "fused_bn_add_activation" in before
    assert after == ["conv2d", "elementwise_add", "elementwise_add", "relu"]


@pytest.mark.parametrize("mode", ["upscale_in_train", "downgrade_in_infer"])
def test_dropout_goes(mode):
    dropout = nn.Dropout(0.25, dropout_implementation=mode)
    net = Chain(dygraph.Linear(6, 4), dropout, dygraph.Linear(4, 2))
    before, after = folded(net, 3, 6)
    assert "dropout" in before and "dropout" not in after
    assert ("scale" in after) == (mode == "downgrade_in_infer")


def kept(x):
    return static.layers.dropout(x, 0.5, dropout_implementation="upscale_in_train")


def inference(fetched, **feed):
    """What a program gives before and after folding, and operators of all its blocks after."""
    program = static.default_main_program().clone(for_test=True)
    after = static.fold_inference(program)
    executor = static.Executor()
    got = [executor.run(p, feed=feed, fetch_list=[fetched.name])[0] for p in (program, after)]
    return *got, [op.type for block in after.blocks for op in block.ops]


def test_dropout_of_what_changes_later_goes():
    with static.program_guard(static.Program()):
        x = static.data("x", [2])
        dropped = kept(x)
        static.layers.assign(x * 2.0, x)
        before, after, types = inference(dropped + x, x=np.ones(2, "float32"))
    assert before.tolist() == after.tolist() == [3.0, 3.0] and "dropout" not in types


def test_dropout_in_blocks_goes():
    with static.program_guard(static.Program()):
        x, n = static.data("x", [2]), static.data("n", [1], "int64")

        def body(i, s):
            y = kept(s * 2.0)
            return i + 1, static.layers.cond(i < 1, lambda: kept(y) + kept(s), lambda: kept(s))

        i = static.layers.fill_constant([1], "int64", 0)
        _, s = static.layers.while_loop(lambda i, s: i < n, body, [i, x])
        feed = {"x": np.ones(2, "float32"), "n": np.array([3])}
        before, after, types = inference(s, **feed)
    assert before.tolist() == after.tolist() == [3.0, 3.0] and "dropout" not in types


def test_a_training_step_is_cut_down_first(tmp_path):
    net = Chain(nn.Conv2D(3, 4, 3), nn.BatchNorm(4), nn.ReLU())
    sgd = dygraph.optimizer.SGD(0.01, parameter_list=net.parameters())

    def step(x):
        out = net(x)
        loss = dygraph.mean(out)
        loss.backward()
        sgd.step()
        sgd.clear_gradients()
        return loss, out

    x = dygraph.to_variable(numbers(2, 3, 6, 6))
    _, traced = jit.trace(step, [x])
    small = static.fold_inference(traced.program, traced.scope)
    out = traced.fetch_names[1]
    static.save_inference_model(
        tmp_path, ["x"], [small.global_block().var(out)], main_program=small, scope=traced.scope
    )
    scope, executor = static.Scope(), static.Executor()
    program, feeds, fetches = static.load_inference_model(tmp_path, executor, scope=scope)
    assert not {"batch_norm", "sgd", "relu_grad"} & set(types(program))
    (got,) = executor.run(program, {"x": x.numpy()}, fetches, scope=scope)
    net.eval()
    want = net(x).numpy()
    assert np.abs(got - want).max() <= TOLERANCE * np.abs(want).max()


def test_weights_without_values_are_named():
    with static.program_guard(static.Program(), static.Program()) as _:
        image = static.data("x", [None, 3, 8, 8], "float32")
        static.layers.batch_norm(static.layers.conv2d(image, 4, 3, bias_attr=False))
        main = static.default_main_program()
    with pytest.raises(RuntimeError, match="must hold a value in the scope"):
        static.fold_inference(main, static.Scope())
