"""What a machine with a CUDA device says of the backend, in stages that cannot hold each other up.

    python tests/cuda/report.py OUT [--stages 1,3] [--library FILE] [--pretended]

Each stage is a process of its own with its own limit, and stands in OUT/report.json once it has
ended, with what it found or why it failed. The backend is the library of --library or of
FLAGS_cuda_library, else that of the package, else it is built. Without a device the stages that
need one say "no device". --pretended runs all of them on the pretended CUDA in a reduced form, as a
test of this file: its figures say nothing.
"""

import argparse
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRETENDED = ROOT / "build/main/libs/pretend/libdygraph_cuda.so"
REDUCED = os.environ.get("DYGRAPH_GPU_SMALL") == "1"
SANITIZED = 40  # operators
MEGABYTE = 1 << 20


class NoDevice(Exception):
    pass


def place():
    """CUDAPlace(0), on which new variables lie from here on."""
    from dygraph import _core

    here = _core.CUDAPlace(0)
    if not here.available:
        raise NoDevice
    _core.set_current_place(here)
    _core.set_flag("host_fallback", "quiet")
    return here


def command(*arguments, seconds=480, **environment):
    """Runs it in the root; its status and the end of what it printed."""
    done = subprocess.run(
        [str(a) for a in arguments], cwd=ROOT, text=True, timeout=seconds,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "DYGRAPH_TEST_CUDA": "1", **environment},
    )  # fmt: skip
    return done.returncode, done.stdout[-200_000:]


# Stages: what each gives stands in the report -----------------------------------------------------


