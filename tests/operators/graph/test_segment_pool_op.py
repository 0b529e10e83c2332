"""segment_pool, graph_send_recv, graph_send_ue_recv and graph_send_uv: rows of edges, pooled."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case
from op_test import rand

ops = _core.ops
IDS = np.array([2, 0, 2, 2, 4])
SRC, DST = np.array([0, 1, 2, 3, 0, 3]), np.array([1, 1, 1, 0, 3, 1])


def pooled(rows, ids, count, kind):
    out = np.zeros((count, *rows.shape[1:]), rows.dtype)
    pool = {"SUM": np.sum, "MEAN": np.mean, "MAX": np.max, "MIN": np.min}[kind]
    for k in set(ids.reshape(-1).tolist()):
        out[k] = pool(rows[ids.reshape(-1) == k], 0)
    return out


def distinct(*shape):
    """Numbers that differ by more than a numeric difference moves them."""
    return np.random.permutation(int(np.prod(shape))).reshape(shape) * 0.25 - 1.0


def segments(inputs, attrs):
    ids = inputs["SegmentIds"]
    count = int(inputs["Rows"][0]) if "Rows" in inputs else ids.max(initial=-1) + 1
    return {"Out": pooled(inputs["X"], ids, count, attrs.get("pooltype", "SUM"))}


for kind in ("SUM", "MEAN", "MAX", "MIN"):
    for suffix, shape, extra in [
        ("", (5, 3), {}),
        ("Rows", (5, 2, 2), {"Rows": np.array([7])}),
        ("Numbers", (5,), {}),
        ("Image", (5, 2, 2, 2), {}),
    ]:
        name = f"TestSegment{kind.title()}{suffix}"
        globals()[name] = op_case(
            name, "segment_pool",
            lambda shape=shape, extra=extra: {"X": distinct(*shape), "SegmentIds": IDS, **extra},
            {"pooltype": kind}, segments, grad=["X"],
        )  # fmt: skip


def received(inputs, attrs):
    rows = inputs["X"][inputs["Src_index"].reshape(-1)]
    if "Y" in inputs:
        rows = rows * inputs["Y"] if attrs["message_op"] == "MUL" else rows + inputs["Y"]
    count = attrs.get("out_size", [0])[0] or len(inputs["X"])
    count = int(inputs["Out_size"][0]) if "Out_size" in inputs else count
    return {"Out": pooled(rows, inputs["Dst_index"], count, attrs.get("reduce_op", "SUM"))}


for kind in ("SUM", "MEAN", "MAX", "MIN"):
    for suffix, shape, attrs, extra in [
        ("", (4, 3), {}, {}),
        ("More", (4, 2), {"out_size": [6]}, {}),
        ("Asked", (4,), {}, {"Out_size": np.array([5])}),
        ("Image", (4, 2, 2, 2), {}, {}),
    ]:
        name = f"TestSendRecv{kind.title()}{suffix}"
        globals()[name] = op_case(
            name, "graph_send_recv",
            lambda shape=shape, extra=extra: {
                "X": distinct(*shape), "Src_index": SRC, "Dst_index": DST, **extra,
            },
            {"reduce_op": kind, **attrs}, received, grad=["X"],
        )  # fmt: skip
    for suffix, x, y, message in [
        ("Add", (4, 3), (6, 3), "ADD"),
        ("Mul", (4, 3), (6, 1), "MUL"),
        ("MulWide", (4, 1, 3), (6, 2, 1), "MUL"),
    ]:
        name = f"TestSendUeRecv{kind.title()}{suffix}"
        globals()[name] = op_case(
            name, "graph_send_ue_recv",
            lambda x=x, y=y: {
                "X": rand(*x), "Y": rand(*y, low=1, high=2), "Src_index": SRC, "Dst_index": DST,
            },
            {"reduce_op": kind, "message_op": message, "out_size": [5]}, received,
            grad=["X", "Y"],
        )  # fmt: skip


def sent(inputs, attrs):
    x, y = inputs["x"][inputs["src_index"]], inputs["y"][inputs["dst_index"]]
    return {"out": x * y if attrs["message_op"] == "MUL" else x + y}


for suffix, x, y, message in [
    ("Add", (4, 3), (4, 3), "ADD"),
    ("Mul", (4, 3), (5, 1), "MUL"),
    ("MulWide", (4, 1, 2), (4, 3, 1), "MUL"),
    ("AddNumbers", (4,), (4,), "ADD"),
]:
    name = f"TestSendUv{suffix}"
    globals()[name] = op_case(
        name, "graph_send_uv",
        lambda x=x, y=y: {"x": rand(*x), "y": rand(*y), "src_index": SRC, "dst_index": DST},
        {"message_op": message}, sent, grad=["x", "y"], out="out",
    )  # fmt: skip


def var(values, dtype=None):
    return _core.to_variable(np.array(values, dtype))


def test_equal_ones_share_no_gradient_but_get_all():
    x = var([[1.0, 5.0], [2.0, 2.0], [3.0, 5.0], [4.0, 1.0]])
    x.stop_gradient = False
    ops.segment_pool(x, var([0, 0, 0, 2]), pooltype="MAX").sum().backward()
    assert x.gradient().tolist() == [[0, 1], [0, 0], [1, 1], [1, 1]]  # Paddle 2.6.2's


def test_nans_and_integers():
    x = var([1.0, np.nan, 3.0])
    for kind in ("MAX", "MIN", "SUM", "MEAN"):
        out = ops.segment_pool(x, var([0, 0, 1]), pooltype=kind).tolist()
        assert np.isnan(out[0]) and out[1] == 3.0
    x = var([[1, 7], [4, 2]], "int32")
    assert ops.graph_send_recv(x, var([0, 1]), var([0, 0]), reduce_op="MIN").tolist() == [
        [1, 2], [0, 0],
    ]  # fmt: skip
    column = var([[0], [1]])
    assert ops.graph_send_recv(x, column, column).tolist() == x.tolist()


def test_without_edges():
    none, x = var([], "int64"), var(np.ones((2, 3)))
    x.stop_gradient = False
    out = ops.graph_send_recv(x, none, none, out_size=[4])
    assert out.tolist() == np.zeros((4, 3)).tolist()
    out.sum().backward()
    assert x.gradient().tolist() == np.zeros((2, 3)).tolist()
    assert ops.segment_pool(x[:0], none).shape == (0, 3)
    assert ops.segment_pool(x[:0], none, rows=var([2])).tolist() == np.zeros((2, 3)).tolist()


@pytest.mark.parametrize("bad", [-1, 2, 2**62])
def test_edges_outside(bad):
    x, y = var(np.ones((2, 3))), var(np.ones((2, 3)))
    good, wrong = var([0, 1]), var([0, bad])
    for ends in ((good, wrong), (wrong, good)):
        with pytest.raises(IndexError, match="_index must lie in"):
            ops.graph_send_recv(x, *ends)
        with pytest.raises(IndexError, match="_index must lie in"):
            ops.graph_send_ue_recv(x, y, *ends)
        with pytest.raises(IndexError, match="_index must lie in"):
            ops.graph_send_uv(x, y, *ends)
    with pytest.raises(IndexError, match="SegmentIds must lie in"):
        ops.segment_pool(x, wrong, rows=var([2]))
    with pytest.raises(IndexError, match="SegmentIds must lie in"):
        _core.run_op("segment_pool_grad", {"X": x, "SegmentIds": wrong, "Out@GRAD": x,
                                           "Rows": var([2])}, {})  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ops.segment_pool(x, var([-1, 0])), "at least 0, .* got -1 at position 0"),
        (lambda x: ops.segment_pool(x, var([0])), "one number for each of the 2 rows"),
        (lambda x: ops.segment_pool(x, var([0, 1]), rows=var([-1])), "Rows must be at least 0"),
        (lambda x: ops.segment_pool(x, var([0, 1]), pooltype="max"), "pooltype"),
        (lambda x: ops.graph_send_recv(x, var([0]), var([0, 1])), "one number for each edge"),
        (lambda x: ops.graph_send_ue_recv(x, x[0], var([0]), var([0])), "equally many axes"),
        (lambda x: ops.graph_send_ue_recv(x, x, var([0]), var([0])), "row for each of the 1"),
        (lambda x: ops.graph_send_uv(x, x[:, :2], var([0]), var([0])), "equal or 1 axis by axis"),
        (lambda x: ops.graph_send_uv(x, x.astype("float32"), var([0]), var([0])), "type of x"),
    ],
)
def test_errors(call, message):
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        call(var(np.zeros((2, 3))))
