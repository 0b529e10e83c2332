"""Values that go one of several ways, conditions that must hold."""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F
from op_test import OpTest, rand
from ragged_batch import offsets, sequences

MASK = np.array([True, False, False, True])


def var(value, **options):
    return dygraph.to_variable(np.asarray(value), **options)


def parted(x, lod, level, mask):
    """(rows, levels of detail from `level` on) of the sequences where mask is true."""
    if level == len(lod):
        return x[mask], []
    of = sequences(x, lod, level)
    kept = [of[i] for i in np.flatnonzero(mask)]
    levels = [offsets([len(s) for s in kept])]
    if len(lod) > level + 1:
        levels.append(offsets([len(rows) for s in kept for rows in s]))
    return np.concatenate([x[:0], *(rows for s in kept for rows in s)]), levels


def entry(rows, lod):
    """Lengths, which are never taken for offsets."""
    return (rows, [np.diff(level).tolist() for level in lod]) if lod else rows


class TestSplitLodTensor(OpTest):
    """Without a level of detail each row is a sequence."""

    lod, level, mask = [], 0, MASK

    def setUp(self):
        self.op_type = "split_lod_tensor"
        x = rand(self.lod[-1][-1] if self.lod else len(self.mask), 3)
        self.inputs = {"X": entry(x, self.lod), "Mask": self.mask[:, None]}
        self.attrs = {"level": self.level}
        self.grad_inputs = ["X"]
        self.outputs = {
            "OutTrue": entry(*parted(x, self.lod, self.level, self.mask)),
            "OutFalse": entry(*parted(x, self.lod, self.level, ~self.mask)),
        }

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], ["OutTrue", "OutFalse"])

    def test_check_grad_of_one_way(self):
        self.check_grad(["X"], ["OutFalse"])


class TestSplitSequences(TestSplitLodTensor):
    lod = [[0, 2, 3, 3, 6]]
    leave_out = {"empty": "Mask needs a level of detail"}


class TestSplitTwoLevels(TestSplitLodTensor):
    lod = [[0, 2, 3, 3, 5], [0, 1, 3, 4, 4, 6]]
    leave_out = {"empty": "Mask needs a level of detail"}


class TestSplitInnerLevel(TestSplitLodTensor):
    lod, level = [[0, 1, 4], [0, 1, 3, 4, 6]], 1
    leave_out = {"empty": "Mask needs a level of detail"}


class TestSplitAllOneWay(TestSplitLodTensor):
    mask = np.array([True, True, True])

    def test_check_grad_of_one_way(self):
        pass


class TestMergeLodTensor(OpTest):
    """The inverse."""

    kind, lod, level, mask = "merge_lod_tensor", [], 0, MASK

    def setUp(self):
        self.op_type = self.kind
        x = rand(self.lod[-1][-1] if self.lod else len(self.mask), 3)
        self.inputs = {
            "X": entry(np.zeros((len(x), 1)), self.lod),
            "Mask": self.mask,
            "InTrue": entry(*parted(x, self.lod, self.level, self.mask)),
            "InFalse": entry(*parted(x, self.lod, self.level, ~self.mask)),
        }
        self.grad_inputs = ["InTrue", "InFalse"]
        self.attrs = {"level": self.level}
        self.outputs = {"Out": entry(x, self.lod)}

    leave_out = {"empty": "InTrue needs the rows of Mask"}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["InTrue", "InFalse"], "Out")


class TestMergeSequences(TestMergeLodTensor):
    lod = [[0, 2, 3, 3, 6]]


class TestMergeTwoLevels(TestMergeLodTensor):
    lod = [[0, 2, 3, 3, 5], [0, 1, 3, 4, 4, 6]]


class TestMergeInnerLevel(TestMergeLodTensor):
    lod, level = [[0, 1, 4], [0, 1, 3, 4, 6]], 1


