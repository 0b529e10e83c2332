"""What the machine can do at most, what a process takes of it, and a neighbour who disturbs.

    python benchmarks/machine.py

prints the two limits: multiplications with additions of float32 in registers, and the triad
a = b + s * c of arrays far larger than the caches (McCalpin's STREAM), which moves three numbers
for each element.
"""

import contextlib
import ctypes
import functools
import os
import subprocess
import sys
import time
from pathlib import Path

import peer

PROBES = r"""
#include <omp.h>

typedef float V __attribute__((vector_size(64)));
enum { CHAINS = 12 };  /* enough to hide the latency of an addition */

/* n rounds of CHAINS multiplications with additions, 16 numbers each, on every thread. */
float fma_rounds(long n, int threads) {
  float total = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total)
  {
    V sums[CHAINS], factor, addend;
    for (int j = 0; j < 16; ++j) {
      factor[j] = 0.999f;
      addend[j] = 0.001f;
      for (int i = 0; i < CHAINS; ++i) sums[i][j] = i + j;
    }
    for (long k = 0; k < n; ++k) {
#pragma GCC unroll 12
      for (int i = 0; i < CHAINS; ++i) sums[i] = sums[i] * factor + addend;
    }
    for (int i = 0; i < CHAINS; ++i) total += sums[i][0] + sums[i][15];
  }
  return total;
}

void triad(float* a, const float* b, const float* c, long n, int threads) {
#pragma omp parallel for num_threads(threads)
  for (long i = 0; i < n; ++i) a[i] = b[i] + 3.0f * c[i];
}
"""
FMA_ROUNDS, CHAINS, LANES = 1_000_000, 12, 16
TRIAD = 1 << 24  # numbers in each array: 64 MB


@functools.cache
def probes():
    """The compiled probes, None without cc."""
    library = peer.compiled("probes", PROBES, "-O3", "-march=native", "-fopenmp")
    if library is None:
        return None
    loaded = ctypes.CDLL(library)
    loaded.fma_rounds.argtypes = [ctypes.c_long, ctypes.c_int]
    loaded.triad.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long, ctypes.c_int]
    return loaded


def best(call, bursts=6, times=8):
    """The least seconds of a call, measured in bursts so that a disturbance does not hit all."""
    least = float("inf")
    for _ in range(bursts):
        time.sleep(0.2)
        call()
        for _ in range(times):
            start = time.perf_counter()
            call()
            least = min(least, time.perf_counter() - start)
    return least


@functools.cache
def limits(threads=peer.THREADS):
    """(floating point operations, bytes) a second; without cc what NumPy reaches."""
    import numpy as np

    a, b, c = (np.ones(TRIAD, np.float32) for _ in "abc")
    own = probes()
    if own is None:
        square = np.ones((2048, 2048), np.float32)
        flops = 2 * 2048**3 / best(lambda: np.matmul(square, square))
        return flops, 3 * a.nbytes / best(lambda: np.add(b, c, out=a))
    seconds = best(lambda: own.fma_rounds(FMA_ROUNDS, threads))
    flops = 2 * FMA_ROUNDS * CHAINS * LANES * threads / seconds
    pointers = [x.ctypes.data for x in (a, b, c)]
    return flops, 3 * a.nbytes / best(lambda: own.triad(*pointers, TRIAD, threads))


def least_seconds(flops, moved):
    """The time that neither of the limits allows to beat."""
    most_flops, most_bytes = limits()
    return max(flops / most_flops, moved / most_bytes)


@contextlib.contextmanager
def neighbour():
    """A process that computes without end on one of the cores."""
    spin = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        os.sched_setaffinity(spin.pid, {max(os.sched_getaffinity(0))})
        time.sleep(0.1)
        yield
    finally:
        spin.kill()
        spin.wait()


def resident(field="VmRSS"):
    """Bytes of this process; "VmHWM": the most there were."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {field} in /proc/self/status")


def restart_peak():
    Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    flops, moved = limits()
    print(f"threads: {peer.THREADS}, {flops / 1e9:.0f} GFLOP/s, {moved / 1e9:.1f} GB/s")
