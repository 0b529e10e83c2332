"""Sequence operators that move rows as they are: expand, slice, reverse, pad and the like."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def spans(lod):
    return list(zip(lod[-1][:-1], lod[-1][1:], strict=True))


def offsets(lengths):
    return [0, *np.cumsum(lengths).tolist()]


def stacked(parts, like):
    return np.concatenate([like[:0], *parts]) if parts else like[:0]


class TestSequenceExpand(OpTest):
    """Rows of X, repeated by the only level of Y."""

    op = "sequence_expand"
    x_lod = None
    y_lod = [[0, 2, 2, 5]]
    level = -1
    rows = 3

    def setUp(self):
        self.op_type = self.op
        x = rand(self.rows, 2)
        self.inputs = {
            "X": (x, self.x_lod) if self.x_lod else x,
            "Y": (rand(self.y_lod[-1][-1], 1), self.y_lod),
        }
        self.grad_inputs = ["X"]
        self.attrs = {"ref_level": self.level}
        times = np.diff(self.y_lod[self.level])
        of_x = spans(self.x_lod) if self.x_lod else [(i, i + 1) for i in range(len(x))]
        parts = [x[a:b] for (a, b), n in zip(of_x, times, strict=True) for _ in range(n)]
        lod = [offsets([len(p) for p in parts])] if self.x_lod else []  # rows stay rows
        self.outputs = {"Out": (stacked(parts, x), lod)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSequenceExpandSequences(TestSequenceExpand):
    """The example of Fluid's documents: sequences ab and cd, twice each."""

    x_lod = [[0, 2, 4]]
    y_lod = [[0, 2, 4], [0, 3, 6, 7, 8]]
    level = 0
    rows = 4


class TestSequenceExpandEmptySequences(TestSequenceExpand):
    x_lod = [[0, 0, 3, 3]]
    y_lod = [[0, 2, 4, 7]]