class TestMergeAllOneWay(TestMergeLodTensor):
    mask = np.array([False, False])
    leave_out = {
        **TestMergeLodTensor.leave_out,
        "wrong_input": "a way that no sequence goes may hold nothing",
    }


class TestMergeLodTensorInfer(TestMergeLodTensor):
    kind = "merge_lod_tensor_infer"

    def test_check_grad(self):
        with pytest.raises(RuntimeError, match="no recorded path"):
            x = var([[1.0]])
            x.stop_gradient = False
            F.merge_lod_tensor_infer(x, var([True]), in_true=x).backward()


class TestSelectInput(OpTest):
    branch = 1

    def setUp(self):
        self.op_type = "select_input"
        self.inputs = {
            "X": [rand(2, 3), rand(2, 3), rand(2, 3)],
            "Mask": np.array([self.branch], "int32"),
        }
        self.outputs = {"Out": self.inputs["X"][self.branch]}

    leave_out = {"empty": "Mask must hold a number"}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X[0]", "X[1]", "X[2]"], "Out")


class TestSelectTheFirst(TestSelectInput):
    branch = 0


class TestSelectOutput(OpTest):
    """The other outputs hold nothing, so a case looks at the chosen one alone."""

    def setUp(self):
        self.op_type = "select_output"
        self.x = rand(2, 3)

    def call(self, x, branch, branches=2):
        given = {"X": x, "Mask": var(np.array([branch]))}
        return dygraph.run_op("select_output", given, outputs={"Out": branches})["Out"]

    leave_out = {
        name: "outputs that hold nothing cannot be compared"
        for name in (
            "forward_float32 forward_float64 gradient second_order third_order empty zero_d "
            "broadcast channels_last lod_passes leaves_inputs_alone same_bits wrong_input "
            "program_equals_eager shapes_before_a_run program_gradient_equals_eager "
            "traced_equals_eager runs_on_cuda"
        ).split()
    }

    def test_chosen(self):
        for branch in range(3):
            out = self.call(var(self.x), branch, 3)
            np.testing.assert_array_equal(out[branch].numpy(), self.x)
            for other in set(range(3)) - {branch}:
                assert repr(out[other]) == "Variable(no value yet)"

    def test_gradients(self):
        x = var(self.x)
        x.stop_gradient = False
        y = self.call(x, 1)[1]
        (first,) = dygraph.grad([(y**3).sum()], [x], create_graph=True)
        np.testing.assert_allclose(first.numpy(), 3 * self.x**2)
        (second,) = dygraph.grad([first.sum()], [x])
        np.testing.assert_allclose(second.numpy(), 6 * self.x)

    def test_branches_that_are_not_there(self):
        for branch in (2, -1):
            with pytest.raises(IndexError, match=rf"Mask must be in \[0, 2\).*got {branch}"):
                self.call(var(self.x), branch)


def test_select_of_arrays():
    a = [F.write_to_array(var([float(i)]), var([0])) for i in range(2)]
    chosen = F.select_input(a, var([1]))
    assert F.read_from_array(chosen, var([0])).tolist() == [1.0]


def test_select_input_errors():
    x = [var([1.0]), var([2.0])]
    with pytest.raises(IndexError, match=r"Mask must be in \[0, 2\), the number of a branch of X"):
        F.select_input(x, var([2]))
    with pytest.raises(ValueError, match="one integer, got shape"):
        F.select_input(x, var([0, 1]))
    nothing = F.select_output(x[0], var([0]))[1]
    assert F.select_input([x[0], nothing], var([0])).tolist() == [1.0]
    with pytest.raises(RuntimeError, match=r"X\[1\] must hold a value, but the branch"):
        F.select_input([x[0], nothing], var([1]))


