"""The tape and the engine: what gradients are, when hooks fire, what errors say."""

import gc

import numpy as np
import pytest

import dygraph
from dygraph import _core

ops = _core.ops


def var(array, grad=True):
    v = _core.to_variable(np.asarray(array, "float64"))
    v.stop_gradient = not grad
    return v


def backward(v, grad=None, retain=False, create=False):
    _core.backward([v], [grad] if grad is not None else [], retain, create)


class NoGrad:
    def __enter__(self):
        self.before = _core.grad_enabled()
        _core.set_grad_enabled(False)

    def __exit__(self, *_):
        _core.set_grad_enabled(self.before)


def test_a_leaf_collects_all_its_uses_once():
    """The leaf is first met by the oldest call and must still wait for it."""
    x = var([1.0, 2.0])
    seen = []
    _core.add_hook(x, lambda g: seen.append(g.numpy()))
    y = x * 2.0
    z = y * x
    w = z + x
    backward(w)
    np.testing.assert_array_equal(x.grad.numpy(), 4 * np.array([1.0, 2.0]) + 1)
    assert len(seen) == 1, "a hook fires once, on the complete gradient"
    np.testing.assert_array_equal(seen[0], x.grad.numpy())


def test_grad_of_a_leaf_used_by_early_and_late_calls():
    x = var([3.0])
    a = x * 2.0
    b = a * x
    c = b * x
    (g,) = _core.grad([c], [x], [], False, False, False)
    np.testing.assert_allclose(g.numpy(), [3 * 2 * 9.0], rtol=1e-15)


def test_contributions_add_in_order_of_arrival():
    """Newest call first: ((late + middle) + early), which rounding makes visible."""
    x = _core.to_variable(np.float32([1.0]))
    x.stop_gradient = False
    early, middle, late = x * 1.0, x * -1e8, x * 1e8
    total = ops.sum([early, middle, late])
    backward(total)
    expected = np.float32(np.float32(np.float32(1e8) + np.float32(-1e8)) + np.float32(1.0))
    np.testing.assert_array_equal(x.grad.numpy(), [expected])
    x.clear_gradient()
    late, middle, early = x * 1e8, x * -1e8, x * 1.0
    backward(ops.sum([early, middle, late]))
    lost = np.float32(np.float32(np.float32(1.0) + np.float32(-1e8)) + np.float32(1e8))
    np.testing.assert_array_equal(x.grad.numpy(), [lost])


def test_gradients_accumulate_over_backwards_until_cleared():
    x = var([2.0])
    for times in (1, 2, 3):
        backward(x * x)
        np.testing.assert_array_equal(x.grad.numpy(), [4.0 * times])
    x.clear_gradient()
    assert x.grad is None


def test_hook_on_an_intermediate_sees_the_sum_and_may_replace_it():
    x = var([1.0, 1.0])
    y = x * 3.0
    seen = []

    def hook(g):
        seen.append(g.numpy())
        return g * 10.0

    _core.add_hook(y, hook)
    backward(y + y * 2.0)
    np.testing.assert_array_equal(seen, [[3.0, 3.0]])
    np.testing.assert_array_equal(x.grad.numpy(), [90.0, 90.0])


def test_hooks_run_in_order_and_can_be_removed():
    x = var([1.0])
    order = []
    first = _core.add_hook(x, lambda g: order.append("first"))
    _core.add_hook(x, lambda g: order.append("second"))
    backward(x * 2.0)
    _core.remove_hook(x, first)
    backward(x * 2.0)
    assert order == ["first", "second", "second"]


def test_hook_that_raises_leaves_everything_usable():
    x, w = var([1.0, 2.0]), var([3.0, 4.0])
    before = _core.live_variables()

    def bad(g):
        raise KeyError("from the hook")

    handle = _core.add_hook(x, bad)
    y = x * w
    with pytest.raises(KeyError, match="from the hook"):
        backward(y)
    assert _core.grad_enabled()
    _core.remove_hook(x, handle)
    x.clear_gradient()
    w.clear_gradient()
    del y
    backward(x * w)
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 4.0])
    np.testing.assert_array_equal(w.grad.numpy(), [1.0, 2.0])
    x.clear_gradient()
    w.clear_gradient()
    assert _core.live_variables() == before


