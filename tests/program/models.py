"""Small models, and a child process that runs what was saved of them without their classes."""

import subprocess
import sys
import textwrap

import numpy as np

import dygraph


class MLP(dygraph.Layer):
    """Two layers with relu between them."""

    def __init__(self):
        super().__init__()
        self.first = dygraph.Linear(6, 8)
        self.second = dygraph.Linear(8, 3)

    def forward(self, x):
        return self.second(dygraph.relu(self.first(x)))


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


CHILD = """
    import sys
    import numpy as np
    from dygraph import static

    executor = static.Executor()
    program, feeds, fetches = static.load_inference_model(sys.argv[1], executor)
    given = np.load(sys.argv[2])
    results = {}
    for name in given.files:
        (results[name],) = executor.run(program, feed={feeds[0]: given[name]}, fetch_list=fetches)
    np.savez(sys.argv[3], **results)
    assert not [name for name in sys.modules if name.endswith("program.models")]
"""


def run_in_child(model, arrays, folder):
    """{name: output} of a saved model with one input, computed by a process of its own."""
    np.savez(folder / "given.npz", **arrays)
    paths = [str(model), str(folder / "given.npz"), str(folder / "results.npz")]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), *paths],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    with np.load(folder / "results.npz") as results:
        return dict(results)


class ConvNet(dygraph.Layer):
    """A convolution, normalised and pooled, before one linear layer."""

    def __init__(self):
        super().__init__()
        self.conv = dygraph.Conv2D(2, 4, 3, padding=1)
        self.norm = dygraph.BatchNorm(4)
        self.pool = dygraph.Pool2D(2, "max", 2)
        self.fc = dygraph.Linear(4 * 4 * 4, 5)

    def forward(self, x):
        x = self.pool(dygraph.relu(self.norm(self.conv(x))))
        return self.fc(dygraph.reshape(x, shape=[-1, 4 * 4 * 4]))


class ResidualNet(dygraph.Layer):
    """A residual block: normalisation that ends in relu, without and with a summand."""

    def __init__(self):
        super().__init__()
        self.conv = dygraph.Conv2D(2, 4, 3, padding=1, bias_attr=False)
        self.norm = dygraph.BatchNorm(4, act="relu")
        self.last = dygraph.Conv2D(4, 4, 3, padding=1, bias_attr=False)
        self.sum = dygraph.BatchNorm(4, act="relu")
        self.fc = dygraph.Linear(4 * 8 * 8, 5)

    def forward(self, x):
        x = self.norm(self.conv(x))
        return self.fc(dygraph.reshape(self.sum(self.last(x), x), shape=[-1, 4 * 8 * 8]))
