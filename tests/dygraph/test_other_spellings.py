"""Spellings of other libraries that work here, and messages that say ours.

Whole lines, with the values that the libraries give, are in tests/habits.
"""

import copy
import inspect
import pickle
import re

import numpy as np
import pytest

import dygraph
from dygraph.core import hints, module_hints


def var(value, dtype=None):
    return dygraph.to_variable(np.asarray(value, dtype))


# Tensors are made ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_sizes_stand_alone_or_in_a_list(name):
    make = getattr(dygraph, name)
    for made in (make(3, 4), make([3, 4]), make((3, 4)), make(shape=[3, 4])):
        assert (made.shape, made.dtype) == ((3, 4), dygraph.float32)
    assert make(3).shape == (3,)
    for made in (make(3, 4, dtype="float64"), make(3, 4, "float64"), make([3, 4], "float64")):
        assert (made.shape, made.dtype) == ((3, 4), dygraph.float64)
    with pytest.raises(TypeError, match=rf"{name}\(\[2, 3\], dtype='float32'\)"):
        make([3], 4)
    with pytest.raises(TypeError, match="given once"):
        make(3, "float32", dtype="float64")
    with pytest.raises(TypeError, match="element type such as 'float32', got int 4"):
        make([3], dtype=4)
    with pytest.raises(ValueError, match="at least 0"):
        make(3, -1)


def test_values_of_what_is_made():
    assert dygraph.zeros(1, 2).tolist() == [[0, 0]] and dygraph.ones(1, 2).tolist() == [[1, 1]]
    assert dygraph.empty_like(var([1, 2])).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dygraph.full([2], 1.0, 5), "full: dtype must be an element type"),
        (lambda: dygraph.eye(2, 2, 5), "eye: dtype must be an element type"),
        (lambda: dygraph.linspace(0, 1, 3, 5), "linspace: dtype must be an element type"),
        (lambda: dygraph.uniform(0, 1), "uniform: dtype must be an element type"),
        (lambda: dygraph.randint(3, [2, 2]), r"Write randint\(0, 3, \[2, 2\]\)"),
    ],
)
def test_a_size_is_no_type(call, message):
    with pytest.raises(TypeError, match=message):
        call()


# Variables ----------------------------------------------------------------------------------------


def test_a_list_is_compared_element_by_element():
    x = var([1.0, 0.1], "float32")
    for other in ([1, 2], (1, 2), [1.0, 2.0]):
        assert (x == other).tolist() == [True, False]
        assert (other == x).tolist() == [True, False]
        assert (x != other).tolist() == [False, True]
    assert (x == [1, 0.1]).tolist() == [True, True]  # a float takes the type of the Variable
    assert (var([[1, 2], [3, 4]]) == [1, 4]).tolist() == [[True, False], [False, True]]
    assert (var([1, 2]) == [1.5, 2]).tolist() == [False, True]
    with pytest.raises(ValueError, match="must be equal or 1"):
        _ = x == [1, 2, 3]
    with pytest.raises((TypeError, ValueError)):
        _ = x == ["a", "b"]
    assert (x == None) is False and (x == "a") is False  # noqa: E711


def test_a_variable_of_one_element_is_formatted_as_a_number():
    assert f"{var(0.123456, 'float32'):.4f}" == "0.1235" and f"{var([7]):03d}" == "007"
    assert f"{var([1.0, 2.0])}" == str(var([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"one element, got shape \[2\]"):
        f"{var([1.0, 2.0]):.2f}"


def test_size_is_a_number_and_torchs_call():
    x = var(np.zeros((2, 3)))
    assert x.size == 6 and x.size + 1 == 7 and isinstance(x.size, int) and repr(x.size) == "6"
    assert x.size() == (2, 3) and x.size(-1) == 3
    with pytest.raises(IndexError):
        x.size(2)
    assert type(pickle.loads(pickle.dumps(x.size))) is int and type(copy.deepcopy(x.size)) is int


def test_in_place_names_of_torch():
    x = var([4.0, 8.0])
    kept = x
    x.mul_(2).sub_(2).div_(2).clamp_(max=5)
    assert x is kept and x.tolist() == [3, 5]
    x.requires_grad_()
    y = x * x
    y.retain_grad()
    (y * 3).sum().backward()
    assert x.grad.tolist() == [18, 30] and y.grad.tolist() == [3, 3]
    x.data -= 0.5 * x.grad
    assert x.tolist() == [-6, -10] and not x.stop_gradient
    x.data = np.array([1.0, 2.0])
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("type", "astype"),
        ("repeat", "x.tile"),
        ("gather", "take_along_axis"),
        ("fill", "x.fill_"),
        ("nonzero", "dygraph.nonzero"),
        ("stride", "np.asarray"),
    ],
)
def test_other_names_say_ours(name, fix):
    x = var([1.0])
    assert not hasattr(x, name) and name not in dir(x) and "reshape" in dir(x)
    with pytest.raises(AttributeError, match=f"no attribute '{name}'.*{fix}"):
        getattr(x, name)


