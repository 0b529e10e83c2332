"""Common calls on arrays of about a million numbers, float32 where nothing else is said.

    python benchmarks/operators.py [rounds] [part of a name]

One thread on both sides, which take turns; the arrays are the same. Where a call stands out, look
at its kernel. Figures of loops that only move numbers say how fast the memory is.
"""

import itertools
import sys

import peer
import report

SIDE = 1024


def arrays():
    """The operands by name, made alike on both sides."""
    import numpy as np

    random = np.random.default_rng(0)
    x = random.standard_normal((SIDE, SIDE)).astype("float32")
    return {
        "x": x,
        "y": random.standard_normal((SIDE, SIDE)).astype("float32"),
        "row": x[0].copy(),
        "positive": np.abs(x) + 0.1,
        "double": x.astype("float64"),
        "whole": random.integers(-1000, 1000, (SIDE, SIDE)),
        "mask": x > 0,
        "ids": random.integers(0, SIDE, SIDE),
        "column": random.integers(0, SIDE, (SIDE, 1)),
        "image": random.standard_normal((8, 32, 64, 64)).astype("float32"),
        "channels": random.standard_normal(32).astype("float32"),
    }


def ours():
    import dygraph
    from dygraph import functional as F

    a = {name: dygraph.to_variable(value) for name, value in arrays().items()}
    x, y, whole, image, c = a["x"], a["y"], a["whole"], a["image"], a["channels"]
    norm = dygraph.nn.BatchNorm2D(32)
    norm.eval()
    return {
        "x + y": lambda: x + y,
        "x + row": lambda: x + a["row"],
        "x * 2": lambda: x * 2.0,
        "x / y": lambda: x / a["positive"],
        "x ** y": lambda: a["positive"] ** y,
        "x > y": lambda: x > y,
        "exp": lambda: F.exp(x),
        "log": lambda: F.log(a["positive"]),
        "tanh": lambda: F.tanh(x),
        "sigmoid": lambda: F.sigmoid(x),
        "gelu": lambda: F.gelu(x),
        "relu": lambda: F.relu(x),
        "sqrt": lambda: F.sqrt(a["positive"]),
        "clip": lambda: F.clip(x, min=-1.0, max=1.0),
        "where": lambda: F.where(a["mask"], x, y),
        "cast to double": lambda: x.astype("float64"),
        "sum": lambda: x.sum(),
        "sum of axis 0": lambda: x.sum(0),
        "sum of axis 1": lambda: x.sum(1),
        "sum, double": lambda: a["double"].sum(),
        "sum, int64": lambda: whole.sum(),
        "mean": lambda: x.mean(),
        "max": lambda: x.max(),
        "max, int64": lambda: whole.max(),
        "argmax of axis 1": lambda: F.arg_max(x, axis=1),
        "norm": lambda: F.frobenius_norm(x, reduce_all=True),
        "3-norm": lambda: F.p_norm(x, porder=3.0, asvector=True),
        "cumsum of axis 0": lambda: F.cumsum(x, 0),
        "cumsum of axis 1": lambda: F.cumsum(x, 1),
        "argsort of axis 1": lambda: F.argsort(x, 1),
        "top 10 of axis 1": lambda: F.topk(x, 10),
        "x @ y": lambda: x @ y,
        "transpose": lambda: x.transpose([1, 0]),
        "concat": lambda: F.concat([x, y], 1),
        "rows by number": lambda: F.gather(x, a["ids"]),
        "every second column": lambda: x[:, ::2],
        "softmax": lambda: F.softmax(x),
        "softmax with cross entropy": lambda: F.softmax_with_cross_entropy(x, a["column"]),
        "layer_norm": lambda: dygraph.run_op("layer_norm", {"X": x}, {}),
        "image + channels": lambda: F.elementwise_add(image, c, axis=1),
        "batch_norm": lambda: norm(image),
        "max pool 2x2": lambda: F.pool2d(image, ksize=[2, 2], strides=[2, 2], pooling_type="max"),
    }


