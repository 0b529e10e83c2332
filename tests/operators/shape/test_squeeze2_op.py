"""squeeze2, unsqueeze2, flatten2, flatten_contiguous_range, and the forms without XShape."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand

SQUEEZED = [
    ("", (2, 1, 3, 1), {"axes": [1]}, (2, 3, 1)),
    ("All", (1, 2, 1), {}, (2,)),
    ("Last", (2, 1, 3, 1), {"axes": [-1, 1]}, (2, 3)),
    ("Stays", (2, 3), {"axes": [0]}, (2, 3)),
    ("ToScalar", (1, 1), {}, ()),
]
UNSQUEEZED = [
    ("", (2, 3), {"axes": [1]}, (2, 1, 3)),
    ("Order", (2, 3), {"axes": [0, 2]}, (1, 2, 1, 3)),
    ("Last", (2, 3), {"axes": [-1, -1]}, (2, 3, 1, 1)),
    ("Scalar", (), {"axes": [0]}, (1,)),
]
FLATTENED = [
    ("", (2, 3, 4), {"axis": 2}, (6, 4)),
    ("Default", (2, 3, 4), {}, (2, 12)),
    ("Front", (2, 3), {"axis": 0}, (1, 6)),
    ("Back", (2, 3), {"axis": 2}, (6, 1)),
    ("Image", (2, 3, 2, 2), {"axis": 2}, (6, 4)),
]
RANGES = [
    ("", (2, 3, 4), {"start_axis": 0, "stop_axis": 1}, (6, 4)),
    ("One", (2, 3), {}, (2, 3)),
    ("All", (2, 3, 4), {"start_axis": 0, "stop_axis": -1}, (24,)),
    ("Scalar", (), {"start_axis": 0, "stop_axis": -1}, (1,)),
    ("Image", (2, 3, 2, 2), {"start_axis": 1, "stop_axis": 3}, (2, 12)),
]
TABLES = {
    "squeeze2": SQUEEZED,
    "squeeze": SQUEEZED[:2],
    "unsqueeze2": UNSQUEEZED,
    "unsqueeze": UNSQUEEZED[:2],
    "flatten2": FLATTENED,
    "flatten": FLATTENED[:2],
    "flatten_contiguous_range": RANGES,
    "reshape": [("", (2, 6), {"shape": [0, -1, 2]}, (2, 3, 2))],
}
EMPTY = {"empty": "a shape in the table is that of the case's own input"}
TAKEN_FOR_ONE = {"shapes_before_a_run": "an unknown size of a named axis is taken for 1"}
RANK_OF_THE_RUN = {"open_attributes_equal_values": "an axis that a variable names is taken for 1"}

for op, table in TABLES.items():
    shows_x = op.endswith(("2", "range"))
    for suffix, shape, attrs, result in table:
        name = class_name(op, suffix)

        def reference(inputs, attrs, result=result, shows_x=shows_x):
            x = inputs["X"]
            outputs = {"Out": x.reshape(result)}
            if shows_x:
                outputs["XShape"] = np.zeros((0, *x.shape))
            return outputs

        globals()[name] = op_case(
            name,
            op,
            lambda shape=shape: {"X": rand(*shape)},
            attrs,
            reference,
            grad=["X"],
            leave_out={**EMPTY, **TAKEN_FOR_ONE, **RANK_OF_THE_RUN} if suffix == "Stays" else EMPTY,
        )

TestTranspose = op_case(
    "TestTranspose",
    "transpose",
    lambda: {"X": rand(2, 3, 4)},
    {"axis": [2, 0, 1]},
    lambda inputs, attrs: {"Out": inputs["X"].transpose(2, 0, 1)},
    grad=["X"],
)
TestUnsqueeze2Tensor = op_case(
    "TestUnsqueeze2Tensor",
    "unsqueeze2",
    lambda: {"X": rand(3, 2), "AxesTensor": np.array([1, 0], "int32")},
    {"axes": [2]},
    lambda inputs, attrs: {"Out": inputs["X"].reshape(1, inputs["X"].shape[0], 1, 2)},
    grad=["X"],
)
TestUnsqueeze2Tensors = op_case(
    "TestUnsqueeze2Tensors",
    "unsqueeze2",
    lambda: {"X": rand(2, 3), "AxesTensorList": [("a", np.array([-1], "int64"))]},
    {},
    lambda inputs, attrs: {"Out": inputs["X"][..., None]},
    grad=["X"],
)


@pytest.mark.parametrize(
    ("op", "attrs"),
    [("squeeze2", {}), ("unsqueeze", {"axes": [0]}), ("flatten2", {}), ("squeeze", {})],
)
def test_shares_storage_until_written(op, attrs):
    x = _core.to_variable(np.arange(6.0).reshape(1, 2, 3))
    y = getattr(_core.ops, op)(x, **attrs)
    assert _core.storage_id(x) == _core.storage_id(y)
    if op in ("squeeze2", "flatten2"):  # methods of Variable call them: a lost write is refused
        with pytest.raises(RuntimeError, match="does not reach the Variable of shape"):
            y.zero_()
        y = y.clone()
    y.zero_()
    np.testing.assert_array_equal(x.numpy(), np.arange(6.0).reshape(1, 2, 3))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16"])
def test_types(dtype):
    x = np.array([[1, 0]], dtype)
    assert _core.ops.squeeze2(_core.to_variable(x)).numpy().tolist() == x[0].tolist()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: _core.ops.squeeze2(x, axes=[3]), IndexError, "axes"),
        (lambda x: _core.ops.unsqueeze2(x, axes=[4]), IndexError, "axes"),
        (lambda x: _core.ops.unsqueeze2(x, axes=[0] * 20), ValueError, "at most 16"),
        (lambda x: _core.ops.flatten2(x, axis=3), IndexError, "rank of X"),
        (lambda x: _core.ops.flatten_contiguous_range(x, start_axis=2), IndexError, "start_axis"),
        (
            lambda x: _core.ops.flatten_contiguous_range(x, start_axis=1, stop_axis=0),
            ValueError,
            "must not come after",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(_core.to_variable(np.zeros((2, 3))))
