"""Files that `export` writes, what it refuses, names that would do harm."""

import os
import subprocess
import sys

import numpy as np
import pytest

import dygraph
import onnx
from dygraph import nn, static
from dygraph.jit import InputSpec
from dygraph.onnx import export
from dygraph.onnx.exporting import newest, written
from onnx_export_cases import run, session

SPEC = [InputSpec(["batch", 3])]


def test_the_file(tmp_path):
    net = nn.Linear(3, 2)
    path = tmp_path / "new" / "net.onnx"  # the folder is made
    made = export(net, path, SPEC)
    assert os.listdir(path.parent) == ["net.onnx"]
    read = onnx.load(path)
    assert read == made
    assert (read.producer_name, read.producer_version) == ("dygraph", dygraph.__version__)
    assert read.graph.name == "dygraph" and read.ir_version == 9
    onnx.checker.check_model(str(path), full_check=True)
    x = np.ones((4, 3), "float32")
    (got,) = session(str(path)).run(None, {read.graph.input[0].name: x})
    np.testing.assert_allclose(got, net(dygraph.to_variable(x)).numpy(), rtol=1e-6)


def test_the_same_bytes_each_time(tmp_path):
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    for name in "ab":
        export(net, tmp_path / name, SPEC)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_weights_beside_the_model(tmp_path):
    """Above a size they are in a second file, and both are replaced together."""
    net = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 2))
    path = tmp_path / "net.onnx"
    for _ in range(2):
        export(net, path, [InputSpec([None, 64])], external_data=1000)
    assert sorted(os.listdir(tmp_path)) == ["net.onnx", "net.onnx.data"]
    data = tmp_path / "net.onnx.data"
    assert path.stat().st_size < 4000 and data.stat().st_size == 2 * 64 * 64 * 4
    onnx.checker.check_model(str(path), full_check=True)
    x = np.random.default_rng(0).normal(size=(3, 64)).astype("float32")
    runner = session(str(path))
    (got,) = runner.run(None, {runner.get_inputs()[0].name: x})
    np.testing.assert_allclose(got, net(dygraph.to_variable(x)).numpy(), rtol=1e-5, atol=1e-6)


def program(*types):
    """A program of operators that ONNX lacks, and one that it has."""
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [4, 4], "float32")
        out = static.layers.relu(x)
        for type in types:
            out = getattr(dygraph._core.ops, type)(out)
    return main, out


def test_all_operators_without_a_form_are_named_at_once(tmp_path):
    main, out = program("digamma", "inverse", "digamma", "erfinv")
    path = tmp_path / "old.onnx"
    path.write_bytes(b"what was there")
    with pytest.raises(NotImplementedError) as caught:
        export(main, path, feeds=["x"], fetches=[out])
    text = str(caught.value)
    for name in ("digamma", "inverse", "erfinv"):
        assert f"{name} (made at " in text and "test_export_files.py" in text
    assert "relu" not in text
    assert path.read_bytes() == b"what was there"


def test_an_operator_that_needs_a_newer_opset():
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [2], "int64")
        out = dygraph.bitwise_and(x, x)
    with pytest.raises(NotImplementedError, match=r"bitwise_and .*: it needs opset 18"):
        written(main, opset=17, feeds=["x"], fetches=[out])


HOSTILE = [
    "a name", "x/y:0", "line\nbreak", 'a"b\\c', "Füße-日本", "relu_1", "constant_1", "weight_1",
    "x.lengths", "-", "%s{0}$(x)`",
]  # fmt: skip


def test_names_that_would_do_harm(tmp_path):
    """Names of inputs and outputs are kept; those inside are the exporter's own."""
    main = static.Program()
    block = main.global_block()
    for name in HOSTILE:
        block.create_var(name=name, shape=[-1, 2], dtype="float32", is_data=True)
    outs = []
    for i, name in enumerate(HOSTILE):
        out = block.create_var(name=f"{name}.{i}", shape=[-1, 2], dtype="float32")
        block.append_op("relu", {"X": [name]}, {"Out": [out.name]})
        outs.append(out.name)
    path = tmp_path / "$(touch x) 'net'.onnx"
    export(main, path, feeds=HOSTILE, fetches=[*outs, HOSTILE[0]])
    x = np.random.default_rng(0).normal(size=(len(HOSTILE), 3, 2)).astype("float32")
    got = run(onnx.load(path), dict(zip(HOSTILE, x, strict=True)))
    assert list(got)[: len(outs)] == outs
    for array, value in zip(x, got.values(), strict=False):
        np.testing.assert_array_equal(value, np.maximum(array, 0))
    np.testing.assert_array_equal(list(got.values())[-1], x[0])  # an input that is an output
    assert os.listdir(tmp_path) == [path.name]


def test_two_outputs_of_one_value(tmp_path):
    main, out = program()
    path = tmp_path / "net.onnx"
    export(main, path, feeds=["x"], fetches=[out, out])
    x = np.random.default_rng(0).normal(size=(4, 4)).astype("float32")
    first, second = session(str(path)).run(None, {"x": x})
    np.testing.assert_array_equal(first, np.maximum(x, 0))
    np.testing.assert_array_equal(second, first)


