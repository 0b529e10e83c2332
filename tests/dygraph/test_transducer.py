"""rnnt_loss, RNNTLoss and dygraph.text: their arguments and what they refuse."""

import numpy as np
import pytest

import dygraph
import dygraph.nn.functional as F
from dygraph import nn, static, text


def var(values):
    return dygraph.to_variable(np.array(values))


X = np.random.default_rng(0).standard_normal((2, 3, 3, 4))
REST = [[1, 2], [3, 1]], [3, 2], [2, 1]


def loss(x=X, **options):
    options = {"blank": 0, "fastemit_lambda": 0.0, **options}
    return F.rnnt_loss(var(x), *map(var, REST), **options)


def test_reductions_and_blanks():
    each = loss(reduction="none")
    assert each.shape == (2,)
    assert loss(reduction="sum").item() == pytest.approx(each.sum().item())
    assert loss().item() == pytest.approx(each.mean().item())
    turned = np.concatenate([X[..., 1:], X[..., :1]], -1)  # class k is k - 1
    labels = var(np.array(REST[0]) - 1)
    last = F.rnnt_loss(var(turned), labels, *map(var, REST[1:]), blank=-1, fastemit_lambda=0)
    assert last.item() == pytest.approx(loss().item())
    layer = nn.RNNTLoss(blank=0, fastemit_lambda=0.0, reduction="sum")
    assert layer(var(X), *map(var, REST)).item() == pytest.approx(each.sum().item())
    assert "blank=0, fastemit_lambda=0.0, reduction='sum'" in repr(layer)


def test_logarithms_of_probabilities_give_the_same():
    p = X - np.log(np.exp(X).sum(-1, keepdims=True))
    assert loss(p).item() == pytest.approx(loss().item())


def test_what_libraries_differ_in_must_be_given():
    with pytest.raises(TypeError, match="blank"):
        F.rnnt_loss(var(X), *map(var, REST), fastemit_lambda=0)
    with pytest.raises(TypeError, match="fastemit_lambda"):
        F.rnnt_loss(var(X), *map(var, REST), blank=0)
    with pytest.raises(ValueError, match=r"\[N, T, L \+ 1, C\]"):
        loss(X[0])
    with pytest.raises(ValueError, match="fastemit_lambda"):
        loss(fastemit_lambda=-1)


def test_a_program():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [-1, -1, 3, 4], "float64")
        label = static.data("label", [-1, 2], "int64")
        n, m = (static.data(name, [-1], "int64") for name in ("n", "m"))
    out = F.rnnt_loss(x, label, n, m, blank=0, fastemit_lambda=0)
    score = text.viterbi_decode(x[:, :, 0], x[0, 0].t() @ x[0, 0], n, False)
    feed = {"x": X, **dict(zip(("label", "n", "m"), map(np.array, REST), strict=True))}
    got = static.Executor(dygraph.CPUPlace()).run(program, feed=feed, fetch_list=[out, *score])
    assert got[0].item() == pytest.approx(loss().item())
    eager = text.viterbi_decode(var(X[:, :, 0]), var(X[0, 0].T @ X[0, 0]), var(REST[1]), False)
    np.testing.assert_allclose(got[1], eager[0].numpy())
    assert got[2].tolist() == eager[1].tolist()


def test_a_decoder():
    transitions = dygraph.nn.Linear(3, 3).weight
    decoder = text.ViterbiDecoder(transitions, include_bos_eos_tag=False)
    x, n = var(np.ones((1, 2, 3), "float32")), var([2])
    scores, paths = decoder(x, n)
    w = transitions.numpy()
    assert scores.item() == pytest.approx(2 + w.max(), rel=1e-6)
    assert tuple(paths.tolist()[0]) == np.unravel_index(w.argmax(), w.shape)
    assert scores.stop_gradient
    assert [name for name, _ in decoder.named_parameters()] == ["transitions"]
    with pytest.raises(AttributeError, match="dygraph.dataset"):
        _ = text.Imdb
