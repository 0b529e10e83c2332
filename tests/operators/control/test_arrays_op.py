"""Arrays: elements written, read, counted, joined and cleared."""

import numpy as np
import pytest

import dygraph
from dygraph import _core
from dygraph import ops as F
from op_test import OpTest, rand

NUMBERS = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def index(i, dtype="int64"):
    return np.array([i], dtype)


def var(value, **options):
    return dygraph.to_variable(np.asarray(value), **options)


UNREAD = "elements that are not read have no gradient in a program, where eager calls give zeros"


def array_of(*elements):
    a = None
    for i, e in enumerate(elements):
        a = F.write_to_array(var(e) if isinstance(e, np.ndarray) else e, var(index(i)), array=a)
    return a


class TestWriteToArray(OpTest):
    """The first element of an array."""

    at = 0
    before = ()

    def setUp(self):
        self.op_type = "write_to_array"
        x = rand(3, 2)
        before = [rand(2, 2) for _ in range(self.before)] if self.before else []
        self.inputs = {"X": x, "I": index(self.at)}
        if before:
            self.inputs["Array"] = before
        self.outputs = {"Out": [*before[: self.at], x, *before[self.at + 1 :]]}

    leave_out = {
        "empty": "I must hold a number",
        "lod_passes": "elements have a level of detail each; test_elements_keep_their_lod",
    }

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out[0]" if self.at == 0 else f"Out[{self.at}]")


class TestWriteBehindOthers(TestWriteToArray):
    at = 2
    before = 2


class TestWriteOverAnother(TestWriteToArray):
    """What was there before gets no gradient."""

    at = 1
    before = 3
    leave_out = {**TestWriteToArray.leave_out, "program_gradient_equals_eager": UNREAD}


class TestReadFromArray(OpTest):
    at, kind = 1, "int64"

    def setUp(self):
        self.op_type = "read_from_array"
        elements = [rand(2, 3), rand(1, 3), rand(2, 3)]
        self.inputs = {"X": elements, "I": index(self.at, self.kind)}
        self.outputs = {"Out": elements[self.at]}

    leave_out = {
        "empty": "I must hold a number",
        "leaves_inputs_alone": "Out is the element itself; test_reading_shares_storage",
        "program_gradient_equals_eager": UNREAD,
    }

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X[1]", "X[0]"], "Out")


class TestReadByInt32(TestReadFromArray):
    at, kind = 0, "int32"


class TestReadWhatWasNotWritten(OpTest):
    """With X_W a missing element is zeros: the gradient of one that was not used."""

    def setUp(self):
        self.op_type = "read_from_array"
        self.inputs = {"X": [rand(2, 3)], "I": index(4), "X_W": rand(3, 2)}
        self.grad_inputs = ["X[0]"]
        self.outputs = {"Out": np.zeros((3, 2))}

    leave_out = {"empty": "I must hold a number", "program_gradient_equals_eager": UNREAD}

    def test_check_output(self):
        self.check_output()


class TestClearArrayElement(OpTest):
    def setUp(self):
        self.op_type = "clear_array_element"
        self.inputs = {"X": [rand(2, 2), rand(1, 2)], "I": index(5)}
        self.outputs = {"Out": list(self.inputs["X"])}

    leave_out = {"empty": "I must hold a number"}

    def test_check_output(self):
        self.check_output()


class TestLodArrayLength(OpTest):
    def setUp(self):
        self.op_type = "lod_array_length"
        self.may_be_unwritten = {"X"}  # no elements
        self.inputs = {"X": [rand(2, 2), rand(1, 2), rand(3)]}
        self.outputs = {"Out": np.array([3])}
        self.fixed_dtypes = {"Out": "int64"}

    def test_check_output(self):
        self.check_output()


class TestTensorArrayToTensor(OpTest):
    shapes = [(2, 3), (1, 3), (4, 3)]
    attrs = {"axis": 0, "use_stack": False}

    def setUp(self):
        self.op_type = "tensor_array_to_tensor"
        self.inputs = {"X": [rand(*s) for s in self.shapes]}
        self.fixed_dtypes = {"OutIndex": "int32"}

    def reference(self, inputs, attrs):
        arrays = [np.asarray(a[1] if isinstance(a, tuple) else a) for a in inputs["X"]]
        axis = attrs["axis"]
        join = np.stack if attrs["use_stack"] else np.concatenate
        sizes = [a.shape[axis] if axis < a.ndim else 1 for a in arrays]
        return {"Out": join(arrays, axis), "OutIndex": np.array(sizes, "int32")}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X[0]", "X[2]"], "Out")


class TestTensorArrayToTensorAlongTheLastAxis(TestTensorArrayToTensor):
    shapes = [(2, 3, 1), (2, 3, 2), (2, 3, 2)]
    attrs = {"axis": -1, "use_stack": False}


