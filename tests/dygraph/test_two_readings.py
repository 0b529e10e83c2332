"""What NumPy, PyTorch and Paddle read in different ways raises, and what to write does it.

The tables of habits have the lines as typed in each library; here are the rules around them.
"""

import numpy as np
import pytest

import dygraph
from dygraph import nn

A = np.array([[4.0, 1.0, 3.0], [2.0, 6.0, 5.0]])


def var(values):
    return dygraph.to_variable(np.array(values))


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_axis_of_a_greatest_element_has_a_name(name):
    x, numpys = var(A), getattr(np, name)
    for function in (getattr(dygraph, name), lambda x, *a, **k: getattr(x, name)(*a, **k)):
        np.testing.assert_array_equal(function(x, axis=1).numpy(), numpys(A, axis=1))
        np.testing.assert_array_equal(function(x, axis=(0, 1)).numpy(), numpys(A))
        assert function(x, axis=0, keepdims=True).shape == (1, 3)
        assert function(x.astype("int32"), axis=-1).tolist() == numpys(A, axis=-1).tolist()
        for wrong in ({"dim": 1}, {"dim": 1, "keepdim": True}):
            with pytest.raises(TypeError, match=rf"x\.arg{name}\(axis=axis\)"):
                function(x, **wrong)
        for places in ((1,), (0, True), (None,)):
            with pytest.raises(TypeError, match=rf"x\.{name}\(axis=axis\)"):
                function(x, *places)
        for wrong in (lambda f: f(x, x), lambda f: f(x, other=x)):
            with pytest.raises(TypeError, match=f"dygraph.{name}imum"):
                wrong(function)


def test_a_correction_of_0_counts_as_given():
    x = var(A)
    for name in ("var", "std"):
        function, expected = getattr(dygraph, name), getattr(np, name)(A, axis=0)
        for got in (
            function(x, 0, correction=0),
            function(x, dim=0, correction=0.0),
            getattr(x, name)(0, correction=0),
            getattr(x, name)(0, unbiased=False),
        ):
            np.testing.assert_allclose(got.numpy(), expected)
        with pytest.raises(ValueError, match="correction=0 or correction=1"):
            function(x, 0)


def test_the_deviation_of_equal_elements():
    x = dygraph.to_variable([[2.0, 2.0], [1.0, 3.0]], requires_grad=True)
    dygraph.std(x, axis=1).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [-0.5, 0.5]]
    half = dygraph.std(var(np.array([1, 3], "float16")))
    assert half.dtype.name == "float16" and half.item() == 1.0
    assert np.isnan(dygraph.std(var([1.0, np.nan])).item())


def test_an_argument_under_two_names():
    x = var(A)
    for name in ("softmax", "log_softmax", "softmin"):
        with pytest.raises(TypeError, match=f"{name}.. got the argument 'axis' twice"):
            getattr(nn.functional, name)(x, axis=0, dim=1)
    with pytest.raises(TypeError, match="tensordot.. got the argument 'axes' twice"):
        dygraph.tensordot(x, x, axes=0, dims=2)


def test_what_stands_in_the_place_of_a_flag():
    x = var(A)
    for call in (
        lambda: dygraph.sum(x, 0, np.float32),
        lambda: x.mean(0, "float64"),
        lambda: dygraph.all(x > 1, 0, np.bool_),
        lambda: dygraph.argmax(x, 1, x),
        lambda: dygraph.argsort(x, 1, "stable"),
        lambda: x.argsort(1, "mergesort"),
    ):
        with pytest.raises(TypeError, match="(keepdims|descending) must be True or False"):
            call()
    assert dygraph.sum(x, 0, True).shape == (1, 3)
    for function in (dygraph.mean, dygraph.max, type(x).mean, dygraph.any):
        with pytest.raises(TypeError, match="unexpected argument 'dtype'"):
            function(x, dtype="float64")
    assert x.astype("float32").sum(dtype="float64").dtype.name == "float64"
    assert dygraph.prod(x.astype("float32"), dtype="float64").dtype.name == "float64"


