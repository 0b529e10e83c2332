"""Programs that the tests of programs' tools look at."""

import numpy as np

from dygraph import static, unique_name


def trained(optimizer=None):
    """(main, startup, loss) of a linear regression with its update."""
    main, startup = static.Program(), static.Program()
    with unique_name.guard(), static.program_guard(main, startup):
        x = static.data("x", [None, 3], "float32")
        y = static.data("y", [None, 1], "float32")
        p = static.layers.fc(x, size=1)
        loss = static.layers.mean(static.layers.square(p - y))
        (optimizer or static.optimizer.SGD(learning_rate=0.1)).minimize(loss)
    return main, startup, loss


def batch(seed=0):
    """A feed of `trained`."""
    r = np.random.default_rng(seed)
    return {
        "x": r.standard_normal((8, 3)).astype("float32"),
        "y": r.standard_normal((8, 1)).astype("float32"),
    }


def inference():
    """(main, startup, result) with dropout and batch_norm."""
    main, startup = static.Program(), static.Program()
    with unique_name.guard(), static.program_guard(main, startup):
        x = static.data("x", [None, 4], "float32")
        h = static.layers.dropout(static.layers.fc(x, size=5), 0.5)
        out = static.layers.fc(h, size=2)
    return main, startup, out
