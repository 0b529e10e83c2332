"""An operator from outside the tree has kernels for CUDA too: that of docs/new_operator.md."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cuda_library
import plugins

TESTS = Path(__file__).resolve().parents[1]
TEXT = (TESTS.parent / "docs/new_operator.md").read_text(encoding="utf-8")
USE = """
import sys
sys.path.insert(0, {tests!r})
import cuda_library, numpy as np, dygraph
from dygraph import cuda
place = cuda_library.place()
assert dygraph.load_library({host!r}) == ["squared_relu", "squared_relu_grad"]
assert dygraph.load_library({device!r}) == []
x = np.linspace(-2, 2, 1000).astype("float32")
with cuda_library.on(place):
    v = dygraph.to_variable(x)
    v.stop_gradient = False
    y = dygraph.ops.squared_relu(v, scale=0.5)
    y.sum().backward()
    assert y.place == place
    np.testing.assert_allclose(y.numpy(), 0.5 * np.maximum(x, 0) ** 2, rtol=1e-6)
    np.testing.assert_allclose(v.grad.numpy(), np.maximum(x, 0), rtol=1e-6)
assert "squared_relu" not in cuda.fallbacks() and "squared_relu_grad" not in cuda.fallbacks()
"""


def test_the_operator_of_the_page_computes_on_the_device(tmp_path):
    if cuda_library.place() is None or not cuda_library.is_pretended():
        pytest.skip("the plug-in is built against the pretended CUDA")
    source = tmp_path / "squared_relu_op.cc"
    source.write_text("\n".join(plugins.blocks(TEXT, "cpp")))
    host = plugins.build(source, tmp_path / "squared_relu.so")
    device = tmp_path / "squared_relu_cuda.so"
    include, libraries = plugins.include_folder(), cuda_library.PRETENDED
    done = subprocess.run(
        [
            os.environ.get("CXX", "g++"), "-std=c++17", "-O1", "-fPIC", "-shared",
            "-include", "cuda/pass.h", f"-I{TESTS / 'pretend_cuda/include'}",
            f"-I{include / 'cuda'}", f"-I{include}", source, "-o", device,
            f"-L{libraries}", "-ldygraph_cuda", "-lpretend_cuda", f"-L{plugins.PACKAGE / 'libs'}",
            "-ldygraph", f"-Wl,-rpath,{plugins.PACKAGE / 'libs'}", f"-Wl,-rpath,{libraries}",
        ],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    code = USE.format(tests=str(TESTS), host=host, device=str(device))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
