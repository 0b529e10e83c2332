"""Arrays and rank tables that a script fills and reads by hand, and programs that use them."""

import numpy as np
import pytest

import dygraph
import dygraph.static as fluid
from dygraph.static import layers

core = fluid.core
place = fluid.CPUPlace()


def tensor(array, lod=None):
    made = core.LoDTensor()
    made.set(np.array(array, "float32"), place)
    if lod is not None:
        made.set_lod(lod)
    return made


def ints(value):
    return layers.fill_constant([1], "int64", value)


@pytest.fixture(params=["alone", "in a scope"])
def array(request):
    """What Fluid's users fill: an array of their own, or that of a variable in a scope."""
    if request.param == "alone":
        return core.LoDTensorArray()
    return fluid.Scope().var("array").get_lod_tensor_array()


def test_an_array_as_fluid_has_it(array):
    """After test_lod_tensor_array.py of Fluid."""
    assert isinstance(array, core.LoDTensorArray) and len(array) == 0
    for i in range(10):
        array.append(tensor([i], lod=[[0, 1]]))
    assert len(array) == 10
    for i in range(10):
        assert np.array(array[i]).tolist() == [i] and array[i].lod() == [[0, 1]]
        array[i] = tensor([i + 10, i], lod=[[0, 2]])
        assert np.array(array[i]).tolist() == [i + 10, i]
        assert array[i].lod() == [[0, 2]] and array[i].shape == (2,)
    assert fluid.LoDTensorArray is core.LoDTensorArray


def test_it_is_read_as_a_list(array):
    for value in ([1, 2], [3], []):
        array.append(np.array(value, "float32"))
    assert [element.numpy().tolist() for element in array] == [[1, 2], [3], []]
    assert np.array(array[-2]).tolist() == [3]
    for i in (3, -4):
        with pytest.raises(IndexError, match=rf"'array' must be in \[-3, 3\), got {i}"):
            array[i]
        with pytest.raises(IndexError):
            array[i] = np.zeros(1, "float32")
    assert "length=3" in repr(array) and "(1,)" in repr(array)


def test_elements_are_those_of_the_array(array):
    """What is set by an element is in the array; what was put in or taken out is its own."""
    mine = tensor([1, 2])
    array.append(mine)
    array.append(mine)
    first = array[0].get_tensor()
    first.set(np.array([5, 6, 7], "float32"), place)
    first.set_recursive_sequence_lengths([[1, 2]])
    assert array[0].lod() == [[0, 1, 3]] and array[0].recursive_sequence_lengths() == [[1, 2]]
    assert np.array(array[0]).tolist() == [5, 6, 7]
    assert np.array(array[1]).tolist() == [1, 2] == np.array(mine).tolist()
    copy = np.array(array[1])
    copy[:] = 0
    taken = array[1].get()
    array[1] = np.array([9], "float32")
    assert taken.tolist() == [1, 2] and np.array(array[1]).tolist() == [9]
    assert array[1].name == "array[1]"


@pytest.mark.parametrize(
    "value, error, text",
    [
        (np.zeros(2), TypeError, "must have one type, float32, got float64.*astype"),
        (core.LoDTensor(), RuntimeError, "must hold a Tensor, but nothing has been written"),
        ("abc", TypeError, "takes arrays of bool, integers .*got <U3"),
        (None, TypeError, "got object"),
    ],
)
def test_what_no_array_takes(array, value, error, text):
    array.append(tensor([1]))
    array.append(tensor([2]))
    for give in (array.append, array[0].set, lambda v: array.__setitem__(1, v)):
        with pytest.raises(error, match=text):
            give(value)
    assert [np.array(element).tolist() for element in array] == [[1], [2]]


def test_the_type_of_a_lone_element_may_change(array):
    array.append(tensor([1]))
    array[0].set(np.array([1, 2]), place)
    array.append(np.array([3]))
    assert [str(element.dtype) for element in array] == ["int64", "int64"]


def test_other_kinds_are_named():
    scope = fluid.Scope()
    scope.var("x").set(np.zeros(2))
    scope.var("array").get_lod_tensor_array().append(np.zeros(2))
    with pytest.raises(TypeError, match="'x' of the scope must hold an array, got Tensor"):
        scope.var("x").get_lod_tensor_array()
    with pytest.raises(TypeError, match="must hold a tensor, got TensorArray.*get_lod_tensor_arr"):
        scope.var("array").numpy()
    element = scope.var("array").get_lod_tensor_array()[0]
    with pytest.raises(TypeError, match=r"'array\[0\]' must be a variable"):
        element.get_lod_tensor_array()
    with pytest.raises(TypeError, match=r"share: 'array\[0\]' must be a variable"):
        element.share(dygraph.ones([2]))
    scope.var("array").set(np.zeros(3))
    with pytest.raises(TypeError, match="must hold a"):
        element.numpy()
    scope.var("array").set(core.LoDTensorArray())
    with pytest.raises(IndexError, match=r"must still hold 'array\[0\]', but has only 0 elements"):
        element.numpy()


def test_a_variable_of_a_program_has_no_value_to_take(array):
    with fluid.program_guard(fluid.Program()):
        x = fluid.data("x", [2])
    for give in (array.append, fluid.Scope().var("x").set):
        with pytest.raises(TypeError, match="got a variable of a program"):
            give(x)


# In programs --------------------------------------------------------------------------------------


