"""Python's floats, and lists of them, have the default float type."""

import numpy as np
import pytest

import dygraph
from dygraph import _core


@pytest.fixture(autouse=True)
def default_type():
    yield
    dygraph.set_default_dtype(None)


def assigned(value):
    with dygraph.guard():
        return dygraph.static.layers.assign(value)


MAKERS = [
    dygraph.to_variable,
    dygraph.Variable,
    dygraph.Parameter,
    assigned,
    lambda v: dygraph.full([2], v) if isinstance(v, float) else dygraph.to_variable(v),
    lambda v: dygraph.where(dygraph.to_variable([True]), v, v),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", ["float32", "float64", "float16"])
def test_floats_take_the_default_type(make, name):
    if name != "float32":
        dygraph.set_default_dtype(name)
    for value in (1.5, [1.5, 2.5], [1, 2.5], [[1.5], [2.5]], (1.5, -0.0)):
        made = make(value)
        assert str(made.dtype) == name
    exact = make([0.1, 0.2]).tolist()
    assert exact == np.array([0.1, 0.2], name).tolist()


def test_an_empty_list_has_the_default_type():
    assert dygraph.to_variable([]).dtype == "float32"
    dygraph.set_default_dtype("float64")
    assert dygraph.to_variable([[], []]).dtype == "float64"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ([1, 2], "int64"),
        (3, "int64"),
        (range(3), "int64"),
        ([True, False], "bool"),
        (np.float64(1.5), "float64"),
        (np.float32(1.5), "float32"),
        (np.array([1.5]), "float64"),
        ([np.float64(1.5), 2.5], "float64"),
        ([np.float16(1.5), 2.5], "float16"),
        ([np.array([1.5, 2.5]), [3.5, 4.5]], "float64"),
        ([np.array([1.5, 2.5], "float32"), [3.5, 4.5]], "float32"),
        ([np.int64(1), 2.5], "float32"),
        ([np.float32(1), np.int64(2)], "float32"),  # as promotion has it, not as NumPy
    ],
)
def test_what_has_a_type_keeps_it(value, name):
    assert dygraph.to_variable(value).dtype == name
    assert dygraph.Variable(value).dtype == name


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16"])
def test_a_list_takes_the_type_of_its_variables(name):
    x = dygraph.to_variable(np.array([0.5, 1.5])).astype(name)
    made = dygraph.to_variable([x, [2.5, 3.5]])
    assert made.dtype == name and made.tolist() == [[0.5, 1.5], [2.5, 3.5]]


@pytest.mark.parametrize("value", [1e300, [1.0, -1e300], [[1e39]]])
def test_a_float_that_does_not_fit_raises(value):
    with pytest.raises(IndexError, match=r"must fit into float32, got .* dtype='float64'"):
        dygraph.to_variable(value)
    with pytest.raises(IndexError, match="must fit into float32"):
        dygraph.to_variable(value, dtype="float32")
    made = dygraph.to_variable(value, dtype="float64")
    assert made.tolist() == np.array(value, "float64").tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: dygraph.full([2], 1e300),
        lambda x: dygraph.full_like(x, -1e300),
        lambda x: dygraph.linspace(0.0, 1e300, 3),
        lambda x: dygraph.arange(0.0, 1e300, 1e299),
        lambda x: dygraph.maximum(x, 1e300),
        lambda x: dygraph.where(x > 0, x, 1e300),
        lambda x: x * 1e300,
        lambda x: 1e300 - x,
        lambda x: x < 1e300,
    ],
)
def test_a_number_that_does_not_fit_raises(call):
    x = dygraph.to_variable([1.0, 2.0])
    with pytest.raises(IndexError, match="must fit into float32.*float64"):
        call(x)
    with dygraph.guard(dtype="float64"):
        call(x.astype("float64"))


def test_infinity_fits():
    x, inf = dygraph.to_variable([1.0, 2.0]), float("inf")
    assert (x * inf).tolist() == dygraph.full([2], inf).tolist() == [inf, inf]
    assert dygraph.full_like(x, -inf).tolist() == [-inf, -inf]
    assert (x < inf).tolist() == [True, True]


