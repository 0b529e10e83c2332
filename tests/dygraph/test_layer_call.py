"""Calling a layer: eval mode, errors, the layers that run."""

import threading

import numpy as np
import pytest

import dygraph
from dygraph import nn


def var(values, grad=False):
    x = dygraph.to_variable(np.array(values, "float32"))
    if grad:
        x.stop_gradient = False
    return x


class Scale(nn.Layer):
    """y = x * 3, the factor being a parameter."""

    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter(
            [2], default_initializer=dygraph.initializer.Constant(3.0)
        )

    def forward(self, x):
        return x * self.weight


class Watching(nn.Layer):
    """Calls what it is given while it runs."""

    def __init__(self, inner, inside=None):
        super().__init__()
        self.inner, self.inside = inner, inside

    def forward(self, x, *, factor=1):
        if self.inside:
            self.inside()
        return self.inner(x) * factor


def test_eval_mode_ends_with_the_outermost_call():
    recorded = []
    net = Watching(Watching(Scale(), lambda: recorded.append(dygraph.grad_enabled())))
    x = var([1.0, 2.0])
    net.eval()
    y = net(x, factor=2)
    assert y.numpy().tolist() == [6.0, 12.0]
    assert recorded == [False] and y.stop_gradient and dygraph.grad_enabled()
    with pytest.raises(dygraph.errors.PreconditionNotMetError, match="Watching was in eval mode"):
        y.sum().backward()
    net.train()
    net.inner.eval()  # an inner one changes its own behaviour alone
    assert not net(x, factor=2).stop_gradient
    net.eval()
    with dygraph.enable_grad():
        assert not net(x).stop_gradient
    assert not net(var([1.0, 2.0], grad=True)).stop_gradient
    assert recorded == [False, True, True, True]


def test_arguments_in_lists_need_gradients_too():
    class Pair(nn.Layer):
        def forward(self, pair, more=None):
            return pair[0] + (more["x"] if more else pair[1])

    net = Pair()
    net.eval()
    plain, wanted = var([1.0]), var([2.0], grad=True)
    assert net([plain, plain]).stop_gradient
    assert not net([plain, wanted]).stop_gradient
    assert not net([plain, plain], more={"x": wanted}).stop_gradient


def test_a_failed_call_leaves_nothing_on():
    class Fails(nn.Layer):
        def forward(self, x):
            raise KeyError("inside")

    net = Watching(nn.Sequential(Scale(), ("last", Fails())))
    net.eval()
    for _ in range(2):
        with pytest.raises(KeyError, match=r"in Watching\.inner\.last \(Fails\)"):
            net(var([1.0, 2.0]))
        assert dygraph.grad_enabled()
        assert dygraph._core.running_layers() == []
    with pytest.raises(KeyboardInterrupt):
        Watching(Scale(), lambda: (_ for _ in ()).throw(KeyboardInterrupt))(var([1.0, 2.0]))
    assert dygraph._core.running_layers() == []
    with pytest.raises(TypeError, match="wrong"):
        Scale()(var([1.0, 2.0]), wrong=1)


def test_layers_that_run_belong_to_a_thread():
    seen = []

    def look():
        seen.append(dygraph._core.running_layers())
        other = threading.Thread(target=lambda: seen.append(dygraph._core.running_layers()))
        other.start()
        other.join()

    net = Watching(Scale(), look)
    net(var([1.0, 2.0]))
    assert seen == [[net], []]


def test_a_call_without_init_says_so():
    class Bare(nn.Layer):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    with pytest.raises(dygraph.errors.PreconditionNotMetError, match=r"super\(\).__init__\(\)"):
        Bare()(var([1.0]))
