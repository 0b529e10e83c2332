"""matmul, bmm, fc, addmm: matrix products as Fluid's programs write them."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand

ops = _core.ops


def matmul(inputs, attrs):
    """Fluid's rule for vectors: a row on the left, a column on the right, then transposed."""
    x, y = inputs["X"], inputs["Y"]
    a, b = x[None] if x.ndim == 1 else x, y[:, None] if y.ndim == 1 else y
    a = np.swapaxes(a, -1, -2) if attrs.get("transpose_X") else a
    b = np.swapaxes(b, -1, -2) if attrs.get("transpose_Y") else b
    out = attrs.get("alpha", 1.0) * (a @ b)
    if x.ndim == 1 and out.shape[-2] == 1:
        out = out[..., 0, :]
        if y.ndim == 1 and out.shape[-1] == 1:
            out = out[..., 0]
    elif y.ndim == 1 and out.shape[-1] == 1:
        out = out[..., 0]
    return {"Out": out.reshape(1) if out.ndim == 0 else out}


BOTH = {"transpose_X": True, "transpose_Y": True}
for suffix, x, y, attrs in [
    ("", (3, 4), (4, 2), {}),
    ("TransposedX", (4, 3), (4, 2), {"transpose_X": True}),
    ("TransposedY", (3, 4), (2, 4), {"transpose_Y": True, "alpha": 0.5}),
    ("TransposedBoth", (4, 3), (2, 4), {**BOTH, "alpha": -2.0}),
    ("Stack", (2, 3, 4), (2, 4, 2), {}),
    ("StackAndOne", (2, 3, 4), (4, 2), {"alpha": 2.0}),
    ("OneAndStack", (3, 4), (2, 4, 2), {}),
    ("Image", (2, 2, 3, 4), (2, 2, 4, 3), {}),
    ("Vectors", (4,), (4,), {}),
    ("Outer", (3,), (2,), BOTH),
    ("VectorLeft", (4,), (4, 3), {}),
    ("VectorRight", (3, 4), (4,), {}),
    ("VectorStack", (4,), (2, 4, 3), {}),
]:
    name = class_name("matmul", suffix)
    globals()[name] = op_case(
        name,
        "matmul",
        lambda x=x, y=y: {"X": rand(*x), "Y": rand(*y)},
        attrs,
        matmul,
        grad=["X", "Y"],
        leave_out={"empty": "two vectors without elements"} if suffix == "Outer" else {},
    )

TestBmm = op_case(
    "TestBmm",
    "bmm",
    lambda: {"X": rand(2, 3, 4), "Y": rand(2, 4, 2)},
    {},
    lambda inputs, attrs: {"Out": inputs["X"] @ inputs["Y"]},
    grad=["X", "Y"],
)


def fc(inputs, attrs):
    x, w, axes = inputs["Input"], inputs["W"], attrs.get("in_num_col_dims", 1)
    w = w[:-4, :-4] if attrs.get("padding_weights") else w
    out = x.reshape(*x.shape[:axes], w.shape[0]) @ w
    if "Bias" in inputs:
        out = out + inputs["Bias"].reshape(-1)
    return {"Out": np.maximum(out, 0) if attrs.get("activation_type") else out}


TestFc = op_case(
    "TestFc", "fc", lambda: {"Input": rand(3, 4), "W": rand(4, 2), "Bias": rand(2)}, {}, fc
)
TestFcPlain = op_case("TestFcPlain", "fc", lambda: {"Input": rand(3, 4), "W": rand(4, 2)}, {}, fc)
TestFcRelu = op_case(
    "TestFcRelu",
    "fc",
    lambda: {"Input": rand(2, 3, 2, 2), "W": rand(4, 5), "Bias": rand(1, 5)},
    {"in_num_col_dims": 2, "activation_type": "relu"},
    fc,
)
TestFcPadded = op_case(
    "TestFcPadded",
    "fc",
    lambda: {"Input": rand(3, 4), "W": rand(8, 6), "Bias": rand(2)},
    {"padding_weights": True},
    fc,
)


def addmm(inputs, attrs):
    product = inputs["X"] @ inputs["Y"]
    if np.broadcast_shapes(inputs["Input"].shape, product.shape) != product.shape:
        raise ValueError("Input is larger than the product")
    return {"Out": attrs.get("Alpha", 1) * product + attrs.get("Beta", 1) * inputs["Input"]}


for suffix, shape in [("", (3, 2)), ("Row", (2,)), ("Column", (3, 1)), ("Scalar", ())]:
    name = class_name("addmm", suffix)
    globals()[name] = op_case(
        name,
        "addmm",
        lambda shape=shape: {"Input": rand(*shape), "X": rand(3, 4), "Y": rand(4, 2)},
        {"Alpha": 0.5, "Beta": -2.0},
        addmm,
        grad=["Input", "X", "Y"],
    )


def variable(*shape):
    return _core.to_variable(np.zeros(shape))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ops.matmul(variable(2, 3), variable(2, 3)), ValueError, "got 3 and 2"),
        (lambda: ops.matmul(variable(), variable(3)), ValueError, "at least one axis"),
        (
            lambda: ops.matmul(variable(2, 2), variable(2, 2), head_number=2),
            NotImplementedError,
            "head_number",
        ),
        (lambda: ops.bmm(variable(2, 3), variable(3, 2)), ValueError, "three axes"),
        (lambda: ops.bmm(variable(2, 1, 3), variable(3, 3, 1)), ValueError, "equally many"),
        (lambda: ops.fc(variable(2, 3), variable(2, 3)), ValueError, "height of W"),
        (lambda: ops.fc(variable(2, 3), variable(3, 3), bias=variable(2)), ValueError, "Bias must"),
        (lambda: ops.fc(variable(3), variable(3, 3)), ValueError, "more axes than"),
        (
            lambda: ops.addmm(variable(4), variable(2, 3), variable(3, 2)),
            ValueError,
            "Input|broadcast",
        ),
        (lambda: ops.addmm(variable(2), variable(2, 3), variable(2, 2)), ValueError, "3 and 2"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
