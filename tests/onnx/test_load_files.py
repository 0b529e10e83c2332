"""Damaged, malicious and unsupported ONNX files: typed errors that name the fault."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dygraph
import dygraph.onnx
import onnx
import onnx_models
from dygraph.errors import (
    ArgumentTypeError,
    FormatError,
    InvalidArgumentError,
    MissingFileError,
    UnimplementedError,
)
from onnx import TensorProto, helper, numpy_helper

TESTS = Path(__file__).parents[1]


def graph(nodes, inputs=("x",), outputs=("y",), initializers=(), opset=21, dtype=TensorProto.FLOAT):
    """A model that no checker has seen."""
    made = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(n, dtype, [2]) for n in inputs],
        [helper.make_tensor_value_info(n, dtype, [2]) for n in outputs], initializers,
    )  # fmt: skip
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)])


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def refused(model, error, text):
    with pytest.raises(error, match=text):
        dygraph.onnx.load(model)


def test_all_unsupported_operators_are_listed_at_once():
    nodes = [
        node("ImageDecoder", "x", "a"), node("Magic", "a", "b", domain="com.example"),
        node("If", "b", "y", then_branch=graph([node("RegexFullMatch", "x", "y")]).graph,
             else_branch=graph([node("Relu", "x", "y")]).graph),
    ]  # fmt: skip
    model = graph(nodes)
    model.opset_import.append(helper.make_opsetid("com.example", 3))
    refused(
        model, UnimplementedError,
        r"ImageDecoder \(opset 21\), RegexFullMatch \(opset 21\), com.example.Magic \(opset 3\)",
    )  # fmt: skip


def test_versions_that_are_not_read():
    model = graph([node("Relu", "x", "y")], opset=99)
    refused(model, UnimplementedError, "the opset must be at most .*, got 99")
    model = graph([node("Not", "x", "a"), node("Add", "x x", "y")], opset=6)
    refused(model, UnimplementedError, r"got Add \(opset 6\) without one")


@pytest.mark.parametrize(
    "nodes, text",
    [
        ([node("Relu", "z", "y"), node("Relu", "x", "z")], "in an order .*'z'"),
        (
            [node("Add", "x z", "a"), node("Relu", "a", "z"), node("Relu", "z", "y")],
            "without cycles",
        ),
        ([node("Relu", "nothing", "y")], "'nothing', which nothing writes"),
        ([node("Relu", "x", "y"), node("Abs", "x", "y")], "written once, got 'y' twice"),
        ([node("Relu", "x", "z")], "'y', an output of the graph 'g', must be computed"),
        ([node("Relu", "x", "n" * 2000), node("Relu", "x", "y")], "names must have at most 1024"),
    ],
)
def test_faulty_graphs(nodes, text):
    refused(graph(nodes), FormatError, text)


def test_names_that_repeat():
    refused(graph([node("Add", "x x", "y")], inputs=("x", "x")), FormatError, "got 'x' twice")
    one = numpy_helper.from_array(np.ones(2, "float32"), "w")
    refused(graph([node("Add", "x w", "y")], initializers=[one, one]), FormatError, "got 'w' twice")
    model = graph([node("Relu", "x", "y")])
    model.opset_import.append(helper.make_opsetid("ai.onnx", 20))
    refused(model, FormatError, "import a domain once")
    model = graph([node("Selu", "x", "y", alpha=1.0)])
    model.graph.node[0].attribute.append(model.graph.node[0].attribute[0])
    refused(model, FormatError, "must have an attribute once, got 'alpha' twice")


def test_types():
    text = r"the type of 'x' must be one of float32, .*, got UINT16"
    refused(graph([node("Relu", "x", "y")], dtype=TensorProto.UINT16), UnimplementedError, text)
    refused(graph([node("Relu", "x", "y")], dtype=TensorProto.STRING), UnimplementedError, "STRING")
    refused(graph([node("Cast", "x", "y", to=99)]), UnimplementedError, "to must be one of .* 99")
    model = graph([node("Relu", "x", "y")])
    model.graph.input[0].type.sequence_type.elem_type.tensor_type.elem_type = 1
    refused(model, UnimplementedError, "'x' must be a tensor, got sequence")
    loaded = dygraph.onnx.load(graph([node("Relu", "x", "y")]))
    with pytest.raises(ArgumentTypeError, match="must be float32, got int64"):
        loaded.layer(dygraph.to_variable(np.array([1, 2])))
    with pytest.raises(TypeError):
        loaded.run([np.array([1, 2])])
    with pytest.raises(InvalidArgumentError, match=r"must have the shape \[2\], got \(3,\)"):
        loaded.layer(dygraph.ones([3]))


def test_attributes_and_inputs_that_an_operator_refuses_name_the_node():
    refused(
        graph([helper.make_node("Softmax", ["x"], ["y"], "last", axis=7)]), InvalidArgumentError,
        r"axis must be in \[-1, 1\), got 7\nin Softmax 'last' of the ONNX model",
    )  # fmt: skip
    refused(graph([node("Add", "x", "y")]), dygraph.errors.DygraphError, "in Add of the ONNX model")
    refused(graph([node("Relu", "x x x", "y")]), InvalidArgumentError, "at most 1 inputs, got 3")
    refused(graph([node("Add", "x x", "y z")]), FormatError, "at most 1 outputs")
    refused(
        graph([node("Transpose", "x", "y", perm=[4, 4])]), dygraph.errors.DygraphError, "Transpose"
    )


def test_sizes_are_checked_before_they_are_used():
    def tensor(dims, **fields):
        made = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims)
        for name, value in fields.items():
            setattr(made, name, value)
        return graph([node("Add", "x w", "y")], initializers=[made])

    refused(tensor([2], raw_data=b"1234567"), FormatError, r"\[2\] must have 8 bytes, got 7")
    refused(tensor([1 << 40, 1 << 40]), FormatError, r"in all below 2\*\*62")
    refused(tensor([-2], raw_data=b""), FormatError, "must be 0 or more")
    refused(tensor([1] * 20, raw_data=b"1234"), FormatError, "at most 16 axes, got 20")
    refused(tensor([3]), FormatError, "must have 3 values, got 0")
    # A small file must not make large constants while it is loaded.
    big = numpy_helper.from_array(np.array([1 << 20, 1 << 20]), "w")
    nodes = [
        node("ConstantOfShape", "w", "c"),
        node("ReduceSum", "c", "s"),
        node("Add", "x s", "y"),
    ]
    dygraph.onnx.load(graph(nodes, initializers=[big]))


HUGE = 1 << 40


@pytest.mark.parametrize(
    "sizes, made",
    [
        ([1, 3, 4, 4], node("LRN", "x", "y", size=HUGE)),
        ([4], node("Split", "x", "y", num_outputs=HUGE)),
        ([HUGE, 2], node("SplitToSequence", "x", "y")),
        ([HUGE, 1 << 20], node("EyeLike", "x", "y")),
        ([1, 1, HUGE], node("MaxPool", "x", "y", kernel_shape=[2], ceil_mode=1)),
        ([1, 1, 4], node("MaxPool", "x", "y", kernel_shape=[1], pads=[0, HUGE], ceil_mode=1)),
        ([1, 1, 4], node("AveragePool", "x", "y", kernel_shape=[HUGE], dilations=[2])),
        ([HUGE, 1, 1 << 20], node("Hardmax", "x", "y", axis=0)),
    ],
)
def test_huge_numbers_make_no_tables(sizes, made):
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    model = helper.make_model(
        helper.make_graph([made], "g", inputs, outputs),
        opset_imports=[helper.make_opsetid("", 21)],
    )
    start = time.process_time()
    with pytest.raises(dygraph.errors.DygraphError):
        dygraph.onnx.load(model)
    assert time.process_time() - start < 2


def test_depth_and_growth():
    def field(number, content):
        """A field of protobuf's wire format: a key, a length, the content."""
        size, length = b"", len(content)
        while length > 127:
            size, length = size + bytes([length & 127 | 128]), length >> 7
        return bytes([number << 3 | 2]) + size + bytes([length]) + content

    flat = graph([node("If", "x", "y", then_branch=graph([node("Relu", "x", "y")]).graph)])
    body = flat.graph.SerializeToString()
    for depth in range(300):
        # graph.node.attribute.g
        attribute = field(1, b"then_branch") + field(6, body) + b"\xa0\x01\x05"
        made = field(4, b"If") + field(1, b"x") + field(2, b"y") + field(5, attribute)
        body = field(1, made) + b"".join(
            field(n, p.SerializeToString())
            for n, p in ((11, flat.graph.input[0]), (12, flat.graph.output[0]))
        )
        if depth in (28, 31, 299):
            whole = onnx.ModelProto(opset_import=flat.opset_import).SerializeToString()
            with pytest.raises(dygraph.errors.DygraphError) as caught:
                dygraph.onnx.load(whole + field(7, body))
            deep = "nested" in str(caught.value) or "must be an ONNX model" in str(caught.value)
            assert deep == (depth > 28), caught.value

    def calls(name, body):
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
        return helper.make_function("own", name, ["x"], ["y"], body, imports)

    own = {"domain": "own"}
    again = calls("f", [node("f", "x", "y", **own)])
    model = graph([node("f", "x", "y", **own)])
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.append(again)
    refused(model, FormatError, "must not call themselves")
    # 2 ** 30 calls
    del model.functions[:]
    for k in range(30):
        twice = [node(f"f{k + 1}", "x", "a", **own), node(f"f{k + 1}", "a", "y", **own)]
        model.functions.append(calls(f"f{k}", twice))
    model.functions.append(calls("f30", [node("Relu", "x", "y")]))
    model.graph.node[0].op_type = "f0"
    refused(model, FormatError, "at most .* nodes after its functions are expanded")


