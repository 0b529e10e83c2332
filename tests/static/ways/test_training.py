"""Captured functions in training: gradients have eager's bits, and so do second derivatives."""

import numpy as np
import pytest

import dygraph
from dygraph import jit, nn
from dygraph.static.ways.function import Captured

from .functions import constants

RNG = np.random.default_rng(7)
X = RNG.normal(size=(4, 3)).astype("float32")


def variable(array, gradient=True):
    made = dygraph.to_variable(np.asarray(array))
    made.stop_gradient = not gradient
    return made


def bits(value):
    return None if value is None else (value.numpy().tobytes(), value.shape, str(value.dtype))


def same_as_eager(function, *arrays, weights=(), order=1):
    """Compare results and gradients of a captured function with those of an eager call."""
    found = []
    for call in (function, jit.to_static(function)):
        inputs = [variable(a, np.asarray(a).dtype.kind == "f") for a in arrays]
        for weight in weights:
            weight.clear_gradient()
        dygraph.seed(3)
        results = call(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        loss = sum((r * (i + 1.5)).sum() for i, r in enumerate(results))
        wanted = [v for v in (*inputs, *weights) if not v.stop_gradient]
        grads = dygraph.grad(loss, wanted, create_graph=order > 1, allow_unused=True)
        parts = [bits(r) for r in results] + [bits(g) for g in grads]
        if order > 1:
            again = sum((g * g).sum() for g in grads if g is not None)
            parts += [bits(g) for g in dygraph.grad(again, wanted, allow_unused=True)]
        found.append((parts, dygraph.uniform([2]).numpy().tolist()))
    assert found[0] == found[1]
    assert any(p is not None for p in found[0][0][len(results) :])


def straight(x):
    return (x * 2 + x.mean()).tanh()


def branch(x):
    if x.sum() > 0:
        return x * x
    return x.exp()


def loop(x):
    y = x
    for _ in range(3):
        y = y * x
    while y.sum() > 1e-3:
        y = y * 0.5 * x.tanh()
    return y


def counted(x, n):
    total = x * 0
    i = n * 0
    while i < n:
        total = total * x + x
        i = i + 1
    return total


def two_results(x):
    return x * 3, (x * x).sum()


def given_back(x):
    return x, x, x * 2


def dropped(x):
    return dygraph.dropout(x * 2, 0.5) * x


FUNCTIONS = [
    (straight, (X,)),
    (branch, (np.abs(X),)),
    (branch, (-np.abs(X),)),
    (loop, (np.abs(X),)),
    (loop, (-np.abs(X),)),
    (counted, (X, np.array(3))),
    (counted, (X, np.array(0))),
    (two_results, (X,)),
    (given_back, (X,)),
    (dropped, (X,)),
    (constants.summed_up, (X,)),
    (constants.first_of_a_list, (X,)),
    (constants.bound_in_an_object, (np.abs(X) * 0.1,)),
]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("function", "arrays"), FUNCTIONS)
def test_gradients_have_eagers_bits(function, arrays, order):
    same_as_eager(function, *arrays, order=order)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(3, 5), nn.Linear(5, 2)

    def forward(self, x):
        y = self.inner(x)
        if y.mean() > 0:
            y = y.relu()
        else:
            y = y.tanh()
        return self.outer(y)


@pytest.mark.parametrize("order", [1, 2])
def test_layers_give_gradients_to_weights(order):
    net = Net()
    same_as_eager(net, X, weights=net.parameters(), order=order)
    same_as_eager(net, -X, weights=net.parameters(), order=order)


def test_calls_in_training_run_a_program():
    net = Net()
    captured = jit.to_static(net)
    calls = []
    net.register_forward_pre_hook(lambda *_: calls.append(1))
    captured(variable(X))
    explored = len(calls)
    loss = captured(variable(X)).sum()
    assert len(calls) == explored
    loss.backward()
    assert len(calls) == explored
    assert net.inner.weight.grad is not None


def trained(call, net, steps=5):
    optimizer = dygraph.optimizer.SGD(0.1, parameter_list=net.parameters())
    losses = []
    for step in range(steps):
        loss = (call(variable(X * (step - 2), gradient=False)) ** 2).mean()
        loss.backward()
        optimizer.minimize(loss)
        net.clear_gradients()
        losses.append(loss.item())
    return losses


