"""dot, kron, cross, trace, squared_l2_distance, cos_sim, bilinear_tensor_product."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand

ops = _core.ops


def pair(x, y):
    return lambda: {"X": rand(*x), "Y": rand(*y)}


def dot(inputs, attrs):
    return {"Out": np.asarray((inputs["X"] * inputs["Y"]).sum(-1))}


def cross(inputs, attrs):
    x, axis = inputs["X"], attrs.get("dim")
    axis = x.shape.index(3) if axis is None else axis
    return {"Out": np.cross(x, inputs["Y"], axis=axis)}


def trace(inputs, attrs):
    axes = attrs.get("dim1", -2), attrs.get("dim2", -1)
    return {"Out": np.asarray(np.trace(inputs["Input"], attrs.get("offset", 0), *axes))}


def distance(inputs, attrs):
    x, y = inputs["X"], inputs["Y"]
    if y.shape[0] not in (1, x.shape[0]):
        raise ValueError("rows do not fit")
    sub = x - y
    return {
        "sub_result": sub,
        "Out": (sub**2).reshape(len(sub), int(np.prod(sub.shape[1:]))).sum(1, keepdims=True),
    }


def cos_sim(inputs, attrs):
    x, y = inputs["X"], inputs["Y"]
    if y.shape[0] not in (1, x.shape[0]):
        raise ValueError("rows do not fit")
    x, y = (a.reshape(len(a), -1) for a in (x, y))
    xn, yn = (np.linalg.norm(a, axis=1, keepdims=True) for a in (x, y))
    return {"Out": (x * y).sum(1, keepdims=True) / xn / yn, "XNorm": xn, "YNorm": yn}


def bilinear(inputs, attrs):
    out = np.einsum("bm,kmn,bn->bk", inputs["X"], inputs["Weight"], inputs["Y"])
    return {"Out": out + inputs.get("Bias", 0.0)}


CASES = [
    ("dot", "", pair((4,), (4,)), {}, dot),
    ("dot", "Rows", pair((3, 10), (3, 10)), {}, dot),
    ("cross", "", pair((4, 3), (4, 3)), {}, cross),
    ("cross", "First", pair((3, 3), (3, 3)), {}, cross),
    ("cross", "Axis", pair((3, 3, 2), (3, 3, 2)), {"dim": 1}, cross),
    ("cross", "Image", pair((2, 3, 2, 2), (2, 3, 2, 2)), {"dim": 1}, cross),
    ("squared_l2_distance", "", pair((3, 4), (3, 4)), {}, distance),
    ("squared_l2_distance", "OneRow", pair((3, 4), (1, 4)), {}, distance),
    ("squared_l2_distance", "Deep", pair((3, 2, 2), (3, 2, 2)), {}, distance),
    ("cos_sim", "", pair((3, 4), (3, 4)), {}, cos_sim),
    ("cos_sim", "OneRow", pair((3, 4), (1, 4)), {}, cos_sim),
    ("cos_sim", "Deep", pair((3, 2, 2), (3, 2, 2)), {}, cos_sim),
    ("cos_sim", "DeepOneRow", pair((3, 2, 2), (1, 2, 2)), {}, cos_sim),
]
for x, y, suffix in [((2, 3), (3, 2), ""), ((3,), (2, 2), "Lead"), ((2, 1, 2), (2,), "Tail")]:
    CASES.append(("kron", suffix, pair(x, y), {}, lambda i, a: {"Out": np.kron(i["X"], i["Y"])}))
for op, suffix, inputs, attrs, reference in CASES:
    name = class_name(op, suffix)
    moved = {"rows_move": True} if name == "TestCrossFirst" else {}
    globals()[name] = op_case(name, op, inputs, attrs, reference, grad=["X", "Y"], **moved)

for suffix, shape, attrs in [
    ("", (3, 4), {}),
    ("Above", (3, 4), {"offset": 2}),
    ("Below", (2, 4, 3), {"offset": -1}),
    ("Outside", (2, 2), {"offset": 5}),
    ("Axes", (2, 3, 4), {"dim1": 2, "dim2": 0, "offset": 1}),
    ("Image", (2, 3, 2, 3), {"dim1": 1, "dim2": 3}),
]:
    name = class_name("trace", suffix)
    globals()[name] = op_case(
        name, "trace", lambda shape=shape: {"Input": rand(*shape)}, attrs, trace, grad=["Input"]
    )

for suffix, bias in [("", True), ("Plain", False)]:
    name = class_name("bilinear_tensor_product", suffix)
    globals()[name] = op_case(
        name,
        "bilinear_tensor_product",
        lambda bias=bias: {
            "X": rand(3, 2),
            "Y": rand(3, 4),
            "Weight": rand(5, 2, 4),
            **({"Bias": rand(1, 5)} if bias else {}),
        },
        {},
        bilinear,
        grad=["X", "Y", "Weight", *(["Bias"] if bias else [])],
    )


def variable(*shape):
    return _core.to_variable(np.zeros(shape))


def test_integers_wrap():
    big = _core.to_variable(np.array([2**31 - 1, 1], "int32"))
    assert ops.dot(big, _core.to_variable(np.array([1, 1], "int32"))).numpy() == -(2**31)
    assert ops.trace(_core.to_variable(np.arange(9).reshape(3, 3))).numpy() == 12


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ops.dot(variable(2), variable(3)), ValueError, "one shape"),
        (lambda: ops.dot(variable(), variable()), ValueError, "one axis or two"),
        (lambda: ops.cross(variable(2, 2), variable(2, 2)), ValueError, "three elements"),
        (lambda: ops.cross(variable(3, 2), variable(3, 2), dim=1), ValueError, "three elements"),
        (lambda: ops.trace(variable(3)), ValueError, "two axes"),
        (lambda: ops.trace(variable(3, 3), dim1=1, dim2=1), ValueError, "different axes"),
        (lambda: ops.kron(variable(*[1] * 9), variable(2)), ValueError, "at most 8"),
        (lambda: ops.squared_l2_distance(variable(3, 2), variable(2, 2)), ValueError, "rows"),
        (lambda: ops.cos_sim(variable(3, 2), variable(2, 2)), ValueError, "as many rows as X"),
        (
            lambda: ops.bilinear_tensor_product(variable(2, 2), variable(2, 2), variable(1, 2, 3)),
            ValueError,
            "Weight must be",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_products_of_integers_wrap(dtype):
    big = np.iinfo(dtype).max
    x, y = np.array([[big, 2, -3], [1, 0, 5]], dtype), np.array([[2, 1, 4], [-1, 7, 2]], dtype)
    a, b = _core.to_variable(x), _core.to_variable(y)
    with np.errstate(over="ignore"):
        assert np.array_equal(_core.ops.kron(a, b).numpy(), np.kron(x, y))
        assert np.array_equal(_core.ops.cross(a, b, dim=1).numpy(), np.cross(x, y))