def test_the_bounds_of_the_types():
    top = 3.4028234663852886e38  # of float32; half a step more rounds to infinity
    assert dygraph.to_variable([top, -top]).tolist() == [top, -top]
    assert dygraph.to_variable([3.4028235e38]).tolist() == [top]
    for value, name in ((3.4028236e38, "float32"), (65520.0, "float16"), (3.4e38, "bfloat16")):
        with pytest.raises(IndexError, match=f"must fit into {name}"):
            dygraph.to_variable([value], dtype=name)
    assert dygraph.to_variable([65519.0], dtype="float16").tolist() == [65504.0]
    inf = float("inf")
    assert dygraph.to_variable([inf, -inf]).tolist() == [inf, -inf]


@pytest.mark.parametrize("value", [[1j, "a"], [object()], [1.5, "a"], [None, 1.5], [10**300, 1.5]])
def test_other_lists_raise(value):
    with pytest.raises(TypeError):
        dygraph.to_variable(value)


def test_rows_of_several_lengths_raise():
    with pytest.raises(ValueError, match="equal lengths"):
        dygraph.to_variable([[1.0, 2.0], [3.0]])


def test_beside_a_variable_its_type():
    x = dygraph.to_variable(np.array([0.1, 0.7]))
    assert (x == [0.1, 0.2]).tolist() == [True, False]
    with pytest.raises(TypeError, match=r"Convert lists with dygraph.asarray\(\)"):
        dygraph.maximum(x, [0.3, 0.3])
    with pytest.raises(TypeError, match=r"Convert lists with dygraph.asarray\(\)"):
        dygraph.where(x > 0.5, x, [0.1, 0.1])
    x[0] = [0.3]
    assert x.tolist() == [0.3, 0.7]
    x.set_value([0.1, 0.2])
    assert x.tolist() == [0.1, 0.2]
    y = dygraph.to_variable([1.0, 2.0])
    assert (y * 2.5).dtype == (2.5 - y).dtype == "float32"
    with pytest.raises(IndexError, match="must fit into float32"):
        y == [1e300, 1.0]  # noqa: B015


def test_quotients_and_means_of_integers():
    x = dygraph.to_variable([1, 2])
    assert (x / 4).dtype == x.mean().dtype == "float32"
    dygraph.set_default_dtype("float64")
    assert (x / 4).dtype == x.mean().dtype == "float64"
    assert (x / 10).tolist() == [0.1, 0.2]
    assert dygraph.result_type(1, 2.5) == "float64"


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_a_fed_list_takes_the_declared_type(name):
    static = dygraph.static
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [-1], name)
        y = static.layers.scale(x, 2.0)
    (got,) = static.Executor().run(program, feed={"x": [0.1, 0.7]}, fetch_list=[y])
    assert got.dtype == name and got.tolist() == (np.array([0.1, 0.7], name) * 2).tolist()
    with pytest.raises(TypeError):
        static.Executor().run(program, feed={"x": [np.float16(1.5)]}, fetch_list=[y])


def test_constants_in_a_program():
    static = dygraph.static
    program = static.Program()
    with static.program_guard(program):
        made = static.layers.assign([0.5, 1.5])
    assert made.dtype == "float32"


def test_samples_of_a_loader():
    collate = dygraph.io.default_collate
    assert collate([0.1, 0.2]).dtype == "float32"
    dygraph.set_default_dtype("float64")
    assert collate([0.1, 0.2]).tolist() == [0.1, 0.2]
    feeder = dygraph.DataFeeder(feed_list=["x"])
    assert feeder.feed([([0.1, 0.2],)])["x"].tolist() == [[0.1, 0.2]]


def test_a_guard_gives_the_type_too():
    with dygraph.guard(dtype="float64"):
        assert dygraph.to_variable([0.1]).tolist() == [0.1]
    assert _core.cast_floats_to() is None
