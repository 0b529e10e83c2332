"""``python -m dygraph info``, ``check`` and ``compile``."""

import sys

import numpy as np

import dygraph
from dygraph import _core


def info():
    """Text on the version, places, libraries, processor and threads."""
    import os
    import platform

    op_kernels = [k for name in _core.op_names() for k in _core.describe_op(name)["kernels"]]
    places = [_core.CPUPlace(), _core.CUDAPlace(0), _core.CUDAPinnedPlace()]
    wanted = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_tile")
    features = [f for f in wanted if f in _cpu_flags()]
    lines = [
        ("dygraph", dygraph.__version__),
        ("Python", f"{platform.python_version()}, NumPy {np.__version__}"),
        ("places", ", ".join(str(p) for p in places if p.available)),
        (
            "libraries",
            "oneDNN" if any("onednn" in k.lower() for k in op_kernels) else "own kernels",
        ),
        ("operators", f"{len(_core.op_names())}, {len(op_kernels)} kernels"),
        ("processor", f"{os.cpu_count()} cores, {', '.join(features) or 'baseline'}"),
        ("threads", f"{_core.num_threads()} of {_core.available_cores()} available cores"),
        ("memory", dygraph.memory.summary(_core.CPUPlace())),
    ]
    return "\n".join(f"{name:<11} {value}" for name, value in lines)


def _cpu_flags():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            for line in f:
                if line.startswith("flags"):
                    return set(line.split())
    except OSError:
        pass
    return set()


class _Net(dygraph.Layer):
    """A small network for two interleaved spirals."""

    def __init__(self, dtype="float32"):
        super().__init__()
        self.hidden = dygraph.nn.Linear(2, 32, act="tanh", dtype=dtype)
        self.middle = dygraph.nn.Linear(32, 32, act="tanh", dtype=dtype)
        self.out = dygraph.nn.Linear(32, 1, dtype=dtype)

    def forward(self, x):
        return self.out(self.middle(self.hidden(x)))


def _spirals(n, rng):
    side = rng.integers(0, 2, n)
    angle = rng.uniform(0.5, 3 * np.pi, n)
    turn = angle + np.pi * side
    points = np.stack([np.cos(turn), np.sin(turn)], 1) * angle[:, None] / 5
    return points, (2.0 * side - 1.0)[:, None]


def _square_error(net, x, y):
    difference = net(x) - y
    return dygraph.mean(difference * difference)


def gradient_error(rng):
    """Largest difference between backward and central differences, relative to the gradient."""
    net = _Net("float64")
    points, sides = _spirals(8, rng)
    x, y = dygraph.to_variable(points), dygraph.to_variable(sides)
    _square_error(net, x, y).backward()
    worst, step = 0.0, 1e-5
    with dygraph.no_grad():
        for p in net.parameters():
            values, analytic = p.numpy(), p.gradient()
            for i in rng.choice(values.size, min(values.size, 8), replace=False):
                at = np.unravel_index(i, values.shape)
                losses = []
                for sign in (1, -1):
                    moved = values.copy()
                    moved[at] += sign * step
                    p.set_value(moved)
                    losses.append(_square_error(net, x, y).item())
                p.set_value(values)
                numeric = (losses[0] - losses[1]) / (2 * step)
                worst = max(worst, abs(numeric - analytic[at]) / (np.abs(analytic).max() + 1e-8))
    return worst


def check(seconds=2.0):
    """Train for `seconds` and compare gradients with differences. True if both succeed."""
    import time

    rng = np.random.default_rng(0)
    with dygraph.guard(seed=1):
        error = gradient_error(rng)
        print(f"gradients agree with differences to {error:.1e} (at most 1e-06)")
        net = _Net()
        adam = dygraph.optimizer.Adam(0.01, parameter_list=net.parameters())
        end, steps = time.perf_counter() + seconds, 0
        while time.perf_counter() < end or steps < 300:
            points, sides = _spirals(64, rng)
            x = dygraph.to_variable(points.astype("float32"))
            y = dygraph.to_variable(sides.astype("float32"))
            adam.minimize(_square_error(net, x, y))
            steps += 1
        points, sides = _spirals(1000, rng)
        found = net.eval()(dygraph.to_variable(points.astype("float32"))).numpy()
        accuracy = float(np.mean((found > 0) == (sides > 0)))
    print(
        f"{steps} steps of Adam in {seconds:g} s; {accuracy:.1%} of new points right (at least 95%)"
    )
    well = error < 1e-6 and accuracy >= 0.95
    print("all is well" if well else "something is wrong")
    return well


def main(arguments):
    """Exit code: 0 for success, 1 if the check fails, 2 for wrong usage."""
    if arguments == ["info"]:
        print(info())
        return 0
    if arguments == ["check"]:
        print(info())
        return 0 if check() else 1
    if arguments[:1] == ["compile"]:
        from dygraph.codegen import command

        return command.main(arguments[1:])
    print("usage: python -m dygraph info|check|compile ...", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
