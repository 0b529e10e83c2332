"""x[index] and x[index] = value on random index expressions, against NumPy.

Gradients are compared with what follows from the element numbers that NumPy finds for the index.
"""

import numpy as np
import pytest

import dygraph
from dygraph import _core
from index_cases import random_index, random_shape


def numbers(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def as_variables(rng, index):
    """Some of the arrays of an index as Variables."""

    def one(item):
        if isinstance(item, np.ndarray) and item.dtype != "int16" and rng.random() < 0.5:
            return dygraph.to_variable(item)
        return item

    return tuple(one(i) for i in index) if isinstance(index, tuple) else one(index)


def expected_read(a, index):
    """(result, None) or (None, error class)."""
    try:
        return np.asarray(a[index]), None
    except IndexError:
        return None, IndexError


def check_read(a, index, given):
    x = dygraph.to_variable(a)
    x.stop_gradient = False
    expected, error = expected_read(a, index)
    if error:
        with pytest.raises(error):
            x[given]
        return False
    got = x[given]
    assert got.shape == expected.shape and np.array_equal(got.numpy(), expected)
    if expected.size:
        seed = numbers(expected.shape, 1)
        (dx,) = dygraph.grad([got], [x], [dygraph.to_variable(seed)])
        want = np.zeros(a.size)
        np.add.at(want, np.arange(a.size).reshape(a.shape)[index], seed)
        np.testing.assert_allclose(dx.numpy(), want.reshape(a.shape), rtol=1e-12)
    return True


def check_write(rng, a, index, given):
    numbered = np.arange(a.size).reshape(a.shape)
    places, error = expected_read(numbered, index)
    base = dygraph.to_variable(a)
    base.stop_gradient = False
    x = base * 1.0
    if error:
        with pytest.raises(error):
            x[given] = 0.0
        return
    shape = tuple(1 if rng.random() < 0.2 else n for n in places.shape)
    shape = shape[int(rng.integers(0, len(shape) + 1)) :] if rng.random() < 0.3 else shape
    if rng.random() < 0.05 and len(shape) == places.ndim > 0:
        shape = (1, *shape)
    value = numbers(shape, 2)
    v = dygraph.to_variable(value)
    v.stop_gradient = False
    want = a.copy()
    try:
        want[index] = value
    except TypeError:  # NumPy does not drop a leading axis of 1 for a single mask
        return
    x[given] = v
    assert np.array_equal(x.numpy(), want)
    if not a.size:
        return
    seed = numbers(a.shape, 3)
    dx, dv = _core.grad([x], [base, v], [dygraph.to_variable(seed)], False, False, True)
    flat = seed.ravel().copy()
    flat[places.ravel()] = 0
    assert np.array_equal(dx.numpy().ravel(), flat)
    # Which element of the value an element of x holds in the end: the last one written.
    sources = np.arange(value.size).reshape(shape)
    sources = np.broadcast_to(sources, np.broadcast_shapes(shape, places.shape))
    winner = {}
    for place, source in zip(places.ravel(), sources.ravel(), strict=True):
        winner[place] = source
    dvalue = np.zeros(value.size)
    for place, source in winner.items():
        dvalue[source] += seed.ravel()[place]
    np.testing.assert_allclose(dv.numpy().ravel(), dvalue, rtol=1e-9, atol=1e-12)


def check_many(seed, count):
    rng = np.random.default_rng(seed)
    read = 0
    for i in range(count):
        shape = random_shape(rng)
        a = numbers(shape, i)
        index = random_index(rng, shape)
        given = as_variables(rng, index)
        try:
            read += check_read(a, index, given)
            check_write(rng, a, index, given)
        except Exception as error:
            error.add_note(f"case {i}: shape {shape}, index {index!r}") if hasattr(
                error, "add_note"
            ) else None
            raise
    return read


@pytest.mark.parametrize("part", range(6))
def test_thousands_of_indices(part):
    assert check_many(part, 1000) > 650  # the others are errors on both sides
