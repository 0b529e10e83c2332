"""Evaluate logical expressions: a recursive network over trees, in eager mode.

"not (true and (false or true))" is a tree whose nodes are words. Each kind of word has a layer of
its own that makes the vector of a node out of those of its parts, and Python's recursion goes
through the tree, which is another one at every call: the network has the shape of its input
(Goller and Küchler, 1996). It sees expressions of up to 6 truth values, each with the truth of the
whole alone, and is tested on others of 7 to 14. Takes about ten seconds on two cores.

    python examples/logic_trees.py
"""

import argparse
import sys
import time

import numpy as np

import dygraph
import dygraph.ops as F
from dygraph.nn import Embedding, Layer, Linear

WIDTH = 16
OPERATIONS = {"and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": lambda a, b: a != b}


def random_tree(rng, leaves):
    """A bool, ("not", tree), or (word, tree, tree), with so many truth values."""
    if rng.random() < 0.2:
        return "not", random_tree(rng, leaves)
    if leaves == 1:
        return bool(rng.integers(2))
    left = int(rng.integers(1, leaves))
    word = list(OPERATIONS)[rng.integers(len(OPERATIONS))]
    return word, random_tree(rng, left), random_tree(rng, leaves - left)


def truth(tree):
    """What the expression is."""
    if isinstance(tree, bool):
        return tree
    word, *parts = tree
    values = [truth(part) for part in parts]
    return not values[0] if word == "not" else OPERATIONS[word](*values)


def text(tree):
    """The expression in words."""
    if isinstance(tree, bool):
        return str(tree).lower()
    word, parts = tree[0], [text(part) for part in tree[1:]]
    return f"not {parts[0]}" if word == "not" else f"({parts[0]} {word} {parts[1]})"


class TreeNetwork(Layer):
    """A layer for each word; the vector of a node is made of those of its parts."""

    def __init__(self, width=WIDTH, dtype="float32"):
        super().__init__(dtype=dtype)
        self.leaf = Embedding([2, width], dtype=dtype)
        self.inner = dygraph.nn.LayerDict(
            {"not": Linear(width, width, dtype=dtype)}
            | {word: Linear(2 * width, width, dtype=dtype) for word in OPERATIONS}
        )
        self.output = Linear(width, 2, dtype=dtype)

    def vector(self, tree):
        """``[1, width]`` for a tree."""
        if isinstance(tree, bool):
            return self.leaf(dygraph.to_variable(np.array([int(tree)])))
        word, *parts = tree
        vectors = [self.vector(part) for part in parts]
        return self.inner[word](dygraph.concat(vectors, axis=1)).tanh()

    def forward(self, trees):
        return self.output(dygraph.concat([self.vector(tree) for tree in trees], axis=0))


def loss_of(network, trees):
    """The mean cross entropy of the truth of trees."""
    answers = dygraph.to_variable(np.array([[truth(tree)] for tree in trees], "int64"))
    return F.softmax_with_cross_entropy(network(trees), answers).mean()


def accuracy(network, trees):
    """The share of the trees that the network evaluates correctly."""
    with dygraph.no_grad():
        found = network(trees).numpy().argmax(axis=1)
    return float(np.mean(found == [truth(tree) for tree in trees]))


def train(network, trees, epochs, batch_size=16, learning_rate=5e-3):
    """The mean loss of every epoch."""
    from tqdm import tqdm

    optimizer = dygraph.optimizer.Adam(learning_rate, parameter_list=network.parameters())
    rng, losses = np.random.default_rng(0), []
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for epoch in progress:
        optimizer.set_lr(learning_rate * 0.5 * (1 + np.cos(np.pi * epoch / epochs)))
        order, total = rng.permutation(len(trees)), 0.0
        for start in range(0, len(order), batch_size):
            batch = [trees[i] for i in order[start : start + batch_size]]
            loss = loss_of(network, batch)
            loss.backward()
            optimizer.step()
            optimizer.clear_gradients()
            total += float(loss) * len(batch)
        losses.append(total / len(trees))
        progress.set_postfix(loss=f"{losses[-1]:.4f}")
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    start = time.perf_counter()
    rng = np.random.default_rng(0)
    training = [random_tree(rng, int(rng.integers(1, 7))) for _ in range(1500)]
    testing = [random_tree(rng, int(rng.integers(7, 15))) for _ in range(300)]
    with dygraph.guard(seed=arguments.seed):
        network = TreeNetwork()
        losses = train(network, training, arguments.epochs)
        right = accuracy(network, testing)
        found = network(testing[:3]).numpy().argmax(axis=1)
    for tree, answer in zip(testing, found, strict=False):
        print(f"{text(tree)} is {str(bool(answer)).lower()}")
    print(f"loss {losses[0]:.4f} at first, {losses[-1]:.4f} in the end")
    print(f"right {right:.4f} of larger trees, after {time.perf_counter() - start:.1f} s")
    return 0 if right >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
