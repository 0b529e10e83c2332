"""docs/cuda.md and docs/cuda_operator.md: their code runs, as far as there is what it needs."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import cuda_library
import dygraph
import plugins

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, OPERATOR = ((DOCS / n).read_text("utf-8") for n in ("cuda.md", "cuda_operator.md"))
PLACE = cuda_library.place()
pytestmark = pytest.mark.filterwarnings("ignore:.*has no kernel for CUDAPlace")


def test_the_code_of_the_page_runs():
    code = "\n".join(plugins.blocks(PAGE, "python"))
    before = dygraph.get_flags("FLAGS_host_fallback")
    try:
        exec(compile(code, "docs/cuda.md", "exec"), {})
    finally:
        dygraph.set_device("cpu")
        dygraph.set_flags(before)


def test_the_flags_of_the_page_are_there():
    known = set(dygraph.get_flags())
    named = set(re.findall(r"`(FLAGS_\w+)`", PAGE))
    assert len(named) > 8 and named <= known


def test_the_names_of_the_page_are_there():
    for name in set(re.findall(r"dygraph\.((?:cuda|amp)\.\w+)", PAGE + OPERATOR)):
        module, attribute = name.split(".")
        assert hasattr(getattr(dygraph, module), attribute), name


class Array:
    """What the page needs of a CuPy array; its memory is a Variable's."""

    def __init__(self, variable):
        self.variable, self.size = variable, variable.size

    def __dlpack__(self, **how):
        return self.variable.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.variable.__dlpack_device__()


def stand_in():
    """A module `cupy` whose kernels compute with NumPy."""

    class RawKernel:
        def __init__(self, code, name):
            assert f"void {name}(" in code
            self.backward = name == "backward"

        def __call__(self, blocks, threads, arguments):
            *arrays, n = arguments
            assert blocks[0] * threads[0] >= n == arrays[0].size
            x, *rest = (a.variable.numpy() for a in arrays[:-1])
            t = np.tanh(x)
            result = rest[0] * (t + x * (1 - t * t)) if self.backward else x * t
            arrays[-1].variable.copy_(dygraph.to_variable(result))

    module = types.ModuleType("cupy")
    module.RawKernel = RawKernel
    module.from_dlpack = lambda v: Array(dygraph.from_dlpack(v))
    module.empty_like = lambda a: Array(dygraph.zeros(a.variable.shape).to(a.variable.place))
    module.cuda = types.SimpleNamespace(
        Device=lambda number: stand_in_block, ExternalStream=lambda *_: stand_in_block
    )
    return module


class _Block:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


stand_in_block = _Block()


@pytest.mark.skipif(PLACE is None, reason="no CUDA library")
def test_the_function_with_a_gradient_runs(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", stand_in())
    code = "\n".join(plugins.blocks(OPERATOR, "python"))
    exec(compile(code, "docs/cuda_operator.md", "exec"), {"__name__": "page"})


def test_the_operator_compiles_and_runs(tmp_path):
    (code,) = plugins.blocks(OPERATOR, "cpp")
    source = tmp_path / "x_tanh.cc"
    source.write_text(code)
    added = dygraph.load_library(_built(source))
    assert added == ["x_tanh", "x_tanh_grad"]
    x = dygraph.to_variable([-1.0, 0.5, 2.0])
    x.stop_gradient = False
    y = dygraph.run_op("x_tanh", {"X": x})["Out"]
    y.sum().backward()
    v = x.numpy()
    t = np.tanh(v)
    np.testing.assert_allclose(y.numpy(), v * t, rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), t + v * (1 - t * t), rtol=1e-5)


def _built(source):
    library = source.with_suffix(".so")
    plugins.build(source, library)
    return str(library)
