"""Indices outside on a device: the kernel goes on with an index that is allowed, and the next call or
wait raises what the host would have raised, with operator, slot, number and bounds."""

import cuda_library
import numpy as np
import pytest

import dygraph
from dygraph import F, _core, to_variable

PLACE = cuda_library.place()
pytestmark = pytest.mark.skipif(PLACE is None, reason="no CUDA library")


@pytest.fixture(autouse=True)
def on_device():
    with cuda_library.on(PLACE):
        yield


def x():
    return to_variable(np.arange(12, dtype="float32").reshape(4, 3))


def ints(*values):
    return to_variable(np.array(values, dtype="int64"))


# what is called, operator and slot, the number, the bounds
CALLS = {
    "gather": (lambda: F.gather(x(), ints(0, 4)), "gather", "Index", 4, "[-4, 4)"),
    "gather below": (lambda: F.gather(x(), ints(-5, 1)), "gather", "Index", -5, "[-4, 4)"),
    "index_select": (
        lambda: F.index_select(x(), ints(3), dim=1),
        "index_select",
        "Index",
        3,
        "[-3, 3)",
    ),
    "gather_nd": (
        lambda: F.gather_nd(x(), to_variable(np.array([[1, 7]]))),
        "gather_nd",
        "Index",
        7,
        "[-3, 3)",
    ),
    "scatter": (
        lambda: F.scatter(x(), ints(9), to_variable(np.ones((1, 3), "float32"))),
        "scatter",
        "Ids",
        9,
        "[-4, 4)",
    ),
    "scatter_nd_add": (
        lambda: F.scatter_nd_add(
            x(), to_variable(np.array([[4]])), to_variable(np.ones((1, 3), "float32"))
        ),
        "scatter_nd_add",
        "Index",
        4,
        "[-4, 4)",
    ),
    "index_put": (
        lambda: F.index_put(x(), [ints(-6)], to_variable(np.ones((1, 3), "float32"))),
        "index_put",
        "indices",
        -6,
        "[-4, 4)",
    ),
    "index_add": (
        lambda: F.index_add(x(), 0, ints(5), to_variable(np.ones((1, 3), "float32"))),
        "index_add",
        "Index",
        5,
        "[-4, 4)",
    ),
    "index_sample": (
        lambda: F.index_sample(x(), to_variable(np.array([[0], [1], [3], [2]]))),
        "index_sample",
        "Index",
        3,
        "[-3, 3)",
    ),
    "take_along_axis": (
        lambda: F.take_along_axis(x(), to_variable(np.array([[0, 1, -9]])), Axis=0),
        "take_along_axis",
        "Index",
        -9,
        "[-4, 4)",
    ),
    "lookup_table_v2": (lambda: F.lookup_table_v2(x(), ints(-1)), "lookup_table_v2", "Ids", -1, "[0, 4)"),
    "one_hot_v2": (lambda: F.one_hot_v2(ints(2, 3), depth=3), "one_hot_v2", "X", 3, "[0, 3)"),
    "shard_index": (
        lambda: F.shard_index(
            to_variable(np.array([[12]])), index_num=12, nshards=2, shard_id=0
        ),
        "shard_index",
        "X",
        12,
        "[0, 12)",
    ),
    "multiplex": (
        lambda: F.multiplex(to_variable(np.array([[0], [1], [2], [0]])), [x(), x()]),
        "multiplex",
        "Ids",
        2,
        "[0, 2)",
    ),
    "gather_tree": (
        lambda: F.gather_tree(
            to_variable(np.zeros((2, 1, 2), "int64")), to_variable(np.full((2, 1, 2), 2))
        ),
        "gather_tree",
        "Parents",
        2,
        "[0, 2)",
    ),
    "graph_send_recv": (
        lambda: F.graph_send_recv(x(), ints(0, 4), ints(1, 1)),
        "graph_send_recv",
        "Src_index",
        4,
        "[0, 4)",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_wait_raises(name):
    call, op, slot, number, bounds = CALLS[name]
    out = call()  # returns: nothing has been looked at
    with pytest.raises(IndexError) as caught:
        out.numpy()
    text = str(caught.value)
    assert op in text and f"{slot} must lie in {bounds}, got {number}" in text
    # once, and the device goes on
    assert F.gather(x(), ints(1)).tolist() == [[3.0, 4.0, 5.0]]


def test_the_next_call_raises():
    F.gather(x(), ints(8))
    with pytest.raises(IndexError, match="Index must lie in"):
        for _ in range(200):  # the device may take its time
            F.relu(x())
        dygraph.cuda.synchronize()
    assert F.relu(x()).tolist() == x().tolist()


def test_the_first_report_counts():
    out = F.gather(x(), ints(6))
    F.gather(x(), ints(7))
    with pytest.raises(IndexError, match="got 6"):
        out.numpy()
        dygraph.cuda.synchronize()
    dygraph.cuda.synchronize()


def test_gradients_report_too():
    w = x()
    w.stop_gradient = False
    with pytest.raises(IndexError, match="Ids must lie in"):
        F.lookup_table_v2(w, ints(1, 4)).sum().backward()
        w.gradient()
    dygraph.cuda.synchronize()


def test_an_empty_table_raises_at_once():
    with pytest.raises(IndexError, match=r"Index must lie in \[0, 0\), got 1 numbers"):
        F.gather(to_variable(np.zeros((0, 3), "float32")), ints(0))


def test_sparse_gradients_read_the_ids():
    w = x()
    w.stop_gradient = False
    before = dygraph.cuda.syncs()
    F.lookup_table_v2(w, ints(2, 0, 2), is_sparse=True).sum().backward()
    assert dygraph.cuda.syncs() == before + 1


def test_the_host_raises_in_the_call():
    with cuda_library.on(_core.CPUPlace()), pytest.raises(IndexError, match="at position 1"):
        F.gather(x(), ints(0, 4))
