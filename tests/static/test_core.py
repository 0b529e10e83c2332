"""Tensors filled by hand, variables of scopes, and scopes inside scopes."""

import numpy as np
import pytest

import dygraph
import dygraph.static as fluid

core = fluid.core
place = fluid.CPUPlace()


@pytest.fixture(params=["tensor", "variable"])
def tensor(request):
    """What Fluid's users set: a tensor of their own, or that of a variable in a scope."""
    if request.param == "tensor":
        return core.LoDTensor()
    return fluid.Scope().var("x").get_tensor()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool", "uint8"])
def test_set_takes_an_array_as_it_is(tensor, dtype):
    array = (np.arange(6).reshape(3, 2) % 2).astype(dtype)
    kept = array.copy()
    assert tensor.set(array, place) is None
    array[:] = 1 - array  # the tensor has its own values
    got = np.array(tensor)
    assert got.dtype == kept.dtype and (got == kept).all()
    assert tensor.shape == (3, 2) and str(tensor.dtype) == dtype and tensor.lod() == []
    assert np.array(tensor, dtype="float64").dtype == np.float64
    assert np.asarray(tensor).tolist() == kept.tolist() == tensor.numpy().tolist()


def test_levels_of_detail(tensor):
    tensor.set(np.arange(14.0).reshape(14, 1), place)
    tensor.set_lod([[0, 2, 4], [0, 5, 8, 10, 14]])
    assert tensor.lod() == [[0, 2, 4], [0, 5, 8, 10, 14]]
    assert tensor.recursive_sequence_lengths() == [[2, 2], [5, 3, 2, 4]]
    tensor.set_recursive_sequence_lengths([[5, 9]])
    assert tensor.lod() == [[0, 5, 14]] and tensor.has_valid_recursive_sequence_lengths()
    for lod, match in (
        ([[0, 5, 13]], "must end at 14, the number of rows, got 13"),
        ([[0, 5, 3, 14]], "must not fall"),
        ([[1, 14]], "must"),
    ):
        with pytest.raises(ValueError, match=match):
            tensor.set_lod(lod)
        assert tensor.lod() == [[0, 5, 14]]
    with pytest.raises(ValueError, match="must end at 14"):
        tensor.set_recursive_sequence_lengths([[5, 8]])
    with pytest.raises(TypeError, match="offsets of a LoD must be ints, got str"):
        tensor.set_lod("x")
    tensor.set(np.zeros((2, 1)), place)
    assert tensor.lod() == []


def test_nothing_was_set(tensor):
    for ask in (
        lambda: tensor.shape,
        lambda: np.array(tensor),
        lambda: tensor.numpy(),
        lambda: tensor.set_lod([[0, 1]]),
        lambda: tensor.set_recursive_sequence_lengths([[1]]),
    ):
        with pytest.raises(RuntimeError, match="must hold a"):
            ask()
    with pytest.raises((RuntimeError, ValueError), match="filled by set|must hold a value"):
        tensor.has_valid_recursive_sequence_lengths()


@pytest.mark.parametrize(
    "value, error, match",
    [
        ("abc", TypeError, "takes arrays of bool, integers .*got <U3|got str"),
        (np.zeros(2, "uint16"), TypeError, "got uint16"),
        (None, TypeError, "got object|got None"),
    ],
)
def test_what_cannot_be_set(tensor, value, error, match):
    with pytest.raises(error, match=match):
        tensor.set(value, place)


def test_places_are_checked(tensor):
    with pytest.raises((NotImplementedError, IndexError), match=r"CUDAPlace\(100\)"):
        tensor.set(np.zeros(2), fluid.CUDAPlace(100))
    with pytest.raises((TypeError, ValueError), match="place|element type"):
        tensor.set(np.zeros(2), "nowhere")


def test_ragged_rows():
    with pytest.raises(ValueError, match="must have rows of one length"):
        core.Tensor().set([[1], [2, 3]], place)


# In programs --------------------------------------------------------------------------------------


