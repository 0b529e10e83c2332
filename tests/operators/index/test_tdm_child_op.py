"""tdm_child: the children of a tree's nodes, and which of them are items."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case

# The tree of Paddle's documentation: item, layer, parent, two children.
TREE = np.array(
    [[0, 0, 0, 1, 2], [0, 1, 0, 3, 4], [0, 1, 0, 5, 6], [0, 2, 1, 7, 8], [1, 2, 1, 9, 10],
     [2, 2, 2, 11, 12], [3, 2, 2, 0, 0], [4, 3, 3, 0, 0], [5, 3, 3, 0, 0], [0, 3, 4, 0, 0],
     [6, 3, 4, 0, 0], [7, 3, 5, 0, 0], [0, 3, 5, 0, 0]]
)  # fmt: skip


def children(inputs, attrs):
    x, tree = inputs["X"], inputs["TreeInfo"]
    child = tree[x, 3:]
    child = np.where((x == 0)[..., None] | (child[..., :1] == 0), 0, child)
    return {"Child": child, "LeafMask": (tree[child, 0] != 0) & (child != 0)}


for suffix, x, dtype in [
    ("", np.array([[1], [2], [3], [4]]), "int32"),
    ("Int64", np.array([0, 5, 6, 12]), "int64"),
    ("Two", np.array([[1, 4], [0, 7]], "int32"), "int32"),
]:
    name = f"TestTdmChild{suffix}"
    globals()[name] = op_case(
        name, "tdm_child", lambda x=x: {"X": x, "TreeInfo": TREE.astype("int32")},
        {"child_nums": 2, "dtype": dtype}, children,
        fixed_dtypes=dict.fromkeys(("Child", "LeafMask"), dtype),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("x", "tree", "attrs", "message"),
    [
        ([13], TREE, {"child_nums": 2}, "X must be nodes in .0, 13., got 13 at position 0"),
        ([-1], TREE, {"child_nums": 2}, "got -1"),
        ([1], [[0, 0, 0, 1], [0, 0, 0, 2]], {"child_nums": 1}, "children in TreeInfo .* got 2"),
        ([1], TREE, {"child_nums": 3}, r"TreeInfo must be \[nodes, 6\]"),
        ([1], TREE, {}, "child_nums must be at least 1"),
    ],
)
def test_errors(x, tree, attrs, message):
    x, tree = (_core.to_variable(np.array(v)) for v in (x, tree))
    with pytest.raises((ValueError, IndexError), match=message):
        _core.ops.tdm_child(x, tree, **attrs)
