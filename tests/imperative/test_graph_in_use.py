"""Functions of the user, and other threads, that touch a graph while a backward pass plays it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dygraph
from dygraph import _core, to_variable
from dygraph.errors import PreconditionNotMetError


def var(array):
    v = dygraph.to_variable(np.asarray(array, "float32"))
    v.stop_gradient = False
    return v


class Once:
    """Runs an action at the first call."""

    def __init__(self, action):
        self.action = action

    def __call__(self):
        action, self.action = self.action, None
        if action:
            action()


@pytest.fixture
def listening():
    """Switches on a function for each call of this thread, off again after the test."""
    listeners = []

    def listen(function):
        listeners.append(_core.watch.Listener(function))
        listeners[-1].start()

    yield listen
    for listener in listeners:
        listener.stop()


def through(x, action):
    """x itself, with a backward that runs the action at its first call."""
    out = x.detach()
    once = Once(action)

    def backward(saved, gradient):
        once()
        return gradient

    _core.record_function("through", [x], [out], backward)
    return out


def test_a_python_backward_that_frees_the_graph_it_stands_in():
    x = var([1.0, 2.0])
    loss = through(x * 2, lambda: loss.backward()).sum()
    with pytest.raises(PreconditionNotMetError, match="through must last while it is pl"):
        loss.backward(retain_graph=True)
    np.testing.assert_array_equal(x.gradient(), [2, 2])  # of the inner pass


@pytest.mark.parametrize("retain", [False, True])
def test_an_unpack_hook_that_frees_the_graph_it_stands_in(retain):
    x = var([1.0, 2.0])
    once = Once(lambda: loss.backward())

    def unpack(kept):
        once()
        return kept

    with dygraph.autograd.saved_value_hooks(lambda v: v.detach(), unpack):
        squares = x * x
    loss = squares.sum()
    text = "elementwise_mul must last while it is played" if retain else "reduce_sum was freed by"
    with pytest.raises(PreconditionNotMetError, match=text):
        loss.backward(retain_graph=retain)
    if retain:
        np.testing.assert_array_equal(x.gradient(), [2, 4])


def test_an_unpack_hook_that_fails_leaves_the_packed_values():
    x = var([1.0, 2.0])
    calls = []

    def unpack(kept):
        calls.append(kept)
        if len(calls) == 2:
            raise ValueError("not now")
        return dygraph.to_variable(kept)

    with dygraph.autograd.saved_value_hooks(lambda v: v.numpy(), unpack):
        product = x * (x + 1)
    loss = product.sum()
    with pytest.raises(ValueError, match="not now"):
        loss.backward(retain_graph=True)
    loss.backward()
    assert len(calls) == 4  # both values again
    np.testing.assert_array_equal(x.gradient(), [3, 5])


def test_a_gradient_that_is_cleared_while_a_term_is_added(listening):
    x = var([1.0, 2.0])
    (x * 2).sum().backward()
    loss = (x * 3).sum()

    def clear(kind, inputs, outputs):
        inputs.clear()
        outputs.clear()
        if kind == "sum":
            x.clear_gradient()

    listening(clear)
    loss.backward()
    np.testing.assert_array_equal(x.gradient(), [5, 5])


def test_another_output_whose_gradient_is_kept_from_now_on(listening):
    x = var(np.arange(1200.0).reshape(100, 12))
    parts = dygraph.split(x, num=100)
    parts[0].retain_grads()
    loss = dygraph.stack([p.sum() * k for k, p in enumerate(parts, 1)]).sum()
    loss.backward(retain_graph=True)

    def keep(kind, inputs, outputs):
        if kind == "sum":
            for p in parts:
                p.retain_grads()

    listening(keep)
    loss.backward(retain_graph=True)
    np.testing.assert_array_equal(parts[0].gradient(), np.full((1, 12), 2.0))
    np.testing.assert_array_equal(parts[-1].gradient(), np.full((1, 12), 100.0))


def test_a_listener_that_ends_itself(listening):
    held = []

    def end(kind, inputs, outputs):
        held.pop().stop()

    held.append(_core.watch.Listener(end))
    held[0].start()
    x = var([1.0])
    assert float(x * 2) == 2 and not held
    assert float(x * 3) == 3


def test_threads_that_free_one_graph():
    """Each pass gives its gradients or raises; what is freed is never read."""
    for _ in range(10):
        x = var(np.full(1 << 17, 0.5))  # long enough to run without Python's lock
        shared = x
        for _ in range(4):
            shared = dygraph.tanh(shared) * shared
        losses = [(shared * k).sum() for k in (1.0, 2.0, 3.0)]
        errors = []

        def play(loss, retain, errors=errors):
            try:
                loss.backward(retain_graph=retain)
            except Exception as error:
                errors.append(str(error))

        threads = [
            threading.Thread(target=play, args=(loss, k != 1)) for k, loss in enumerate(losses)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all("was freed by" in e or "freed it meanwhile" in e for e in errors), errors


def test_a_graph_that_two_threads_extend_by_turns_plays_in_order():
    """Each has numbers for nodes in hand; what reads a value still comes after what made it."""
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        x = to_variable(np.array([3.0]))
        x.stop_gradient = False
        for each in one, other, one:
            each.submit(lambda: x * 2.0).result()  # draws numbers
        y = x * x
        nodes = [y.grad_fn]
        for turn in range(6):
            grown = (one if turn % 2 else other).submit(lambda v: v * v + v, y).result()
            nodes += [grown.grad_fn]
            y = grown
        numbers = [node.number for node in nodes]
        assert numbers == sorted(numbers) and len(set(numbers)) == len(numbers)
        value, slope = 9.0, 6.0
        for _ in range(6):
            value, slope = value * value + value, slope * (2 * value + 1)
        y.backward()
        np.testing.assert_allclose(y.numpy(), [value], rtol=1e-12)
        np.testing.assert_allclose(x.grad.numpy(), [slope], rtol=1e-12)
