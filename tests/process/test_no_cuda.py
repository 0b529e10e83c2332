"""A process without a CUDA backend: what names a device says what to do."""

import os
import subprocess
import sys

CODE = """
import numpy as np, dygraph
from dygraph import static

def text(run):
    try:
        run()
    except NotImplementedError as e:
        return str(e)

x = dygraph.ones([2])
for run in (
    lambda: x.to(dygraph.CUDAPlace(0)),
    lambda: x.to(dygraph.CUDAPinnedPlace()),
    lambda: static.Executor(dygraph.CUDAPlace(0)).run(static.Program()),
    lambda: dygraph.guard(dygraph.CUDAPlace(0)).__enter__(),
):
    print(text(run))
assert not dygraph.CUDAPlace(0).available and not static.is_compiled_with_cuda()
assert float((x + 1).sum()) == 4.0
"""
RULE = ": this build has no CUDA backend. Install one with DYGRAPH_WITH_CUDA=1, or use "


def run(**environment):
    return subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_it_says_what_to_install():
    done = run()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    places = ["CUDAPlace(0)", "CUDAPinnedPlace", "CUDAPlace(0)", "CUDAPlace(0)"]
    for line, place in zip(lines, places, strict=True):
        assert line.startswith(place + RULE), line


def test_a_library_that_cannot_be_opened_is_named(tmp_path):
    library = tmp_path / "broken.so"
    library.write_bytes(b"not a library")
    done = run(FLAGS_cuda_library=str(library))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"one that can be opened, got {library}: ") == 4
