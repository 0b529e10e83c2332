"""Python's operators on variables, on either side and in place."""

import operator

import numpy as np
import pytest

import dygraph

INTEGERS = np.array([[7, -7, 6, -1]])
FLOATS = np.array([[7.5, -7.5, 6.0, -0.25]])
ARITHMETIC = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
]  # fmt: skip
IN_PLACE = [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv,
    operator.imod, operator.ipow,
]  # fmt: skip
BITS = [operator.and_, operator.or_, operator.xor]


def var(value, dtype=None):
    return dygraph.to_variable(np.asarray(value, dtype))


@pytest.mark.parametrize("function", ARITHMETIC)
@pytest.mark.parametrize("x", [INTEGERS, FLOATS])
def test_both_sides_take_variables_numbers_and_arrays(function, x):
    two = np.array([[2, -3, 4, -4]], x.dtype)
    # true division of integers gives float32
    tolerance = 1e-6
    np.testing.assert_allclose(function(var(x), var(two)).numpy(), function(x, two), tolerance)
    np.testing.assert_allclose(function(var(x), two).numpy(), function(x, two), tolerance)
    np.testing.assert_allclose(function(x, var(two)).numpy(), function(x, two), tolerance)
    np.testing.assert_allclose(function(var(x), -3).numpy(), function(x, -3), tolerance)
    np.testing.assert_allclose(function(-3, var(x)).numpy(), function(-3, x), tolerance)


def test_powers_on_both_sides():
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose((var(x) ** 3).numpy(), x**3)
    np.testing.assert_allclose((2.0 ** var(x)).numpy(), 2**x)
    np.testing.assert_allclose((var(x) ** var(x)).numpy(), x**x)
    np.testing.assert_allclose((x ** var(x)).numpy(), x**x)


