"""Trees of items: children of nodes, and samples of layers."""

import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest

# item, layer, parent, two children
TREE = np.array(
    [[0, 0, 0, 0, 0], [0, 0, 0, 2, 3], [0, 1, 1, 4, 5], [9, 1, 1, 0, 0], [7, 2, 2, 0, 0],
     [0, 2, 2, 0, 0]]
)  # fmt: skip
TRAVEL = np.array([[1, 3, 7], [1, 4, 8], [2, 5, 9], [2, 6, 0]])
LAYER = np.arange(1, 10)[:, None]
OFFSETS = [0, 2, 6, 9]


class TestTdmChild(OpTest):
    op_type = "tdm_child"
    attrs = {"child_nums": 2, "dtype": "int64"}
    fixed_dtypes = {"Child": "int64", "LeafMask": "int64"}

    def setUp(self):
        self.inputs = {"X": np.array([[0, 1, 2], [3, 4, 5]]), "TreeInfo": TREE}
        none = [0, 0]
        self.outputs = {
            "Child": np.array([[none, [2, 3], [4, 5]], [none] * 3]),
            "LeafMask": np.array([[none, [0, 1], [1, 0]], [none] * 3]),
        }

    def test_check_output(self):
        self.check_output()


def test_nodes_outside_the_tree_are_refused():
    tree = dygraph.to_variable(TREE)
    with pytest.raises(IndexError, match="the nodes of TreeInfo"):
        ops.tdm_child(dygraph.to_variable([[6]]), tree, child_nums=2)
    broken = TREE.copy()
    broken[1, 4] = 6
    with pytest.raises(IndexError, match="must hold children in"):
        ops.tdm_child(dygraph.to_variable([[1]]), dygraph.to_variable(broken), child_nums=2)
    with pytest.raises(NotImplementedError, match="kernels for int32, int64 only"):
        ops.tdm_child(dygraph.to_variable([[1]]), tree, child_nums=2, dtype="float32")


def sample(x, **attrs):
    attrs = {"neg_samples_num_list": [1, 2, 2], "layer_offset_lod": OFFSETS, **attrs}
    slots = [dygraph.to_variable(v) for v in (x, TRAVEL, LAYER)]
    return [v.numpy() for v in ops.tdm_sampler(*slots, **attrs)]


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_samples(positive, dtype):
    dygraph.seed(3)
    x = np.tile(np.arange(4), 50)[:, None]
    out, labels, mask = sample(x, output_positive=positive, dtype=dtype)
    assert out.dtype == labels.dtype == mask.dtype == dtype
    seen = set()
    for row, label, kept, leaf in zip(out, labels, mask, x[:, 0], strict=True):
        at = 0
        for layer, count in enumerate([1, 2, 2]):
            width = count + positive
            part, on_way = row[at : at + width], TRAVEL[leaf, layer]
            assert (kept[at : at + width] == (on_way != 0)).all()
            if on_way == 0:
                assert not part.any() and not label[at : at + width].any()
            else:
                assert label[at : at + width].tolist() == [1] * positive + [0] * count
                if positive:
                    assert part[0] == on_way
                others = part[positive:].tolist()
                nodes = set(range(OFFSETS[layer] + 1, OFFSETS[layer + 1] + 1)) - {on_way}
                assert len(set(others)) == count and set(others) <= nodes
                seen.add((leaf, layer, tuple(sorted(others))))
            at += width
        assert at == len(row)
    # all choices occur: 1 and 3 and 1 for each leaf, the last of which has no third layer
    assert len(seen) == 4 * (1 + 3) + 3


def test_a_seed_repeats_the_samples():
    x = np.arange(4)[:, None]
    first, again, other = (sample(x, seed=s)[0].tolist() for s in (5, 5, 6))
    assert first == again != other


def test_samples_must_fit():
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="below the number of the layer"):
        sample([[0]], neg_samples_num_list=[2, 1, 1])
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="layer_offset_lod must hold"):
        sample([[0]], layer_offset_lod=[0, 2, 6])
    with pytest.raises(IndexError, match="the rows of Travel"):
        sample([[4]])
