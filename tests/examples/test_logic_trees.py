"""The recursive network over trees, as a newcomer runs it; its gradients beside differences."""

import numpy as np
import pytest

import dygraph
from example_run import ROOT, number_after, run

TREES = [  # with what they are
    (True, True),
    (("not", True), False),
    (("and", True, ("or", False, True)), True),
    (("not", ("and", True, ("or", False, True))), False),
    (("xor", ("not", ("not", True)), ("and", ("xor", True, False), ("not", False))), False),
]


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import logic_trees

    return logic_trees


@pytest.mark.slow
def test_logic_trees_reach_their_score():
    said = run("logic_trees")
    assert number_after(said, "right") >= 0.9
    assert number_after(said, "loss") > 0.4  # at first
    assert number_after(said, "at first,") < 0.02


def test_the_truth_and_the_words(example):
    assert [example.truth(tree) for tree, _ in TREES] == [wanted for _, wanted in TREES]
    assert example.text(TREES[3][0]) == "not (true and (false or true))"


def by_hand(network, tree):
    """The vector of a tree, of NumPy."""
    if isinstance(tree, bool):
        return network.leaf.weight.numpy()[int(tree)]
    layer = network.inner[tree[0]]
    parts = np.concatenate([by_hand(network, part) for part in tree[1:]])
    return np.tanh(parts @ layer.weight.numpy() + layer.bias.numpy())


def test_the_network_beside_numpy_and_its_gradients_beside_differences(example):
    with dygraph.guard(seed=5):
        network = example.TreeNetwork(width=3, dtype="float64")
    trees = [tree for tree, _ in TREES]

    def loss_by_hand():
        vectors = np.stack([by_hand(network, tree) for tree in trees])
        logits = vectors @ network.output.weight.numpy() + network.output.bias.numpy()
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return -np.mean([row[int(wanted)] for row, (_, wanted) in zip(logits, TREES, strict=True)])

    loss = example.loss_of(network, trees)
    assert float(loss) == pytest.approx(loss_by_hand(), rel=1e-12)
    loss.backward()
    step = 1e-6
    parameters = network.parameters()
    assert len(parameters) == 1 + 2 * 4 + 2  # "or" is in use as well
    for parameter in parameters:
        value, gradient = parameter.numpy().copy(), parameter.gradient()
        assert gradient.shape == value.shape and np.abs(gradient).max() > 1e-4
        for at in np.ndindex(value.shape):
            sides = []
            for sign in (1, -1):
                moved = value.copy()
                moved[at] += sign * step
                parameter.set_value(moved)
                sides.append(loss_by_hand())
            wanted = (sides[0] - sides[1]) / (2 * step)
            assert gradient[at] == pytest.approx(wanted, abs=1e-8)
        parameter.set_value(value)


def test_it_learns_the_operations(example):
    rng = np.random.default_rng(2)
    trees = [example.random_tree(rng, int(rng.integers(1, 4))) for _ in range(60)]
    with dygraph.guard(seed=1):
        network = example.TreeNetwork()
        losses = example.train(network, trees, epochs=15, batch_size=4)
        right = example.accuracy(network, trees)
    assert losses[-1] < 0.2 * losses[0]
    assert right >= 0.95