def test_hook_that_gives_another_shape_raises():
    x = var([1.0, 2.0])
    _core.add_hook(x, lambda g: var([1.0], grad=False))
    with pytest.raises(ValueError, match="same shape and type"):
        backward(x * 2.0)


def test_hook_may_not_return_other_things():
    x = var([1.0])
    _core.add_hook(x, lambda g: 3)
    with pytest.raises(TypeError, match="what a hook returns"):
        backward(x * 2.0)


def test_second_backward_needs_retain_graph():
    x = var([2.0])
    y = x * x
    backward(y, retain=True)
    backward(y)
    np.testing.assert_array_equal(x.grad.numpy(), [8.0])
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        backward(y)
    np.testing.assert_array_equal(x.grad.numpy(), [8.0])


def test_grad_leaves_leaves_alone():
    x, w = var([2.0]), var([5.0])
    y = x * w
    gx, gw = _core.grad([y], [x, w], [], False, False, False)
    assert (gx.item(), gw.item()) == (5.0, 2.0)
    assert x.grad is None and w.grad is None


def test_grad_of_an_intermediate():
    x = var([2.0])
    y = x * 3.0
    z = y * y
    (g,) = _core.grad([z], [y], [], True, False, False)
    assert g.item() == 12.0
    (g,) = _core.grad([z], [x], [], False, False, False)
    assert g.item() == 36.0


def test_grad_outputs_weigh():
    x = var([1.0, 2.0])
    (g,) = _core.grad([x * x], [x], [var([10.0, 100.0], grad=False)], False, False, False)
    np.testing.assert_array_equal(g.numpy(), [20.0, 400.0])


def test_unused_input():
    x, other = var([1.0]), var([1.0])
    y = x * 2.0
    with pytest.raises(ValueError, match="allow_unused=True"):
        _core.grad([y], [x, other], [], True, False, False)
    g, none = _core.grad([y], [x, other], [], False, False, True)
    assert g.item() == 2.0 and none is None


def test_given_gradient_must_fit():
    x = var([1.0, 2.0])
    with pytest.raises(ValueError, match="shape of its variable"):
        backward(x * 2.0, var([1.0], grad=False))
    with pytest.raises(TypeError, match="type of its variable"):
        backward(x * 2.0, _core.to_variable(np.float32([1.0, 1.0])))
    with pytest.raises(ValueError, match="one gradient"):
        _core.backward([x * 2.0], [None, None], False, False)
    with pytest.raises(TypeError, match="None"):
        _core.backward([None], [], False, False)


def test_stop_gradient_cuts():
    x, c = var([3.0]), var([4.0], grad=False)
    y = x * c
    assert not y.stop_gradient
    backward(y)
    assert c.grad is None and x.grad.item() == 4.0
    z = (x * x).detach() * x
    x.clear_gradient()
    backward(z)
    assert x.grad.item() == 9.0
    y = x * x
    y.stop_gradient = True
    x.clear_gradient()
    backward(y * x)
    assert x.grad.item() == 9.0


def test_backward_of_what_never_wanted_gradients():
    with pytest.raises(RuntimeError, match="stop_gradient = False"):
        backward(var([1.0], grad=False) * 2.0)


def test_no_grad_is_named_by_a_later_backward():
    x = var([1.0])
    with NoGrad():
        y = x * 2.0
    assert y.stop_gradient
    with pytest.raises(RuntimeError, match="no_grad"):
        backward(y)
    with pytest.raises(RuntimeError, match="no_grad"):
        backward(y * 3.0)
    assert _core.count_nodes(x * 2.0) == 2


def test_integers_have_no_gradient():
    i = _core.to_variable(np.array([1, 2]))
    with pytest.raises(ValueError, match="floating"):
        i.stop_gradient = False


def test_retain_grad():
    x = var([2.0])
    y = x * 3.0
    _core.retain_grad(y)
    backward(y * y)
    assert y.grad.item() == 12.0 and x.grad.item() == 36.0