class Normalized(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner, self.norm = nn.Linear(3, 5), nn.BatchNorm1D(5)

    def forward(self, x):
        return dygraph.dropout(self.norm(self.inner(x)), 0.3)


@pytest.mark.parametrize("kind", [Net, Normalized])
def test_training_has_eagers_losses(kind):
    losses = []
    for wrap in (lambda net: net, jit.to_static):
        dygraph.seed(5)
        net = kind()
        call = wrap(net)
        losses.append(trained(call, net))
    assert len(call._ready) == 1
    assert losses[0] == losses[1]
    assert losses[0][-1] != losses[0][0]


def gradients_of(call, x, play):
    x.clear_gradient()
    play(call(x))
    return bits(x.grad)


@pytest.mark.parametrize(
    "play",
    [
        lambda r: r[0].sum().backward(),
        lambda r: r[1].backward(),
        lambda r: (r[0].sum().backward(retain_graph=True), r[1].backward()),
        lambda r: (r[0].backward(dygraph.ones([4, 3]), retain_graph=True), r[0].sum().backward()),
    ],
    ids=["first", "second", "one after the other", "twice"],
)
def test_backward_from_some_results(play):
    captured = jit.to_static(two_results)
    want = gradients_of(two_results, variable(X), play)
    assert gradients_of(captured, variable(X), play) == want
    assert captured._ready


def test_loops_are_played_twice():
    play = lambda r: (r.sum().backward(retain_graph=True), r.sum().backward())  # noqa: E731
    want = gradients_of(loop, variable(np.abs(X)), play)
    captured = jit.to_static(loop)
    assert gradients_of(captured, variable(np.abs(X)), play) == want
    assert captured._ready


def test_a_freed_graph_says_so():
    y = jit.to_static(straight)(variable(X)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="was freed by an earlier backward"):
        y.backward()


@pytest.mark.parametrize("order", [1, 2])
def test_weights_written_before_backward_do_not_count(order):
    found = []
    for wrap in (lambda f: f, jit.to_static):
        weight = dygraph.Parameter(np.ones(3, "float32") * 2)

        def f(x, weight=weight):
            return ((x * weight).tanh() * weight).sum()

        x, call = variable(X), wrap(f)
        call(x)
        loss = call(x)
        with dygraph.no_grad():
            weight.set_value(np.ones(3, "float32") * 5)
        grads = dygraph.grad(loss, [x, weight], create_graph=order > 1)
        if order > 1:
            grads = dygraph.grad(sum(g.sum() for g in grads), [x, weight])
        found.append([bits(g) for g in grads])
        assert weight.numpy().tolist() == [5, 5, 5]
    assert found[0] == found[1]


def test_no_grad_inside():
    def f(x):
        with dygraph.no_grad():
            y = x * 3
        return x * y

    same_as_eager(f, X, order=2)


def test_what_an_input_was_made_of_is_not_counted_twice():
    weight = dygraph.Parameter(np.full(3, 2, "float32"))

    def f(x):
        return (x * weight).tanh()

    found = []
    for call in (f, jit.to_static(f)):
        for x in (variable(X) * weight, weight):
            (g,) = dygraph.grad(call(x).sum(), [weight], create_graph=True)
            found.append((bits(g), bits(dygraph.grad((g * g).sum(), [weight])[0])))
    assert found[:2] == found[2:]


def test_integers_and_constants_among_results():
    def f(x):
        return {"y": x * 2, "n": x.argmax(axis=1), "k": 3, "z": [None, x.detach()]}

    x = variable(X)
    captured = jit.to_static(f)
    for _ in range(2):
        r = captured(x)
        assert r["n"].stop_gradient and r["z"][1].stop_gradient and not r["y"].stop_gradient
        assert r["k"] == 3
        r["y"].sum().backward()
    assert x.grad.numpy().tolist() == np.full((4, 3), 4.0).tolist()


def test_eval_mode_is_as_quiet_as_the_layer():
    net = Net()
    captured = jit.to_static(net)
    net.eval()
    assert captured(variable(X, gradient=False)).stop_gradient
    assert captured(variable(X, gradient=False)).stop_gradient
    with dygraph.enable_grad():
        assert not captured(variable(X, gradient=False)).stop_gradient
    assert not captured(variable(X)).stop_gradient
    net.train()
    assert not captured(variable(X, gradient=False)).stop_gradient
    with dygraph.no_grad():
        assert captured(variable(X)).stop_gradient


def test_a_function_that_changed_cannot_be_replayed():
    scale = [2.0]
    captured = jit.to_static(lambda x: (x * scale[0]).tanh())
    x = variable(X)
    captured(x)
    loss = captured(x).sum()
    scale[0] = 3.0
    with pytest.raises(RuntimeError, match="has changed since"):
        dygraph.grad(loss, x, create_graph=True)


def test_a_recorded_call_is_part_of_the_recording():
    captured = jit.to_static(straight)
    with dygraph.no_grad():
        captured(variable(X))
        _, traced = jit.trace(lambda x: captured(x) + 1, [variable(X)])
        assert bits(traced([variable(-X)])[0]) == bits(straight(variable(-X)) + 1)


def test_enabled_is_left_alone():
    assert Captured.enabled


@pytest.mark.parametrize("cell", [nn.GRUCell, nn.LSTMCell, nn.SimpleRNNCell])
def test_ragged_batches_train_over_cells_of_the_library(cell):
    rnn = nn.RNN(cell(2, 3))
    rows = RNG.normal(size=(7, 2)).astype("float32")
    found = []
    for call in (rnn, jit.to_static(rnn)):
        for offsets in ([0, 2, 6, 7], [0, 7]):
            outputs, _ = call(dygraph.to_variable(rows, lod=[offsets]))
            grads = dygraph.grad((outputs * outputs).sum(), rnn.parameters())
            found.append([bits(outputs), *map(bits, grads)])
    assert call._ready
    assert found[:2] == found[2:]


def test_a_list_of_the_run_trains():
    def f(x):
        rows = []
        for row in x:
            rows.append(row * row.sum())
        return dygraph.concat(rows, axis=0) * dygraph.stack(rows).sum()

    same_as_eager(f, X)


@pytest.mark.parametrize("gradient", [False, True])
def test_an_inner_layer_in_eval_mode_is_as_quiet_as_it_is(gradient):
    net = Net()
    net.eval()
    weight = dygraph.Parameter(np.ones(2, "float32"))
    found = []
    for call in ((lambda x: net(x) * weight), jit.to_static(lambda x: net(x) * weight)):
        for _ in range(2):
            result = call(variable(X, gradient))
            wanted = [weight, *net.parameters()]
            grads = dygraph.grad(result.sum(), wanted, allow_unused=True)
            found.append([bits(result), *map(bits, grads)])
    assert call._ready
    assert found[:2] == found[2:]
    assert (found[0][2] is None) == (not gradient)