def test_a_directory_of_a_saved_model(tmp_path):
    net = nn.Linear(3, 2)
    dygraph.jit.save(net, str(tmp_path / "model"), SPEC)
    export(str(tmp_path / "model"), tmp_path / "net.onnx")
    x = np.ones((2, 3), "float32")
    (got,) = run(onnx.load(tmp_path / "net.onnx"),
                 {onnx.load(tmp_path / "net.onnx").graph.input[0].name: x}).values()  # fmt: skip
    np.testing.assert_allclose(got, net(dygraph.to_variable(x)).numpy(), rtol=1e-6)


def test_arguments_that_are_refused(tmp_path):
    net, path = nn.Linear(3, 2), tmp_path / "net.onnx"
    main, out = program()
    _, traced = dygraph.jit.trace(net, [dygraph.ones([2, 3])])
    for args, options, kind, text in [
        ((net, path), {}, TypeError, "input_spec must be given"),
        ((net, path, SPEC, 16), {}, ValueError, f"between 17 and {newest()}"),
        ((net, path, SPEC, newest() + 1), {}, ValueError, f"between 17 and {newest()}"),
        ((net, path, SPEC, "17"), {}, TypeError, "opset must be an integer"),
        ((net, 3, SPEC), {}, TypeError, "path must be a string or a Path"),
        ((net, path, SPEC), {"feeds": ["x"]}, TypeError, "feeds is for a static.Program"),
        ((net, path, SPEC), {"external_data": -1}, ValueError, "external_data must be at least 0"),
        ((traced, path, SPEC), {}, TypeError, "give no input_spec"),
        ((main, path), {}, ValueError, "feeds must be given"),
        ((main, path), {"feeds": ["x"], "fetches": ["z"]}, ValueError, "must name variables"),
        ((main, path, SPEC), {"feeds": ["x"], "fetches": [out]}, TypeError, "no input_spec"),
        ((3, path), {}, TypeError, "must be a Layer"),
        ((str(tmp_path / "none"), path), {}, FileNotFoundError, "none"),
    ]:
        with pytest.raises(kind, match=text):
            export(*args, **options)
    assert not path.exists()


def test_a_layer_that_trains(tmp_path):
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1D(2))
    with pytest.raises(RuntimeError, match=r"Call eval\(\)"):
        export(net, tmp_path / "net.onnx", SPEC)


def test_a_program_that_trains_gives_its_forward_part(tmp_path):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x, label = static.data("x", [None, 3], "float32"), static.data("label", [None, 1], "int64")
        hidden = static.layers.dropout(static.layers.fc(x, 4, act="relu"), 0.5)
        out = static.layers.softmax(static.layers.fc(static.layers.batch_norm(hidden), 2))
        loss = static.layers.mean(static.layers.cross_entropy(out, label))
        static.optimizer.Adam(0.1).minimize(loss)
    executor, scope = static.Executor(), dygraph._core.Scope()
    executor.run(startup, scope=scope)
    before = len(main.global_block().ops)
    made = export(main, tmp_path / "net.onnx", feeds=["x"], fetches=[out], scope=scope)
    types = [node.op_type for node in made.graph.node]
    assert types == [
        "MatMul", "Add", "Relu", "Mul", "BatchNormalization", "MatMul", "Add", "Softmax"
    ]  # fmt: skip
    assert len(main.global_block().ops) == before
    array = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    test = main.clone(for_test=True)
    feed = {"x": array, "label": np.zeros((5, 1), "int64")}
    (want,) = executor.run(test, feed, [out], scope=scope)
    np.testing.assert_allclose(run(made, {"x": array})[out.name], want, rtol=1e-5, atol=1e-6)


def test_a_loop_that_changes_a_level_of_detail(tmp_path):
    main = static.Program()
    with static.program_guard(main):
        rows = static.data("rows", [None, 1], "float32", lod_level=1)
        step, most = (static.layers.fill_constant([1], "int64", n) for n in (0, 2))
        go_on, held = static.layers.less_than(step, most), static.layers.assign(rows)
        with static.layers.While(go_on).block():
            static.layers.assign(static.layers.sequence_expand(held, rows), held)
            static.layers.increment(step)
            static.layers.less_than(step, most, cond=go_on)
    with pytest.raises(NotImplementedError, match="another level of detail"):
        export(main, tmp_path / "net.onnx", feeds=["rows"], fetches=[held])


def test_a_weight_without_a_value(tmp_path):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        out = static.layers.fc(static.data("x", [None, 3], "float32"), 2)
    with pytest.raises(RuntimeError, match="must hold a value in the scope"):
        export(main, tmp_path / "a", feeds=["x"], fetches=[out], scope=dygraph._core.Scope())


def test_without_the_package_onnx():
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "import dygraph\n"
        "try:\n    dygraph.onnx.export(dygraph.nn.ReLU(), 'x', [])\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "pip install dygraph-autograd[onnx]" in done.stdout, done