class TestTensorArrayToTensorStacked(TestTensorArrayToTensor):
    shapes = [(2, 3)] * 3
    attrs = {"axis": 1, "use_stack": True}


class TestTensorArrayToTensorScalars(TestTensorArrayToTensor):
    shapes = [()] * 3
    attrs = {"axis": 0, "use_stack": True}


@pytest.mark.parametrize("dtype", NUMBERS)
def test_all_types_move_by_handle(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    v = var(x)
    a = F.write_to_array(v, var(index(1)))
    back = F.read_from_array(a, var(index(1)))
    assert back.dtype == v.dtype and back.numpy().tolist() == x.tolist()
    assert _core.storage_id(back) == _core.storage_id(v)
    joined, sizes = F.tensor_array_to_tensor(array_of(x, x[:1]))
    assert joined.numpy().tolist() == [*x.tolist(), x[0].tolist()] and sizes.tolist() == [2, 1]


def test_bfloat16_moves_too():
    v = var(np.array([1.5, 2.0], "float32")).astype("bfloat16")
    back = F.read_from_array(F.write_to_array(v, var(index(0))), var(index(0)))
    assert str(back.dtype) == "bfloat16" and back.astype("float32").tolist() == [1.5, 2.0]


def test_reading_shares_storage_until_one_is_written():
    x = var([1.0, 2.0])
    a = F.write_to_array(x, var(index(0)))
    y = F.read_from_array(a, var(index(0)))
    assert _core.storage_id(x) == _core.storage_id(y)
    y.fill_(9.0)
    assert x.tolist() == [1.0, 2.0]
    assert F.read_from_array(a, var(index(0))).tolist() == [1.0, 2.0]


def test_an_array_is_a_value():
    """A write gives another array; the one before stays as it was."""
    first = array_of(np.array([1.0]))
    second = F.write_to_array(var([2.0]), var(index(0)), array=first)
    third = F.write_to_array(var([3.0]), var(index(2)), array=first)
    assert [len(a) for a in (first, second, third)] == [1, 1, 3]
    assert F.read_from_array(first, var(index(0))).tolist() == [1.0]
    assert F.read_from_array(second, var(index(0))).tolist() == [2.0]


def test_elements_keep_their_lod():
    x = var(np.ones((3, 1)), lod=[[0, 1, 3]])
    a = F.write_to_array(x, var(index(0)))
    assert F.read_from_array(a, var(index(0))).lod() == [[0, 1, 3]]


def test_gradients_of_several_reads_add_up():
    x, y = var([1.0, 2.0]), var([5.0])
    x.stop_gradient = y.stop_gradient = False
    a = array_of(x, y)
    zero = var(index(0))
    loss = (F.read_from_array(a, zero) * 3).sum() + (F.read_from_array(a, zero) ** 2).sum()
    loss.backward()
    assert x.grad.tolist() == [5.0, 7.0]
    assert y.grad.tolist() == [0.0]


def test_an_overwritten_element_has_no_gradient():
    x, y = var([1.0]), var([2.0])
    x.stop_gradient = y.stop_gradient = False
    a = F.write_to_array(y, var(index(0)), array=F.write_to_array(x, var(index(0))))
    F.read_from_array(a, var(index(0))).backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([0.0], [1.0])


def test_sum_of_arrays_leaves_out_what_is_missing():
    short = array_of(np.array([1.0]))
    other = F.write_to_array(var([10.0]), var(index(2)), array=array_of(np.array([5.0])))
    both = F.sum([short, other])
    assert len(both) == 3
    assert F.read_from_array(both, var(index(0))).tolist() == [6.0]
    assert F.read_from_array(both, var(index(2))).tolist() == [10.0]
    with pytest.raises(dygraph.errors.PreconditionNotMetError, match="element 1 of 3"):
        F.read_from_array(both, var(index(1)))
    with pytest.raises(TypeError, match="arrays where one of them is"):
        F.sum([short, var([1.0])])
    with pytest.raises(ValueError, match="one shape"):
        F.sum([short, array_of(np.array([1.0, 2.0]))])


def test_sum_of_arrays_second_order():
    x = var([2.0, 3.0])
    x.stop_gradient = False
    zero = var(index(0))
    both = F.sum([array_of(x * x), array_of(x)])
    y = F.read_from_array(both, zero)
    (first,) = dygraph.grad([(y * y).sum()], [x], create_graph=True)  # 2 (x^2 + x) (2 x + 1)
    assert first.tolist() == [60.0, 168.0]
    (second,) = dygraph.grad([first.sum()], [x])  # 2 (2 x + 1)^2 + 4 (x^2 + x)
    assert second.tolist() == [74.0, 146.0]


def test_assign_scale_and_zeros_of_arrays():
    x = np.array([1.0, 2.0])
    a = F.write_to_array(var(x), var(index(1)))
    copied, zeros, doubled = F.assign(a), F.fill_zeros_like(a), F.scale(a, 2.0, bias=1.0)
    assert [len(v) for v in (copied, zeros, doubled)] == [2, 2, 2]
    at = var(index(1))
    shared = F.read_from_array(copied, at)
    assert _core.storage_id(shared) == _core.storage_id(F.read_from_array(a, at))
    assert F.read_from_array(zeros, at).tolist() == [0.0, 0.0]
    assert F.read_from_array(doubled, at).tolist() == [3.0, 5.0]
    assert F.read_from_array(a, at).tolist() == x.tolist()


def test_gradients_through_assign_and_scale_of_arrays():
    x = var([1.0, 2.0])
    x.stop_gradient = False
    a = F.scale(F.assign(array_of(x)), 3.0)
    F.read_from_array(a, var(index(0))).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_tensor_array_to_tensor_of_gradients_that_are_missing():
    """Second order where one element alone is used."""
    x, y = var([[1.0, 2.0]]), var([[3.0, 4.0]])
    x.stop_gradient = y.stop_gradient = False
    joined, _ = F.tensor_array_to_tensor(array_of(x, y))
    first = dygraph.grad([(joined**3).sum()], [x], create_graph=True)[0]
    assert first.tolist() == [[3.0, 12.0]]
    (second,) = dygraph.grad([first.sum()], [x])
    assert second.tolist() == [[6.0, 12.0]]


WRONG = [
    (lambda a: F.read_from_array(a, var(index(2))), IndexError, r"I must be in \[0, 2\), got 2"),
    (lambda a: F.read_from_array(a, var(index(-1))), IndexError, r"I must be in \[0, 2\), got -1"),
    (lambda a: F.read_from_array(a, var([0, 1])), ValueError, "one integer, got shape"),
    (lambda a: F.read_from_array(a, var([0.0])), TypeError, "int32 or int64"),
    (lambda a: F.read_from_array(var([1.0]), var(index(0))), TypeError, "must be an array"),
    (lambda a: F.write_to_array(var([1.0]), var(index(-1)), array=a), IndexError, "got -1"),
    (lambda a: F.write_to_array(var([1]), var(index(0)), array=a), TypeError, "type of the array"),
    (
        lambda a: F.write_to_array(a, var(index(0))),
        TypeError,
        "must be a tensor, got a TensorArray",
    ),
    (lambda a: F.clear_array_element(a, var(index(-2))), IndexError, "got -2"),
    (lambda a: F.lod_array_length(var([1.0])), TypeError, "must be an array"),
    (lambda a: F.relu(a), TypeError, "got a TensorArray. Read an element"),
    (lambda a: F.tensor_array_to_tensor(a, axis=3), IndexError, "axis"),
    (lambda a: F.max_sequence_len(a), TypeError, "got a TensorArray"),
]


@pytest.mark.parametrize("call, error, text", WRONG)
def test_wrong_input(call, error, text):
    with pytest.raises(error, match=text):
        call(array_of(np.array([1.0]), np.array([2.0])))


def test_elements_that_were_never_written():
    a = F.write_to_array(var([1.0]), var(index(1)))
    with pytest.raises(RuntimeError, match="nothing has been written to element 0 of 2"):
        F.read_from_array(a, var(index(0)))
    with pytest.raises(RuntimeError, match="nothing has been written to element 0 of 2"):
        F.tensor_array_to_tensor(a)
    with pytest.raises(ValueError, match="one type and one shape"):
        F.tensor_array_to_tensor(array_of(np.ones((1, 2)), np.ones((1, 3))))


def test_an_array_as_python_sees_it():
    x = var([1.0, 2.0])
    x.stop_gradient = False
    a = F.write_to_array(x, var(index(1)))
    assert len(a) == 2
    assert repr(a) == "Variable(TensorArray, length=2, shapes=[nothing, (2,)], dtype=float64)"
    looks = (
        lambda: a.numpy(), lambda: a.shape, lambda: a[0], lambda: a.tolist(), lambda: float(a),
        lambda: a + 1.0, lambda: np.asarray(a), lambda: list(a),
    )  # fmt: skip
    for look in looks:
        with pytest.raises(TypeError, match="TensorArray"):
            look()
    with pytest.raises(TypeError, match="TensorArray"):
        a.backward()
    assert "TensorArray" in a._repr_html_()


def test_the_empty_array_of_a_program():
    """What an array that holds nothing has."""
    a = _core.run_op("clear_array_element", {"X": array_of(np.ones(1)), "I": var(index(0))})["Out"]
    assert F.lod_array_length(a).tolist() == [1]
    with pytest.raises(RuntimeError, match="element 0 of 1"):
        F.read_from_array(a, var(index(0)))
