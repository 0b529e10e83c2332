"""Jacobians, Hessians and products with them, hooks on kept values, recompute, check_grad, draw."""

import gc

import numpy as np
import pytest

import dygraph
from dygraph import autograd


def leaf(array):
    v = dygraph.to_variable(np.asarray(array, "float64"))
    v.stop_gradient = False
    return v


def test_jacobian_of_a_matrix_product():
    a, x = np.arange(6.0).reshape(2, 3), leaf([1.0, -1.0, 2.0])
    j = autograd.jacobian(lambda x: dygraph.to_variable(a) @ x, x)
    np.testing.assert_array_equal(j.numpy(), a)


def test_jacobian_of_several_inputs_and_of_none():
    x, y = leaf([[1.0, 2.0]]), leaf([3.0, 4.0])
    jx, jy = autograd.jacobian(lambda x, y: x * y, [x, y])
    np.testing.assert_array_equal(jx.numpy()[0, :, 0], np.diag([3.0, 4.0]))
    np.testing.assert_array_equal(jy.numpy()[0], np.diag([1.0, 2.0]))
    (zero,) = autograd.jacobian(lambda x: dygraph.to_variable([5.0]), [x])
    assert zero.shape == (1, 1, 2) and not zero.numpy().any()
    empty = autograd.jacobian(lambda x: x * x, leaf(np.zeros((0,))))
    assert empty.shape == (0, 0)


def test_a_jacobian_can_be_differentiated():
    x = leaf([1.0, 2.0])
    j = autograd.jacobian(lambda x: x * x * x, x, create_graph=True)
    (g,) = dygraph.grad(j, x)
    np.testing.assert_allclose(g.numpy(), [6.0, 12.0])


def test_hessian_blocks():
    x, y = leaf([1.0, 2.0]), leaf([3.0])

    def f(x, y):
        return (x * x * y).sum()

    (xx, xy), (yx, yy) = autograd.hessian(f, [x, y])
    np.testing.assert_allclose(xx.numpy(), np.diag([6.0, 6.0]))
    np.testing.assert_allclose(xy.numpy(), [[2.0], [4.0]])
    np.testing.assert_allclose(yx.numpy(), [[2.0, 4.0]])
    np.testing.assert_allclose(yy.numpy(), [[0.0]])
    with pytest.raises(ValueError, match=r"one number, got shape \[2\]"):
        autograd.hessian(lambda x: x * x, x)


def test_products_with_the_jacobian():
    rng = np.random.default_rng(0)
    a, at, v, u = rng.normal(size=(3, 4)), leaf(rng.normal(size=4)), rng.normal(size=4), [1, 2, -1]

    def f(x):
        return dygraph.tanh(dygraph.to_variable(a) @ x)

    slope = 1 - np.tanh(a @ at.numpy()) ** 2
    y, jv = autograd.jvp(f, at, dygraph.to_variable(v))
    np.testing.assert_allclose(y.numpy(), np.tanh(a @ at.numpy()))
    np.testing.assert_allclose(jv.numpy(), slope * (a @ v), rtol=1e-12)
    _, vj = autograd.vjp(f, at, dygraph.to_variable(np.asarray(u, "float64")))
    np.testing.assert_allclose(vj.numpy(), (slope * u) @ a, rtol=1e-12)
    assert at.grad is None


def test_jvp_of_a_linear_and_of_a_constant_function():
    x = leaf([1.0, 2.0])
    one = dygraph.to_variable(np.array([1.0, 0.0]))
    np.testing.assert_array_equal(autograd.jvp(lambda x: x * 3.0, x, one)[1].numpy(), [3.0, 0.0])
    constant = dygraph.to_variable(np.array([7.0]))
    assert not autograd.jvp(lambda x: constant, x, one)[1].numpy().any()
    with pytest.raises(ValueError, match=r"v\[0\] must have the shape"):
        autograd.jvp(lambda x: x, x, constant)


def test_hvp():
    x, v = leaf([1.0, 2.0]), dygraph.to_variable(np.array([1.0, -1.0]))
    _, hv = autograd.hvp(lambda x: (x * x).sum() * x.sum(), x, v)
    # H of |x|^2 sum(x): 2 sum(x) I + 2 x 1' + 2 1 x'
    h = 6 * np.eye(2) + 2 * np.outer([1, 2], [1, 1]) + 2 * np.outer([1, 1], [1, 2])
    np.testing.assert_allclose(hv.numpy(), h @ [1.0, -1.0])


