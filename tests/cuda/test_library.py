"""The backend as a library: what it takes from libdygraph, and how large it may be."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import cuda_library
import dygraph

MOST_MEGABYTES = 30  # of the one that nvcc makes
LIBRARIES = {
    "pretended": cuda_library.PRETENDED / "libdygraph_cuda.so",
    "nvcc's": Path(dygraph.__file__).parent / "libs/libdygraph_cuda.so",
    "named": Path(os.environ.get("FLAGS_cuda_library", "none")),
}


@pytest.fixture(params=LIBRARIES)
def library(request):
    path = LIBRARIES[request.param]
    if not path.is_file() or not shutil.which("nm"):
        pytest.skip("not built here")
    return path


def test_no_loop_of_the_host_is_called(library):
    """A twin that is missing would bind to the host's loop, which gets addresses of the device."""
    done = subprocess.run(["nm", "-DCu", library], capture_output=True, text=True, check=True)
    names = [line.split(" ", 1)[1] for line in map(str.strip, done.stdout.splitlines())]
    assert any("dygraph::" in name for name in names)
    # numbers of the tape of third gradients, which are worked out on the host
    names = [name for name in names if "Scalar" not in name and "Constant(double)" not in name]
    assert [name for name in names if "dygraph::kernels::" in name] == []


def test_size(library):
    if "pretend" not in str(library):
        assert library.stat().st_size <= MOST_MEGABYTES << 20