def build():
    """The core and the backend, built where they are missing."""
    found = {}
    code, text = command(sys.executable, "-c", "from dygraph import _core; print(_core.__file__)")
    library = Path(os.environ["FLAGS_cuda_library"])
    if code != 0 or not library.exists():
        jobs = f"-j{os.cpu_count()}"
        folder = ROOT / "build/report"
        options = ["-DDYGRAPH_WITH_CUDA=ON", f"-DPython_EXECUTABLE={sys.executable}"]
        for step in (
            ["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, *options],
            ["cmake", "--build", folder, jobs],
            ["cmake", "--install", folder, "--prefix", ROOT / "dygraph", "--component", "runtime"],
            ["cmake", "--install", folder, "--prefix", ROOT / "dygraph", "--component", "cuda"],
        ):
            code, text = command(*step)
            if code != 0:
                return {"failed": " ".join(map(str, step)), "output": text[-4000:]}
        found["built"] = str(folder)
    if not library.exists():
        return {**found, "failed": f"{library.name} is not there"}
    found["library"] = library.name
    found["megabytes"] = round(library.stat().st_size / MEGABYTE, 1)
    return found


def device():
    """The device, and the versions of what stands beside us."""
    from dygraph import cuda

    versions = {}
    for name in ("torch", "cupy-cuda13x", "cupy-cuda12x", "nvidia-cublas", "nvidia-cudnn-cu13"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    start = time.perf_counter()
    here = place()
    first = time.perf_counter() - start
    kernels = {k: len(v) for k, v in cuda.device_kernels().items()}
    return {
        "facts": cuda.get_device_properties(here),
        "first use, s": first,
        "operators": kernels,
        "versions": versions,
        "python": sys.version.split()[0],
        "compute-sanitizer": shutil.which("compute-sanitizer") or "none",
    }


def timed(work, wait, least=0.02 if REDUCED else 0.5):
    """Seconds of one call in a run that lasts."""
    work(), wait()
    number = 1
    while True:
        start = time.perf_counter()
        for _ in range(number):
            work()
        wait()
        seconds = time.perf_counter() - start
        if seconds > least:
            return seconds / number
        number *= 4


def rates():
    """Launches a second, bandwidths, one product with its numbers checked."""
    import numpy as np

    import dygraph
    from dygraph import cuda

    here = place()

    def wait():
        return cuda.synchronize(here)

    relu = dygraph.ops.relu
    small = dygraph.to_variable(np.ones((8, 8), "float32"))
    elements = MEGABYTE // 16 if REDUCED else 64 * MEGABYTE
    size = 64 if REDUCED else 4096
    rng = np.random.default_rng(0)
    host = rng.standard_normal(elements).astype("float32")
    large = dygraph.to_variable(host)
    a, b = (rng.standard_normal((size, size)).astype("float32") for _ in "ab")
    x, y = dygraph.to_variable(a), dygraph.to_variable(b)
    product = x @ y
    some = np.s_[:8]
    error = np.abs(product.numpy()[some] - a[some].astype("float64") @ b).max()
    bound = 1e-6 * size
    found = {
        "relu of 8x8, us": 1e6 * timed(lambda: relu(small), wait),
        "relu of 256 MB, GB/s": 8e-9 * elements / timed(lambda: relu(large), wait),
        "to the device, GB/s": 4e-9 * elements / timed(lambda: dygraph.to_variable(host), wait),
        "to the host, GB/s": 4e-9 * elements / timed(large.numpy, wait),
        f"product of {size}, TFLOP/s": 2e-12 * size**3 / timed(lambda: x @ y, wait),
        "error of the product": float(error),
    }
    if not error <= bound:
        found["failed"] = f"the product must be right to {bound:g}"
    return found


def tests(*arguments, seconds):
    """pytest's last line and the tests that failed."""
    place()
    shared = []
    try:
        importlib.metadata.version("pytest-xdist")
        shared = [] if REDUCED else ["-n", "4"]
    except importlib.metadata.PackageNotFoundError:
        pass
    code, text = command(
        sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", *shared, *arguments,
        seconds=seconds, OMP_NUM_THREADS="1", DYGRAPH_REPORT="1",
    )  # fmt: skip
    lines = text.splitlines()
    found = {
        "last line": lines[-1] if lines else "",
        "failed tests": [line[7:200] for line in lines if line.startswith("FAILED")],
    }
    if code != 0:
        found["failed"] = f"pytest ended with {code}"
    return found


def operators():
    """The cases of all operators on the device."""
    where = "tests/operators/activation/test_relu_op.py" if REDUCED else "tests/operators"
    return tests(where, "-k", "runs_on_cuda", seconds=500)


def cuda_tests():
    """The tests of the backend, with CuPy and torch where they are."""
    where = "tests/cuda/test_gate.py" if REDUCED else "tests/cuda"
    return tests(where, seconds=400)


def sanitized():
    """compute-sanitizer over some operators: addresses, then races in shared memory."""
    place()
    tool = shutil.which("compute-sanitizer")
    if not tool:
        return {"not there": "compute-sanitizer"}
    files = sorted(ROOT.glob("tests/operators/*/test_*.py"))
    chosen = files[:: max(1, len(files) // SANITIZED)][:SANITIZED]
    found = {}
    for kind in ("memcheck", "racecheck"):
        code, text = command(
            tool, "--tool", kind, "--target-processes", "all", "--error-exitcode", "9",
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "runs_on_cuda",
            *chosen, seconds=240,
        )  # fmt: skip
        found[kind] = re.findall(r"=+ (?:ERROR SUMMARY|RACECHECK SUMMARY).*", text)[-1:]
        if code != 0:
            found["failed"] = f"{kind} ended with {code}: {text[-1500:]}"
    return found


def benchmark():
    """benchmarks/gpu.py; on a device its rows go to benchmarks/results/gpu/."""
    place()
    part = ["1", "8x8"] if REDUCED else []
    code, text = command(sys.executable, "benchmarks/gpu.py", *part, seconds=520)
    return {"output": text.splitlines(), **({"failed": f"it ended with {code}"} if code else {})}


def memory():
    """Many steps of two networks: the memory in use stays what it was after the first ones."""
    sys.path.insert(0, str(ROOT / "tests"))
    import cuda_steps
    from dygraph import cuda

    here, found = place(), {}
    for network, optimizer in (("mlp", "adam"), ("lenet", "momentum")):
        training = cuda_steps.Training(network, optimizer, here)
        used = []
        for step in range(30 if REDUCED else 500):
            loss = training.step()
            if step % 10 == 9:
                used.append((cuda.memory_allocated(here), cuda.memory_reserved(here)))
        found[network] = {"loss": float(loss), "first": used[0], "last": used[-1]}
        if used[-1] != used[0]:
            found["failed"] = f"{network}: memory grew"
    return found


# Name, function, seconds it may take.
STAGES = [
    ("build", build, 540),
    ("device", device, 120),
    ("rates", rates, 120),
    ("operators", operators, 540),
    ("tests", cuda_tests, 480),
    ("sanitizer", sanitized, 540),
    ("benchmark", benchmark, 540),
    ("memory", memory, 240),
]


# The parent ---------------------------------------------------------------------------------------


def stage(name, seconds):
    """What the stage says, from a process of its own."""
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--stage", name], cwd=ROOT, capture_output=True, text=True,
            timeout=seconds, env=environment,
        )  # fmt: skip
        lines = done.stdout.splitlines()
        if done.returncode == 0 and lines:
            found = json.loads(lines[-1])
        else:
            found = {"failed": f"it ended with {done.returncode}", "output": done.stderr[-4000:]}
    except subprocess.TimeoutExpired:
        found = {"failed": f"it took more than {seconds} s"}
    return {"stage": name, "seconds": round(time.perf_counter() - start, 1), **found}


def run_stage(name):
    function = next(f for n, f, _ in STAGES if n == name)
    try:
        found = function()
    except NoDevice:
        found = {"no device": True}
    print(json.dumps(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--stages", default=",".join(str(i + 1) for i in range(len(STAGES))))
    parser.add_argument("--library", type=Path)
    parser.add_argument("--pretended", action="store_true")
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        return run_stage(arguments.stage)
    if not arguments.out:
        parser.error("OUT, the folder of the report, is missing")
    library = PRETENDED if arguments.pretended else arguments.library
    library = library or os.environ.get("FLAGS_cuda_library")
    library = Path(library or ROOT / "dygraph/libs/libdygraph_cuda.so")
    os.environ["FLAGS_cuda_library"] = str(library.resolve())  # of pytest's processes as well
    if arguments.pretended:
        os.environ["DYGRAPH_GPU_SMALL"] = "1"
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "report.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for number in map(int, arguments.stages.split(",")):
        name, _, seconds = STAGES[number - 1]
        found[str(number)] = stage(name, seconds)
        path.write_text(json.dumps(found, indent=1) + "\n")
        shown = {k: v for k, v in found[str(number)].items() if k != "output"}
        print(number, json.dumps(shown)[:2000], flush=True)
    return 1 if any("failed" in f for f in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