@pytest.mark.parametrize("what", [3.0, "x", None])
def test_what_is_no_variable_is_refused(what):
    with pytest.raises(TypeError, match="xs must be a Variable"):
        autograd.jacobian(lambda x: x, what)
    with pytest.raises(TypeError, match="must hold floats"):
        autograd.jacobian(lambda x: x, dygraph.to_variable(np.array([1])))
    with pytest.raises(TypeError, match="func must give one Variable"):
        autograd.jacobian(lambda x: 3.0, leaf([1.0]))


def test_saved_value_hooks_hold_all_the_tape_keeps():
    x, store = leaf([1.0, 2.0]), {}

    def pack(v):
        store[len(store)] = v.numpy()
        return len(store) - 1

    with autograd.saved_value_hooks(pack, lambda i: dygraph.to_variable(store[i])):
        y = dygraph.exp(x) * x
    assert dygraph.saved(y).total == 0
    e = np.exp([1.0, 2.0])
    np.testing.assert_allclose(sorted(a[0] for a in store.values()), sorted([e[0], e[0], 1.0]))
    (g,) = dygraph.grad(y, x, create_graph=True)
    np.testing.assert_allclose(g.numpy(), e * [2.0, 3.0])
    (h,) = dygraph.grad(g, x)
    np.testing.assert_allclose(h.numpy(), e * [3.0, 4.0])


def test_an_unpack_hook_must_keep_the_shape():
    x = leaf([1.0, 2.0])
    with autograd.saved_value_hooks(lambda v: v, lambda v: v.reshape([2, 1])):
        y = x * x
    with pytest.raises(ValueError, match=r"must give back a value of shape \[2\]"):
        y.backward()


def test_a_raising_hook_leaves_the_next_call_alone():
    x = leaf([2.0])

    def fail(_):
        raise KeyError("pack")

    with pytest.raises(KeyError, match="pack"), autograd.saved_value_hooks(fail, fail):
        x * x
    (x * x).backward()
    assert x.gradient() == [4.0]