def test_a_leaf_is_its_own_root():
    x = var([1.0, 2.0])
    backward(x)
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 1.0])
    backward(x, var([5.0, 6.0], grad=False))
    np.testing.assert_array_equal(x.grad.numpy(), [6.0, 7.0])


def test_several_roots_in_one_pass():
    x = var([2.0])
    y = x * x
    _core.backward([y, y * x], [var([1.0], grad=False), None], False, False)
    assert x.grad.item() == 4.0 + 12.0


def test_the_gradient_given_is_not_written():
    x = var([1.0])
    g = var([7.0], grad=False)
    backward(x, g)
    backward(x, g)
    assert g.item() == 7.0 and x.grad.item() == 14.0


def test_third_order():
    """d3/dx3 of (relu(x) * x * x + mean) with x > 0: x^3 -> 3x^2 -> 6x -> 6."""
    x = var([1.5, 2.0])
    y = ops.relu(x) * x * x
    first = _core.grad([y], [x], [], True, True, False)[0]
    second = _core.grad([first], [x], [], True, True, False)[0]
    third = _core.grad([second], [x], [], True, True, False)[0]
    np.testing.assert_allclose(first.numpy(), 3 * np.array([1.5, 2.0]) ** 2, rtol=1e-14)
    np.testing.assert_allclose(second.numpy(), 6 * np.array([1.5, 2.0]), rtol=1e-14)
    np.testing.assert_allclose(third.numpy(), [6.0, 6.0], rtol=1e-14)


def test_third_order_through_matmul():
    """f = mean((x w)^3 entrywise): gradients by hand."""
    a, b = np.array([[1.0, 2.0]]), np.array([[3.0], [-1.0]])
    x, w = var(a), var(b)
    s = x @ w
    y = ops.mean(s * s * s)
    value = (a @ b).item()
    g1 = _core.grad([y], [x], [], True, True, False)[0]
    np.testing.assert_allclose(g1.numpy(), 3 * value**2 * b.T, rtol=1e-14)
    g2 = _core.grad([ops.mean(g1)], [x], [], True, True, False)[0]
    np.testing.assert_allclose(g2.numpy(), 6 * value * b.mean() * b.T, rtol=1e-14)
    g3 = _core.grad([ops.mean(g2)], [x], [], True, True, False)[0]
    np.testing.assert_allclose(g3.numpy(), 6 * b.mean() ** 2 * b.T, rtol=1e-14)


def test_create_graph_backward_then_backward_of_the_gradient():
    x = var([2.0])
    backward(x * x * x, create=True)
    g = x.grad
    x.clear_gradient()
    backward(g)
    np.testing.assert_allclose(x.grad.numpy(), [12.0], rtol=1e-15)


def test_create_graph_leaves_no_cycle_behind():
    gc.collect()
    before = _core.live_variables()
    for _ in range(3):
        x = var([2.0])
        backward(x * x, create=True)
    del x
    assert _core.live_variables() == before


def test_a_python_backward_must_fit():
    x = var([1.0, 2.0])
    y = var([2.0, 4.0], grad=False)
    _core.record_function("double", [x], [y], lambda saved, g: g * 2.0)
    backward(y)
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])
    for wrong, error in [
        (lambda saved, g: var([1.0], grad=False), ValueError),
        (lambda saved, g: (g, g), ValueError),
        (lambda saved, g: "text", TypeError),
        (lambda saved, g: _core.to_variable(np.float32([1, 1])), ValueError),
    ]:
        y = var([2.0, 4.0], grad=False)
        _core.record_function("double", [x], [y], wrong)
        with pytest.raises(error, match="double"):
            backward(y * x)


