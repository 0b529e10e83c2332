"""Layers that work on a weight or a constant before it meets their input, described in programs."""

import numpy as np
import pytest

import dygraph
from dygraph import nn, ops, static

RANDOM = np.random.RandomState(3)
CLASSES = np.array([1, 3, -100], "int64")


def drawn(*shape):
    return RANDOM.randn(*shape).astype("float32")


PLACES = np.array([[1], [3], [1]], "int64")
FACTORS = np.arange(1, 6, dtype="float32")
CONSTANT = dygraph.to_variable(FACTORS)
LEARNT = dygraph.Parameter(FACTORS, name="factors")
KERNEL = dygraph.Parameter(drawn(4, 3, 3), name="kernel")
IMAGE, SCORES = {"x": drawn(2, 3, 8)}, {"x": drawn(3, 5), "y": CLASSES}
SHARES = {"x": np.abs(drawn(3, 5)) % 1, "y": np.abs(drawn(3, 5)) % 1}


class Outputs(nn.Layer):
    """The outputs of a recurrent layer, without its states."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def cross_entropy(weight, **settings):
    return lambda x, y: ops.softmax_cross_entropy(x, y, weight=weight, **settings)


CASES = {
    "Conv1D": (lambda: nn.Conv1D(3, 4, 3, padding=1), IMAGE),
    "Conv1D in groups": (
        lambda: nn.Conv1D(4, 4, 3, stride=2, dilation=2, groups=2, act="relu"),
        {"x": drawn(2, 4, 9)},
    ),
    "Conv1DTranspose": (lambda: nn.Conv1DTranspose(3, 4, 3, stride=2, padding=1), IMAGE),
    "conv1d": (lambda: lambda x: ops.conv1d(x, KERNEL, stride=2), IMAGE),
    "layers.conv1d": (lambda: lambda x: static.layers.conv1d(x, KERNEL), IMAGE),
    "SpectralNorm": (lambda: nn.SpectralNorm([3, 8], power_iters=2), {"x": drawn(3, 8)}),
    "SpectralNorm in evaluation": (
        lambda: nn.SpectralNorm([3, 8], dim=1).eval(), {"x": drawn(3, 8)},
    ),
    "CenterLoss": (lambda: nn.CenterLoss(5, 5), {"x": drawn(3, 5), "y": CLASSES % 5}),
    "CenterLoss in evaluation": (
        lambda: nn.CenterLoss(5, 5).eval(), {"x": drawn(3, 5), "y": CLASSES % 5},
    ),
    "scatter_nd": (
        lambda: lambda i, x: ops.scatter_nd(i, x, [5, 8]), {"i": PLACES, "x": drawn(3, 8)},
    ),
    "GRU without a bias": (
        lambda: Outputs(nn.GRU(3, 4, bias_ih_attr=False, time_major=False)), {"x": drawn(2, 5, 3)},
    ),
    "LSTMCell without biases": (
        lambda: Outputs(nn.LSTMCell(3, 4, bias_ih_attr=False, bias_hh_attr=False)),
        {"x": drawn(2, 3)},
    ),
    "soft labels": (lambda: nn.CrossEntropyLoss(FACTORS, soft_label=True), SHARES),
    "classes on axis 1": (
        lambda: nn.CrossEntropyLoss(FACTORS, axis=1),
        {"x": drawn(3, 5, 2), "y": np.array([[1, 2], [3, 4], [0, 0]], "int64")},
    ),
    "NLLLoss": (lambda: nn.NLLLoss(CONSTANT), {"x": drawn(3, 5), "y": CLASSES % 5}),
    "BCELoss": (lambda: nn.BCELoss(CONSTANT), SHARES),
    "BCEWithLogitsLoss": (lambda: nn.BCEWithLogitsLoss(CONSTANT, pos_weight=FACTORS), SHARES),
    "BCEWithLogitsLoss, learnt": (
        lambda: nn.BCEWithLogitsLoss(pos_weight=dygraph.Parameter(FACTORS, name="pos")), SHARES,
    ),
}  # fmt: skip
for kind, weight in {"array": FACTORS, "Variable": CONSTANT, "Parameter": LEARNT}.items():
    for settings in ({}, {"label_smoothing": 0.1}, {"reduction": "none"}):
        made = lambda w=weight, s=settings: nn.CrossEntropyLoss(w, **s)  # noqa: E731
        CASES[f"CrossEntropyLoss of {kind}, {settings}"] = made, SCORES
    if kind != "Variable":
        CASES[f"softmax_cross_entropy of {kind}"] = (lambda w=weight: cross_entropy(w)), SCORES


def state_of(function):
    return list(function.buffers()) if isinstance(function, nn.Layer) else []


# A weight, which SpectralNorm takes, has no batch.
WAYS = [(name, False) for name in CASES]
WAYS += [(name, True) for name in CASES if not name.startswith("SpectralNorm")]


@pytest.mark.parametrize("name, is_open", WAYS)
def test_programs_have_eager_bits(name, is_open):
    """Twice, with gradients, and with the state that a run leaves."""
    make, arrays = CASES[name]
    dygraph.seed(7)
    function, main = make(), static.Program()
    with static.program_guard(main):
        given = {}
        for key, array in arrays.items():
            shape = [None if is_open else len(array), *array.shape[1:]]
            given[key] = static.data(key, shape, str(array.dtype))
            given[key].stop_gradient = array.dtype.kind != "f"
        out = function(*given.values())
        loss = static.layers.reduce_sum(out * out)
        weights = [p for p in main.all_parameters() if not p.stop_gradient]
        wanted = [v for v in given.values() if not v.stop_gradient] + weights
        fetched = [out, *(g for g in static.gradients(loss, wanted) if g is not None)]
    before, scope = [b.numpy() for b in state_of(function)], static.Scope()
    got = [static.Executor().run(main, arrays, fetched, scope=scope) for _ in range(2)]
    for buffer, value in zip(state_of(function), before, strict=True):
        buffer.set_value(value)
    for results in got:
        inputs = [dygraph.to_variable(array) for array in arrays.values()]
        for variable in inputs:
            variable.stop_gradient = not variable.dtype.is_floating
        eager = [v for v in inputs if not v.stop_gradient] + [main.held[p.name] for p in weights]
        for variable in eager:
            variable.clear_gradient()
        out = function(*inputs)
        (out * out).sum().backward()
        expected = [out.numpy(), *(v.gradient() for v in eager if v.gradient() is not None)]
        assert len(expected) == len(results) > 1
        for one, other in zip(results, expected, strict=True):
            assert one.dtype == other.dtype and np.array_equal(one, other)
    for buffer in state_of(function):
        assert np.array_equal(scope.find_var(buffer.name).get().numpy(), buffer.numpy())


def test_training_has_eager_bits():
    x, label = drawn(4, 3, 8), np.array([[0], [2], [1], [2]], "int64")

    def network():
        dygraph.seed(5)
        return nn.Conv1D(3, 3, 8), nn.CrossEntropyLoss(weight=[1.0, 2.0, 4.0])

    def loss_of(layers, x, y):
        convolution, loss = layers
        return loss(convolution(x).reshape([-1, 3]), y.reshape([-1]))

    layers, main, startup, scope = network(), static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        given = static.data("x", [None, 3, 8]), static.data("y", [None, 1], "int64")
        loss = loss_of(layers, *given)
        static.optimizer.SGD(0.5).minimize(loss)
    exe = static.Executor()
    with static.scope_guard(scope):
        exe.run(startup)
        got = [exe.run(main, {"x": x, "y": label}, [loss])[0].item() for _ in range(4)]
    layers = network()
    sgd, expected = dygraph.optimizer.SGD(0.5, parameter_list=layers[0].parameters()), []
    for _ in got:
        loss = loss_of(layers, dygraph.to_variable(x), dygraph.to_variable(label))
        expected.append(loss.item())
        loss.backward()
        sgd.step()
        sgd.clear_gradients()
    assert got == expected and got[-1] < got[0]


def test_two_buffers_without_names_are_two():
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [3, 8])
        one, two = nn.SpectralNorm([3, 8]).eval(), nn.SpectralNorm([3, 8]).eval()
        outs = []
        for layer in (one, two):
            with static.unique_name.guard():  # names begin anew
                outs.append(layer(x))
    given = drawn(3, 8)
    got = static.Executor().run(main, {"x": given}, outs, scope=static.Scope())
    for layer, out in zip((one, two), got, strict=True):
        assert np.array_equal(layer(dygraph.to_variable(given)).numpy(), out)
    assert not np.array_equal(*got)


class Normed(nn.Layer):
    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([8, 3])
        self.norm = nn.SpectralNorm([8, 3], power_iters=2)

    def forward(self, x):
        return dygraph.matmul(x, self.norm(self.weight))


def test_what_is_computed_from_eager_weights_is_refused():
    """A constant would not follow them, and no gradient would reach them."""
    layer = Normed()
    with static.program_guard(static.Program()):
        x = static.data("x", [None, 8])
        with pytest.raises(TypeError, match="computed from weights .*static.layers.create_param"):
            dygraph.matmul(x, layer.weight * 2.0)
        with pytest.raises(TypeError, match="all be of the program or all eager"):
            static.layers.matmul_v2(x, layer.weight * 2.0)
        with pytest.raises(TypeError, match="computed from weights"):
            layer(x)
    captured, given = dygraph.jit.to_static(layer.eval()), dygraph.to_variable(drawn(2, 8))
    assert np.array_equal(captured(given).numpy(), layer(given).numpy())


def test_a_weight_of_the_program_is_normed():
    layer, given = Normed(), drawn(2, 8)
    start, main, startup = layer.weight.numpy(), static.Program(), static.Program()
    before = [b.numpy() for b in layer.buffers()]
    with static.program_guard(main, startup):
        x, attr = static.data("x", [None, 8]), dygraph.initializer.NumpyArrayInitializer(start)
        weight = static.layers.create_parameter([8, 3], "float32", attr=attr)
        out = static.layers.matmul_v2(x, layer.norm(weight))
        gradient = dict(static.append_backward(static.layers.reduce_sum(out * out)))[weight]
    exe = static.Executor()
    with static.scope_guard(static.Scope()):
        exe.run(startup)
        got = exe.run(main, {"x": given}, [out, gradient])
    for buffer, value in zip(layer.buffers(), before, strict=True):
        buffer.set_value(value)
    out = layer(dygraph.to_variable(given))
    (out * out).sum().backward()
    assert np.array_equal(got[0], out.numpy())
    assert np.array_equal(got[1], layer.weight.gradient())


def test_other_eager_values_are_refused():
    with static.program_guard(static.Program()):
        x, y = static.data("x", [None, 5]), static.data("y", [None], "int64")
        given = dygraph.to_variable(FACTORS)
        with pytest.raises(TypeError, match=r"a parameter or a buffer. Write .*layers.assign"):
            ops.softmax_cross_entropy(x, y, weight=given)
        loss = ops.softmax_cross_entropy(x, y, weight=static.layers.assign(FACTORS))
    arrays = {"x": SCORES["x"], "y": np.array([1, 3, 0], "int64")}
    got = static.Executor().run(loss.block.program, arrays, [loss])[0]
    probabilities = np.exp(arrays["x"]) / np.exp(arrays["x"]).sum(1, keepdims=True)
    picked, weights = probabilities[np.arange(3), arrays["y"]], FACTORS[arrays["y"]]
    expected = (-np.log(picked) * weights).sum() / weights.sum()
    np.testing.assert_allclose(got, expected, rtol=1e-5)
