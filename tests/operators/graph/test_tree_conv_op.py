"""tree_conv: against the sum over each node's descendants, by recursion."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case
from op_test import rand

ops = _core.ops
EDGES = np.array(
    [[[1, 2], [1, 3], [1, 4], [3, 5], [5, 6]], [[2, 1], [2, 3], [0, 0], [1, 4], [1, 5]]]
)


def window(edges, root, depth, most, place=0.5):
    """(node, left, right, top) of a node and its descendants."""
    top = 1 - depth / most
    left = (1 - top) * place
    yield root, left, (1 - top) * (1 - left), top
    if depth + 1 < most:
        children = [child for parent, child in edges if parent == root]
        for i, child in enumerate(children):
            own = i / (len(children) - 1) if len(children) > 1 else 0.5
            yield from window(edges, child, depth + 1, most, own)


def weights(inputs, attrs):
    x = inputs["NodesVector"]
    trees, nodes, _ = x.shape
    out = np.zeros((trees, 3, nodes, nodes))
    for b, edges in enumerate(inputs["EdgeSet"].tolist()):
        used = next((i for i, pair in enumerate(edges) if 0 in pair), len(edges))
        for v in range(min(used + 1, nodes)):
            for u, *parts in window(edges[:used], v + 1, 0, attrs.get("max_depth", 2)):
                out[b, :, v, u - 1] += parts
    return {"Out": out}


def tree_conv(inputs, attrs):
    out = np.einsum(
        "bkvu,buf,fkon->bvon", weights(inputs, attrs)["Out"], inputs["NodesVector"],
        inputs["Filter"],
    )  # fmt: skip
    return {"Out": out}


for suffix, nodes, filters, attrs in [
    ("", 6, (3, 3, 2, 1), {}),
    ("Deep", 7, (2, 3, 2, 2), {"max_depth": 4}),
    ("Alone", 6, (2, 3, 1, 1), {"max_depth": 1}),
]:
    name = f"TestTreeConv{suffix}"

    def make(nodes=nodes, filters=filters):
        x = rand(2, nodes, filters[0])
        return {"NodesVector": x, "EdgeSet": EDGES.astype("int32"), "Filter": rand(*filters)}

    globals()[name] = op_case(
        name, "tree_conv", make, attrs, tree_conv, grad=["NodesVector", "Filter"]
    )
TestTreeWeights = op_case(
    "TestTreeWeights", "tree_weights",
    lambda: {"NodesVector": rand(2, 6, 1), "EdgeSet": EDGES}, {"max_depth": 3}, weights,
)  # fmt: skip


def run(x, edges, filters=(2, 3, 1, 1)):
    values = (_core.to_variable(np.asarray(v)) for v in (np.ones(x), edges, np.ones(filters)))
    return ops.tree_conv(*values)


def test_circles_and_no_nodes():
    x = _core.to_variable(np.ones((1, 2, 1)))
    edges = _core.to_variable(np.array([[[1, 2], [2, 1]]]))
    found = ops.tree_weights(x, edges, max_depth=9)
    assert (found.numpy()[0, 2] > 0).all()  # each node once in each window
    assert run((1, 0, 2), np.zeros((1, 0, 2), "int64")).shape == (1, 0, 1, 1)
    assert run((0, 3, 2), np.zeros((0, 1, 2), "int64")).shape == (0, 3, 1, 1)
    assert run((1, 1, 0), [[[0, 0]]], (0, 3, 2, 1)).tolist() == [[[[0], [0]]]]


@pytest.mark.parametrize(
    ("x", "edges", "filters", "message"),
    [
        ((1, 3, 2), [[[1, 4]]], (2, 3, 1, 1), "nodes in .1, 3., and 0 at its end, got 4"),
        ((1, 3, 2), [[[-1, 2]]], (2, 3, 1, 1), "got -1"),
        ((1, 3, 2), [[1, 2]], (2, 3, 1, 1), r"EdgeSet must be \[1, edges, 2\]"),
        ((1, 3, 2), [[[1, 2]]], (2, 2, 1, 1), r"Filter must be \[2, 3, outputs, filters\]"),
        ((3, 2), [[[1, 2]]], (2, 3, 1, 1), "NodesVector must be"),
    ],
)
def test_errors(x, edges, filters, message):
    with pytest.raises((ValueError, IndexError), match=message):
        run(x, edges, filters)
