"""Random bad calls in child processes: what the fuzz tests share.

A fuzz test is a script as well. ``SCRIPT --child PROGRESS COUNT NAME ...`` plays the first COUNT
calls of each name, ``SCRIPT NAME NUMBER`` plays one, ``SCRIPT --all COUNT [NAME ...]`` plays COUNT
of each name, or of every one, and reports the failures. What a call does follows from name and
number alone.
"""

import math
import os
import signal
import subprocess
import sys
import tempfile

import numpy as np

from dygraph import _core

HEADROOM = 256 << 20
STDERR = 2500  # characters of what a child said last
SECONDS = 10  # one call may take, or five times as many under the sanitizers
ALLOWED = (
    _core.DygraphError,
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    NotImplementedError,
    MemoryError,
    OverflowError,
)
DTYPES = ["float32", "float64", "int32", "int64", "bool", "uint8", "int8", "int16", "float16"]
SIZES = [0, 1, 1, 2, 2, 3, 3, 4, 5, 8]
WILD_SIZES = [2**31 - 1, 2**31, 2**32 + 1, 2**40, 2**61, 2**62]
SMALL_INTS = [-3, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3, 4, 5]
WILD_INTS = [
    2**31 - 1,
    -(2**31),
    2**31,
    2**63 - 1,
    -(2**63),
    2**63,
    10**6,
    123456789,
    2**40,
    -(2**40),
]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, float("nan"), float("inf"), float("-inf"), 3e38, 1e-45]
TEXTS = ["", "x", "max", "avg", "NCHW", "NHWC", "SAME", "VALID", "sum", "mean", "\0", "é" * 100]
GARBAGE = [
    None,
    "text",
    3,
    2.5,
    [],
    [None],
    {},
    object(),
    b"bytes",
    np.zeros((2, 2)),
    (1, "a"),
    True,
]


def some_shape(r):
    if r.random() < 0.04:
        return (0, r.choice(WILD_SIZES))
    if r.random() < 0.03:  # as many numbers as no shape may have, and as many axes
        return r.choice([(17,), (20,), (41,), (1,) * 17, (1,) * 20])
    return tuple(r.choice(SIZES) for _ in range(r.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6])))


def some_values(r, shape, dtype):
    n = math.prod(shape)
    if n > 10**6:
        raise MemoryError(f"a fuzzer's value must be small, got shape {shape}")
    kind = r.random()
    if dtype.startswith("float"):
        values = [r.uniform(-2, 2) if kind < 0.7 else r.choice(FLOATS) for _ in range(n)]
    elif dtype == "bool":
        values = [r.random() < 0.5 for _ in range(n)]
    else:
        limits = np.iinfo(dtype)
        pool = SMALL_INTS if kind < 0.7 else WILD_INTS
        values = [min(max(r.choice(pool), limits.min), limits.max) for _ in range(n)]
    with np.errstate(all="ignore"):
        return np.array(values, dtype=dtype).reshape(shape)


def some_variable(r, shape, dtype):
    p = r.random()
    if p < 0.02:
        return _core.Variable()
    if p < 0.05:
        rows = [r.randrange(4) for _ in range(r.randrange(4))]
        value = _core.to_variable(np.ones((len(rows), r.choice([1, 2, 3])), dtype))
        return _core.make_selected_rows(rows, 4, value)
    v = _core.to_variable(some_values(r, shape, dtype))
    if p < 0.15 and shape and shape[0] < 100:
        cut = r.randrange(shape[0] + 1)
        _core.set_lod(v, [[0, cut, shape[0]]])
    if len(shape) in (4, 5) and r.random() < 0.3:
        v = _core.to_layout(v, "NHWC")
    if dtype in ("float32", "float64") and r.random() < 0.5:
        v.stop_gradient = False
    return v


def some_number(r):
    return r.choice(WILD_INTS if r.random() < 0.25 else SMALL_INTS)


def is_sanitized():
    return "asan" in os.environ.get("LD_PRELOAD", "")


def limit_memory():
    """From here on this process may take HEADROOM beyond what it has, and leaves no core file."""
    import resource

    with open("/proc/self/statm") as f:
        size = int(f.read().split()[0]) * resource.getpagesize()
    headroom = HEADROOM * (8 if is_sanitized() else 1)  # the sanitizers need memory themselves
    resource.setrlimit(resource.RLIMIT_AS, (size + headroom, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def child(play, path, count, names):
    limit_memory()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a call that takes too long ends the child
    progress = os.open(path, os.O_WRONLY)
    for name in names:
        for number in range(count):
            os.pwrite(progress, f"{name} {number}\n".ljust(80).encode(), 0)
            signal.alarm(SECONDS * (5 if is_sanitized() else 1))
            play(name, number)
    signal.alarm(0)


def show(value):
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(show(v) for v in value) + "]"
    if isinstance(value, _core.Variable):
        try:
            if _core.is_selected_rows(value):
                return f"rows {_core.rows(value)} {value.dtype}"
            return f"{value.dtype}{list(value.shape)}"
        except ALLOWED:
            return "empty Variable"
    return repr(value)


def first_crash(script, describe, names, count, seconds):
    """(name, what happened) of the first call that ended the child, or None."""
    with tempfile.NamedTemporaryFile() as progress, tempfile.TemporaryDirectory() as folder:
        script = os.path.abspath(script)
        command = [sys.executable, script, "--child", progress.name, str(count), *names]
        paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
        try:  # in a folder of its own, since some operators write files
            done = subprocess.run(
                command, env=env, cwd=folder, capture_output=True, text=True, timeout=seconds
            )
            ending, stderr = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            ending, stderr = f"no end after {seconds} s", ""
        if ending == 0:
            return None
        name, number = (progress.read().decode().split() or [names[0], "0"])[:2]
        try:
            description = describe(name, int(number))
        except Exception as e:  # what the call is made of may itself be what falls
            description = f"{name}, which cannot be described: {e}"
        found = stderr.find("ERROR: AddressSanitizer")
        last = stderr[-STDERR:] if found < 0 else stderr[found : found + STDERR]
        return name, f"exit {ending} in call {number} of {description} {last}"


def run_group(script, describe, names, count, seconds):
    """Fails with all names whose calls ended the child."""
    failures = []
    while names and (crash := first_crash(script, describe, names, count, seconds)):
        failures.append(crash[1])
        names = names[names.index(crash[0]) + 1 :]
    assert not failures, "\n".join(failures)


def run_all(script, describe, names, count, at_once=30):
    """Plays `count` calls of each name, a child for some names each; reports the failures."""
    failures = 0
    for first in range(0, len(names), at_once):
        part = names[first : first + at_once]
        while part and (crash := first_crash(script, describe, part, count, 3600)):
            failures += 1
            print(f"FAILED {crash[1]}\n", flush=True)
            part = part[part.index(crash[0]) + 1 :]
        print(f"{min(first + at_once, len(names))} of {len(names)}", flush=True)
    print(f"{failures} of {len(names)} failed, {count} calls each")
    return 1 if failures else 0


def main(play, describe, names=list):
    if sys.argv[1] == "--child":
        child(play, sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    elif sys.argv[1] == "--all":
        sys.exit(run_all(sys.argv[0], describe, sys.argv[3:] or names(), int(sys.argv[2])))
    else:
        print(describe(sys.argv[1], int(sys.argv[2])), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            play(sys.argv[1], int(sys.argv[2]))
