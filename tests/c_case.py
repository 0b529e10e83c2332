"""Builds C files and calls them through ctypes, beside the Executor."""

import ctypes
import os
import re
import subprocess
import tempfile

import numpy as np

WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
TYPES = ["float32", "float64", "int32", "int64", "bool", "uint8"]
COMPILER = os.environ.get("CC", "gcc").split()  # also "python -m ziglang cc", which is clang
RANK, LEVELS = 8, 4


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("type", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("levels", ctypes.c_int),
        ("dims", ctypes.c_int64 * RANK),
        ("offset_counts", ctypes.c_int64 * LEVELS),
        ("offsets", ctypes.POINTER(ctypes.c_int64) * LEVELS),
    ]


class Library:
    """A C file, compiled. `run(arrays)` gives arrays and their offsets."""

    def __init__(self, made, flags=("-O1",), name="net"):
        self.made, self.name = made, name
        self.folder = tempfile.mkdtemp()
        path = os.path.join(self.folder, "net.c")
        with open(path, "w") as f:
            f.write(made.text)
        out = os.path.join(self.folder, "net.so")
        done = subprocess.run(
            [*COMPILER, *WARNINGS, *flags, "-fPIC", "-shared", path, "-o", out, "-lm"],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise AssertionError(done.stderr[:4000])
        self.lib = ctypes.CDLL(out)
        self.weights = ctypes.create_string_buffer(made.weights, len(made.weights) + 72)

    def function(self, name):
        return getattr(self.lib, f"{self.name}_{name}")

    def tensors(self, feeds):
        """Arrays, or (array, offsets of levels), as the C structure; and what keeps them alive."""
        held, made = [], (Tensor * max(len(feeds), 1))()
        for t, given in zip(made, feeds, strict=False):
            array, lod = given if isinstance(given, tuple) else (given, [])
            array = np.array(array, order="C")
            t.data, t.type, t.rank = array.ctypes.data, TYPES.index(str(array.dtype)), array.ndim
            t.dims[: array.ndim] = array.shape
            t.levels = len(lod)
            for i, level in enumerate(lod):
                offsets = (ctypes.c_int64 * len(level))(*level)
                t.offset_counts[i] = len(level)
                t.offsets[i] = ctypes.cast(offsets, ctypes.POINTER(ctypes.c_int64))
                held.append(offsets)
            held.append(array)
        return made, held

    def workspace(self, tensors):
        size, where = ctypes.c_int64(), ctypes.c_int()
        status = self.function("workspace")(tensors, ctypes.byref(size), ctypes.byref(where))
        self.where = where.value
        return status, size.value

    def status(self, feeds, size=None):
        """(status, operator, outputs) of a run in a workspace of the size that is asked for."""
        tensors, held = self.tensors(feeds)
        found, wanted = self.workspace(tensors)
        if found not in (0, 8):
            return found, self.where, None
        grow = size is None and found == 8
        size = wanted if size is None else size
        while True:
            space = np.empty(size // 8 + 9, np.int64)
            outs = (Tensor * max(self.function("output_count")(), 1))()
            where = ctypes.c_int()
            weights = (ctypes.addressof(self.weights) + 7) // 8 * 8
            at = space.ctypes.data
            got = self.function("run")(
                tensors, outs, ctypes.c_void_p(weights if self.made.weights else None),
                ctypes.c_void_p(at), ctypes.c_int64(size), ctypes.byref(where),
            )  # fmt: skip
            if not (grow and got == 6):
                break
            size = 2 * size + 4096
        self.held = held, space  # outputs may be inputs
        return got, where.value, outs

    def run(self, feeds):
        got, where, outs = self.status(feeds)
        if got:
            kind = re.search(rf"c->where = {where}; /\* (\S+)", self.made.text)
            raise AssertionError(f"status {got} of operator {where}, {kind and kind[1]}")
        return [self.array(t) for t in outs[: self.function("output_count")()]]

    def array(self, t):
        dtype = np.dtype(TYPES[t.type])
        shape = tuple(t.dims[: t.rank])
        size = int(np.prod(shape)) * dtype.itemsize
        data = ctypes.string_at(t.data, size) if size else b""
        lod = [[t.offsets[i][j] for j in range(t.offset_counts[i])] for i in range(t.levels)]
        return np.frombuffer(data, dtype).reshape(shape), lod
