"""Third derivatives in programs: eager numbers, with a batch that is unknown before a run."""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F
from dygraph import static
from op_test import rand


def attention(x):
    return F.scaled_dot_product_attention(x, x * 0.5, F.tanh(x), is_causal=True)


# Of x [batch, 4, 3]
CASES = {
    "layer_norm": lambda x: F.layer_norm(x, begin_norm_axis=2),
    "group_norm": lambda x: F.group_norm(x, groups=2),
    "instance_norm": lambda x: F.instance_norm(x),
    "reduce_prod": lambda x: F.reduce_prod(x, dim=[1]),
    "p_norm": lambda x: F.p_norm(x, porder=3.0, axis=1),
    "frobenius_norm": lambda x: F.frobenius_norm(x, dim=[1, 2]),
    "einsum": lambda x: F.einsum("bij,bkj,bkl->bil", x, F.exp(x), x),
    "bce_loss": lambda x: F.bce_loss(F.sigmoid(x), F.sigmoid(x.detach() * -2.0)),
    "log_loss": lambda x: F.log_loss(F.sigmoid(x), F.sigmoid(x.detach() * -2.0)),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(F.square(x), F.exp(x)),
    "attention": attention,
}


def thrice(function, x, gradients):
    """Three times the gradient of a sum of sines, which bends linear functions."""
    y = function(x)
    for _ in range(3):
        (y,) = gradients(F.reduce_sum(F.sin(y + 0.5)), x)
    return y


@pytest.mark.parametrize("name", CASES)
def test_a_program_gives_eager_numbers(name):
    np.random.seed(5)
    array = rand(2, 4, 3, low=0.2, high=1.5)
    x = dygraph.to_variable(array)
    x.stop_gradient = False
    expected = thrice(CASES[name], x, lambda y, v: dygraph.grad(y, v, create_graph=True)).numpy()
    program = static.Program()
    with static.program_guard(program, static.Program()):
        v = static.data("x", [None, 4, 3], "float64")
        v.stop_gradient = False
        got = thrice(CASES[name], v, static.gradients)
        assert got.shape == (-1, 4, 3)
    (values,) = static.Executor().run(program, {"x": array}, [got], scope=static.Scope())
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(values, expected, rtol=1e-10)


def test_sequences_in_a_program():
    """linear_chain_crf and warpctc of padded sequences."""
    np.random.seed(6)
    emission, transition, logits = rand(2, 3, 2), rand(4, 2), rand(4, 2, 3)

    def crf(x):
        label, length = np.array([[0, 1, 1], [1, 0, 0]]), np.array([[3], [2]])
        return F.linear_chain_crf(x, constant(transition), constant(label), constant(length))

    def ctc(x):
        label, steps, count = np.array([[1], [2]]), np.array([4, 3]), np.array([1, 1])
        return F.warpctc(
            x, constant(label), logits_length=constant(steps), label_length=constant(count)
        )

    for function, array in ((crf, emission), (ctc, logits)):
        constant = dygraph.to_variable
        x = dygraph.to_variable(array)
        x.stop_gradient = False
        expected = thrice(function, x, lambda y, v: dygraph.grad(y, v, create_graph=True)).numpy()
        program = static.Program()
        feed = {"x": array}
        with static.program_guard(program, static.Program()):

            def constant(a, feed=feed):
                name = f"c{len(feed)}"
                feed[name] = a
                return static.data(name, a.shape, str(a.dtype))

            v = static.data("x", array.shape, "float64")
            v.stop_gradient = False
            got = thrice(function, v, static.gradients)
        (values,) = static.Executor().run(program, feed, [got], scope=static.Scope())
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(values, expected, rtol=1e-10)