def test_a_program_reads_what_a_script_wrote_and_the_reverse():
    main, scope, executor = fluid.Program(), fluid.Scope(), fluid.Executor(place)
    with fluid.program_guard(main):
        held = layers.create_array("float32")
        held.persistable = True
        count = layers.array_length(held)
        twice = layers.array_read(held, ints(1)) * 2.0
        layers.array_write(twice, ints(3), held)
    array = scope.var(held.name).get_lod_tensor_array()
    array.append(tensor([1]))
    array.append(tensor([2, 3]))
    got = executor.run(main, fetch_list=[count, twice], scope=scope)
    assert got[0].tolist() == [2] and got[1].tolist() == [4, 6]
    assert len(array) == 4 and np.array(array[3]).tolist() == [4, 6]
    assert array[2].is_empty() and array[2].lod() == []
    with pytest.raises(RuntimeError, match=r"'array_0.out\[2\]' of the scope must hold a value"):
        array[2].numpy()
    array[1].set(np.array([10], "float32"), place)
    got = executor.run(main, fetch_list=[count, twice], scope=scope)
    assert got[0].tolist() == [4] and got[1].tolist() == [20]


def test_fetched_arrays_are_lists():
    main = fluid.Program()
    with fluid.program_guard(main):
        x = fluid.data("x", [2])
        held = layers.array_write(x, ints(0))
        layers.array_write(x * 3.0, ints(2), held)
    feed = {"x": np.array([1, 2], "float32")}
    got, again = fluid.Executor().run(main, feed, [held, x])
    assert [None if g is None else g.tolist() for g in got] == [[1, 2], None, [3, 6]]
    assert isinstance(got[0], np.ndarray) and again.tolist() == [1, 2]
    (got,) = fluid.Executor().run(main, feed, [held], return_numpy=False)
    assert got[1] is None and isinstance(got[2], dygraph.Variable) and got[2].tolist() == [3, 6]


def test_gradients_flow_through_an_array():
    """The loss is sum((2x)^2) + sum(3x); arrays of gradients are read like others."""
    main = fluid.Program()
    with fluid.program_guard(main):
        x = fluid.data("x", [2])
        x.stop_gradient = False
        held = layers.array_write(x * 2.0, ints(0))
        layers.array_write(x * 3.0, ints(1), held)
        first = layers.array_read(held, ints(0))
        loss = layers.reduce_sum(first * first + layers.array_read(held, ints(1)))
        fluid.append_backward(loss)
    (got,) = fluid.Executor().run(main, {"x": np.array([1, 2], "float32")}, ["x@GRAD"])
    assert got.tolist() == [2 * 4 * 1 + 3, 2 * 4 * 2 + 3]


def test_gradients_of_an_array_that_a_script_filled():
    """The loss is sum(a[0]^2) + sum(3 a[2]); a[1] is not read."""
    main, scope = fluid.Program(), fluid.Scope()
    with fluid.program_guard(main):
        held = layers.create_array("float32")
        held.persistable, held.stop_gradient = True, False
        first, last = layers.array_read(held, ints(0)), layers.array_read(held, ints(2))
        loss = layers.reduce_sum(first * first) + layers.reduce_sum(last * 3.0)
        (gradient,) = fluid.gradients(loss, held)
        gradient.persistable = True
    array = scope.var(held.name).get_lod_tensor_array()
    for value in ([1, 2], [5], [3]):
        array.append(tensor(value))
    got, total = fluid.Executor().run(main, fetch_list=[gradient, loss], scope=scope)
    assert [None if g is None else g.tolist() for g in got] == [[2, 4], None, [3]]
    assert total.item() == 1 + 4 + 9
    found = scope.find_var(gradient.name).get_lod_tensor_array()
    assert np.array(found[0]).tolist() == [2, 4] and found[1].is_empty()


def test_steps_of_sequences_in_a_scope():
    """After test_lod_tensor_array_ops.py of Fluid: sequences of 3, 6 and 1 rows."""
    main, scope = fluid.Program(), fluid.Scope()
    with fluid.program_guard(main):
        x = fluid.data("x", [None, 1], lod_level=1)
        table = layers.lod_rank_table(x)
        steps = layers.lod_tensor_to_array(x, table)
        table.persistable = steps.persistable = True
    rows = np.arange(10, dtype="float32").reshape(10, 1)
    feed = {"x": dygraph.to_variable(rows, lod=[[0, 3, 9, 10]])}
    fluid.Executor(place).run(main, feed, scope=scope)
    array = scope.find_var(steps.name).get_lod_tensor_array()
    wanted = [[3, 0, 9], [4, 1], [5, 2], [6], [7], [8]]
    assert [np.array(step).ravel().tolist() for step in array] == wanted
    ranks = scope.find_var(table.name).get_lod_rank_table()
    assert ranks.items() == [(1, 6), (0, 3), (2, 1)]
    with pytest.raises(TypeError, match="must hold a LoDRankTable, got TensorArray"):
        scope.find_var(steps.name).get_lod_rank_table().items()


def test_an_array_is_not_a_tensor_to_be_fed():
    main, array = fluid.Program(), core.LoDTensorArray()
    array.append(tensor([1, 2]))
    with fluid.program_guard(main):
        x = fluid.data("x", [1, 2])
        y = x + 1.0
    with pytest.raises(TypeError, match="got TensorArray"):
        fluid.Executor().run(main, {"x": array}, [y])


def test_ten_thousand_elements_take_no_copies_of_the_others():
    array = core.LoDTensorArray()
    one = tensor([1])
    for _ in range(10_000):
        array.append(one)
    assert len(array) == 10_000 and np.array(array[9_999]).tolist() == [1]
