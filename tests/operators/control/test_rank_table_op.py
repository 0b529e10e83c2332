"""Batches step by step: rank tables, steps as arrays, memories that shrink, batches reordered."""

from itertools import pairwise

import numpy as np
import pytest

import dygraph
from dygraph import _core
from dygraph import ops as F
from op_test import OpTest, rand
from ragged_batch import offsets, ranked, sequences, steps

LENGTHS = [2, 4, 0, 4, 1]
TWO = [[0, 2, 3, 5], [0, 1, 3, 3, 4, 6]]  # two, one and two inner sequences


def var(value, **options):
    return dygraph.to_variable(np.asarray(value), **options)


def index(i):
    return np.array([i], "int64")


def table_of(lod, level=0):
    return F.lod_rank_table(var(np.zeros((lod[-1][-1], 1)), lod=lod), level=level)


class TestMaxSequenceLen(OpTest):
    lengths = LENGTHS

    def setUp(self):
        self.op_type = "max_sequence_len"
        lod = [offsets(self.lengths)]
        self.inputs = {"RankTable": (rand(lod[0][-1], 1), lod)}
        self.outputs = {"Out": np.array([max(self.lengths, default=0)])}
        self.fixed_dtypes = {"Out": "int64"}

    leave_out = {"empty": "the table is made of a level of detail"}

    def test_check_output(self):
        self.check_output()


class TestMaxSequenceLenOfNone(TestMaxSequenceLen):
    lengths = [0, 0]


class TestLodTensorToArray(OpTest):
    lod, width, table_level = [offsets(LENGTHS)], (3,), 0

    def setUp(self):
        self.op_type = "lod_tensor_to_array"
        x = rand(self.lod[-1][-1], *self.width)
        self.inputs = {"X": (x, self.lod), "RankTable": (np.zeros((len(x), 1)), self.lod)}
        self.grad_inputs = ["X"]
        self.outputs = {"Out": []}
        for rows, inner in steps(x, self.lod, self.table_level):
            has = len(self.lod) > self.table_level + 1
            self.outputs["Out"].append((rows, [offsets(inner)]) if has else rows)

    leave_out = {"empty": "the table is made of a level of detail"}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], ["Out[0]", "Out[1]"])

    def test_gradient_of_one_step(self):
        """What is not used has gradient zero."""
        run = self.run_slots(self.inputs, grads_for=["X"])
        x = run.variables["X"]
        (got,) = _core.grad([run.results["Out[1]"]], [x], [], False, False, False)
        want = np.zeros(x.shape)
        of = sequences(want, self.lod, self.table_level)
        for parts in of:
            if len(parts) > 1:
                parts[1][...] = 1  # a view into want
        np.testing.assert_array_equal(got.numpy(), want)


class TestLodTensorToArrayTwoLevels(TestLodTensorToArray):
    lod = TWO


class TestLodTensorToArrayInnerLevel(TestLodTensorToArray):
    lod, table_level = TWO, 1


class TestLodTensorToArrayOfVectors(TestLodTensorToArray):
    width = ()


class TestArrayToLodTensor(OpTest):
    lod, table_level = [offsets(LENGTHS)], 0

    def setUp(self):
        self.op_type = "array_to_lod_tensor"
        x = rand(self.lod[-1][-1], 3)
        elements = []
        for i, (rows, inner) in enumerate(steps(x, self.lod, self.table_level)):
            has = len(self.lod) > self.table_level + 1
            elements.append((f"x{i}", (rows, [offsets(inner)]) if has else rows))
        self.inputs = {"X": elements, "RankTable": (np.zeros((len(x), 1)), self.lod)}
        self.grad_inputs = [name for name, _ in elements]
        self.outputs = {"Out": (x, self.lod)}

    leave_out = {"empty": "the table is made of a level of detail"}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(self.grad_inputs[:2], "Out")


class TestArrayToLodTensorTwoLevels(TestArrayToLodTensor):
    lod = TWO


class TestArrayToLodTensorInnerLevel(TestArrayToLodTensor):
    lod, table_level = TWO, 1


class TestShrinkRnnMemory(OpTest):
    step, lod = 1, None

    def setUp(self):
        self.op_type = "shrink_rnn_memory"
        table = [offsets(LENGTHS)]
        left = sum(n > self.step for n in LENGTHS)
        rows = self.lod[0][-1] if self.lod else len(LENGTHS)
        x = rand(rows, 3)
        kept = self.lod[0][left] if self.lod else left
        self.inputs = {
            "X": (x, self.lod) if self.lod else x,
            "RankTable": (rand(table[0][-1], 1), table),
            "I": index(self.step),
        }
        self.grad_inputs = ["X"]
        self.outputs = {"Out": (x[:kept], [self.lod[0][: left + 1]]) if self.lod else x[:left]}

    leave_out = {"empty": "the table is made of a level of detail"}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestShrinkToAll(TestShrinkRnnMemory):
    step = 0


