"""Gradients written into memory that is no longer read, and what must not be overwritten."""

import numpy as np
import pytest

import dygraph
from dygraph import _core

ops = _core.ops
SIZE = 1 << 20  # bytes of each array below


def var(array, grad=True):
    v = _core.to_variable(array)
    v.stop_gradient = not grad
    return v


def logits():
    return np.random.default_rng(0).standard_normal((256, 1024), np.float32)


LABELS = np.arange(256, dtype=np.int64)[:, None]


def softmax(x):
    e = np.exp(x.astype("float64") - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def loss_gradient(x):
    want = softmax(x)
    want[np.arange(256), LABELS[:, 0]] -= 1
    return want


def peak_of_backward(v, retain):
    dygraph.memory.reset_peak()
    before = dygraph.memory.used()
    _core.backward([v], [], retain, False)
    return dygraph.memory.peak() - before


@pytest.mark.parametrize("retain", [False, True])
def test_the_loss_gives_its_softmax_away(retain):
    x = var(logits())
    slots = {"Logits": x, "Label": _core.to_variable(LABELS)}
    loss = _core.run_op("softmax_with_cross_entropy", slots, {})["Loss"]
    total = loss.sum()
    peak = peak_of_backward(total, retain)
    assert (peak > SIZE) if retain else (peak < SIZE / 2)
    np.testing.assert_allclose(x.gradient(), loss_gradient(x.numpy()), rtol=1e-4, atol=1e-7)


def test_a_softmax_that_is_still_held_stays():
    x = var(logits())
    slots = {"Logits": x, "Label": _core.to_variable(LABELS)}
    out = _core.run_op("softmax_with_cross_entropy", slots, {})
    _core.backward([out["Loss"].sum()], [], False, False)
    np.testing.assert_allclose(out["Softmax"].numpy(), softmax(x.numpy()), rtol=1e-4)
    np.testing.assert_allclose(x.gradient(), loss_gradient(x.numpy()), rtol=1e-4, atol=1e-7)


def test_a_gradient_into_the_softmax_as_well():
    x = var(logits())
    slots = {"Logits": x, "Label": _core.to_variable(LABELS)}
    out = _core.run_op("softmax_with_cross_entropy", slots, {})
    weight = np.linspace(-1, 1, 1024, dtype=np.float32)
    total = out["Loss"].sum() + (out["Softmax"] * _core.to_variable(weight)).sum()
    p = softmax(x.numpy())
    del out
    _core.backward([total], [], False, False)
    want = loss_gradient(x.numpy()) + p * (weight - (p * weight).sum(-1, keepdims=True))
    np.testing.assert_allclose(x.gradient(), want, rtol=1e-4, atol=1e-6)


def test_incoming_gradients_that_others_read_stay():
    """Of a hook, of grad(), of two branches, and the one that is given."""
    x = var(logits())
    y = ops.tanh(x)
    seen = []
    y.register_hook(seen.append)
    first, second = ops.sigmoid(y), ops.exp(y)
    given = _core.to_variable(np.full((256, 1024), 0.5, np.float32))
    gradients = _core.grad(
        [first, second, first], [x, y, first], [given, given, given], False, False, False
    )
    a, b = np.tanh(x.numpy().astype("float64")), None
    s = 1 / (1 + np.exp(-a))
    b = 2 * 0.5 * s * (1 - s) + 0.5 * np.exp(a)
    np.testing.assert_array_equal(given.numpy(), np.full((256, 1024), 0.5, np.float32))
    np.testing.assert_allclose(seen[0].numpy(), b, rtol=1e-5)
    np.testing.assert_allclose(gradients[1].numpy(), b, rtol=1e-5)
    np.testing.assert_allclose(gradients[2].numpy(), np.ones((256, 1024)), rtol=1e-6)
    np.testing.assert_allclose(gradients[0].numpy(), b * (1 - a * a), rtol=1e-4, atol=1e-6)


def test_a_chain_of_functions_needs_one_gradient():
    x = var(logits())
    y = ops.sigmoid(ops.tanh(ops.sin(x)))
    given = y.sum()
    peak = peak_of_backward(given, False)
    assert peak < 1.5 * SIZE
    s, c = np.sin(x.numpy().astype("float64")), np.cos(x.numpy().astype("float64"))
    t = np.tanh(s)
    g = 1 / (1 + np.exp(-t))
    np.testing.assert_allclose(x.gradient(), g * (1 - g) * (1 - t * t) * c, rtol=1e-4, atol=1e-6)


def test_a_detached_view_of_a_gradient_stays():
    x = var(logits())
    y = ops.tanh(x)
    kept = []
    y.register_hook(lambda g: kept.append(g.detach()))
    _core.backward([(y * 3.0).sum()], [], False, False)
    np.testing.assert_array_equal(kept[0].numpy(), np.full((256, 1024), 3, np.float32))


def test_an_export_of_a_gradient_stays():
    x = var(logits())
    y = ops.tanh(x)
    kept = []
    y.register_hook(lambda g: kept.append(np.from_dlpack(g)))
    _core.backward([(y * 3.0).sum()], [], False, False)
    np.testing.assert_array_equal(kept[0], np.full((256, 1024), 3, np.float32))


# Operators of one input whose gradient may lie where the incoming one lay.
REUSING = [
    name
    for name in _core.op_names()
    if name + "_grad" in _core.op_names()
    and ("Out@GRAD", "X@GRAD") in _core.describe_op(name + "_grad")["in_place"]
]


def test_many_operators_reuse():
    assert len(REUSING) > 30 and {"relu", "tanh", "softmax", "dropout", "gelu"} <= {*REUSING}


@pytest.mark.parametrize("shape", [(3, 37), (2, 5, 4, 7), (300, 300)])
@pytest.mark.parametrize("name", REUSING)
def test_the_place_of_a_gradient_does_not_change_it(name, shape):
    x = var(np.random.default_rng(0).uniform(0.1, 0.9, shape).astype(np.float32))
    incoming = _core.to_variable(np.random.default_rng(1).standard_normal(shape, np.float32))
    out = _core.run_op(name, {"X": x}, {})["Out"] * incoming
    found = []
    for retain in (True, False):
        (g,) = _core.grad([out.sum()], [x], [], retain, False, False)
        found.append(g.numpy().tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize(("name", "slope"), [("sin", np.cos), ("cos", lambda x: -np.sin(x))])
def test_angles_far_out_in_the_place_of_the_gradient(name, slope):
    numbers = np.random.default_rng(0).uniform(-5, 5, 1000).astype(np.float32)
    numbers[::7] *= np.float32(1e9)
    x = var(numbers)
    incoming = np.random.default_rng(1).standard_normal(1000, np.float32)
    out = getattr(ops, name)(x) * _core.to_variable(incoming)
    _core.backward([out.sum()], [], False, False)
    want = incoming * slope(numbers.astype("float64"))
    np.testing.assert_allclose(x.gradient(), want, rtol=1e-6)
