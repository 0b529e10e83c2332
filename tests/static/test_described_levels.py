"""Levels of detail that operators make of their own are described as eager calls have them."""

import numpy as np
import pytest

import dygraph
import dygraph.ops as F
from dygraph import nn, static


def ragged(array, *offsets):
    return dygraph.to_variable(np.asarray(array, "float32"), lod=list(offsets) or None)


X = ragged(np.arange(12).reshape(6, 2), [0, 2, 6])
Z = ragged(np.arange(10).reshape(5, 2), [0, 3, 5])
IDS = dygraph.to_variable(np.arange(6).reshape(6, 1), lod=[[0, 2, 6]])
ROWS = ragged(np.arange(4).reshape(2, 2))
COUNTS = dygraph.to_variable(np.array([2, 3]))
BEGINS = dygraph.to_variable(np.array([[0], [1]]))
LENGTHS = dygraph.to_variable(np.array([[1], [2]]))

CALLS = {
    "reverse": (F.sequence_reverse, X),
    "reshape": (lambda x: F.sequence_reshape(x, 4), X),
    "erase": (lambda x: F.sequence_erase(x, [2]), IDS),
    "enumerate": (lambda x: F.sequence_enumerate(x, 2), IDS),
    "concat": (lambda a, b: F.sequence_concat([a, b]), X, Z),
    "expand": (lambda a, b: F.sequence_expand(a, b, 0), ROWS, X),
    "expand_as": (F.sequence_expand_as, ROWS, X),
    "unpad": (F.sequence_unpad, ragged(np.zeros((2, 3, 2))), COUNTS),
    "slice": (F.sequence_slice, X, BEGINS, LENGTHS),
    "reset": (lambda x: F.lod_reset(x, target_lod=[0, 1, 6]), ragged(np.zeros((6, 2)))),
    "pool": (lambda x: F.sequence_pool(x, "SUM"), X),
    "softmax": (lambda x: F.sequence_softmax(x[:, 0:1]), X),
    "scale": (lambda x: x * 2 + 1, X),
}


@pytest.mark.parametrize("name", CALLS)
def test_levels(name):
    function, *given = CALLS[name]
    eager = function(*given)
    with static.program_guard(static.Program()):
        variables = [
            static.data(f"x{i}", [None, *v.shape[1:]], str(v.dtype), lod_level=len(v.lod()))
            for i, v in enumerate(given)
        ]
        assert function(*variables).lod_level == len(eager.lod())


def test_rnn_behind_an_operator_that_makes_sequences():
    """It would take rows without a level of detail for a padded batch."""
    cell = nn.GRUCell(2, 3)
    rnn = nn.RNN(cell)
    want = rnn(F.sequence_reverse(X))[0]
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", [None, 2], lod_level=1)
        outputs, _ = rnn(F.sequence_reverse(x))
        assert outputs.lod_level == 1
        assert outputs.shape == (-1, 3)
    assert want.shape == (6, 3)