@pytest.fixture
def external(tmp_path):
    """A model with its weight in another file, and a way to point it elsewhere."""
    weight = numpy_helper.from_array(np.array([1, 2], "float32"), "w")
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "w.bin").write_bytes(b"0000" + np.array([1, 2], "float32").tobytes())
    (tmp_path / "outside.bin").write_bytes(bytes(12))

    def write(location="w.bin", offset="4", length="8"):
        del weight.external_data[:]
        for key, value in (("location", location), ("offset", offset), ("length", length)):
            weight.external_data.add(key=key, value=value)
        model = graph([node("Add", "x w", "y")], initializers=[weight])
        path = tmp_path / "m" / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    return write


def test_external_data(external):
    loaded = dygraph.onnx.load(external())
    assert loaded.run([np.array([10, 20], "float32")])[0].tolist() == [11.0, 22.0]
    for location in ("../outside.bin", "/etc/passwd", "a/../w.bin", "", "..\\outside.bin", "c:/w"):
        refused(external(location), FormatError, "must be named from the model's directory")
    refused(external("none.bin"), MissingFileError, "beside the model, got no 'none.bin'")
    refused(external(length="12"), FormatError, "must have 8 bytes")
    refused(external(offset="8"), FormatError, r"must lie inside its file, got 8 \+ 8 of 12 bytes")
    refused(external(offset="-4"), FormatError, "offset of 0 or more")
    refused(external(offset="x"), FormatError, "must be integers")
    path = external("link.bin")
    os.symlink("w.bin", path.parent / "link.bin")
    refused(path, FormatError, "must not be reached over links")
    refused(path.read_bytes(), FormatError, "load the model by its path")


def test_files(tmp_path):
    with pytest.raises(MissingFileError, match="got none"):
        dygraph.onnx.load(tmp_path / "none.onnx")
    with pytest.raises(TypeError):
        dygraph.onnx.load(3)
    for content in (b"", b"not a model", b"\xff" * 100):
        (tmp_path / "m.onnx").write_bytes(content)
        refused(str(tmp_path / "m.onnx"), FormatError, "must")
    whole = onnx_models.mlp().SerializeToString()
    (tmp_path / "m.onnx").write_bytes(whole)
    assert dygraph.onnx.load(tmp_path / "m.onnx").feed_names == ["x"]


def test_truncated_at_every_byte():
    whole = onnx_models.choice().SerializeToString()
    for n in range(len(whole)):
        try:
            dygraph.onnx.load(whole[:n])
        except dygraph.errors.DygraphError:
            continue
        # What is cut off may be no more than the import of a second domain or a shape.
        assert n > len(whole) // 2


def test_mutated_models():
    """In a process with 256 MB: typed errors, no signal, bounded time. More by hand."""
    command = [sys.executable, str(TESTS / "onnx_fuzz.py"), "2000"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd=TESTS.parent,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["FormatError"] > 500 and found["ran"] > 100
