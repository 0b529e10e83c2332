import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest, rand

# 1 has the children 2, 3, 4; 2 has 5, 6; 5 has 7. Numbers of nodes begin with 1.
EDGES = [[1, 2], [1, 3], [1, 4], [2, 5], [2, 6], [5, 7]]


def members(edges, root, max_depth):
    """(node, left, right, top) of a window."""
    yield root, 0.0, 0.0, 1.0
    level = [root]
    for depth in range(1, max_depth):
        below = []
        for parent in level:
            children = [v for u, v in edges if u == parent]
            for i, child in enumerate(children):
                top = 1 - depth / max_depth
                place = i / (len(children) - 1) if len(children) > 1 else 0.5
                left = (1 - top) * place
                yield child, left, (1 - top) * (1 - left), top
                below.append(child)
        level = below


class TestTreeConv(OpTest):
    op_type = "tree_conv"
    attrs = {"max_depth": 3}
    grad_inputs = ["NodesVector", "Filter"]
    leave_out = {"empty": "no trees have no windows"}

    def setUp(self):
        shorter = [[1, 2], [2, 3], *([[0, 0]] * 4)]
        edges = np.array([EDGES, shorter], "int32")
        self.inputs = {"NodesVector": rand(2, 8, 3), "EdgeSet": edges, "Filter": rand(3, 3, 2, 4)}
        nodes, weight = self.inputs["NodesVector"], self.inputs["Filter"]
        out = np.zeros((2, 8, 2, 4))
        for b, tree in enumerate([EDGES, shorter[:2]]):
            for u in range(1, len(tree) + 2):
                for v, *shares in members(tree, u, self.attrs["max_depth"]):
                    mixed = np.einsum("k,fkoc->foc", shares, weight)
                    out[b, u - 1] += np.einsum("f,foc->oc", nodes[b, v - 1], mixed)
        self.outputs = {"Out": out}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["NodesVector", "Filter"], "Out")


class TestShallow(TestTreeConv):
    attrs = {"max_depth": 2}


@pytest.mark.parametrize("edge", [[1, 9], [-1, 2], [3, 2]])
def test_edges_outside_the_tree_are_refused(edge):
    edges = dygraph.to_variable(np.array([[edge]], "int32"))
    with pytest.raises(IndexError, match="EdgeSet must hold nodes in"):
        ops.tree_conv(dygraph.ones([1, 3, 2]), edges, dygraph.ones([2, 3, 1, 1]))


def test_a_ring_ends():
    edges = dygraph.to_variable(np.array([[[1, 2], [2, 1]]], "int32"))
    weight = dygraph.to_variable(np.ones((1, 3, 1, 1)) * [[[0.0]], [[0.0]], [[1.0]]])
    nodes = dygraph.to_variable(np.array([[[1.0], [10.0], [100.0]]]))
    out = ops.tree_conv(nodes, edges, weight, max_depth=4)
    assert out.reshape([3]).tolist() == [8.5, 10.75, 100.0]  # 1 + 3/4 * 10; 10 + 3/4 * 1
