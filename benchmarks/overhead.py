"""What a call costs before it computes anything: operators on 8x8, chains, exchange with Python.

    python benchmarks/overhead.py [rounds]

One thread on both sides. "Recording" means that the inputs want gradients.
"""

import itertools
import sys

import peer
import report

SIZE, LINKS = 8, 1000
CALL = 0.1  # of torch's time
METHOD = 0.2
PYTHON = 0.8  # of what is written in Python, over one operator or a few
CHAIN = 0.25
EXCHANGE = 0.5
ITEM = 0.3


def repeated(f, *arguments):
    def run(n):
        for _ in itertools.repeat(None, n):
            f(*arguments)

    return run


def operators(make, relu, record):
    """run(n) of `a + b`, `relu(a)` and `a @ b`; make(record) gives an operand."""

    def add():
        a, b = make(record), make(record)

        def run(n):
            for _ in itertools.repeat(None, n):
                a + b

        return run

    def matmul():
        a, b = make(record), make(record)

        def run(n):
            for _ in itertools.repeat(None, n):
                a @ b

        return run

    suffix = ", recording" if record else ""
    return {
        "a + b" + suffix: add,
        "relu(a)" + suffix: lambda: repeated(relu, make(record)),
        "a @ b" + suffix: matmul,
    }


def methods(make, layer):
    """run(n) of what is one operator with attributes, and of a layer in eval mode."""
    x = make(False)

    def part():
        def run(n):
            for _ in itertools.repeat(None, n):
                x[:, ::2]

        return run

    return {
        "x.reshape(64)": lambda: repeated(x.reshape, 64),
        "x.sum(0)": lambda: repeated(x.sum, 0),
        "x[:, ::2]": part,
        "x.mean()": lambda: repeated(x.mean),
        "Linear(8, 8) in eval mode": lambda: repeated(layer, x),
    }


def in_python(make, maximum, sort):
    """run(n) of methods and functions that Python's code stands before."""
    x = make(False)
    truths = x > 0
    return {
        "x.all()": lambda: repeated(truths.all),
        "x.any(1)": lambda: repeated(truths.any, 1),
        "x.max(axis=1)": lambda: repeated(maximum, x),
        "x.argmax()": lambda: repeated(x.argmax),
        "x.argmax(1)": lambda: repeated(x.argmax, 1),
        "x.var(correction=1)": lambda: repeated(lambda: x.var(correction=1)),
        "sort(x)": lambda: repeated(sort, x),
    }


def chains(make, backward):
    """Forward and backward of y = y * a + b, LINKS times over: 2 * LINKS operators."""

    def build(a, b):
        y = a
        for _ in itertools.repeat(None, LINKS):
            y = y * a + b
        return y

    def forward():
        a, b = make(True, 0.5), make(True, 0.5)

        def run(n):
            for _ in itertools.repeat(None, n):
                build(a, b)

        return run

    def both():
        a, b = make(True, 0.5), make(True, 0.5)

        def run(n):
            for _ in itertools.repeat(None, n):
                backward(build(a, b), a, b)

        return run

    return {"chain forward": forward, "chain forward and backward": both}


def ours():
    import numpy as np

    import dygraph
    from dygraph import _core, nn

    def make(record, value=None):
        array = (
            np.ones((SIZE, SIZE), np.float32)
            if value is None
            else np.full((SIZE, SIZE), value, np.float32)
        )
        v = _core.to_variable(array)
        v.stop_gradient = not record
        return v

    ones = [_core.to_variable(np.ones((SIZE, SIZE), np.float32))]

    def backward(y, a, b):
        a.clear_gradient()
        b.clear_gradient()
        _core.backward([y], ones, False, False)

    relu, array = _core.ops.relu, np.ones((SIZE, SIZE), np.float32)
    layer = nn.Linear(SIZE, SIZE)
    layer.eval()
    return {
        **operators(make, relu, False),
        **operators(make, relu, True),
        **methods(make, layer),
        **in_python(make, lambda x: x.max(axis=1), dygraph.sort),
        **chains(make, backward),
        "float(x)": lambda: repeated(float, _core.to_variable(np.float32(1.5))),
        "x.item()": lambda: repeated(_core.to_variable(np.float32(1.5)).item),
        "from NumPy": lambda: repeated(_core.to_variable, array),
        "to NumPy": lambda: repeated(make(False).numpy),
    }


def torchs():
    import numpy as np
    import torch

    def make(record, value=1.0):
        return torch.full((SIZE, SIZE), value, requires_grad=record)

    ones = torch.ones(SIZE, SIZE)

    def backward(y, a, b):
        a.grad = b.grad = None
        y.backward(ones)

    array = np.ones((SIZE, SIZE), np.float32)
    return {
        **operators(make, torch.relu, False),
        **operators(make, torch.relu, True),
        **methods(make, torch.nn.Linear(SIZE, SIZE).eval()),
        **in_python(make, lambda x: x.amax(dim=1), torch.sort),
        **chains(make, backward),
        "float(x)": lambda: repeated(float, torch.tensor(1.5)),
        "x.item()": lambda: repeated(torch.tensor(1.5).item),
        "from NumPy": lambda: repeated(torch.tensor, array),
        "to NumPy": lambda: repeated(lambda t: t.numpy().copy(), make(False)),
    }


class Cases(dict):
    """Imports a side's library only in its own worker."""

    def __missing__(self, side):
        self[side] = {"ours": ours, "torch": torchs}[side]()
        return self[side]


def main(rounds):
    table = report.Report("overhead", "Cost of a call, 1 thread")
    with (
        peer.Side(__file__, "ours", threads=1) as us,
        peer.Side(__file__, "torch", threads=1) as torch,
    ):

        def row(case, share, per=1):
            medians, ratios = peer.interleave([us, torch], case, rounds)
            return medians["ours"] / per, medians["torch"] / per, ratios["torch"], share

        for record in ("", ", recording"):
            for case in ("a + b", "relu(a)", "a @ b"):
                o, t, ratio, share = row(case + record, CALL)
                table.add(f"{case}, 8x8{record}", o, t, ratio, share)
        for case in (
            "x.reshape(64)", "x.sum(0)", "x[:, ::2]", "x.mean()", "Linear(8, 8) in eval mode"
        ):  # fmt: skip
            o, t, ratio, share = row(case, METHOD)
            table.add(f"{case}, 8x8", o, t, ratio, share)
        for case in (
            "x.all()", "x.any(1)", "x.max(axis=1)", "x.argmax()", "x.argmax(1)",
            "x.var(correction=1)", "sort(x)",
        ):  # fmt: skip
            o, t, ratio, share = row(case, PYTHON)
            table.add(f"{case}, 8x8", o, t, ratio, share)
        o, t, ratio, _ = row("chain forward", CHAIN, 2 * LINKS)
        table.add("chain of y*a + b: forward, per operator", o, t, ratio, CHAIN)
        both_o, both_t, _, _ = row("chain forward and backward", CHAIN, 2 * LINKS)
        table.add("chain of y*a + b: backward, per operator", both_o - o, both_t - t, None, CHAIN)
        for case in ("float(x)", "x.item()", "from NumPy", "to NumPy"):
            o, t, ratio, share = row(case, ITEM if case == "x.item()" else EXCHANGE)
            table.add(case if "x" in case else f"8x8 {case}", o, t, ratio, share)
    table.note("from NumPy and to NumPy copy on both sides (torch.tensor(a), t.numpy().copy()).")
    table.finish()


if __name__ == "__main__":
    if not peer.worker(Cases()):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