class TestShrinkToNone(TestShrinkRnnMemory):
    step = 4

    def test_check_grad(self):
        pass


class TestShrinkSequences(TestShrinkRnnMemory):
    lod = [[0, 2, 3, 3, 5, 6]]


class TestReorderLodTensorByRank(OpTest):
    """Without a level of detail each row is a sequence."""

    lod = None

    def setUp(self):
        self.op_type = "reorder_lod_tensor_by_rank"
        table = [offsets(LENGTHS)]
        x = rand(self.lod[-1][-1] if self.lod else len(LENGTHS), 2)
        order = ranked(LENGTHS)
        self.inputs = {
            "X": (x, self.lod) if self.lod else x,
            "RankTable": (rand(table[0][-1], 1), table),
        }
        self.grad_inputs = ["X"]
        if not self.lod:
            self.outputs = {"Out": x[order]}
            return
        of = [np.concatenate([x[:0], *s]) for s in sequences(x, self.lod)]
        lengths = np.diff(self.lod[0])
        lod = [offsets(lengths[order])]
        if len(self.lod) > 1:
            inner = [np.diff(self.lod[1])[a:b] for a, b in pairwise(self.lod[0])]
            lod.append(offsets(np.concatenate([inner[i] for i in order])))
        self.outputs = {"Out": (np.concatenate([of[i] for i in order]), lod)}

    leave_out = {
        "empty": "the table is made of a level of detail",
        "lod_passes": "the level of detail is reordered as the rows are",
    }

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestReorderSequences(TestReorderLodTensorByRank):
    lod = [[0, 1, 3, 3, 6, 8]]


class TestReorderTwoLevels(TestReorderLodTensorByRank):
    lod = [[0, 1, 2, 2, 4, 5], [0, 2, 3, 5, 5, 6]]


