"""Samples a second of a DataLoader with workers, against none.

    python benchmarks/loading.py [rounds]

Of three data sets: one gives samples at once, one works on each in Python, one waits for each as
a disk does. Kinds of workers take turns; a ratio is the median over rounds.
"""

import statistics
import sys
import time

BATCH, WORKERS, SECONDS = 32, 2, 2.5
KINDS = ["none", "thread", "process"]


class Samples:
    def __init__(self, count):
        import numpy as np

        self.count = count
        self.rows = np.random.default_rng(0).standard_normal((1024, 64), "float32")

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.rows[i % 1024], i


class Worked(Samples):
    """Some 0.3 ms of Python and NumPy, as augmentation has."""

    def __getitem__(self, i):
        import numpy as np

        image = np.outer(self.rows[i % 1024], self.rows[(i + 1) % 1024])
        for _ in range(20):
            image = np.clip(image[::-1, ::-1] * 1.01 + 0.01, -3, 3)
        return image, i


class Waited(Samples):
    def __getitem__(self, i):
        time.sleep(0.0005)
        return self.rows[i % 1024], i


DATA = {"at once": (Samples, 400_000), "worked on": (Worked, 8_000), "waited for": (Waited, 2_000)}


def rate(data, kind):
    from dygraph.io import DataLoader

    options = {"num_workers": WORKERS, "worker": kind} if kind != "none" else {}
    start, seen = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        for batch in DataLoader(data, batch_size=BATCH, **options):
            seen += len(batch[1])
    return seen / (time.perf_counter() - start)


def main(rounds):
    print(f"| data | {' | '.join(KINDS)} | threads / none |\n|---|---|---|---|---|")
    for name, (kind_of_data, count) in DATA.items():
        data, rates = kind_of_data(count), {kind: [] for kind in KINDS}
        for _ in range(rounds):
            for kind in KINDS:
                rates[kind].append(rate(data, kind))
        pairs = zip(rates["thread"], rates["none"], strict=True)
        ratio = statistics.median(t / n for t, n in pairs)
        texts = [f"{statistics.median(rates[kind]):,.0f}" for kind in KINDS]
        print(f"| {name} | {' | '.join(texts)} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 7)
