"""Calls, bandwidths, products and training steps on a CUDA device, beside torch on the same one.

    python benchmarks/gpu.py [rounds] [part of a row's name]

The sides take turns; each measurement ends when the device has done its work. torch is that of
DYGRAPH_PEER_PYTHON, else of this interpreter, if it can use the device; without one our side stands
alone. "Bare launches" is a loop in C over the driver's own launch of an empty kernel, and "copy"
the driver's copy of 256 MB: what no library can beat. float32 is multiplied as such on both sides
where no row says TF32.

On a device the rows are kept in benchmarks/results/gpu/, by its name. On the pretended CUDA of
tests/pretend_cuda everything runs in small sizes, as a test, and nothing is kept: it says nothing
about speed.
"""

import argparse
import ctypes
import functools
import importlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import networks
import peer
import report

ROOT = Path(__file__).resolve().parents[1]
PRETENDED = ROOT / "build/main/libs/pretend/libdygraph_cuda.so"
SMALL = os.environ.get("DYGRAPH_GPU_SMALL") == "1"
ELEMENTS = 1 << 12 if SMALL else 1 << 26  # 256 MB of float32
WIDTH = 64 if SMALL else 1024
CALL, RECORDED, BESIDE_LAUNCH = 0.6, 0.55, 0.6e-6
LOSS_TOLERANCE, CHECKED_STEPS = 2e-3, 4

DRIVER = r"""
#include <dlfcn.h>
#include <stddef.h>

/* The driver without its headers. */
typedef int (*Fn)();
static void *lib, *stream, *kernel;
static unsigned long long to, from;
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry nothing() { ret; }\n";
static Fn find(const char* name) { return (Fn)dlsym(lib, name); }

int start(size_t bytes) {
  void *context, *module;
  int device;
  lib = dlopen("libcuda.so.1", RTLD_NOW);
  if (!lib || find("cuInit")(0) || find("cuDeviceGet")(&device, 0)) return 1;
  if (find("cuDevicePrimaryCtxRetain")(&context, device)) return 1;
  if (find("cuCtxSetCurrent")(context) || find("cuModuleLoadData")(&module, ptx)) return 1;
  if (find("cuModuleGetFunction")(&kernel, module, "nothing")) return 1;
  if (find("cuStreamCreate")(&stream, 1u)) return 1;
  return find("cuMemAlloc_v2")(&to, bytes) || find("cuMemAlloc_v2")(&from, bytes);
}

int launches(long n) {
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**) = (void*)dlsym(lib, "cuLaunchKernel");
  for (long i = 0; i < n; ++i)
    if (launch(kernel, 1, 1, 1, 256, 1, 1, 0, stream, NULL, NULL)) return 1;
  return find("cuStreamSynchronize")(stream);
}

int copies(long n, size_t bytes) {
  int (*copy)(unsigned long long, unsigned long long, size_t, void*) =
      (void*)dlsym(lib, "cuMemcpyDtoDAsync_v2");
  for (long i = 0; i < n; ++i)
    if (copy(to, from, bytes, stream)) return 1;
  return find("cuStreamSynchronize")(stream);
}
"""


# A worker's side ----------------------------------------------------------------------------------


@functools.cache
def ours():
    """(dygraph, make(array, recording), wait) on CUDAPlace(0)."""
    import dygraph
    from dygraph import _core, cuda

    place = _core.CUDAPlace(0)
    _core.set_current_place(place)
    _core.set_flag("host_fallback", "quiet")

    def make(array, record=False):
        made = dygraph.to_variable(array)
        made.stop_gradient = not record
        return made

    return dygraph, make, cuda.synchronize


@functools.cache
def torchs():
    import torch

    torch.set_default_device("cuda")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False

    def make(array, record=False):
        return torch.tensor(array, requires_grad=record)

    return torch, make, torch.cuda.synchronize


