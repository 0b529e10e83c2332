"""multinomial, bernoulli and gumbel_softmax: shares, shapes, refusals."""

import numpy as np
import pytest

import dygraph
import dygraph.nn.functional as F
from dygraph import static

WEIGHTS = [[0.1, 0.2, 0.7], [0.0, 3.0, 1.0]]


def var(values):
    return dygraph.to_variable(np.array(values, "float32"))


def shares(drawn, count):
    return np.bincount(drawn, minlength=count) / len(drawn)


def test_multinomial_with_replacement():
    dygraph.seed(5)
    drawn = dygraph.multinomial(var(WEIGHTS), 20_000, replacement=True)
    assert drawn.shape == (2, 20_000) and drawn.dtype == dygraph.int64 and drawn.stop_gradient
    np.testing.assert_allclose(shares(drawn.numpy()[0], 3), [0.1, 0.2, 0.7], atol=0.015)
    np.testing.assert_allclose(shares(drawn.numpy()[1], 3), [0, 0.75, 0.25], atol=0.015)
    assert dygraph.multinomial(var(WEIGHTS[0])).shape == (1,)


def test_multinomial_without_replacement():
    """After 2 is drawn, 0 and 1 have the shares 1/3 and 2/3."""
    dygraph.seed(6)
    rows = var([WEIGHTS[0]] * 20_000)
    first, second = dygraph.multinomial(rows, 2).numpy().T
    assert (first != second).all()
    np.testing.assert_allclose(shares(first, 3), [0.1, 0.2, 0.7], atol=0.015)
    np.testing.assert_allclose(shares(second[first == 2], 3), [1 / 3, 2 / 3, 0], atol=0.02)


def test_seeds_repeat():
    dygraph.seed(1)
    one = dygraph.multinomial(var(WEIGHTS), 5, True).tolist()
    dygraph.seed(1)
    assert dygraph.multinomial(var(WEIGHTS), 5, True).tolist() == one


def test_bernoulli():
    dygraph.seed(2)
    drawn = dygraph.bernoulli(dygraph.full([30_000], 0.3))
    assert drawn.dtype == dygraph.float32 and set(drawn.tolist()) == {0.0, 1.0}
    assert abs(drawn.numpy().mean() - 0.3) < 0.015
    assert dygraph.bernoulli(var([[0.0, 1.0]])).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("compute", "error", "words"),
    [
        (lambda: dygraph.multinomial(var(WEIGHTS), 3), ValueError, "3 positive weights, got 2"),
        (lambda: dygraph.multinomial(var([0.0, 0.0]), 1, True), ValueError, "1 positive"),
        (lambda: dygraph.multinomial(-var(WEIGHTS)), ValueError, "at least 0"),
        (lambda: dygraph.multinomial(var([np.nan, 1.0])), ValueError, "finite"),
        (lambda: dygraph.multinomial(var([np.inf, 1.0])), ValueError, "finite"),
        (lambda: dygraph.multinomial(var(WEIGHTS), 0), ValueError, "at least 1, got 0"),
        (lambda: dygraph.multinomial(var(1.0)), ValueError, r"\[n\] or \[batch, n\]"),
        (lambda: dygraph.multinomial([1.0]), TypeError, "must be a Variable"),
        (lambda: dygraph.multinomial(var(WEIGHTS) > 0), TypeError, "floating-point"),
        (lambda: dygraph.bernoulli(var([1.5])), ValueError, "probabilities, got 1.5"),
        (lambda: F.gumbel_softmax(var([1.0]), 0.0), ValueError, "positive, got 0.0"),
    ],
)
def test_bad_input(compute, error, words):
    with pytest.raises(error, match=words):
        compute()


def test_gumbel_softmax():
    dygraph.seed(4)
    logits = np.log(np.array([[0.1, 0.2, 0.7]] * 20_000, "float32"))
    hard = F.gumbel_softmax(var(logits), tau=0.5, hard=True, dim=-1).numpy()
    np.testing.assert_allclose(hard.max(1), 1, rtol=1e-6)
    np.testing.assert_allclose(hard.mean(0), [0.1, 0.2, 0.7], atol=0.015)
    soft = F.gumbel_softmax(var(logits[:5]), 2.0, axis=0)
    np.testing.assert_allclose(soft.numpy().sum(0), [1, 1, 1], rtol=1e-5)
    x = var([[1.0, 2.0, 3.0]]).requires_grad_()
    (F.gumbel_softmax(x, hard=True) * var([1.0, 2.0, 3.0])).sum().backward()
    assert abs(x.grad.numpy().sum()) < 1e-5 and abs(x.grad.numpy()).max() > 0  # a softmax's


@pytest.mark.parametrize(
    ("draw", "weights", "expected"),
    [
        (dygraph.bernoulli, [[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]),
        (dygraph.multinomial, [[0.0, 3.0], [1.0, 0.0]], [[1], [0]]),
        (lambda x: dygraph.multinomial(x, 2, True), [[0.0, 3.0], [1.0, 0.0]], [[1, 1], [0, 0]]),
    ],
)
def test_draws_of_an_open_batch(draw, weights, expected):
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [-1, 2], "float32")
    out = draw(x)
    executor = static.Executor(dygraph.CPUPlace())
    for rows in (weights, weights[:1], weights * 3):
        feed = {"x": np.array(rows, "float32")}
        (got,) = executor.run(program, feed=feed, fetch_list=[out])
        assert got.tolist() == (expected * 3)[: len(rows)]


def test_draws_of_a_program_are_new_in_each_run():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [1000], "float32")
    out = dygraph.bernoulli(x)
    executor = static.Executor(dygraph.CPUPlace())
    feed = {"x": np.full(1000, 0.5, "float32")}
    first, second = (executor.run(program, feed=feed, fetch_list=[out])[0] for _ in range(2))
    assert (first != second).any()


def test_a_program_draws_from_any_number_of_weights():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [2, -1], "float32")
    out = dygraph.multinomial(x)
    executor = static.Executor(dygraph.CPUPlace())
    for weights in ([[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0, 2.0], [0.0, 3.0, 0.0]]):
        weights = np.array(weights, "float32")
        (got,) = executor.run(program, feed={"x": weights}, fetch_list=[out])
        assert got.tolist() == weights.argmax(1, keepdims=True).tolist()


def test_poisson():
    drawn = dygraph.poisson(dygraph.full([30_000], 4.5)).numpy()
    assert drawn.mean() == pytest.approx(4.5, abs=0.074)  # six standard deviations
    assert dygraph.poisson(dygraph.zeros([2], "float16")).dtype.name == "float16"
    with pytest.raises(ValueError, match="poisson: X must lie in"):
        dygraph.poisson(var([-1.0]))
    with pytest.raises(TypeError, match="poisson: x must hold floating-point numbers"):
        dygraph.poisson(var([1.0]) > 0)
