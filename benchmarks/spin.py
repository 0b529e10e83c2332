"""How long OpenMP threads should spin between kernels: the step of a small MLP, quiet and with a
busy neighbour.

    python benchmarks/spin.py

libgomp's own default is 300000, which is left as it is: a thread that sleeps early is woken on the
core of the thread that waits for it, and both then take turns for milliseconds.
"""

import os
import subprocess
import sys

import numpy as np

COUNTS = (3000, 10000, 30000, 100000, 300000)
STEP = """
import time
import numpy as np
import dygraph
from dygraph import functional as F
from dygraph.nn import Linear, Sequential

rng = np.random.default_rng(0)
net = Sequential(Linear(784, 256, act="relu"), Linear(256, 256, act="relu"), Linear(256, 10))
optimizer = dygraph.optimizer.SGD(0.01, parameter_list=net.parameters())
x = dygraph.to_variable(rng.random((64, 784)).astype("float32"))
labels = dygraph.to_variable(rng.integers(0, 10, (64, 1)))
times = []
for _ in range(600):
    start = time.perf_counter()
    F.softmax_with_cross_entropy(net(x), labels).mean().backward()
    optimizer.step()
    optimizer.clear_gradients()
    times.append(time.perf_counter() - start)
print(*times[50:])
"""


def step_times(count):
    """Microseconds of each step with this spin count."""
    environment = {**os.environ, "GOMP_SPINCOUNT": str(count)}
    done = subprocess.run(
        [sys.executable, "-c", STEP], env=environment, capture_output=True, text=True, check=True
    )
    return np.array(done.stdout.split(), float) * 1e6


def main():
    print("spin count | quiet: median, mean | busy neighbour: median, mean   (us a step)")
    rows = {count: [step_times(count)] for count in COUNTS}
    neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for count in COUNTS:
            rows[count].append(step_times(count))
    finally:
        neighbour.kill()
    for count, (quiet, busy) in rows.items():
        print(
            f"{count:10d} | {np.median(quiet):6.0f} {quiet.mean():6.0f} | "
            f"{np.median(busy):6.0f} {busy.mean():6.0f}"
        )


if __name__ == "__main__":
    main()
