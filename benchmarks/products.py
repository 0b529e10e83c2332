"""Which kernel computes a matrix product fastest: our own, packed panels, or oneDNN's.

    python benchmarks/products.py [--level 1|3|4] [--seconds 80] [--write]

Measures float32 products at one point of each class of sizes (`SIZES`), in three orientations, on
one thread and on two, and keeps the times in build/products.json; a run that
`--seconds` ended goes on where it stopped. `--level` takes the kernels of a lower instruction set,
ours and oneDNN's. `--write` makes csrc/kernels/product_choice.inc of all that was measured: the
table by which `MatMul` chooses. The choice is the same for every number of threads, so the
ratios of one thread and two are averaged.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "products.json"
TABLE = ROOT / "csrc" / "kernels" / "product_choice.inc"
SIZES = [10, 24, 64, 192, 512, 1536, 4096]  # one point of each class; the bounds lie between them
ORIENTATIONS = ["nn", "nt", "tn"]
SMALLEST, LARGEST = 1 << 15, 1 << 33  # m n k that is measured
ISA = {1: "SSE41", 3: "AVX2", 4: None}
PANELS_ROWS = 96  # above, panels never pay
# Of our own time that oneDNN must stay below. Below AVX-512 our own is within 15 % of it here, and
# twice as fast on other processors.
MARGIN = {1: 0.85, 3: 0.85, 4: 0.97}
THREADS = [1, 2]


def best(run, repeats=5):
    """Least time of a call over some runs of about four milliseconds."""
    start = time.perf_counter()
    run()
    once = time.perf_counter() - start
    count = max(1, min(1000, int(0.004 / max(once, 1e-7))))
    least = math.inf
    for _ in range(repeats if once < 0.2 else 2):
        start = time.perf_counter()
        for _ in range(count):
            run()
        least = min(least, (time.perf_counter() - start) / count)
    return least


def measure(orientation, m, n, k):
    """Seconds by kernel and number of threads."""
    import numpy as np

    import dygraph

    r = np.random.default_rng(0)
    ta, tb = orientation[0] == "t", orientation[1] == "t"
    x = dygraph.to_variable(r.standard_normal((k, m) if ta else (m, k), "float32"))
    y = dygraph.to_variable(r.standard_normal((n, k) if tb else (k, n), "float32"))
    kernels = ["own", "onednn"]
    if orientation == "nt" and m <= PANELS_ROWS:
        kernels.append("panels")
    found = {}
    for threads in THREADS:
        dygraph.set_num_threads(threads)
        for kernel in kernels:
            dygraph.set_flags({"FLAGS_matrix_product": kernel})

            def run():
                dygraph.ops.matmul_v2(x, y, trans_x=ta, trans_y=tb)

            found[f"{kernel} {threads}"] = best(run)
    return found


def gather(level, seconds):
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    mine = kept.setdefault(str(level), {})
    end = time.monotonic() + seconds
    missing = [
        (o, m, n, k)
        for o in ORIENTATIONS
        for m in SIZES
        for n in SIZES
        for k in SIZES
        if SMALLEST <= m * n * k <= LARGEST and f"{o} {m} {n} {k}" not in mine
    ]
    for i, (o, m, n, k) in enumerate(missing):
        if time.monotonic() > end:
            print(f"{len(missing) - i} shapes are left")
            break
        times = measure(o, m, n, k)
        mine[f"{o} {m} {n} {k}"] = {name: float(f"{t:.3g}") for name, t in times.items()}
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(kept, indent=0))
    return len(missing)


def choice(times, level):
    """The letter of the kernel with the least mean time relative to ours."""
    letters = {"own": "o", "onednn": "l", "panels": "p"}
    means = {}
    for kernel in letters:
        if f"{kernel} 1" in times:
            ratios = [times[f"{kernel} {t}"] / times[f"own {t}"] for t in THREADS]
            means[kernel] = math.prod(ratios) ** (1 / len(ratios))
    first = min(means, key=means.get)
    if first == "onednn" and means[first] > MARGIN[level]:
        del means[first]
        first = min(means, key=means.get)
    return letters[first]


def letters(measured, level, orientation, m, n):
    """One letter for each class of k; products too small or too large follow their neighbour."""
    row = ""
    for k in SIZES:
        if m * n * k < SMALLEST:
            row += "o"
            continue
        a, b, c = m, n, k
        while a * b * c > LARGEST:  # the largest side one class down
            sides = [a, b, c]
            i = sides.index(max(sides))
            sides[i] = SIZES[SIZES.index(sides[i]) - 1]
            a, b, c = sides
        row += choice(measured[f"{orientation} {a} {b} {c}"], level)
    return row


def write():
    kept = json.loads(KEPT.read_text())
    lines = [
        "// Made by benchmarks/products.py --write. A line for each class of m, a word for each",
        "// of n, a letter for each of k: o our own, p panels, l oneDNN.",
    ]
    for level in sorted(kept, key=int):
        for o in ORIENTATIONS:
            lines.append(f"// level {level}, {o}")
            for m in SIZES:
                words = " ".join(letters(kept[level], int(level), o, m, n) for n in SIZES)
                lines.append(f'"{words} "')
        lines.append(",")
    TABLE.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--level", type=int, choices=list(ISA), default=4)
    parser.add_argument("--seconds", type=float, default=80)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write:
        return write()
    name = ISA[options.level]
    if name and os.environ.get("ONEDNN_MAX_CPU_ISA") != name:  # read when oneDNN is opened
        os.environ.update(ONEDNN_MAX_CPU_ISA=name, FLAGS_cpu_level=str(options.level))
        os.execv(sys.executable, [sys.executable, *sys.argv])
    gather(options.level, options.seconds)
    return None


if __name__ == "__main__":
    main()