@pytest.mark.parametrize("name", ["volatile", "lr", "layout", "names", "device"])
def test_assigning_what_has_no_effect_raises(name):
    with pytest.raises(AttributeError, match=f"'{name}' to assign"):
        setattr(var([1.0]), name, 1)


def test_two_numbers_do_not_transpose_a_matrix():
    x = var([[1, 2], [3, 4]])
    with pytest.raises(ValueError, match=r"x\.T, or x\.transpose\(\[0, 1\]\)"):
        x.transpose(0, 1)
    assert x.transpose([0, 1]).tolist() == [[1, 2], [3, 4]]
    assert x.transpose(1, 0).tolist() == x.T.tolist() == [[1, 3], [2, 4]]


# Numbers beside Variables -------------------------------------------------------------------------


def test_numbers_stand_where_variables_do():
    x = var([-1.0, 2.0], "float32")
    for got, expected in (
        (dygraph.where(x > 0, x, 0.0), [0, 2]),
        (dygraph.where(x > 0, 1, x), [-1, 1]),
        (dygraph.maximum(x, 0.5), [0.5, 2]),
        (dygraph.minimum(0.5, x), [-1, 0.5]),
        (dygraph.where(x > 0, x, np.zeros((2, 1), "float32")), [[0, 2], [0, 2]]),
    ):
        assert got.tolist() == expected and got.dtype == dygraph.float32
    assert dygraph.where(x > 0, 1, 0).dtype == dygraph.int64
    assert dygraph.where(x > 0, x, var([0.0, 0.0], "float64")).dtype == dygraph.float64
    with pytest.raises(TypeError, match="nonzero"):
        dygraph.where(x > 0)
    with pytest.raises(TypeError):
        dygraph.where(x, x, x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.clip(0.5, 2),
        lambda x: dygraph.maximum(x, 1.5),
        lambda x: np.maximum(x, 1.5),
        lambda x: np.where(x > 1, x, 2.5),
        lambda x: np.clip(x, 0.5, 2),
    ],
)
def test_a_fraction_is_not_cut_off_beside_integers(call):
    with pytest.raises(TypeError, match="lose its fraction"):
        call(var([1, 3], "int32"))


# Arguments ----------------------------------------------------------------------------------------


def trained(make, steps=2):
    """The weight after some steps down ``w * w``."""
    w = dygraph.Parameter(np.array([4.0]))
    rule = make([w])
    for _ in range(steps):
        (w * w).backward()
        rule.step()
        rule.clear_gradients()
    return w.item()


@pytest.mark.parametrize(
    "make",
    [
        lambda w: dygraph.optimizer.SGD(0.25, w),
        lambda w: dygraph.optimizer.SGD(np.array(0.25), w),
        lambda w: dygraph.optimizer.SGD(w, 0.25),
        lambda w: dygraph.optimizer.SGD(w, lr=0.25),
        lambda w: dygraph.optimizer.SGD(params=w, lr=0.25),
        lambda w: dygraph.optimizer.SGD(parameters=iter(w), learning_rate=0.25),
        lambda w: dygraph.optimizer.SGD([{"params": w}], lr=0.25),
    ],
)
def test_parameters_and_rate_of_an_optimizer_in_either_order(make):
    assert trained(make) == 1.0  # halved by each step


def test_arguments_of_torchs_optimizers():
    assert trained(lambda w: dygraph.optimizer.SGD(w, lr=0.25, weight_decay=2.0)) == 0.0
    assert trained(lambda w: dygraph.optimizer.Momentum(w, 0.25, momentum=0.5)) == 0.0
    assert dygraph.optimizer.Adam([dygraph.Parameter([1.0])]).get_lr() == 0.001
    net = dygraph.nn.Linear(2, 2)
    assert dygraph.optimizer.Adam(net, lr=0.5).get_lr() == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w: dygraph.optimizer.SGD(w, 0.1, lr=0.1), "learning_rate must be given once"),
        (lambda w: dygraph.optimizer.SGD(0.1, w, params=w), "parameter_list"),
        (lambda w: dygraph.optimizer.Adam(w, 0.1, 0.9), "only the learning rate may be positional"),
        (lambda w: dygraph.optimizer.Lamb(w, weight_decay=0.1), "lamb_weight_decay"),
        (lambda w: dygraph.optimizer.SGD(w, rate=0.1), "unexpected argument 'rate'"),
    ],
)
def test_other_arguments_say_ours(call, message):
    with pytest.raises(TypeError, match=message):
        call([dygraph.Parameter([1.0])])


