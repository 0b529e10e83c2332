"""Second order through blocks is refused by name, alone and beside terms that have it."""

import numpy as np
import pytest

import static
from dygraph import functional as F
from dygraph.errors import UnimplementedError
from static import layers

from .described import counted


def looped(x):
    i, more = counted(layers.fill_constant([1], "int64", 3))
    s = layers.assign(x)
    s.stop_gradient = False
    with layers.While(more).block():
        layers.assign(F.tanh(s) * x, output=s)
        layers.increment(i)
        layers.less_than(i, layers.fill_constant([1], "int64", 3), cond=more)
    return s


def chosen(x):
    return layers.cond(layers.reduce_sum(x) > 0.0, lambda: x * x * x, lambda: F.tanh(x))


def stepped(x):
    first, rnn = layers.reduce_sum(x, dim=[0]), layers.StaticRNN()
    with rnn.step():
        now, before = rnn.step_input(x), rnn.memory(init=first)
        after = F.tanh(now * before)
        rnn.update_memory(before, after)
        rnn.step_output(after)
    return rnn()


def ragged(x):
    rows = static.data("rows", [None, 3], lod_level=1)
    rnn = layers.DynamicRNN()
    with rnn.block():
        now, before = rnn.step_input(rows), rnn.memory(shape=[3], value=0.0)
        after = F.tanh(now + before * layers.reduce_sum(x))
        rnn.update_memory(before, after)
        rnn.output(after)
    return rnn()


WAYS = {
    "while_grad": looped, "conditional_block_grad": chosen, "recurrent_grad": stepped,
}  # fmt: skip


@pytest.fixture
def x():
    x = static.data("x", [2, 3])
    x.stop_gradient = False
    return x


@pytest.mark.parametrize("type", [*WAYS, "while_grad of DynamicRNN"])
@pytest.mark.parametrize("beside", [False, True])
def test_second_order_through_a_block_is_refused(x, type, beside):
    y = WAYS.get(type, ragged)(x)
    (first,) = static.gradients(layers.reduce_sum(y * y), x)
    penalty = layers.reduce_sum(first * first)
    if beside:
        penalty = penalty + layers.reduce_sum(x * x)
    text = f"{type.split()[0]}: a gradient through a block has none itself"
    with pytest.raises(UnimplementedError, match=text):
        static.gradients(penalty, x)


def test_a_penalty_of_the_gradient_is_refused_in_training(x):
    w = layers.create_parameter([3], "float32")
    (first,) = static.gradients(layers.reduce_sum(looped(x * w)), x)
    with pytest.raises(UnimplementedError, match="asks for second order through a loop or choice"):
        static.optimizer.SGD(0.1).minimize(layers.reduce_sum(first * first))


def test_second_order_beside_a_loop_that_the_target_does_not_depend_on(x, run):
    (beside,) = static.gradients(layers.reduce_sum(looped(x)), x)
    (first,) = static.gradients(layers.reduce_sum(x * x * x), x)
    (second,) = static.gradients(layers.reduce_sum(first), x)
    values = np.arange(6, dtype="float32").reshape(2, 3)
    got = run(second, beside, x=values)
    assert got[0].tolist() == (6 * values).tolist()


def test_a_first_gradient_may_be_a_constant_of_the_second(x, run):
    """With the first gradient in no_grad_set nothing of second order is asked for."""
    (first,) = static.gradients(layers.reduce_sum(chosen(x)), x)
    (second,) = static.gradients(layers.reduce_sum(first * x), x, no_grad_set={first})
    values = np.ones([2, 3], "float32")
    assert run(second, x=values)[0].tolist() == (3 * values).tolist()