class TestLodLike(OpTest):
    def setUp(self):
        self.op_type = "lod_like"
        x = rand(4, 2)
        self.inputs = {"X": x, "Y": (rand(4, 1), [[0, 1, 4]])}
        self.grad_inputs = ["X"]
        self.outputs = {"Out": (x, [[0, 1, 4]])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestRnnMemoryHelper(OpTest):
    def setUp(self):
        self.op_type = "rnn_memory_helper"
        x = rand(3, 2)
        self.inputs = {"X": x}
        self.attrs = {"dtype": 5}
        self.outputs = {"Out": x}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


def test_a_table_as_python_sees_it():
    table = table_of([offsets([1, 3, 3])])
    assert repr(table) == "Variable(LoDRankTable, (index, length)=[(1, 3), (2, 3), (0, 1)])"
    with pytest.raises(TypeError, match="LoDRankTable"):
        table.numpy()
    with pytest.raises(TypeError, match="LoDRankTable"):
        len(table)
    with pytest.raises(TypeError, match="got a LoDRankTable"):
        F.relu(table)


def test_tables_of_levels():
    x = var(np.zeros((6, 1)), lod=TWO)
    assert _core.table_items(F.lod_rank_table(x)) == [(0, 2), (2, 2), (1, 1)]
    assert _core.table_items(F.lod_rank_table(x, level=1)) == [
        (1, 2), (4, 2), (0, 1), (3, 1), (2, 0),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="one of the 2 levels of detail, got 2"):
        F.lod_rank_table(x, level=2)
    with pytest.raises(ValueError, match="one of the 0 levels of detail, got 0"):
        F.lod_rank_table(var([[1.0]]))


def test_steps_share_one_gathered_storage():
    """The target example of the seed documents: 4, 4, 4, 4, 3, 2, 1 rows."""
    lod = [offsets([5, 7, 4, 6])]
    x = var(np.arange(22.0)[:, None], lod=lod)
    array = F.lod_tensor_to_array(x, F.lod_rank_table(x))
    read = [F.read_from_array(array, var(index(t))) for t in range(7)]
    assert [v.shape[0] for v in read] == [4, 4, 4, 4, 3, 2, 1]
    assert len({_core.storage_id(v) for v in read}) == 1
    state = var(np.ones((4, 1)))
    shrunk = F.shrink_rnn_memory(state, F.lod_rank_table(x), var(index(5)))
    assert shrunk.shape == (2, 1) and _core.storage_id(shrunk) == _core.storage_id(state)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16"])
def test_types_without_arithmetic(dtype):
    lod = [offsets([1, 3])]
    x = var((np.arange(8).reshape(4, 2) % 5).astype(dtype), lod=lod)
    table = F.lod_rank_table(x)
    back = F.array_to_lod_tensor(F.lod_tensor_to_array(x, table), table)
    assert back.numpy().tolist() == x.numpy().tolist() and back.lod() == lod
    assert F.reorder_lod_tensor_by_rank(x, table).numpy().tolist() == [
        *x.numpy()[1:].tolist(), x.numpy()[0].tolist(),
    ]  # fmt: skip


def test_x_without_levels_takes_those_of_the_table():
    lod = [offsets([1, 3])]
    array = F.lod_tensor_to_array(var(np.arange(4.0)[:, None]), table_of(lod))
    assert F.read_from_array(array, var(index(0))).tolist() == [[1.0], [0.0]]


def test_an_empty_batch():
    x = var(np.zeros((0, 2)), lod=[[0, 0, 0]])
    table = F.lod_rank_table(x)
    array = F.lod_tensor_to_array(x, table)
    assert len(array) == 0 and F.max_sequence_len(table).tolist() == [0]
    with pytest.raises(RuntimeError, match="an array of 0 in which nothing has been written"):
        F.array_to_lod_tensor(array, table)


def short(array, n):
    made = None
    for t in range(n):
        made = F.write_to_array(F.read_from_array(array, var(index(t))), var(index(t)), array=made)
    return made


def test_batches_that_do_not_fit():
    lod, other = [offsets([1, 3])], [offsets([2, 2])]
    x = var(np.zeros((4, 2)), lod=lod)
    table = table_of(lod)
    array = F.lod_tensor_to_array(x, table)
    with pytest.raises(ValueError, match="the sequences that the table was made of"):
        F.lod_tensor_to_array(x, table_of(other))
    with pytest.raises(ValueError, match="must have the rows of the batch"):
        F.lod_tensor_to_array(var(np.zeros((5, 2))), table)
    with pytest.raises(ValueError, match="must have the level of detail 1"):
        F.lod_tensor_to_array(x, table_of([[0, 2], [0, 1, 4]], level=1))
    with pytest.raises(ValueError, match="must have 3 elements, the steps .*, got 2"):
        F.array_to_lod_tensor(short(array, 2), table)
    with pytest.raises(ValueError, match=r"X\[0\] must have a row for each of the 3 sequences"):
        F.array_to_lod_tensor(array, table_of([offsets([3, 1, 1])]))
    hole = F.clear_array_element(array, var(index(1)))
    with pytest.raises(RuntimeError, match="nothing has been written to element 1 of 3"):
        F.array_to_lod_tensor(hole, table)
    with pytest.raises(ValueError, match="a row for each of the 2 sequences longer than 0, got 1"):
        F.shrink_rnn_memory(var(np.zeros((1, 2))), table, var(index(0)))
    with pytest.raises(IndexError, match="I must be at least 0, got -1"):
        F.shrink_rnn_memory(var(np.zeros((2, 2))), table, var(index(-1)))
    with pytest.raises(ValueError, match="as many sequences as the table, 2, got 3"):
        F.reorder_lod_tensor_by_rank(var(np.zeros((3, 2))), table)
    with pytest.raises(TypeError, match="must be a rank table, got a Tensor"):
        F.lod_tensor_to_array(x, x)
    with pytest.raises(ValueError, match="as many rows as the LoD of Y says"):
        F.lod_like(var([[1.0]]), x)


def test_second_order_through_steps():
    """y_t = x_t^2, back to a batch, cubed: d2/dx2 of x^6."""
    lod = [offsets([1, 2])]
    x = var(np.array([[1.0], [2.0], [3.0]]), lod=lod)
    x.stop_gradient = False
    table = F.lod_rank_table(x)
    array, out = F.lod_tensor_to_array(x, table), None
    for t in range(2):
        step = F.read_from_array(array, var(index(t)))
        out = F.write_to_array(step * step, var(index(t)), array=out)
    y = F.array_to_lod_tensor(out, table)
    (first,) = dygraph.grad([(y**3).sum()], [x], create_graph=True)
    np.testing.assert_allclose(first.numpy(), 6 * x.numpy() ** 5)
    (second,) = dygraph.grad([first.sum()], [x])
    np.testing.assert_allclose(second.numpy(), 30 * x.numpy() ** 4)
