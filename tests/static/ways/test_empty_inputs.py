"""First calls with inputs that have no elements: the program is compared at other sizes as well."""

import numpy as np
import pytest

import dygraph
from dygraph import jit

ROWS = np.arange(12, dtype="float32").reshape(4, 3) - 4


def chosen(x):
    if x.sum() > 0:
        return x * 2
    return x + 1


def summed(x):
    total = dygraph.zeros([1])
    for row in x:
        total = total + row.sum()
    return total


def looked_up(i):
    return dygraph.to_variable(np.float32([[1, 2], [3, 4]]))[i]


OPEN = [jit.InputSpec([None, None], "float32")]


@pytest.mark.parametrize("trains", [False, True])
@pytest.mark.parametrize("spec", [None, OPEN])
@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0)])
def test_a_question(shape, spec, trains):
    captured = jit.to_static(chosen, input_spec=spec)
    x = dygraph.to_variable(np.zeros(shape, "float32"))
    x.stop_gradient = not trains
    assert captured(x).shape == shape
    assert captured.proof.compared > 2
    if shape == (0, 3):
        assert captured(dygraph.to_variable(ROWS)).tolist() == (ROWS * 2).tolist()
        assert captured(dygraph.to_variable(-ROWS)).tolist() == (1 - ROWS).tolist()


@pytest.mark.parametrize("trains", [False, True])
def test_a_loop_without_turns(trains):
    captured = jit.to_static(summed)
    for rows, want in ((0, 0), (2, -9), (4, 18)):
        x = dygraph.to_variable(ROWS[:rows])
        x.stop_gradient = not trains
        assert captured(x).tolist() == [want]


def test_indices():
    captured = jit.to_static(looked_up)
    assert captured(dygraph.to_variable(np.zeros(0, "int64"))).shape == (0, 2)
    assert captured(dygraph.to_variable(np.int64([1, 0]))).tolist() == [[3, 4], [1, 2]]
    assert len(captured._entries) == 1


def test_sequences_of_empty_rows():
    spec = [jit.InputSpec([None, None], "float32")]
    captured = jit.to_static(lambda x: dygraph.ops.sequence_reverse(x), input_spec=spec)
    assert captured(dygraph.to_variable(np.zeros((3, 0), "float32"), lod=[[0, 1, 3]])).shape == (
        3,
        0,
    )
    x = dygraph.to_variable(ROWS[:3], lod=[[0, 1, 3]])
    assert captured(x).tolist() == ROWS[[0, 2, 1]].tolist()


@pytest.mark.parametrize("offsets", [[0], [0, 0, 0]])
def test_sequences(offsets):
    captured = jit.to_static(lambda x: dygraph.ops.sequence_softmax(x) * 2)
    empty = dygraph.to_variable(np.zeros((0, 1), "float32"), lod=[offsets])
    assert captured(empty).shape == (0, 1)
    x = dygraph.to_variable(np.zeros((3, 1), "float32"), lod=[[0, 1, 3]])
    assert captured(x).tolist() == [[2], [1], [1]]