@functools.cache
def driver():
    library = ctypes.CDLL(peer.compiled("cuda_driver", DRIVER, "-O2", "-ldl"))
    library.launches.argtypes = [ctypes.c_long]
    library.copies.argtypes = [ctypes.c_long, ctypes.c_size_t]
    if library.start(4 * ELEMENTS):
        raise RuntimeError("the driver has no device")
    return library


def repeated(wait, f, *arguments):
    def run(n):
        for _ in itertools.repeat(None, n):
            f(*arguments)
        wait()

    return run


def arrays(*shape):
    import numpy as np

    return np.random.default_rng(1).standard_normal(shape).astype("float32")


def calls(side, name, record):
    library, make, wait = side()
    a, b = make(arrays(8, 8), record), make(arrays(8, 8), record)
    relu = library.relu if side is torchs else library.ops.relu
    work = {"relu(a)": lambda: relu(a), "a + b": lambda: a + b, "a @ b": lambda: a @ b}[name]
    return repeated(wait, work)


def passes(side, name):
    """Work on 256 MB that is bound by memory."""
    library, make, wait = side()
    x = make(arrays(ELEMENTS // WIDTH, WIDTH))
    row = make(arrays(WIDTH))
    torch = side is torchs
    F = library.nn.functional
    work = {
        "relu": lambda: F.relu(x),
        "x + x": lambda: x + x,
        "x + row": lambda: x + row,
        "cast to float16": (lambda: x.half()) if torch else (lambda: x.astype("float16")),
        "sum": lambda: x.sum(),
        "sum of rows": lambda: x.sum(1),
        "sum of columns": lambda: x.sum(0),
        "softmax": lambda: F.softmax(x, -1),
    }[name]
    return repeated(wait, work)


def product(side, size, kind):
    library, make, wait = side()
    x = make(arrays(size, size))
    torch = side is torchs
    if torch:
        library.backends.cuda.matmul.allow_tf32 = kind == "TF32"
        x = x.bfloat16() if kind == "bfloat16" else x
        return repeated(wait, lambda: x @ x)
    if kind == "bfloat16":
        x = x.astype("bfloat16")

    def run(n):
        library._core.set_flag("allow_tf32", kind == "TF32")
        try:
            for _ in itertools.repeat(None, n):
                x @ x
        finally:
            library._core.set_flag("allow_tf32", False)
        wait()

    return run


def step_of(side, make, compiled=False):
    if side is torchs:
        torchs()
        import torchs as library

        return library.trained(make())
    ours()
    import ours as library

    if not compiled:
        return library.trained(make())
    import dygraph

    step, inputs = library.step_of(make())
    step = dygraph.jit.compile(step)
    return lambda: step(*inputs)


def training(side, make, compiled=False):
    """run(n) does n steps; CHECKED_STEPS of them give their losses."""
    step, wait = step_of(side, make, compiled), side()[2]

    def run(n):
        if n == CHECKED_STEPS:
            return [step().item() for _ in range(n)]
        for _ in itertools.repeat(None, n):
            step()
        wait()
        return None

    return run


def peak(side, make):
    """run(0): the most memory that a few steps took."""
    step, (library, _, wait) = step_of(side, make), side()
    memory = library.cuda if side is torchs else importlib.import_module("dygraph.cuda")

    def run(n):
        for _ in range(3):
            step()
        wait()
        return memory.max_memory_allocated()

    return run


def adam(side):
    """One step over 160 parameters."""
    library, make, wait = side()
    shapes = [(4,)] * 160 if SMALL else [(512, 512), (512,)] * 80
    if side is torchs:
        parameters = [library.nn.Parameter(make(arrays(*s))) for s in shapes]
        optimizer = library.optim.Adam(parameters, 1e-3, fused=True)
        for p in parameters:
            p.grad = library.ones_like(p)
        return repeated(wait, optimizer.step)
    parameters = [library.Parameter(arrays(*s)) for s in shapes]
    optimizer = library.optimizer.Adam(1e-3, parameter_list=parameters)
    total = sum((p.sum() for p in parameters[1:]), parameters[0].sum())
    total.backward()
    return repeated(wait, optimizer.step)


def with_cupy():
    """`a + b` by CuPy."""
    import cupy

    a = cupy.asarray(arrays(8, 8))
    return repeated(cupy.cuda.get_current_stream().synchronize, lambda: a + a)


def of_batch(make, batch):
    """The network with another batch; on the pretended device with the least."""

    def made():
        network = make()
        if not network.lengths:
            network.input = (2 if SMALL else batch, *network.input[1:])
            if len(network.labels) == 1:
                network.labels = network.input[:1]
        return network

    return made


# Name: (network, of torch's time eager, traced).
TRAININGS = {
    "MLP, batch 64": (of_batch(networks.mlp, 64), 0.6, 0.2),
    "LeNet, batch 64": (of_batch(networks.lenet, 64), 0.6, 0.2),
    "ResNet-50, batch 64": (of_batch(networks.resnet50, 64), 1.0, None),
    "Transformer": (networks.transformer, 0.9, None),
    "LSTM language model": (lambda: networks.language_model("lstm", 1.0), 0.9, None),
    "sparse embedding": (networks.sparse_embedding, 0.6, None),
}
ON_THE_PRETENDED = ["MLP, batch 64", "LeNet, batch 64"]  # the others take minutes there
CALLS = ["relu(a)", "a + b", "a @ b"]
MOVED = {"relu": 2, "x + x": 2, "x + row": 2, "cast to float16": 1.5}  # times 256 MB
READ = {"sum": 1, "sum of rows": 1, "sum of columns": 1, "softmax": 2}
SIZES = [64] if SMALL else [4096, 8192]
KINDS = ["float32", "TF32", "bfloat16"]


def trainings():
    return {n: t for n, t in TRAININGS.items() if not SMALL or n in ON_THE_PRETENDED}


def cases(side):
    found = {}
    for name in CALLS:
        found[f"{name}, 8x8"] = functools.partial(calls, side, name, False)
        found[f"{name}, 8x8, recording"] = functools.partial(calls, side, name, True)
    for name in [*MOVED, *READ]:
        found[name] = functools.partial(passes, side, name)
    for size, kind in itertools.product(SIZES, KINDS):
        found[f"product {size}, {kind}"] = functools.partial(product, side, size, kind)
    for name, (make, _, traced) in trainings().items():
        found[f"step: {name}"] = functools.partial(training, side, make)
        found[f"peak: {name}"] = functools.partial(peak, side, make)
        if traced and side is ours:
            found[f"traced: {name}"] = functools.partial(training, side, make, True)
    found["Adam, 160 parameters"] = functools.partial(adam, side)
    if side is ours:
        found["bare launches"] = lambda: lambda n: driver().launches(n)
        found["copy"] = lambda: lambda n: driver().copies(n, 4 * ELEMENTS)
        found["a + b by CuPy"] = with_cupy
    return found


# The parent ---------------------------------------------------------------------------------------


def torch_python():
    """An interpreter whose torch can use the device, or None."""
    python = os.environ.get("DYGRAPH_PEER_PYTHON", sys.executable)
    code = "import torch; assert torch.cuda.is_available()"
    done = subprocess.run([python, "-c", code], capture_output=True)
    return python if done.returncode == 0 else None


def device():
    """What a process of its own says of the device: a dict, empty without one."""
    code = (
        "import json; from dygraph import cuda; "
        "print(json.dumps(cuda.get_device_properties(0) if cuda.is_available() else {}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


class Table:
    """The rows, measured with the sides that are there."""

    def __init__(self, sides, rounds):
        self.sides, self.rounds = sides, rounds
        self.report = report.Report("gpu", "On a CUDA device")

    def time(self, case, sides=None):
        """Our seconds, torch's and the ratio; None for what failed or is not there."""
        sides = sides or [s for s in self.sides if s.name == "ours" or s.has(case)]
        try:
            medians, ratios = peer.interleave(sides, case, self.rounds)
        except RuntimeError as error:
            self.report.note(f"{case}: {error}")
            return None
        finally:
            for side in sides:
                side.forget(case)
        return medians["ours"], medians.get("torch"), ratios.get("torch")

    def add(self, what, found, **budget):
        if found:
            self.report.add(what, *found, **budget)


def same_losses(table, case):
    """Whether all sides train the same network; says so where not."""
    try:
        given = [s.run(case, CHECKED_STEPS)[1] for s in table.sides]
    except RuntimeError as error:
        table.report.note(f"{case}: {error}")
        return False
    first = given[0]
    if all(
        abs(a - b) <= LOSS_TOLERANCE * abs(b) for g in given for a, b in zip(g, first, strict=True)
    ):
        return True
    table.report.note(f"{case}: the losses differ: {given}")
    return False


def measure(table, wanted):
    ours_alone = table.sides[:1]
    on_device = not SMALL
    launch = copy = None
    if on_device:
        launch = table.time("bare launches", ours_alone)
        copy = table.time("copy", ours_alone)
        table.add("bare launches", launch)
        table.add("copy of 256 MB", copy)
    for name in CALLS:
        for suffix, share in (("", CALL), (", recording", RECORDED)):
            case = f"{name}, 8x8{suffix}"
            if wanted(case):
                found = table.time(case)
                table.add(case, found, share=share)
                if found and launch and not suffix:
                    most = launch[0] + BESIDE_LAUNCH
                    table.report.add(f"{case}, beside bare launches", found[0], most=most)
    for name, times in {**MOVED, **READ}.items():
        if wanted(name):
            found = table.time(name)
            # A copy moves each byte twice.
            most = copy and copy[0] * times / 2 / (0.9 if name in MOVED else 0.85)
            table.add(f"{name}, 256 MB", found, most=most)
    for size, kind in itertools.product(SIZES, KINDS):
        case = f"product {size}, {kind}"
        if wanted(case):
            table.add(case, table.time(case), share=1 / 0.98)
    for name, (_, share, traced) in trainings().items():
        case = f"step: {name}"
        if not wanted(case) or not same_losses(table, case):
            continue
        eager = table.time(case)
        table.add(case, eager, share=share)
        if traced and eager:
            alone = table.time(f"traced: {name}", ours_alone)
            if alone:
                table.report.add(f"traced: {name}", alone[0], eager[1], share=traced)
        table.report.add(
            f"peak: {name}", *(s.value(f"peak: {name}") for s in table.sides),
            share=1.0, form=report.megabytes,
        )  # fmt: skip
    case = "Adam, 160 parameters"
    if wanted(case):
        table.add(case, table.time(case), share=1.0)
    if on_device and wanted("a + b by CuPy"):
        found = table.time("a + b by CuPy", ours_alone)
        add = found and table.time("a + b, 8x8", ours_alone)
        if add:
            table.report.add(
                "a + b, 8x8, beside CuPy", add[0], found[0], share=0.5, peer_name="CuPy"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rounds", nargs="?", type=int, default=1 if SMALL else 7)
    parser.add_argument("part", nargs="?", default="")
    arguments = parser.parse_args()
    facts = device()
    if not facts:
        print("no device")
        return
    if "pretend" in facts["name"].lower() and not SMALL:
        sys.exit("the pretended CUDA: set DYGRAPH_GPU_SMALL=1")
    names = ["ours"]
    if not SMALL and (python := torch_python()):
        os.environ["DYGRAPH_PEER_PYTHON"] = python
        names.append("torch")
    sides = [peer.Side(__file__, name, threads=1) for name in names]
    table = Table(sides, arguments.rounds)
    measure(table, lambda case: arguments.part in case)
    for side in sides:
        side.close()
    if SMALL:
        return
    path = report.RESULTS / "gpu" / f"{facts['name'].replace(' ', '_').lower()}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {"device": facts, "rows": table.report.rows, "notes": table.report.notes}
    path.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__" and not peer.worker({"ours": cases(ours), "torch": cases(torchs)}):
    main()
