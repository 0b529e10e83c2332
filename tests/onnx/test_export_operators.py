"""Every operator that `export` writes: in ONNX Runtime it gives the executor's values."""

import collections

import pytest

from dygraph.onnx.exporting import OLDEST, newest, supported
from onnx_export_cases import ELSEWHERE, MORE, PAGE, all_cases, case_of, outcomes, page

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
    "merge_lod_tensor": "ragged parts",
    "multiclass_nms": "polygons",
    "multiclass_nms2": "adapts",
    "multiclass_nms3": ("ragged boxes", "boxes of pixels"),
    "max_pool2d_with_index": "unevenly",
    "put_along_axis": "Reduce mean",
    "read_from_array": "never written",
    "reduce_all": "axes must be constants",
    "reduce_any": "axes must be constants",
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


def said(type, why):
    """Whether it is one of the reasons that this type has."""
    reasons = REFUSED.get(type, ())
    return any(text in why for text in ([reasons] if isinstance(reasons, str) else reasons))


@pytest.fixture(scope="module")
def cases():
    return [*all_cases(), *(case_of(*one) for one in MORE)]


def test_values_of_every_operator(cases):
    passed, failed, refused, nodes = outcomes(cases)
    assert not failed
    assert set(supported()) - set(passed) == ELSEWHERE.keys()
    for type, name, why in refused:
        assert "levels of detail" in why or said(type, why), (type, name, why)
    assert {t for t, _, why in refused if "levels of detail" not in why} == set(REFUSED)
    assert len(passed) >= 370 and sum(passed.values()) >= 1270
    text = page(nodes)
    assert PAGE.read_text(encoding="utf-8") == text, "run tests/onnx_export_cases.py --write"


def test_the_same_with_every_size_open(cases):
    """No size is known, not even those of weights: shapes are computed in the model."""
    passed, failed, refused, _ = outcomes(cases, open_sizes=True)
    assert not failed
    for type, name, why in refused:
        known = "levels of detail" in why or said(type, why)
        assert known or any(text in why for text in OPEN), (type, name, why)
    assert len(passed) >= 345 and sum(passed.values()) >= 1150


# What ONNX Runtime 1.32 has no kernel for.
NO_KERNEL = "RoiAlign(22)", "uantizeLinear(28)"


def some_of_each(cases):
    """Two cases of each operator."""
    counts = collections.Counter()
    for case in cases:
        counts[case.op_type] += 1
        if counts[case.op_type] <= 2:
            yield case


@pytest.mark.parametrize("opset", [OLDEST, newest()])
def test_the_oldest_and_the_newest_opset(cases, opset):
    passed, failed, refused, _ = outcomes(some_of_each(cases), opset=opset)
    assert not [text for text in failed if not any(part in text for part in NO_KERNEL)]
    for type, name, why in refused:
        newer = opset == OLDEST and ("needs opset" in why or "need opset" in why)
        assert newer or "levels of detail" in why or said(type, why), (type, name, why)
    assert len(passed) >= 375