class TestSequenceExpandAs(OpTest):
    y_lod = [[0, 3, 3, 4]]

    def setUp(self):
        self.op_type = "sequence_expand_as"
        x = rand(3, 2)
        self.inputs = {"X": x, "Y": (rand(4, 1), self.y_lod)}
        self.grad_inputs = ["X"]
        self.outputs = {"Out": (np.repeat(x, np.diff(self.y_lod[-1]), axis=0), self.y_lod)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSequenceExpandAsTwoLevels(TestSequenceExpandAs):
    y_lod = [[0, 1, 3], [0, 1, 3, 4]]


class TestSequenceSlice(OpTest):
    lod = [[0, 3, 5, 5]]

    def setUp(self):
        self.op_type = "sequence_slice"
        x = rand(5, 2)
        first, count = [1, 0, 0], [2, 1, 0]
        self.inputs = {
            "X": (x, self.lod),
            "Offset": np.array(first).reshape(-1, 1),
            "Length": np.array(count).reshape(-1, 1),
        }
        parts = [
            x[a + f : a + f + n] for (a, _), f, n in zip(spans(self.lod), first, count, strict=True)
        ]
        self.outputs = {"Out": (stacked(parts, x), [*self.lod[:-1], offsets(count)])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSequenceSliceTwoLevels(TestSequenceSlice):
    lod = [[0, 2, 3], [0, 3, 5, 5]]


class TestSequenceReverse(OpTest):
    lod = [[0, 3, 3, 5]]

    def setUp(self):
        self.op_type = "sequence_reverse"
        x = rand(5, 2)
        self.inputs = {"X": (x, self.lod)}
        self.outputs = {"Y": (stacked([x[a:b][::-1] for a, b in spans(self.lod)], x), self.lod)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Y")


class TestSequenceReverseTwoLevels(TestSequenceReverse):
    lod = [[0, 1, 2], [0, 1, 5]]


class TestSequenceUnpad(OpTest):
    def setUp(self):
        self.op_type = "sequence_unpad"
        x, lengths = rand(3, 4, 2), [2, 0, 4]
        self.inputs = {"X": x, "Length": np.array(lengths)}
        rows = [x[i, :n] for i, n in enumerate(lengths)]
        self.outputs = {"Out": (np.concatenate(rows), [offsets(lengths)])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSequenceUnpadOfNumbers(OpTest):
    """Rows of one number, as Fluid has it: not numbers."""

    def setUp(self):
        self.op_type = "sequence_unpad"
        x = rand(3, 4)
        self.inputs = {"X": x, "Length": np.array([2, 0, 4])}
        rows = np.concatenate([x[0, :2], x[2]]).reshape(6, 1)
        self.outputs = {"Out": (rows, [offsets([2, 0, 4])])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSequencePad(OpTest):
    lod = [[0, 2, 2, 5]]
    value_shape = (1,)
    padded_length = -1

    def setUp(self):
        self.op_type = "sequence_pad"
        x, value = rand(5, 2), rand(*self.value_shape)
        self.inputs = {"X": (x, self.lod), "PadValue": value}
        self.attrs = {"padded_length": self.padded_length}
        self.grad_inputs = ["X"]
        lengths = np.diff(self.lod[-1])
        out = np.empty((len(lengths), max(self.padded_length, lengths.max()), 2))
        out[:] = value
        for i, (a, b) in enumerate(spans(self.lod)):
            out[i, : b - a] = x[a:b]
        self.outputs = {"Out": out, "Length": lengths}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSequencePadRow(TestSequencePad):
    value_shape = (2,)
    padded_length = 6


class TestSequencePadTwoLevels(TestSequencePad):
    lod = [[0, 2], [0, 1, 5]]


class TestSequenceReshape(OpTest):
    lod = [[0, 2, 2, 6]]
    new_dim = 4

    def setUp(self):
        self.op_type = "sequence_reshape"
        x = rand(6, 2)
        self.inputs = {"X": (x, self.lod)}
        self.attrs = {"new_dim": self.new_dim}
        last = [n * 2 // self.new_dim for n in self.lod[-1]]
        self.outputs = {"Out": (x.reshape(-1, self.new_dim), [*self.lod[:-1], last])}

    leave_out = {"leaves_inputs_alone": "Out is X in other rows and shares its storage"}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSequenceReshapeNarrow(TestSequenceReshape):
    lod = [[0, 1, 3], [0, 1, 2, 6]]
    new_dim = 1


class TestSequenceConcat(OpTest):
    lods = ([[0, 2, 2, 3]], [[0, 1, 2, 4]])

    def setUp(self):
        self.op_type = "sequence_concat"
        arrays = [rand(lod[-1][-1], 2) for lod in self.lods]
        self.inputs = {
            "X": [
                (f"x{i}", (a, lod))
                for i, (a, lod) in enumerate(zip(arrays, self.lods, strict=True))
            ]
        }
        parts = [
            a[slice(*span)]
            for of_all in zip(*map(spans, self.lods), strict=True)
            for a, span in zip(arrays, of_all, strict=True)
        ]
        last = np.sum([lod[-1] for lod in self.lods], axis=0).tolist()
        self.outputs = {"Out": (np.concatenate(parts), [*self.lods[0][:-1], last])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["x0", "x1"], "Out")


class TestSequenceConcatThree(TestSequenceConcat):
    lods = ([[0, 2], [0, 1, 2]], [[0, 2], [0, 0, 3]], [[0, 2], [0, 2, 2]])


class TestLodReset(OpTest):
    leave_out = {"leaves_inputs_alone": "Out is X with another LoD and shares its storage"}

    def setUp(self):
        self.op_type = "lod_reset"
        x = rand(6, 2)
        self.inputs = {"X": (x, [[0, 2, 6]])}
        self.attrs = {"target_lod": [0, 1, 1, 6]}
        self.outputs = {"Out": (x, [[0, 1, 1, 6]])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestLodResetLike(TestLodReset):
    def setUp(self):
        super().setUp()
        self.attrs = {}
        self.inputs["Y"] = (rand(6, 1), [[0, 1, 2], [0, 4, 6]])
        self.grad_inputs = ["X"]
        self.outputs["Out"] = (self.outputs["Out"][0], [[0, 1, 2], [0, 4, 6]])


class TestLodResetOffsets(TestLodReset):
    def setUp(self):
        super().setUp()
        self.attrs = {"append": True}
        self.inputs["X"] = (self.inputs["X"][0][:3], [[0, 1, 3]])
        self.inputs["Y"] = np.array([0, 1, 2, 3], "int32")
        self.outputs["Out"] = (self.inputs["X"][0], [[0, 1, 3], [0, 1, 2, 3]])


def variable(array, lod=None):
    return _core.to_variable(np.asarray(array), lod=lod)


ROWS = np.zeros((3, 2))
TWO = [[0, 1, 3]]


@pytest.mark.parametrize(
    ("op", "slots", "attrs", "kind", "message"),
    [
        ("sequence_expand", {"X": (ROWS,), "Y": (ROWS,)}, {}, ValueError, "Y must have a level"),
        ("sequence_expand", {"X": (ROWS,), "Y": (ROWS, TWO)}, {}, ValueError, "as many rows"),
        ("sequence_expand", {"X": (ROWS, TWO), "Y": (ROWS, TWO)}, {"ref_level": 1}, IndexError,
         "ref_level"),
        ("sequence_expand_as", {"X": (ROWS,), "Y": (ROWS, TWO)}, {}, ValueError,
         "a row for each sequence"),
        ("sequence_slice", {"X": (ROWS, TWO), "Offset": ([[0], [1]],), "Length": ([[1], [2]],)}, {},
         IndexError, "sequence 1 has 2 rows"),
        ("sequence_slice", {"X": (ROWS, TWO), "Offset": ([[0]],), "Length": ([[1], [2]],)}, {},
         ValueError, "a number for each sequence"),
        ("sequence_slice",
         {"X": (ROWS, TWO), "Offset": ([[2**62], [0]],), "Length": ([[2**62], [0]],)}, {},
         IndexError, "Offset and Length"),
        ("sequence_reverse", {"X": (ROWS,)}, {}, ValueError, "X must have a level of detail"),
        ("sequence_unpad", {"X": (np.zeros((2, 3)),), "Length": ([1, 4],)}, {}, IndexError,
         r"Length must lie in \[0, 3\]"),
        ("sequence_unpad", {"X": (np.zeros(2),), "Length": ([1, 1],)}, {}, ValueError, "longest"),
        ("sequence_pad", {"X": (ROWS, TWO), "PadValue": (np.zeros(1),)}, {"padded_length": 1},
         ValueError, "at least the longest"),
        ("sequence_pad", {"X": (ROWS, TWO), "PadValue": (np.zeros(3),)}, {}, ValueError,
         "PadValue must be one number"),
        ("sequence_reshape", {"X": (ROWS, TWO)}, {"new_dim": 3}, ValueError,
         "sequence 0 has 2 numbers"),
        ("sequence_concat", {"X": [(ROWS, TWO), (ROWS, [[0, 3]])]}, {}, ValueError,
         "as many sequences"),
        ("lod_reset", {"X": (ROWS,)}, {}, ValueError, "either Y or target_lod"),
        ("lod_reset", {"X": (ROWS,)}, {"target_lod": [0, 2]}, ValueError, "end at 3"),
    ],
)  # fmt: skip
def test_what_does_not_fit(op, slots, attrs, kind, message):
    made = {
        name: [variable(*v) for v in value] if isinstance(value, list) else variable(*value)
        for name, value in slots.items()
    }
    with pytest.raises(kind, match=message):
        _core.run_op(op, made, attrs)