def test_divmod_gives_both():
    quotient, rest = divmod(var(INTEGERS), 4)
    assert quotient.numpy().tolist() == (INTEGERS // 4).tolist()
    assert rest.numpy().tolist() == (INTEGERS % 4).tolist()
    quotient, rest = divmod(10.0, var([3.0, -4.0]))
    assert quotient.numpy().tolist() == [3, -3]
    assert rest.numpy().tolist() == [1, -2]


@pytest.mark.parametrize("function", IN_PLACE)
def test_in_place_forms_write_into_the_variable(function):
    x, y = np.array([1.5, 2.5, 4.0]), np.array([2.0, 3.0, 0.5])
    v = var(x)
    assert function(v, var(y)) is v
    np.testing.assert_allclose(v.numpy(), function(x, y))


def test_steps_over_a_list_of_plain_variables():
    weights, steps = [var([1.0, 2.0]), var([3.0])], [var([0.5, 0.5]), var([1.0])]
    for w, step in zip(weights, steps, strict=True):
        w -= step
    assert [w.tolist() for w in weights] == [[0.5, 1.5], [2.0]]


def test_in_place_forms_are_on_the_tape():
    x = var([2.0, 3.0])
    x.stop_gradient = False
    y = x * 1.0
    alias = y
    y *= x
    y += 1.0
    assert alias.tolist() == [5.0, 10.0]
    alias.sum().backward()
    assert x.gradient().tolist() == [4.0, 6.0]


def test_a_program_binds_the_name_anew_as_fluid_does():
    from dygraph import static

    program = static.Program()
    with static.program_guard(program):
        x = static.layers.data("x", [2])
        y = x
        y += 1.0
    assert y is not x
    feed = {"x": np.array([[1.0, 2.0]], "float32")}
    found = static.Executor(static.CPUPlace()).run(program, feed, fetch_list=[x, y])
    assert [f.tolist() for f in found] == [[[1, 2]], [[2, 3]]]


@pytest.mark.parametrize("function", IN_PLACE)
def test_in_place_forms_write_into_state(function):
    x, y = np.array([1.5, 2.5, 4.0]), np.array([2.0, 3.0, 0.5])
    leaf, buffer, frozen = var(x), var(x), dygraph.Parameter(x)
    leaf.stop_gradient, buffer.persistable, frozen.trainable = False, True, False
    for v in (leaf, buffer, frozen):
        alias = v
        with dygraph.no_grad():
            v = function(v, var(y))
        assert v is alias
        np.testing.assert_allclose(v.numpy(), function(x.copy(), y))
    with pytest.raises(RuntimeError, match="no_grad"):
        function(leaf, 2.0)


def test_in_place_forms_keep_shape_and_type():
    p = dygraph.Parameter(np.array([1.0, 2.0], "float32"), trainable=False)
    with pytest.raises(ValueError, match="must keep the shape"):
        p += var(np.ones((3, 2), "float32"))
    p += var(np.array([0.5, 0.25]))  # float64 is cast, as by NumPy and in x[...] = value
    assert p.dtype == dygraph.float32 and p.numpy().tolist() == [1.5, 2.25]
    for function in IN_PLACE:
        for bad in ("a", [1.0], None):
            with pytest.raises(TypeError):
                function(p, bad)
    count = var(np.array([3]))
    count.persistable = True
    count //= 2
    with pytest.raises(TypeError, match="must keep the type"):
        count /= 2
    count **= 2
    assert count.numpy().tolist() == [1]
    alias = p
    alias @= var(np.eye(2, dtype="float32")) * 2
    assert alias is p and p.numpy().tolist() == [3.0, 4.5]


def test_a_gradient_that_is_scaled_in_place():
    p = dygraph.Parameter([2.0])
    (p * p).backward()
    p.grad *= 0.5
    assert p.gradient().tolist() == [2.0]


@pytest.mark.parametrize("function", BITS)
def test_bits_of_truths_and_integers(function):
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert function(var(a), var(b)).numpy().tolist() == function(a, b).tolist()
    assert function(True, var(b)).numpy().tolist() == function(True, b).tolist()
    x, y = np.array([12, -7, 255]), np.array([10, 3, -1])
    assert function(var(x), var(y)).numpy().tolist() == function(x, y).tolist()
    assert function(var(x), 6).numpy().tolist() == function(x, 6).tolist()
    v = var(x)
    v = function(v, y)
    assert v.numpy().tolist() == function(x, y).tolist()


def test_inverse_sign_size_and_rounding():
    assert (~var([True, False])).numpy().tolist() == [False, True]
    assert (~var([0, 5, -1])).numpy().tolist() == [-1, -6, 0]
    x = var([-1.26, 2.5])
    assert (+x).numpy().tolist() == [-1.26, 2.5]
    assert (-x).numpy().tolist() == [1.26, -2.5]
    assert abs(x).numpy().tolist() == [1.26, 2.5]
    assert round(x).numpy().tolist() == [-1.0, 2.0]
    np.testing.assert_allclose(round(x, 1).numpy(), [-1.3, 2.5])


def test_matrix_products_on_both_sides():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose((var(a) @ b).numpy(), a @ b)
    np.testing.assert_allclose((a @ var(b)).numpy(), a @ b)
    v = var(a)
    v @= var(np.eye(3)[::-1].copy())
    np.testing.assert_allclose(v.numpy(), a[:, ::-1])
    with pytest.raises(ValueError, match="must keep the shape"):
        v @= var(b)


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ValueError, match="divided by zero"):
        var([1, 2]) // 0
    with pytest.raises(ValueError, match="divided by zero"):
        1 % var([0])
    with pytest.raises(TypeError):
        var([1.0]) // "2"
    with pytest.raises((TypeError, NotImplementedError), match="bitwise_and"):
        var([1.0]) & var([2.0])


def test_a_remainder_passes_its_gradient():
    x, y = var([5.5, -5.5]), var([2.0, 2.0])
    x.stop_gradient = y.stop_gradient = False
    (x % y).backward(np.array([1.0, 10.0]))
    assert x.gradient().tolist() == [1, 10]
    assert y.gradient().tolist() == [-2, 30]
