"""What users of NumPy, PyTorch, Keras and Paddle type first: it means the same here, or raises."""

import numpy as np
import pytest

import dygraph


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