@pytest.mark.parametrize("correction", [0, 1, 0.5])
@pytest.mark.parametrize("axis", [None, 1, (0, 1)])
def test_a_spread_says_what_divides(axis, correction):
    x = var(A)
    expected = np.var(A, axis=axis, ddof=correction)
    got = dygraph.var(x, axis=axis, correction=correction)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-14)
    got = x.std(axis, correction=correction)
    np.testing.assert_allclose(got.numpy(), np.sqrt(expected), rtol=1e-14)


def test_a_spread_that_does_not_say_what_divides():
    x = var(A)
    np.testing.assert_allclose(dygraph.std(x, axis=0).numpy(), A.std(0))  # the standard's
    np.testing.assert_allclose(dygraph.std(x, 0, unbiased=True).numpy(), A.std(0, ddof=1))
    np.testing.assert_allclose(x.var(dim=0, correction=1).numpy(), A.var(0, ddof=1))
    for call in (
        lambda: dygraph.std(x, 0),
        lambda: dygraph.var(x, dim=0),
        lambda: dygraph.std(x, 0, False),
        lambda: dygraph.std(x, False),
        lambda: x.std(),
        lambda: x.var(0),
    ):
        with pytest.raises(ValueError, match="correction=1"):
            call()
    with pytest.raises(TypeError, match="correction=, keepdims="):
        x.std(0, True, correction=1)


def test_the_middle_of_an_even_number():
    x = var(A)
    assert dygraph.median(x, mode="avg").item() == 3.5
    assert dygraph.median(x, mode="min").item() == 3.0
    assert dygraph.median(x, axis=1).tolist() == [3.0, 5.0]
    assert x.median(axis=0, mode="min").tolist() == [2.0, 1.0, 3.0]
    assert x.median(axis=0, mode="min", keepdims=True).shape == (1, 3)
    whole = var([7, 3, 1, 5]).median(mode="min")
    assert whole.item() == 3 and whole.dtype.name == "int64"
    assert var([True, False]).median(mode="min").item() is False
    hole = var([[1.0, np.nan, 3.0, 4.0], [5.0, 7.0, 6.0, 8.0]])
    for mode, second in (("avg", 6.5), ("min", 6.0)):
        assert np.isnan(dygraph.median(hole, mode=mode).item())
        np.testing.assert_equal(dygraph.median(hole, axis=1, mode=mode).numpy(), [np.nan, second])
    for call in (lambda: dygraph.median(x), lambda: x.median(axis=0)):
        with pytest.raises(ValueError, match="mode='avg' or mode='min'"):
            call()
    for call in (lambda: dygraph.median(x, 1), lambda: x.median(1), lambda: x.median(dim=1)):
        with pytest.raises(TypeError, match="axis=axis"):
            call()
    with pytest.raises(ValueError, match="mode must be one of"):
        dygraph.median(x, mode="max")


def test_parts():
    x = var(np.arange(6))
    assert [p.tolist() for p in dygraph.split(x, num=3)] == [[0, 1], [2, 3], [4, 5]]
    for parts in (
        dygraph.split(x, sizes=[1, 2, -1]),
        x.split([1, 2, 3]),
        x.split(sizes=(1, 2, 3), axis=0),
        dygraph.split(x, num_or_sections=[1, 2, 3]),
    ):
        assert [p.tolist() for p in parts] == [[0], [1, 2], [3, 4, 5]]
    assert [p.shape for p in x.reshape(2, 3).split([1, 2], 1)] == [(2, 1), (2, 2)]
    assert [p.shape for p in x.reshape(2, 3).split(num=3, dim=1)] == [(2, 1)] * 3
    for call in (
        lambda: dygraph.split(x, 2),
        lambda: dygraph.split(x, [2, 4]),
        lambda: dygraph.split(x, 2, 0),
        lambda: dygraph.split(x, num=2, sizes=[3, 3]),
        lambda: dygraph.split(x),
        lambda: x.split(2),
    ):
        with pytest.raises(TypeError, match=r"split\((x, )?num=2\).*split\((x, )?sizes=\[1, 2\]\)"):
            call()