def test_signatures_stay_what_is_documented():
    names = list(inspect.signature(dygraph.optimizer.Momentum).parameters)
    assert names[:3] == ["learning_rate", "momentum", "parameter_list"]


def test_layers_have_the_default_type():
    dygraph.set_default_dtype("float64")
    try:
        layers = [
            dygraph.nn.Linear(2, 3), dygraph.nn.Conv2D(1, 2, 3), dygraph.nn.BatchNorm(3),
            dygraph.nn.LSTM(2, 3), dygraph.nn.Embedding([4, 2]), dygraph.nn.LayerNorm(3),
            dygraph.nn.PReLU(), dygraph.nn.TransformerEncoderLayer(4, 2, 8),
            dygraph.nn.GroupNorm(4, 2), dygraph.nn.GRUCell(2, 3),
        ]  # fmt: skip
        single = dygraph.nn.Linear(2, 3, dtype="float32")
    finally:
        dygraph.set_default_dtype(None)
    for layer in layers:
        assert {str(p.dtype) for p in layer.parameters()} == {"float64"}, layer
    assert single.weight.dtype == dygraph.nn.Linear(2, 3).weight.dtype == dygraph.float32


# Reductions ---------------------------------------------------------------------------------------

REDUCTIONS = {
    "sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod,
    "all": np.all, "any": np.any,
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), [1], (0, 1, 2)])
def test_functions_and_methods_reduce_as_numpy(name, axis):
    values = np.arange(24.0).reshape(2, 3, 4) % 5
    x = var(values > 1) if name in ("all", "any") else var(values)
    expected = REDUCTIONS[name](x.numpy(), axis=tuple(axis) if isinstance(axis, list) else axis)
    for got in (getattr(dygraph, name)(x, axis=axis), getattr(x, name)(axis=axis)):
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-15)
        assert got.shape == np.shape(expected)
    kept = getattr(dygraph, name)(x, axis=axis, keepdim=True)
    assert kept.ndim == 3 and kept.size == np.size(expected)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_wrong_reductions(name):
    function, x = (
        getattr(dygraph, name),
        var([[True, False]] if name in ("all", "any") else [[1.0]]),
    )
    for axis, error in ((2, IndexError), ((0, 0), ValueError), ([], ValueError), (0.5, TypeError)):
        with pytest.raises(error, match="axis"):
            function(x, axis=axis)
    with pytest.raises(TypeError, match=f"{name}: x must be a Variable, got list"):
        function([x, x])
    with pytest.raises(ValueError, match="each axis once"):
        getattr(dygraph.ops, f"reduce_{name}")(x, dim=[0, -2])


def test_import_star_leaves_pythons_functions():
    names = {}
    exec("from dygraph import *", names)
    assert not {"sum", "max", "min", "any", "all"} & names.keys() and "mean" in names
    assert {"sum", "max", "min", "any", "all"} <= set(dir(dygraph))


# Hints --------------------------------------------------------------------------------------------


def test_hints_name_what_exists():
    names = {**vars(hints), **vars(module_hints)}
    tables = [value for name, value in names.items() if name.startswith(("OF_", "HINTS"))]
    assert len(tables) >= 11
    for table in tables:
        for name, fix in table.items():
            for path in re.findall(r"(?<![\w.])dygraph((?:\.[A-Za-z_]\w*)+)", fix):
                found = dygraph
                for part in path[1:].split("."):
                    found = getattr(found, part)  # AttributeError: the hint is wrong
            for layer in re.findall(r"(?<![\w.])nn\.([A-Z]\w*)", fix):
                assert hasattr(dygraph.nn, layer), (name, fix)
            for method in re.findall(r"(?<![\w.])x\.([a-z_]\w*)", fix):
                assert hasattr(dygraph.zeros(1), method), (name, fix)


def test_the_standard_s_keepdims_stands_for_our_keepdim():
    x = dygraph.to_variable([[3.0, 4.0], [6.0, 8.0]])
    assert dygraph.ops.norm(x, axis=1, keepdims=True).tolist() == [[5.0], [10.0]]
