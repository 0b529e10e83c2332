"""Gradient clipping, parameters as a vector and padding by the names of ``torch.nn.utils``."""

import numpy as np
import pytest

import dygraph
from dygraph import nn
from dygraph.nn.utils import clip_grad_norm_, clip_grad_value_
from dygraph.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


def with_gradients():
    v, w = dygraph.Parameter([3.0, 4.0]), dygraph.Parameter([[1.0, -9.0]])
    (v.sum() + (w * w).sum()).backward()  # 1, 1 and 2, -18
    return v, w


# norm_type, norm, gradients: recorded from torch 2.13 with max_norm 1.5.
NORMS = [
    (2.0, 18.165903, [0.0825723, 0.0825723], [0.1651445, -1.4863008]),
    (1.0, 22.0, [0.0681818, 0.0681818], [0.1363636, -1.2272726]),
    (float("inf"), 18.0, [0.0833333, 0.0833333], [0.1666666, -1.4999998]),
    (3.0, 18.010284, [0.0832857, 0.0832857], [0.1665715, -1.4991432]),
]


@pytest.mark.parametrize(("norm_type", "norm", "first", "second"), NORMS)
def test_clip_grad_norm(norm_type, norm, first, second):
    v, w = with_gradients()
    frozen = dygraph.Parameter([1.0], trainable=False)
    total = clip_grad_norm_(iter([v, w, frozen, v]), 1.5, norm_type)
    assert total.shape == ()
    np.testing.assert_allclose(total.item(), norm, rtol=1e-6)
    np.testing.assert_allclose(v.grad.numpy(), first, rtol=1e-5)
    np.testing.assert_allclose(w.grad.numpy(), [second], rtol=1e-5)


def test_clip_grad_norm_leaves_small_gradients():
    v, w = with_gradients()
    assert clip_grad_norm_(v, 100.0).item() == pytest.approx(2**0.5)
    assert v.grad.tolist() == [1.0, 1.0] and w.grad.tolist() == [[2.0, -18.0]]
    assert clip_grad_norm_([dygraph.Parameter([1.0])], 1.0).item() == 0.0


def test_clipping_keeps_rows_sparse():
    table = nn.Embedding([5, 2], is_sparse=True)
    table(dygraph.to_variable([1, 1, 3])).sum().backward()  # rows 2 2 and 1 1
    assert clip_grad_norm_(table.parameters(), 1.0).item() == pytest.approx(10**0.5, rel=1e-6)
    gradient = table.weight.grad
    assert gradient.is_selected_rows() and gradient.rows() == [1, 3]
    expected = np.array([[2, 2], [1, 1]]) / 10**0.5
    np.testing.assert_allclose(gradient.rows_value().numpy(), expected, rtol=1e-5)
    clip_grad_value_(table.parameters(), 0.5)
    rows = [[0.5, 0.5], [1 / 10**0.5, 1 / 10**0.5]]
    np.testing.assert_allclose(table.weight.grad.rows_value().numpy(), rows, rtol=1e-5)


def test_norms_that_are_not_finite():
    w = dygraph.Parameter([1.0, 2.0])
    w.grad = dygraph.to_variable([float("nan"), 1.0])
    with pytest.raises(dygraph.errors.NonFiniteError, match="must be finite, got nan"):
        clip_grad_norm_(w, 1.0, error_if_nonfinite=True)
    assert w.grad.tolist()[1] == 1.0


def test_parameters_as_a_vector():
    net = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(net.parameters())
    expected = [*net.weight.numpy().ravel(), *net.bias.numpy()]
    assert vector.tolist() == pytest.approx(expected)
    vector.sum().backward()
    assert net.weight.grad.tolist() == [[1.0] * 3] * 2
    nn.utils.vector_to_parameters(dygraph.arange(9.0), net.parameters())
    assert net.weight.tolist() == [[0, 1, 2], [3, 4, 5]] and net.bias.tolist() == [6, 7, 8]
    with pytest.raises(ValueError, match=r"shape \[9\].* got \[3\]"):
        nn.utils.vector_to_parameters(dygraph.ones(3), net.parameters())