def test_places_of_what_is_not_zero():
    x = var([[0.0, 7.0, 0.0], [8.0, 0.0, 9.0]])
    places = dygraph.nonzero(x)
    assert isinstance(places, tuple) and len(places) == 2
    rows, columns = places
    assert rows.tolist() == [0, 1, 1] and places[1].tolist() == columns.tolist() == [1, 0, 2]
    assert x[places].tolist() == [7.0, 8.0, 9.0]
    assert dygraph.nonzero(x, as_tuple=False).tolist() == [[0, 1], [1, 0], [1, 2]]
    for name in ("shape", "numel", "squeeze", "size", "tolist", "T"):
        with pytest.raises(AttributeError, match=rf"'{name}'.*as_tuple=False"):
            getattr(places, name)
    with pytest.raises(AttributeError, match="no attribute 'shap'"):
        places.shap  # noqa: B018
    with pytest.raises(TypeError, match="as_tuple=False"):
        places[:, 0]
    with pytest.raises(ValueError, match="as_tuple=False one matrix"):
        dygraph.nonzero(x, as_tuple=True)


def test_other_orders():
    x = var(A)
    assert dygraph.sort(x, axis=0).tolist() == np.sort(A, axis=0).tolist()
    assert dygraph.diff(x, axis=0).tolist() == [[-2.0, 5.0, 2.0]]
    assert dygraph.diff(x, n=2).tolist() == np.diff(A, 2).tolist()
    for call, hint in (
        (lambda: dygraph.sort(x, 0), r"dygraph.argsort\(x, axis=axis\)"),
        (lambda: dygraph.sort(x, dim=0), r"dygraph.argsort\(x, axis=axis\)"),
        (lambda: dygraph.diff(x, 1), r"diff\(x, n=2\)"),
    ):
        with pytest.raises(TypeError, match=hint):
            call()
    for name in ("values", "indices"):
        with pytest.raises(AttributeError, match="dygraph.argsort"):
            getattr(x, name)
    with pytest.raises(ValueError, match="indexing='xy'"):
        dygraph.meshgrid(x[0], x[1])
    assert [g.tolist() for g in dygraph.meshgrid(x[0])] == [A[0].tolist()]


def test_a_vector_product_of_a_square():
    x, y = np.arange(9.0).reshape(3, 3), np.eye(3) + 1
    for axis in (0, 1, -1):
        got = dygraph.cross(var(x), var(y), axis=axis)
        np.testing.assert_allclose(got.numpy(), np.cross(x, y, axis=axis))
    np.testing.assert_allclose(
        dygraph.cross(var(x[:2]), var(y[:2])).numpy(), np.cross(x[:2], y[:2])
    )
    for call in (lambda: dygraph.cross(var(x), var(y)), lambda: dygraph.cross(var(x), var(y), 0)):
        with pytest.raises(ValueError, match="axis must be given by name"):
            call()


def test_places_are_no_mask():
    x = var([5.0, 6.0, 7.0])
    assert dygraph.take(x, [0, -1]).tolist() == [5.0, 7.0]
    for mask in (True, [True, False, True], var([True, False, True])):
        with pytest.raises(TypeError, match=r"x\[mask\]"):
            dygraph.take(x, mask)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.SimpleRNN])
def test_a_padded_batch_has_an_order(kind):
    x = dygraph.randn(2, 5, 3)
    first, by_time = kind(3, 4, batch_first=True), kind(3, 4, time_major=True)
    by_time.set_state_dict(first.state_dict())
    out, turned = first(x)[0], by_time(x.swapaxes(0, 1))[0]
    np.testing.assert_allclose(out.numpy(), turned.numpy().swapaxes(0, 1), rtol=1e-6)
    open_order = kind(3, 4)
    rows = dygraph.to_variable(x.numpy().reshape(10, 3), lod=[[0, 5, 10]])
    open_order.set_state_dict(first.state_dict())
    np.testing.assert_allclose(
        open_order(rows)[0].numpy(), out.numpy().reshape(10, 4), rtol=1e-5, atol=1e-6
    )
    with pytest.raises(ValueError, match=r"time_major=False takes \[batch, time, size\]"):
        open_order(x)
