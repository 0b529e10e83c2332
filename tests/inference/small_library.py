"""The library of `make small`: its size, what it shows, what it lacks, the bits of every operator.

`make test-small` names it in DYGRAPH_C_PREFIX and runs these tests; CI compiles no second library.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import dygraph
from dygraph import static

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import same_bits  # noqa: E402

from inference import c_library as c  # noqa: E402
from inference import models  # noqa: E402

LIBRARY = Path(c.PREFIX, "libs", "libdygraph.so")
MOST_BYTES = 9_000_000
# Kernels that both libraries have; libdygraph of the package also has oneDNN's.
OWN = {"FLAGS_kernel_library": "plain", "FLAGS_matrix_product": "own"}
KINDS = {
    "bool": 0, "int16": 1, "int32": 2, "int64": 3, "float16": 4, "float32": 5, "float64": 6,
    "uint8": 20, "int8": 21, "complex64": 23, "complex128": 24,
}  # fmt: skip


def given(variable):
    """A variable as the C interface takes it."""
    array = variable.numpy()
    tensor = c.tensor(array, KINDS[array.dtype.name])
    offsets = [(ctypes.c_int64 * len(o))(*o) for o in dygraph._core.lod(variable)]
    levels = (c.Level * len(offsets))(
        *(c.Level(ctypes.cast(o, c.POINTER), len(o)) for o in offsets)
    )
    tensor.levels, tensor.level_count = ctypes.cast(levels, c.POINTER), len(levels)
    tensor.more = offsets, levels
    return tensor


def digest(tensor):
    """What same_bits.digest() gives, but for the name of the type."""
    dims = ctypes.cast(tensor.dims, ctypes.POINTER(ctypes.c_int64))
    levels = ctypes.cast(tensor.levels, ctypes.POINTER(c.Level))
    lod = []
    for i in range(tensor.level_count):
        offsets = ctypes.cast(levels[i].offsets, ctypes.POINTER(ctypes.c_int64))
        lod.append(offsets[: levels[i].count])
    return (
        tuple(dims[: tensor.rank]),
        ctypes.string_at(tensor.data, tensor.bytes) if tensor.bytes else b"",
        lod,
    )


def run(folder, feeds):
    predictor = c.made("dygraph_load", os.fspath(folder).encode(), None)
    context = c.made("dygraph_context_create", predictor)
    kept, index, count = [], c.SIZE(), c.SIZE()
    for name, variable in feeds.items():
        status = c.lib.dygraph_predictor_find_input(predictor, name.encode(), ctypes.byref(index))
        assert status == c.OK, c.error()
        kept.append(given(variable))
        status = c.lib.dygraph_context_set_input(context, index, ctypes.byref(kept[-1]))
        assert status == c.OK, c.error()
    assert c.lib.dygraph_context_run(context) == c.OK, c.error()
    assert c.lib.dygraph_predictor_outputs(predictor, ctypes.byref(count)) == c.OK
    results = []
    for i in range(count.value):
        out = c.Tensor(struct_size=ctypes.sizeof(c.Tensor))
        assert c.lib.dygraph_context_output(context, i, ctypes.byref(out)) == c.OK, c.error()
        results.append(digest(out))
    c.lib.dygraph_context_close(context)
    c.lib.dygraph_predictor_close(predictor)
    return results


@pytest.fixture(scope="module", autouse=True)
def own_kernels():
    before = dygraph.get_flags(list(OWN))
    dygraph.set_flags(OWN)
    yield
    dygraph.set_flags(before)


def test_it_is_small_and_shows_the_c_interface_alone():
    assert LIBRARY.stat().st_size <= MOST_BYTES
    text = subprocess.check_output(["nm", "-D", "--defined-only", LIBRARY], text=True)
    names = {line.split()[-1] for line in text.splitlines()}
    assert {"dygraph_load", "dygraph_context_run", "dygraph_last_error"} <= names
    assert all(name.startswith("dygraph_") for name in names)


@pytest.mark.parametrize(
    "operator, inputs, outputs",
    [
        ("relu_grad", {"Out": "x", "Out@GRAD": "x"}, {"X@GRAD": "y"}),
        ("sgd", {"Param": "x", "Grad": "x", "LearningRate": "x"}, {"ParamOut": "y"}),
    ],
)
def test_what_only_training_calls_is_refused_by_name(tmp_path, operator, inputs, outputs):
    def describe():
        x = static.data("x", [1])
        block = static.default_main_program().global_block()
        y = block.create_var(name="y", shape=[1], dtype="float32")
        block.append_op(
            operator,
            inputs={slot: [x] for slot in inputs},
            outputs={slot: [y] for slot in outputs},
        )
        return [x], [y]

    folder = models.save(tmp_path, describe)
    predictor = c.POINTER()
    status = c.lib.dygraph_load(folder.encode(), None, ctypes.byref(predictor))
    assert status == c.NOT_FOUND
    assert f"'{operator}'" in c.error()
    assert "DYGRAPH_SMALL" in c.error() and "without gradients" in c.error()


@pytest.mark.parametrize("family", [f for f in same_bits.FAMILIES if f != "optimizer"])
def test_operators_give_the_bits_of_the_usual_library(family):
    compared = 0
    for case, program, recording, feeds, _ in same_bits.cases_of(family):
        values = [feeds[name][2] for name in recording.feeds]
        if any(v.numpy().dtype.name not in KINDS for v in values):
            continue
        with tempfile.TemporaryDirectory() as folder:
            test, scope = program.clone(for_test=True), static.Scope()
            targets = [test.global_block().var(name) for name in recording.fetches]
            static.save_inference_model(folder, recording.feeds, targets, None, test, scope=scope)
            loaded, names, fetches = static.load_inference_model(folder, scope=scope)
            if any("_grad" in op.type for op in loaded.global_block().ops):
                continue  # the case of a gradient operator
            named = dict(zip(recording.feeds, values, strict=True))
            named = {name: named[name] for name in names}
            want = static.Executor().run(loaded, named, fetches, scope=scope, return_numpy=False)
            got = run(folder, named)
        assert got == [same_bits.digest(v)[1:] for v in want], case.name
        compared += 1
    assert compared or family == "random"