@pytest.mark.parametrize(
    ("compute", "words"),
    [
        (lambda: clip_grad_norm_(nn.Linear(2, 2), 1.0), r"Write layer\.parameters\(\)"),
        (lambda: clip_grad_norm_([1.0], 1.0), r"parameters\[0\] must be a Variable"),
        (lambda: clip_grad_norm_([], "a"), "max_norm must be a number"),
        (lambda: clip_grad_value_(3, 1.0), "must be a list, got int 3"),
        (lambda: pad_sequence(dygraph.ones(2, 3)), "must be a list of Variables"),
    ],
)
def test_bad_input(compute, words):
    with pytest.raises(TypeError, match=words):
        compute()


def test_a_clipped_step_is_torchs():
    """Three steps of torch's SGD(0.1, momentum=0.9) with clip_grad_norm_(1.0), recorded."""
    w = dygraph.Parameter([3.0, 4.0])
    rule = dygraph.optimizer.Momentum(0.1, 0.9, [w])
    for _ in range(3):
        rule.zero_grad()
        (w * w).sum().backward()
        clip_grad_norm_([w], 1.0)
        rule.step()
    np.testing.assert_allclose(w.numpy(), [2.6634, 3.5512], rtol=1e-5)


# Sequences ----------------------------------------------------------------------------------------


def test_pad_sequence():
    words = [dygraph.to_variable([[1.0], [2.0], [3.0]]), dygraph.to_variable([[4.0]])]
    assert pad_sequence(words).squeeze(-1).tolist() == [[1, 4], [2, 0], [3, 0]]
    padded = pad_sequence(words, batch_first=True, padding_value=-1.0)
    assert padded.squeeze(-1).tolist() == [[1, 2, 3], [4, -1, -1]]
    with pytest.raises(ValueError, match="equal but for their lengths"):
        pad_sequence([dygraph.ones(2), dygraph.ones(2, 1)])
    with pytest.raises(ValueError, match="float32 and .* of int64"):
        pad_sequence([dygraph.ones(2), dygraph.to_variable([1])])


def test_packing_is_sequence_length():
    x = np.random.RandomState(0).randn(4, 3, 2).astype("float32")
    lengths = [2, 4, 1]
    lstm = nn.LSTM(2, 3, 2, batch_first=True)
    packed = pack_padded_sequence(dygraph.to_variable(x), lengths, enforce_sorted=False)
    assert packed.lod() == [[0, 2, 6, 7]]
    np.testing.assert_array_equal(packed.numpy()[:2], x[:2, 0])
    outputs, (h, c) = lstm(packed)
    outputs, counted = pad_packed_sequence(outputs, batch_first=True)
    wanted, (h_wanted, _) = lstm(dygraph.to_variable(x.swapaxes(0, 1).copy()), None, lengths)
    np.testing.assert_allclose(outputs.numpy(), wanted.numpy(), rtol=1e-6)
    np.testing.assert_allclose(h.numpy(), h_wanted.numpy(), rtol=1e-6)
    assert counted.tolist() == lengths
    longer, _ = pad_packed_sequence(packed, padding_value=7.0, total_length=5)
    assert longer.shape == (5, 3, 2) and longer.numpy()[4].tolist() == [[7.0, 7.0]] * 3


def test_packing_has_second_derivatives():
    x = dygraph.to_variable([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    packed = pack_padded_sequence(x**3, [1, 2], batch_first=True)
    assert packed.shape == (3,)
    (first,) = dygraph.grad(packed.sum(), x, create_graph=True)
    (second,) = dygraph.grad(first.sum(), x)
    assert first.tolist() == [[3, 0], [27, 75]] and second.tolist() == [[6, 0], [18, 30]]


def test_packing_refuses_what_does_not_fit():
    x = dygraph.ones(2, 3, 1)
    for lengths in ([4, 1], [1, 1, 1]):
        with pytest.raises((ValueError, IndexError), match="Length"):
            pack_padded_sequence(x, lengths, batch_first=True)
    with pytest.raises(ValueError, match="level of detail"):
        pad_packed_sequence(x)
    with pytest.raises(ValueError, match="time and batch"):
        pack_padded_sequence(dygraph.ones(3), [1])