class Net(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.a = dygraph.nn.Linear(4, 8, act="tanh", dtype="float64")
        self.b = dygraph.nn.Linear(8, 4, dtype="float64")
        self.drop = dygraph.nn.Dropout(0.5)

    def forward(self, x):
        return self.b(self.drop(self.a(x)))


def gradients_of(net, x, through):
    net.clear_gradients()
    dygraph.seed(3)
    loss = (through(net, x) * through(net, x)).sum()
    loss.backward()
    return [p.gradient() for p in net.parameters()]


def test_recompute_gives_the_same_bits_and_keeps_nothing():
    with dygraph.guard(seed=1):
        net = Net()
        x = leaf(np.random.default_rng(0).normal(size=(5, 4)))
        plain = gradients_of(net, x, lambda f, x: f(x))
        again = gradients_of(net, x, dygraph.recompute)
        for a, b in zip(plain, again, strict=True):
            np.testing.assert_array_equal(a, b)
        assert dygraph.saved(dygraph.recompute(net, x)).total == 0
        assert dygraph.saved(net(x)).total > 0
        before = dygraph._core.generator_state()
        y = dygraph.recompute(net, x)
        after = dygraph._core.generator_state()
        assert after != before
        y.sum().backward()
        assert dygraph._core.generator_state() == after


def test_recompute_twice_and_second_order():
    x = leaf([0.5, 1.5])
    y = dygraph.recompute(lambda v: dygraph.exp(v) * v, x).sum()
    for _ in range(2):
        (g,) = dygraph.grad(y, x, create_graph=True)
        (h,) = dygraph.grad(g.sum(), x, retain_graph=True)
        np.testing.assert_allclose(h.numpy(), np.exp([0.5, 1.5]) * [2.5, 3.5])


def test_recompute_uses_the_values_of_its_call():
    x = leaf([3.0])
    y = dygraph.recompute(lambda v: v * v, x)
    with dygraph.no_grad():
        x.set_value(np.array([100.0]))
    y.backward()
    assert x.gradient() == [6.0]


def test_recompute_of_a_function_that_changes_its_mind():
    x, calls = leaf([1.0]), []

    def f(v):
        calls.append(1)
        return v * v if len(calls) == 1 else dygraph.exp(v * v) * v

    y = dygraph.recompute(f, x)
    with pytest.raises(ValueError, match="must do the same calls again.*2 values.*of the second"):
        y.backward()


def test_recompute_without_recording_is_the_plain_call():
    with dygraph.no_grad():
        assert dygraph.recompute(lambda v: v * 2.0, leaf([1.0])).numpy() == [2.0]


def test_recompute_frees_its_arguments():
    gc.collect()
    before = dygraph._core.live_variables()
    x = leaf([1.0])
    y = dygraph.recompute(lambda v: dygraph.exp(v * v), x)
    y.backward()
    del x, y
    gc.collect()
    assert dygraph._core.live_variables() == before


def test_check_grad_passes_and_names_what_differs():
    rng = np.random.default_rng(0)
    w, x = leaf(rng.normal(size=(3, 2))), leaf(rng.normal(size=(4, 3)))
    assert dygraph.check_grad(lambda x, w: dygraph.tanh(x @ w), [x, w], order=2)

    class Wrong(dygraph.PyLayer):
        @staticmethod
        def forward(ctx, v):
            return v * 3.0

        @staticmethod
        def backward(ctx, g):
            return g * 2.0

    v = leaf([1.0, 2.0])
    with pytest.raises(AssertionError, match=r"gradient of input 0 must agree.* at \[0\]"):
        dygraph.check_grad(Wrong.apply, v)
    assert not dygraph.check_grad(Wrong.apply, v, raise_exception=False)


def test_check_grad_of_second_order_finds_a_wrong_one():
    class Cube(dygraph.PyLayer):
        @staticmethod
        def forward(ctx, v):
            ctx.save_for_backward(v)
            return v * v * v

        @staticmethod
        def backward(ctx, g):
            (v,) = ctx.saved_variables
            return g * v.detach() * v * 3.0  # right, but its derivative is not

    v = leaf([1.5])
    assert dygraph.check_grad(Cube.apply, v)
    with pytest.raises(AssertionError, match="second order: .*input 0"):
        dygraph.check_grad(Cube.apply, v, order=2)
    with pytest.raises(ValueError, match="at least one input"):
        dygraph.check_grad(Cube.apply, dygraph.to_variable([1.0]))


def test_the_tape_can_be_walked():
    w = leaf([2.0])
    y = dygraph.exp(w * w)
    assert w.grad_fn is None
    node = y.grad_fn
    assert (node.name, node.kind, node.freed) == ("exp", "operator", False)
    ((below, output),) = node.inputs
    assert (below.name, output) == ("elementwise_mul", 0)
    assert [n.kind for n, _ in below.inputs] == ["leaf", "leaf"]
    assert below.inputs[0][0] == below.inputs[1][0]
    slot, shape, dtype, size = node.kept[0]
    assert (slot, shape, str(dtype), size) == ("Out", (1,), "float64", 8)
    y.backward()
    assert node.freed


def test_drawing():
    net = dygraph.nn.Sequential(dygraph.nn.Linear(2, 3, act="relu"), dygraph.nn.Linear(3, 1))
    loss = net(dygraph.to_variable(np.ones((4, 2), "float32"))).sum()
    drawing = dygraph.draw(loss, names=net)
    labels = [n["label"].split("\n")[0] for n in drawing.nodes]
    assert labels[0] == "reduce_sum" and {"0.weight", "1.bias", "relu"} <= set(labels)
    by_id = {n["id"]: n["label"].split("\n")[0] for n in drawing.nodes}
    pairs = {(by_id[a], by_id[b]) for a, b in drawing.edges}
    assert ("0.weight", "matmul_v2") in pairs or ("0.weight", "mul") in pairs
    assert drawing.dot.startswith("digraph tape {") and drawing.dot.count("->") == len(
        drawing.edges
    )
    import xml.etree.ElementTree as ElementTree

    picture = ElementTree.fromstring(drawing._repr_svg_())
    boxes = picture.findall(".//{http://www.w3.org/2000/svg}rect")
    assert len(boxes) == len(drawing.nodes)
    assert len(dygraph.draw(loss, most=2).nodes) == 2
