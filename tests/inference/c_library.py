"""The C interface by ctypes: what a program in C can pass, Python cannot."""

import ctypes
import os

from dygraph import inference

SIZE, POINTER = ctypes.c_size_t, ctypes.c_void_p

(
    OK, INVALID_ARGUMENT, TYPE, NOT_FOUND, FILE_NOT_FOUND, OUT_OF_RANGE, UNIMPLEMENTED,
    OUT_OF_MEMORY, WRONG_STATE, FORMAT, ASSERTION_FAILED, NOT_FINITE, CANCELLED, TIMED_OUT, BUSY,
    CLOSED, INTERNAL,
) = range(17)  # fmt: skip
FLOAT32, INT64, BOOL = 5, 3, 0


class Level(ctypes.Structure):
    _fields_ = [("offsets", POINTER), ("count", SIZE)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("struct_size", SIZE), ("name", ctypes.c_char_p), ("type", ctypes.c_int32),
        ("rank", ctypes.c_int32), ("dims", POINTER), ("data", POINTER), ("bytes", SIZE),
        ("levels", POINTER), ("level_count", SIZE),
    ]  # fmt: skip


# Where the library lies that programs in C link: `make test-small` names another one.
PREFIX = os.environ.get("DYGRAPH_C_PREFIX") or inference.prefix()
lib = ctypes.CDLL(os.path.join(PREFIX, "libs", "libdygraph.so"))
for _name in ("dygraph_last_error", "dygraph_status_name", "dygraph_version"):
    getattr(lib, _name).restype = ctypes.c_char_p
lib.dygraph_context_set_time_limit.argtypes = [POINTER, ctypes.c_double]
# Every function that takes handles and pointers, and how its arguments are made.
FUNCTIONS = {
    "dygraph_options_create": [POINTER],
    "dygraph_options_set": [POINTER, POINTER, POINTER],
    "dygraph_options_close": [POINTER],
    "dygraph_load": [POINTER, POINTER, POINTER],
    "dygraph_load_memory": [POINTER, SIZE, POINTER, SIZE, POINTER, POINTER],
    "dygraph_save": [POINTER, POINTER],
    "dygraph_predictor_close": [POINTER],
    "dygraph_predictor_inputs": [POINTER, POINTER],
    "dygraph_predictor_outputs": [POINTER, POINTER],
    "dygraph_predictor_input": [POINTER, SIZE, POINTER],
    "dygraph_predictor_output": [POINTER, SIZE, POINTER],
    "dygraph_predictor_find_input": [POINTER, POINTER, POINTER],
    "dygraph_predictor_find_output": [POINTER, POINTER, POINTER],
    "dygraph_context_create": [POINTER, POINTER],
    "dygraph_context_clone": [POINTER, POINTER],
    "dygraph_context_close": [POINTER],
    "dygraph_context_set_input": [POINTER, SIZE, POINTER],
    "dygraph_context_run": [POINTER],
    "dygraph_context_output": [POINTER, SIZE, POINTER],
    "dygraph_context_cancel": [POINTER],
    "dygraph_context_set_time_limit": [POINTER, ctypes.c_double],
    "dygraph_context_set_profile": [POINTER, ctypes.c_int],
    "dygraph_context_profile": [POINTER, ctypes.c_int, POINTER],
}
for _name, _types in FUNCTIONS.items():
    getattr(lib, _name).argtypes = _types


def error():
    return lib.dygraph_last_error().decode()


def made(function, *arguments):
    """The handle that a function writes to its last argument."""
    handle = POINTER()
    status = getattr(lib, function)(*arguments, ctypes.byref(handle))
    assert status == OK, error()
    return handle


def tensor(array, kind=FLOAT32):
    """A tensor on an array's memory. Keep the result and the array."""
    dims = (ctypes.c_int64 * array.ndim)(*array.shape)
    t = Tensor(
        struct_size=ctypes.sizeof(Tensor), type=kind, rank=array.ndim, data=array.ctypes.data,
        bytes=array.nbytes, dims=ctypes.cast(dims, POINTER),
    )  # fmt: skip
    t.kept = dims, array
    return t