def test_split_and_merge_errors():
    x = var(np.zeros((3, 2)), lod=[[0, 1, 3]])
    mask = var([True, False])
    with pytest.raises(ValueError, match="an element for each of the 2 sequences of X, got 3"):
        F.split_lod_tensor(x, var([True, False, True]))
    with pytest.raises(TypeError, match="Mask must be of bool, got int64"):
        F.split_lod_tensor(x, var([1, 0]))
    with pytest.raises(ValueError, match="level must be at most"):
        F.split_lod_tensor(x, mask, level=2)
    with pytest.raises(ValueError, match="for each of the 1 trues of Mask, got 2"):
        F.merge_lod_tensor(x, mask, in_true=var(np.zeros((2, 2))), in_false=var(np.zeros((1, 2))))
    with pytest.raises(ValueError, match="rows of one shape and type"):
        F.merge_lod_tensor(x, mask, in_true=var(np.zeros((1, 2))), in_false=var(np.zeros((1, 3))))
    nothing = F.select_output(x, var([0]))[1]
    row = var(np.ones((2, 2)))
    both = F.merge_lod_tensor(row, var([True, True]), in_true=row, in_false=nothing)
    assert both.tolist() == row.tolist()
    with pytest.raises(RuntimeError, match="InFalse must hold a value where Mask has 1"):
        F.merge_lod_tensor(row, var([True, False]), in_true=row[:1], in_false=nothing)


def test_what_is_left_out_is_zeros():
    x = var(np.zeros((3, 2)), lod=[[0, 1, 3]])
    ones = var(np.ones((2, 2)), lod=[[0, 2]])
    out = F.merge_lod_tensor(x, var([True, False]), in_false=ones)
    assert out.tolist() == [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]] and out.lod() == [[0, 1, 3]]


class TestAssert(OpTest):
    def setUp(self):
        self.op_type = "assert"
        self.inputs = {"Cond": np.array([True]), "Data": [rand(2, 3), np.array([1, 2])]}
        self.outputs = {}

    leave_out = {
        "empty": "Cond must hold a bool",
        "program_equals_eager": "it has no output; test_assert_in_a_program",
    }

    def test_check_output(self):
        self.check_output()


KINDS = [
    ("", AssertionError, "assert: Cond must be true, got False"),
    ("AssertionError", AssertionError, "assert: Cond must be true, got False"),
    ("ValueError", ValueError, "assert: Cond must be true, got False"),
    ("TypeError", TypeError, "assert: Cond must be true, got False"),
    ("KeyError", KeyError, "assert: Cond must be true, got False"),
    ("IndexError", IndexError, "assert: Cond must be true, got False"),
    ("RuntimeError", RuntimeError, "assert: Cond must be true, got False"),
    ("NotImplementedError", NotImplementedError, "assert: Cond must be true, got False"),
    ("MyError", RuntimeError, "assert: MyError"),
]


@pytest.mark.parametrize("name, error, text", KINDS)
def test_assert_raises(name, error, text):
    with pytest.raises(error) as info:
        F.assert_(var([False]), error=name)
    assert str(info.value) == text
    assert isinstance(info.value, dygraph.errors.DygraphError)


def test_assert_says_what_there_is():
    with pytest.raises(AssertionError) as info:
        F.assert_(var(False), data=[var([1.5, 2.0, 3.0]), var([7])], message="no", summarize=2)
    assert str(info.value) == "assert: no\n  Data[0]: [1.5 2 ...]\n  Data[1]: [7]"
    with pytest.raises(ValueError, match="one bool, got shape"):
        F.assert_(var([True, True]))
    with pytest.raises(NotImplementedError, match="bool only"):
        F.assert_(var([1.0]))


def test_assert_in_a_program():
    from dygraph import static

    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [2], "float32")
        F.assert_(F.reduce_all(x > 0), data=[x], message="x must be positive", error="ValueError")
        y = x * 2
    exe = static.Executor()
    (got,) = exe.run(program, feed={"x": np.ones(2, "float32")}, fetch_list=[y])
    assert got.tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="x must be positive\n  x: ") as info:
        exe.run(program, feed={"x": -np.ones(2, "float32")}, fetch_list=[y])
    assert "[-1 -1]" in str(info.value)
