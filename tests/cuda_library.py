"""Which CUDA the tests use: the library that FLAGS_cuda_library names, else the pretended one.

The pretended one (tests/pretend_cuda) is built by ``make test`` and computes on any machine. An
open backend adds kernels to operators, so tests on a device run apart: with DYGRAPH_TEST_CUDA=1, by
``pytest -k cuda``.
"""

import contextlib
import ctypes
import os
from pathlib import Path

from dygraph import _core

PRETENDED = Path(__file__).resolve().parent.parent / "build/main/libs/pretend"


def place():
    """CUDAPlace(0); None without a device, or where tests on one were not asked for.

    FileNotFoundError where they were and neither library is there: nothing is skipped unseen.
    """
    if os.environ.get("DYGRAPH_TEST_CUDA") != "1":
        return None
    if not os.environ.get("FLAGS_cuda_library"):
        library = PRETENDED / "libdygraph_cuda.so"
        if not library.exists():
            raise FileNotFoundError(f"{library} must be built: make cuda-pretend")
        _core.set_flag("cuda_library", str(library))
    here = _core.CUDAPlace(0)
    return here if here.available else None


def is_pretended():
    """Whether the library that computes is the pretended one."""
    return not os.environ.get("FLAGS_cuda_library") or "pretend" in os.environ["FLAGS_cuda_library"]


@contextlib.contextmanager
def on(where):
    """New variables lie on that place; operators without a kernel there compute on the host."""
    before, fallback = _core.current_place(), _core.get_flag("host_fallback")
    _core.set_current_place(where)
    _core.set_flag("host_fallback", "quiet")
    try:
        yield
    finally:
        _core.set_current_place(before)
        _core.set_flag("host_fallback", fallback)


@contextlib.contextmanager
def pretending(**settings):
    """Settings of the pretended CUDA, such as LATE=1, for a while; see its README."""
    library = ctypes.CDLL(str(PRETENDED / "libpretend_cuda.so"))
    names = {name: name.encode() for name in settings}
    library.pretend_cuda_get.restype = ctypes.c_long
    library.pretend_cuda_set.argtypes = [ctypes.c_char_p, ctypes.c_long]
    before = {name: library.pretend_cuda_get(key) for name, key in names.items()}
    for name, key in names.items():
        library.pretend_cuda_set(key, settings[name])
    try:
        yield library
    finally:
        for name, key in names.items():
            library.pretend_cuda_set(key, before[name])
