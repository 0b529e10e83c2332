"""Trains a small regression on a place; prints what happened as one line of JSON.

Run by test_device.py in a process of its own: a kernel that touched the device's memory from the
host would end it.
"""

import json
import sys

import numpy as np

from dygraph import _core


def data():
    """64 points of y = |x0| - 2 x1, and the starting weights of a network of 16 hidden units."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (64, 2)).astype(np.float32)
    y = np.abs(x[:, :1]) - 2 * x[:, 1:]
    shapes = [(2, 16), (16,), (16, 1), (1,)]
    return x, y, [rng.normal(0, 0.5, s).astype(np.float32) for s in shapes]


def forward(x, minus_y, params):
    w1, b1, w2, b2 = params
    error = _core.ops.relu(x @ w1 + b1) @ w2 + b2 + minus_y
    return _core.ops.mean(error * error)


def train(steps, rate):
    x, y, start = data()
    x, minus_y = _core.to_variable(x), _core.to_variable(-y)
    params = [_core.to_variable(p) for p in start]
    losses, places = [], set()
    for _ in range(steps):
        for p in params:
            p.stop_gradient = False
            p.clear_gradient()
        loss = forward(x, minus_y, params)
        _core.backward([loss], [], False, False)
        losses.append(float(loss))
        places |= {str(v.place) for v in (loss, params[0], params[0].grad)}
        _core.set_grad_enabled(False)
        for p in params:
            _core.become(p, p + p.grad * -rate)
        _core.set_grad_enabled(True)
    return losses, [p.numpy().tolist() for p in params], sorted(places)


def main(library, place, steps):
    _core.load_library(library)
    if place != "CPUPlace":
        _core.set_current_place(place)
    here = _core.current_place()
    before = _core.memory.stats(here)
    losses, params, places = train(int(steps), 0.1)
    kept = _core.to_variable(np.zeros((1000, 10), np.float32))
    after = _core.memory.stats(here)
    del kept
    print(
        json.dumps(
            {
                "losses": losses,
                "params": params,
                "places": places,
                "used_by_kept": after["used"] - before["used"],
                "allocations": after["total_allocs"] - before["total_allocs"],
                "used_at_end": _core.memory.used(here) - before["used"],
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