@pytest.mark.parametrize("allow_unused", [False, True])
def test_a_derivative_that_is_zero_everywhere_gives_zeros(allow_unused):
    """relu'' is zero, and so is every derivative of it; another variable stays unused."""
    x, seed, other = var([1.0, -2.0]), var([3.0, 4.0]), var([1.0])
    (first,) = _core.grad([_core.ops.relu(x)], [x], [seed], True, True, False)
    np.testing.assert_array_equal(first.numpy(), [3.0, 0.0])
    second, by_seed = _core.grad([first], [x, seed], [], True, True, allow_unused)
    np.testing.assert_array_equal(second.numpy(), [0.0, 0.0])
    np.testing.assert_array_equal(by_seed.numpy(), [1.0, 0.0])
    for v in (x, seed):
        (third,) = _core.grad([second], [v], [], True, True, allow_unused)
        np.testing.assert_array_equal(third.numpy(), [0.0, 0.0])
        (fourth,) = _core.grad([third], [x], [], True, False, allow_unused)
        np.testing.assert_array_equal(fourth.numpy(), [0.0, 0.0])
    if allow_unused:
        assert _core.grad([first], [other], [], True, False, True) == [None]
    else:
        with pytest.raises(ValueError, match="does not influence"):
            _core.grad([first], [other], [], True, False, False)
    assert _core.grad([first], [x], [], False, False, allow_unused)[0].tolist() == [0.0, 0.0]


def test_zeros_go_on_to_what_was_before():
    """relu'(x x w) is flat in x and w; a constant on the way ends that."""
    x, w = var([1.0, 2.0]), var([3.0, -1.0])
    y = x * x * w
    (first,) = _core.grad([_core.ops.relu(y)], [y], [], True, True, False)
    for g in _core.grad([first], [x, w, y], [], True, False, False):
        np.testing.assert_array_equal(g.numpy(), [0.0, 0.0])
    with pytest.raises(ValueError, match="does not influence"):
        _core.grad([first], [x], [], True, False, False, [y])
    whole = first * x + _core.ops.relu(w)
    gx, gw = _core.grad([whole], [x, w], [], False, False, False)
    np.testing.assert_array_equal(gx.numpy(), [1.0, 0.0])
    np.testing.assert_array_equal(gw.numpy(), [1.0, 0.0])


def test_backward_fills_leaves_with_zeros():
    """A penalty on relu' gives its input zeros, as it gives the rest of a net its gradient."""
    x, w = var([1.0, -2.0]), var([3.0, 4.0])
    (first,) = _core.grad([_core.ops.relu(x) * w], [x], [], True, True, False)
    backward(first * first)
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.0])
    np.testing.assert_array_equal(w.grad.numpy(), [6.0, 0.0])


def test_an_input_without_a_gradient_is_not_zero():
    """A label influences the loss, but gets no gradient: nothing is said of its derivative."""
    x, label = var([0.5, -1.0]), var([0.0, 1.0])
    loss = _core.ops.sigmoid_cross_entropy_with_logits(x, label)
    (first,) = _core.grad([loss], [x], [], True, True, False)
    for top in (loss, first):
        with pytest.raises(ValueError, match="does not influence"):
            _core.grad([top], [label], [], True, False, False)
    chosen = _core.ops.arg_max(var([1.0, 2.0]), 0)
    with pytest.raises(RuntimeError, match="no recorded path"):
        backward(_core.ops.cast(chosen, 3, 6))


def test_backward_says_what_cut_the_path():
    w = dygraph.Parameter(np.array([1.0, 2.0], "float32"))

    def refused(y):
        with pytest.raises(RuntimeError, match="no recorded path from this Variable") as error:
            y.backward()
        return str(error.value)

    assert "it comes from detach()" in refused((w * 2).detach())
    assert "it comes from detach()" in refused(dygraph.mean((w * 2).detach() * 3))
    assert "it comes from greater_than" in refused((w > 0).astype("float32").sum())
    stopped = w * 2
    stopped.stop_gradient = True
    assert "its stop_gradient was set to True" in refused(dygraph.tanh(stopped))
    assert "it holds int64" in refused(dygraph.to_variable(np.array([1])))
    assert "no input of its computation" in refused(dygraph.ones([2]))
    detached = w.detach()
    detached.stop_gradient = False
    (detached * 2).sum().backward()  # a leaf of its own
    assert detached.grad.tolist() == [2.0, 2.0]
    ((w > 0).astype("float32") * w).sum().backward()  # a mask beside a path
    assert w.grad.tolist() == [1.0, 1.0]
