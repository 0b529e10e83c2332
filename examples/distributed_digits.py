"""Train the LeNet of `digits.py` on several ranks: each has its part of every batch.

    mpiexec -n 2 python -m mpi4py examples/distributed_digits.py
    python examples/distributed_digits.py

The second line is a job of one rank. Both train the same model: the batches are the same, and the
mean of gradients over ranks is the gradient of the batch. Rank 0 prints the score and saves the
model to examples/out/.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from digits import LeNet, load_data, predict, shifted

import dygraph

OUT = Path(__file__).resolve().parent / "out"
FULL = 15  # epochs, after which the score is promised


def batches(images, labels, size, rng, comm):
    """This rank's part of each batch. All ranks draw the same numbers, so the parts fit."""
    order = rng.permutation(len(images))
    part = size // comm.size
    for start in range(0, len(order) - size + 1, size):
        moved = shifted(images, rng) if rng.random() < 0.5 else images
        rows = order[start + comm.rank * part : start + (comm.rank + 1) * part]
        yield dygraph.to_variable(moved[rows]), dygraph.to_variable(labels[rows])


def main(epochs, batch_size=64):
    """Returns the mean loss of each epoch and the accuracy on the test images."""
    comm = dygraph.distributed.init()
    if batch_size % comm.size:
        raise ValueError(f"{comm.size} ranks must divide a batch of {batch_size} equally")
    dygraph.seed(0)
    images, test_images, labels, test_labels = load_data()
    model = dygraph.DataParallel(LeNet())
    steps = epochs * (len(images) // batch_size)
    optimizer = dygraph.optimizer.Adam(
        dygraph.lr.CosineDecay(4e-3, 1, steps), parameter_list=model.parameters()
    )
    rng = np.random.default_rng(0)
    curve = []
    for epoch in range(epochs):
        losses = []
        for x, y in batches(images, labels, batch_size, rng, comm):
            loss = dygraph.nn.functional.cross_entropy(model(x), y)
            loss.backward()  # gradients are the mean over all ranks afterwards
            optimizer.step()
            optimizer.clear_gradients()
            losses.append(loss.item())
        curve.append(float(comm.all_reduce(np.array(losses), "mean").mean()))
        if comm.rank == 0:
            print(f"epoch {epoch + 1}: loss {curve[-1]:.4f}", flush=True)
    dygraph.distributed.compare(model)
    model.eval()
    accuracy = float((predict(model, test_images) == test_labels[:, 0]).mean())
    if comm.rank == 0:
        print(f"ranks: {comm.size}; test accuracy: {accuracy:.4f}")
        OUT.mkdir(exist_ok=True)
        dygraph.save(model.state_dict(), str(OUT / "distributed_digits"))
        if epochs >= FULL and accuracy < 0.97:
            raise SystemExit(f"the accuracy must be at least 97 %, got {accuracy:.2%}")
    return curve, accuracy


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=FULL)
    main(parser.parse_args().epochs)