@pytest.fixture
def line():
    """(main, scope, executor, names of weight and loss) after the startup program."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        x = fluid.data("x", [None, 2])
        y = fluid.layers.fc(x, 1, param_attr=fluid.ParamAttr(name="w"), bias_attr=False)
        loss = fluid.layers.mean(y)
        fluid.optimizer.SGD(0.5).minimize(loss)
    scope, executor = fluid.Scope(), fluid.Executor(place)
    executor.run(startup, scope=scope)
    return main, scope, executor, y.name


def test_a_tensor_of_a_scope_is_the_value_now(line):
    main, scope, executor, y = line
    weight = scope.find_var("w").get_tensor()
    weight.set(np.array([[1.0], [2.0]], "float32"), place)
    x = np.array([[1.0, 10.0]], "float32")
    (got,) = executor.run(main, {"x": x}, [y], scope=scope)
    assert got.tolist() == [[21.0]]
    assert np.array(weight).tolist() == [[0.5], [-3.0]]  # less half of x, after the run
    assert scope.find_var("w").get_tensor().shape == (2, 1)
    assert np.array(scope.find_var("w").get()).tolist() == [[0.5], [-3.0]]


def test_a_copy_of_a_scope_s_tensor_stays(line):
    main, scope, executor, y = line
    weight = scope.find_var("w").get_tensor()
    before = np.array(weight)
    kept = before.copy()
    executor.run(main, {"x": np.ones((1, 2), "float32")}, [], scope=scope)
    assert (before == kept).all() and (np.array(weight) != kept).all()
    before[:] = 7  # writable, and not the variable's
    assert (np.array(weight) != 7).all()
    with pytest.raises(ValueError, match="'w' of the scope is copied .* got copy=False"):
        weight.__array__(None, copy=False)


def test_tensors_are_fed(line):
    main, scope, executor, y = line
    scope.find_var("w").get_tensor().set(np.ones((2, 1), "float32"), place)
    test = main.clone(for_test=True)
    mine, theirs = core.Tensor(), fluid.Scope().var("any").get_tensor()
    for tensor in (mine, theirs):
        tensor.set(np.array([[3.0, 4.0]], "float32"), place)
        assert executor.run(test, {"x": tensor}, [y], scope=scope)[0].tolist() == [[7.0]]
    with pytest.raises(ValueError, match="the feed 'x' must hold a value, got an empty one"):
        executor.run(test, {"x": core.Tensor()}, [y], scope=scope)
    with pytest.raises(RuntimeError, match="'any' of the scope must hold a value, got none"):
        executor.run(test, {"x": fluid.Scope().var("any").get_tensor()}, [y], scope=scope)


def test_levels_of_detail_are_fed():
    main = fluid.Program()
    with fluid.program_guard(main):
        x = fluid.data("x", [None, 1], lod_level=1)
        total = fluid.layers.sequence_pool(x, "sum")
    for tensor in (core.LoDTensor(), fluid.Scope().var("x").get_tensor()):
        tensor.set(np.arange(5.0, dtype="float32").reshape(5, 1), place)
        tensor.set_recursive_sequence_lengths([[2, 3]])
        (got,) = fluid.Executor(place).run(main, {"x": tensor}, [total])
        assert got.tolist() == [[1.0], [9.0]]


def test_a_wrong_kind_of_value_is_named():
    scope = fluid.Scope()
    rows = scope.var("rows")
    rows.set(dygraph.selected_rows([1, 1], 5, np.ones((2, 3), "float32")))
    assert rows.shape == (5, 3)  # that of the whole
    for ask in (rows.numpy, rows.lod, lambda: rows.set_lod([[0, 2]])):
        with pytest.raises(TypeError, match="'rows' of the scope must hold a tensor, got Selected"):
            ask()


def test_repr():
    x = fluid.Scope().var("x")
    assert repr(x) == "<variable 'x' of a scope, without a value>" and x.name == "x"
    assert x.is_empty() and x.lod() == [] == x.recursive_sequence_lengths()
    x.set(np.float32([1, 2]))
    assert repr(x).startswith("<variable 'x' of a scope: ") and "[1., 2.]" in repr(x)


# Scopes -------------------------------------------------------------------------------------------


def test_scopes_as_in_the_documents():
    scope = fluid.Scope()
    assert scope.find_var("a") is None
    scope.var("a").get_tensor().set(np.ones(2), place)
    inner = scope.new_scope()
    assert inner.find_var("a").get_tensor().shape == (2,)
    inner.var("b").get_tensor().set(np.zeros(1), place)
    assert scope.find_var("b") is None and len(scope.kids) == 1
    inner.find_var("a").get_tensor().set(np.zeros(3), place)  # the outer one
    assert scope.find_var("a").get_tensor().shape == (3,)
    scope.drop_kids()
    assert scope.kids == [] and inner.find_var("b").get_tensor().shape == (1,)
    with pytest.raises(KeyError, match="hold no variable 'c'"):
        scope.get_var("c")


def test_a_variable_keeps_its_scope():
    tensor = fluid.Scope().var("x").get_tensor()
    tensor.set(np.arange(3), place)
    assert tensor.get_tensor().numpy().tolist() == [0, 1, 2]


def test_the_global_scope():
    mine = fluid.Scope()
    with fluid.scope_guard(mine):
        fluid.global_scope().var("only_here").get_tensor().set(np.ones(1), place)
        assert fluid.executor.global_scope() is mine
    assert mine.find_var("only_here") is not None
    assert fluid.global_scope().find_var("only_here") is None
