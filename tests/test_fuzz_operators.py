"""Random bad calls of every operator: errors must be Python's, nothing may crash the process.

Each group of operators runs in a child process that may take little memory beyond the import's. A
call follows from the operator's name and a number alone, and this makes it again::

    python tests/test_fuzz_operators.py TYPE NUMBER
"""

import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from dygraph import _core

GROUPS = 6
HEADROOM = 256 << 20
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
    return tuple(r.choice(SIZES) for _ in range(r.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6])))


def some_values(r, shape, dtype):
    n = int(np.prod(shape)) if 0 not in shape else 0
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


def some_attr(r, attr):
    if r.random() < 0.08:
        return r.choice(GARBAGE)
    if attr["is_dtype"]:
        return r.choice([*DTYPES, "nonsense", 5, 99, -1, np.float32])
    kind = attr["type"]
    one = {
        "bool": lambda: r.random() < 0.5,
        "float": lambda: r.choice(FLOATS),
        "string": lambda: r.choice(TEXTS),
    }.get(kind.rstrip("s"), lambda: some_number(r))
    if not isinstance(attr["default"], list):
        return one()
    return [one() for _ in range(r.choice([0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 12]))]


def make_call(op, number):
    """(inputs, attrs, outputs, rest of the randomness)."""
    r = random.Random(f"{op}:{number}")
    info = _core.describe_op(op)
    dtype = r.choice(["float32", "float64", *DTYPES])
    shape = some_shape(r)

    def variable():
        return some_variable(
            r,
            shape if r.random() < 0.5 else some_shape(r),
            dtype if r.random() < 0.85 else r.choice(DTYPES),
        )

    inputs = {}
    for slot in info["inputs"]:
        p = r.random()
        if p < 0.03 or (slot["dispensable"] and p < 0.4):
            continue
        if p < 0.06:
            inputs[slot["name"]] = r.choice(GARBAGE)
        elif slot["duplicable"]:
            inputs[slot["name"]] = [variable() for _ in range(r.choice([0, 1, 2, 3, 17]))]
        else:
            inputs[slot["name"]] = variable()
    if r.random() < 0.02:
        inputs["NoSuchSlot"] = variable()
    attrs = {a["name"]: some_attr(r, a) for a in info["attrs"] if r.random() < 0.5}
    if r.random() < 0.02:
        attrs["no_such_attribute"] = 1
    outputs = None
    if r.random() < 0.3 or any(s["duplicable"] for s in info["outputs"]):
        outputs = {
            s["name"]: r.choice([-1, 0, 1, 1, 2, 3, 10**9, "x"])
            if r.random() < 0.1
            else (r.choice([0, 1, 2, 3]) if s["duplicable"] else 1)
            for s in info["outputs"]
            if r.random() < 0.7
        }
    return inputs, attrs, outputs, r


def play(op, number):
    """Makes and runs one call; anything but an allowed exception passes through."""
    try:
        inputs, attrs, outputs, r = make_call(op, number)
        results = _core.run_op(op, inputs, attrs, outputs)
        flat = []
        for value in results.values():
            flat += value if isinstance(value, list) else [value]
        for v in flat:
            if v is not None and v.size < 10**6:
                v.numpy()
        tops = [v for v in flat if v is not None and not v.stop_gradient]
        if tops and r.random() < 0.7:
            _core.backward(tops, [], False, r.random() < 0.3)
    except ALLOWED:
        pass


def child(path, count, ops):
    import resource

    with open("/proc/self/statm") as f:
        size = int(f.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + HEADROOM, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    progress = os.open(path, os.O_WRONLY)
    for op in ops:
        for number in range(count):
            os.pwrite(progress, f"{op} {number}\n".ljust(80).encode(), 0)
            play(op, number)


def show(value):
    if isinstance(value, list):
        return "[" + ", ".join(show(v) for v in value) + "]"
    if isinstance(value, _core.Variable):
        try:
            if _core.is_selected_rows(value):
                return f"rows {_core.rows(value)} {value.dtype}"
            return f"{value.dtype}{list(value.shape)}"
        except ALLOWED:
            return "empty Variable"
    return repr(value)


def describe(op, number):
    inputs, attrs, outputs, _ = make_call(op, number)
    given = {k: show(v) for k, v in inputs.items()}
    return f"{op}: inputs {given}, attributes {attrs}, outputs {outputs}"


def first_crash(ops, count, seconds):
    """(operator, what happened) of the first call that ended the child, or None."""
    with tempfile.NamedTemporaryFile() as progress:
        command = [sys.executable, __file__, "--child", progress.name, str(count), *ops]
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        try:
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=seconds)
            ending, stderr = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            ending, stderr = f"no end after {seconds} s", ""
        if ending == 0:
            return None
        op, number = (progress.read().decode().split() or [ops[0], "0"])[:2]
        return op, f"exit {ending} in call {number} of {describe(op, int(number))} {stderr[-1500:]}"


def run_group(ops, count, seconds):
    failures = []
    while ops and (crash := first_crash(ops, count, seconds)):
        failures.append(crash[1])
        ops = ops[ops.index(crash[0]) + 1 :]
    assert not failures, "\n".join(failures)


def groups():
    names = _core.op_names()
    return [names[i::GROUPS] for i in range(GROUPS)]


@pytest.mark.parametrize("group", range(GROUPS))
def test_bad_calls(group):
    run_group(groups()[group], 100, 60)


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_many_bad_calls(group):
    run_group(groups()[group], 1000, 240)


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        child(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    else:
        print(describe(sys.argv[1], int(sys.argv[2])), flush=True)
        play(sys.argv[1], int(sys.argv[2]))