def torchs():
    import torch
    from torch.nn import functional as F

    a = {name: torch.tensor(value) for name, value in arrays().items()}
    x, y, whole, image, c = a["x"], a["y"], a["whole"], a["image"], a["channels"]
    norm = torch.nn.BatchNorm2d(32).eval().requires_grad_(False)
    return {
        "x + y": lambda: x + y,
        "x + row": lambda: x + a["row"],
        "x * 2": lambda: x * 2.0,
        "x / y": lambda: x / a["positive"],
        "x ** y": lambda: a["positive"] ** y,
        "x > y": lambda: x > y,
        "exp": lambda: torch.exp(x),
        "log": lambda: torch.log(a["positive"]),
        "tanh": lambda: torch.tanh(x),
        "sigmoid": lambda: torch.sigmoid(x),
        "gelu": lambda: F.gelu(x),
        "relu": lambda: torch.relu(x),
        "sqrt": lambda: torch.sqrt(a["positive"]),
        "clip": lambda: torch.clamp(x, -1.0, 1.0),
        "where": lambda: torch.where(a["mask"], x, y),
        "cast to double": lambda: x.double(),
        "sum": lambda: x.sum(),
        "sum of axis 0": lambda: x.sum(0),
        "sum of axis 1": lambda: x.sum(1),
        "sum, double": lambda: a["double"].sum(),
        "sum, int64": lambda: whole.sum(),
        "mean": lambda: x.mean(),
        "max": lambda: x.max(),
        "max, int64": lambda: whole.max(),
        "argmax of axis 1": lambda: x.argmax(1),
        "norm": lambda: torch.linalg.vector_norm(x),
        "3-norm": lambda: torch.linalg.vector_norm(x, 3),
        "cumsum of axis 0": lambda: x.cumsum(0),
        "cumsum of axis 1": lambda: x.cumsum(1),
        "argsort of axis 1": lambda: x.sort(dim=1, stable=True),  # values too, as ours
        "top 10 of axis 1": lambda: x.topk(10),
        "x @ y": lambda: x @ y,
        "transpose": lambda: x.t().contiguous(),
        "concat": lambda: torch.cat([x, y], 1),
        "rows by number": lambda: x[a["ids"]],
        "every second column": lambda: x[:, ::2].contiguous(),
        "softmax": lambda: torch.softmax(x, 1),
        "softmax with cross entropy": lambda: F.cross_entropy(
            x, a["column"][:, 0], reduction="none"
        ),
        "layer_norm": lambda: F.layer_norm(x, [SIDE]),
        "image + channels": lambda: image + c[:, None, None],
        "batch_norm": lambda: norm(image),
        "max pool 2x2": lambda: F.max_pool2d(image, 2),
    }


def repeated(call):
    def run(n):
        for _ in itertools.repeat(None, n):
            call()

    return lambda: run


class Cases(dict):
    """Imports a side's library only in its own worker."""

    def __missing__(self, side):
        calls = {"ours": ours, "torch": torchs}[side]()
        self[side] = {name: repeated(call) for name, call in calls.items()}
        return self[side]


def main(rounds, part):
    table = report.Report("operators", "Calls on a million numbers, 1 thread")
    with (
        peer.Side(__file__, "ours", threads=1) as us,
        peer.Side(__file__, "torch", threads=1) as torch,
    ):
        for case in us.ask()["cases"]:
            if part not in case:
                continue
            medians, ratios = peer.interleave([us, torch], case, rounds)
            table.add(case, medians["ours"], medians["torch"], ratios["torch"])
    table.note("argsort gives values and places on both sides; slices are made contiguous.")
    table.finish()


if __name__ == "__main__":
    if not peer.worker(Cases()):
        main(
            int(sys.argv[1]) if len(sys.argv) > 1 else 10,
            sys.argv[2] if len(sys.argv) > 2 else "",
        )
