"""Every operator that `export` writes: in ONNX Runtime it gives the executor's values."""

import collections

import numpy as np
import pytest

from dygraph.errors import UnimplementedError
from dygraph.onnx.exporting import supported
from onnx_export_cases import Recorded, all_cases, case_of

# Why a case of an operator that is written is refused, beside two levels of detail.
REFUSED = {
    "batch_norm": "the batch's statistics",
    "concat": "axis must be a constant",
    "data_norm": "slot_dim",
    "fc": "padded",
    "frame": "complex",
    "gather": "axis must be a constant",
    "histogram": "bounds from X",
    "im2sequence": "real sizes of images",
    "lod_reset": "second level",
    "matrix_power": "inverse",
    "max_pool2d_with_index": "unevenly",
    "put_along_axis": "Reduce mean",
    "read_from_array": "never written",
    "reduce_all": "axes must be constants",
    "reduce_any": "axes must be constants",
    "sequence_context": "rows beyond the ends",
    "sequence_conv": "rows beyond the ends",
    "split": "axis must be a constant",
    "tensor_array_to_tensor": "must hold a value",
    "unique_consecutive": "along an axis",
    "unsqueeze2": "axes must be constants",
}
# Parts of the reasons where no size of the program is known.
OPEN = (
    "open", "known size", "must be known", "must be constants", "must be a constant", "unevenly",
    "an Index of no numbers",
)  # fmt: skip
# No output, and an output that holds nothing in test mode.
NOT_RUN = {
    ("assert", "TestAssert"),
    ("fake_channel_wise_quantize_abs_max", "TestChannels"),
    ("fake_channel_wise_quantize_abs_max", "TestRows"),
    ("fake_quantize_range_abs_max", "TestRange"),
}
# Blocks of a program: test_export_control.py.
ELSEWHERE = {
    "conditional_block", "conditional_block_infer", "recurrent", "while", "assert", "delete_var",
    "select_output", "fake_quantize_range_abs_max", "tensor_array_to_tensor",
}  # fmt: skip

X = np.array([[-2.5, -0.5, 0.0, 0.4], [0.5, 1.5, 2.5, -1.4]])
MORE = [
    *((type, {"X": X}, {}) for type in ("ceil", "floor", "round", "sign", "trunc")),
    ("clip_by_norm", {"X": X}, {"max_norm": 1.0}),
    ("clip_by_norm", {"X": X}, {"max_norm": 100.0}),
    (
        "check_finite_and_unscale",
        {"X": [("a", X), ("b", np.full_like(X, np.inf))], "Scale": np.array([4.0])},
        {},
    ),
    ("eye", {}, {"num_rows": 2, "num_columns": 3}),
    ("assign_value", {}, {"shape": [2], "dtype": 3, "int64_values": [4, -5]}),
    ("fill", {}, {"shape": [2, 1], "value": [1.5, 2.0]}),
    ("linspace", {"Start": np.array([1.0]), "Stop": np.array([2.0]), "Num": np.array([5])}, {}),
    ("range", {s: np.array([n]) for s, n in (("Start", 7), ("End", 0), ("Step", -3))}, {}),
    ("matrix_is_tall", {"X": X}, {}),
    ("tril_indices", {}, {"rows": 3, "cols": 4, "offset": 1}),
    ("triu_indices", {}, {"row": 3, "col": 4, "offset": -1}),
    ("fake_channel_wise_quantize_abs_max", {"X": X, "InScale": abs(X).max(1)}, {"is_test": True}),
]


def outcomes(cases, open_sizes=False):
    """(operators whose cases pass, failures, [(type, name, why)] of those refused)."""
    known, passed, failed, refused = set(supported()), collections.Counter(), [], []
    for case in cases:
        name = type(case).__name__
        if case.op_type not in known or (case.op_type, name) in NOT_RUN:
            continue
        try:
            difference = Recorded(case, open_sizes).difference()
        except UnimplementedError as error:
            refused.append((case.op_type, name, str(error)))
            continue
        except Exception as error:  # all failures are listed at once
            difference = f"{type(error).__name__} {error}"
        if difference:
            failed.append(f"{case.op_type} {name}: {difference}")
        else:
            passed[case.op_type] += 1
    return passed, failed, refused


@pytest.fixture(scope="module")
def cases():
    return [*all_cases(), *(case_of(*one) for one in MORE)]


def test_values_of_every_operator(cases):
    passed, failed, refused = outcomes(cases)
    assert not failed
    assert set(supported()) - set(passed) == ELSEWHERE
    for type, name, why in refused:
        assert "levels of detail" in why or REFUSED[type] in why, (type, name, why)
    assert {t for t, _, why in refused if "levels of detail" not in why} == set(REFUSED)
    assert len(passed) >= 370 and sum(passed.values()) >= 1270


def test_the_same_with_every_size_open(cases):
    """No size is known, not even those of weights: shapes are computed in the model."""
    passed, failed, refused = outcomes(cases, open_sizes=True)
    assert not failed
    for type, name, why in refused:
        known = "levels of detail" in why or REFUSED.get(type, "-") in why
        assert known or any(text in why for text in OPEN), (type, name, why)
    assert len(passed) >= 345 and sum(passed.values()) >= 1150
