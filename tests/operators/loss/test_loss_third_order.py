"""The cross entropies and some other losses can be differentiated three times: the third against
differences of the second, which the operators' own cases compare with differences of the first."""

import numpy as np
import pytest

from dygraph import _core
from op_test import rand, randomize_probability


def first_and_second(op, slots, attrs, out, x, seed, direction):
    """The gradient of sum(direction * gradient) with respect to x and to the loss's gradient."""
    x = _core.to_variable(x)
    seed, direction = _core.to_variable(seed), _core.to_variable(direction)
    for v in (x, seed, direction):
        v.stop_gradient = False
    slots = {k: x if v is None else _core.to_variable(v) for k, v in slots.items()}
    loss = _core.run_op(op, slots, attrs)[out]
    (first,) = _core.grad([loss], [x], [seed], True, True, False)
    second = _core.grad([first], [x, seed], [direction], True, True, False)
    return second, (x, seed, direction)


CASES = [
    ("cross_entropy", "X", "Y", False, {}),
    ("cross_entropy", "X", "Y", True, {"soft_label": True}),
    ("cross_entropy", "X", "Y", False, {"ignore_index": 1}),
    ("softmax_with_cross_entropy", "Logits", "Loss", False, {}),
    ("softmax_with_cross_entropy", "Logits", "Loss", False, {"ignore_index": 1}),
    ("softmax_with_cross_entropy", "Logits", "Loss", True, {"soft_label": True}),
]


@pytest.mark.parametrize(("op", "name", "out", "soft", "attrs"), CASES)
def test_third_order(op, name, out, soft, attrs):
    np.random.seed(1)
    x = randomize_probability(3, 4, "float64") if op == "cross_entropy" else rand(3, 4)
    label = rand(3, 4, low=0.1, high=1) if soft else np.array([[0], [3], [1]])
    slots = {name: None, "Label": label}
    check_third_order(op, slots, attrs, out, [x, rand(3, 1), rand(3, 4)])


# Of losses that bend like the logistic function, or not at all between their kinks.
POINTWISE = [
    ("sigmoid_cross_entropy_with_logits", "X", {"Label": [[0, 1, -1], [1, 1, 0]]}, "Out"),
    ("teacher_student_sigmoid_loss", "X", {"Label": [[-2, -1, 0.5], [1.5, -1, 0]]}, "Y"),
    ("modified_huber_loss", "X", {"Y": [[0, 1, 1], [1, 0, 0]]}, "Out"),
    ("huber_loss", "X", {"Y": [[0, 3, -2], [1, 0, 0]]}, "Out"),
    ("huber_loss", "Y", {"X": [[0, 3, -2], [1, 0, 0]]}, "Out"),
    ("rank_loss", "Left", {"Label": [[0], [1], [0]], "Right": [[0.5], [-1], [2]]}, "Out"),
    ("rank_loss", "Right", {"Label": [[0], [1], [0]], "Left": [[0.5], [-1], [2]]}, "Out"),
]


@pytest.mark.parametrize(("op", "name", "others", "out"), POINTWISE)
def test_third_order_of_pointwise_losses(op, name, others, out):
    np.random.seed(2)
    others = {k: np.array(v, "float64") for k, v in others.items()}
    shape = next(iter(others.values())).shape
    attrs = {"ignore_index": -1} if op.startswith("sigmoid_") else {}
    check_third_order(op, {name: None, **others}, attrs, out, [rand(*shape) for _ in range(3)])


def check_third_order(op, slots, attrs, out, point):
    weights = [rand(*point[0].shape), rand(*point[1].shape)]

    def value(arrays):
        second, _ = first_and_second(op, slots, attrs, out, *arrays)
        return sum((s.numpy() * w).sum() for s, w in zip(second, weights, strict=True))

    second, variables = first_and_second(op, slots, attrs, out, *point)
    third = _core.grad(
        list(second), list(variables), [_core.to_variable(w) for w in weights], False, False, True
    )
    for i, got in enumerate(third):
        expected = np.zeros_like(point[i])
        for at in np.ndindex(expected.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [a.copy() for a in point]
                moved[i][at] += step
                ends.append(value(moved))
            expected[at] = (ends[0] - ends[1]) / 2e-5
        got = np.zeros_like(expected) if got is None else got.numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)
