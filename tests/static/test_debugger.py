"""Pseudo code and pictures of programs, and what notebooks show of them."""

import re
import xml.etree.ElementTree as xml

import pytest

import described
from dygraph import static

BLUE, RED, GREEN, YELLOW = "#a4c2f4", "#ea9999", "#b6d7a8", "#ffe599"


@pytest.fixture(scope="module")
def main():
    return described.trained()[0]


def fills(dot):
    """{first line of the label: colour} of operators and variables; the last of a name."""
    found = re.findall(r'label="(\S+?)(?:\\n[^"]*)?", fillcolor="(#\w+)"', dot)
    return dict(reversed(found))


def test_one_line_for_each_operator_and_variable(main):
    text = static.debugger.pprint_program_codes(main)
    block = main.global_block()
    lines = text.splitlines()
    assert lines[0] == "// block 0, in no other"
    assert len(lines) == 1 + len(block.vars) + len(block.ops)
    assert "float32[-1, 3] x" in lines
    assert "persistable float32[3, 1] fc_0.w_0" in lines
    start = "fc_0.tmp_1 = elementwise_add(X=fc_0.tmp_0, Y=fc_0.b_0) [axis=1"
    assert any(line.startswith(start) for line in lines)
    assert any(
        line.startswith("fc_0.w_0 = sgd(Param=fc_0.w_0, Grad=fc_0.w_0@GRAD") for line in lines
    )


def test_backward_is_hidden_unless_asked_for(main):
    block = main.global_block()
    text = static.debugger.pprint_block_codes(block)
    assert "mul_grad" not in text and "float32[-1, 1] fc_0.tmp_1@GRAD" not in text
    assert " = sgd(" in text and " = mul(" in text
    assert "mul_grad" in static.debugger.pprint_block_codes(block, show_backward=True)


def test_every_type_of_variable_and_a_block_as_an_attribute():
    program = static.Program()
    block = program.global_block()
    for kind in ("SELECTED_ROWS", "LOD_TENSOR_ARRAY", "READER", "STEP_SCOPES", "RAW"):
        block.create_var(name=kind, type=kind)
    block.create_var(name="deep", shape=[-1, 2], dtype="int64", lod_level=2)
    op = block.append_op("relu", {"X": block.create_var(name="x", shape=[1], dtype="float32")},
                         {"Out": block.create_var(name="y")})  # fmt: skip
    for name in [name for name in op.attr_names if name != "op_role"]:
        op.desc.remove_attr(name)
    op.set_attr("sub_block", 0, "BLOCK")
    op.set_attr("long", list(range(40)), "INTS")
    lines = static.debugger.pprint_program_codes(program).splitlines()
    assert lines[1:7] == [
        "selected_rows SELECTED_ROWS", "lod_tensor_array LOD_TENSOR_ARRAY", "reader READER",
        "step_scopes STEP_SCOPES", "raw RAW", "int64[-1, 2] lod 2 deep",
    ]  # fmt: skip
    assert lines[-1].startswith("y = relu(X=x) [sub_block=block 0, long=[0, 1, 2")
    assert lines[-1].endswith("15, ... 40]]")


def test_roles_have_colours(main):
    colours = fills(static.draw_graph(main).dot)
    assert colours["mul"] == colours["mean"] == BLUE
    assert colours["mul_grad"] == colours["fill_constant"] == RED
    assert colours["sgd"] == GREEN


def test_highlights_and_the_file(main, tmp_path):
    path = tmp_path / "a" / "graph.dot"
    drawing = static.debugger.draw_block_graphviz(main.global_block(), ["y$", "fc_0.w"], path)
    assert path.read_text() == drawing.dot
    colours = fills(drawing.dot)
    assert colours["y"] == colours["fc_0.w_0"] == colours["fc_0.w_0@GRAD"] == YELLOW
    assert colours["x"] != YELLOW


def test_edges_follow_what_is_read_and_written(main):
    drawing = static.draw_graph(main)
    labels = {n["id"]: n["label"].split("\n")[0] for n in drawing.nodes}
    edges = {(labels[a], labels[b]) for a, b in drawing.edges}
    assert {("x", "mul"), ("fc_0.w_0", "mul"), ("mul", "fc_0.tmp_0")} <= edges
    assert {("fc_0.w_0@GRAD", "sgd"), ("sgd", "fc_0.w_0"), ("learning_rate_0", "sgd")} <= edges
    assert all(a < b for a, b in drawing.edges)  # an update writes a node of its own


def test_picture_is_xml_with_all_nodes(main):
    drawing = static.draw_graph(main)
    root = xml.fromstring(drawing._repr_svg_())
    assert len(root.findall("{http://www.w3.org/2000/svg}g")) == len(drawing.nodes)
    assert static.draw_graph(static.Program()).nodes == []
    xml.fromstring(static.draw_graph(static.Program()).svg())


def test_misuse_is_typed(main):
    with pytest.raises(TypeError, match="static.Program, got"):
        static.debugger.pprint_program_codes(main.global_block())
    with pytest.raises(TypeError, match="a Block of a program, got"):
        static.debugger.pprint_block_codes(main)
    with pytest.raises(TypeError, match="highlights must be a list"):
        static.debugger.draw_block_graphviz(main.global_block(), "x", None)
    with pytest.raises(TypeError, match="highlights must hold names"):
        static.debugger.draw_block_graphviz(main.global_block(), [1], None)
    with pytest.raises(ValueError, match="regular expressions"):
        static.debugger.draw_block_graphviz(main.global_block(), ["("], None)
    with pytest.raises(TypeError, match="draw_graph: path"):
        static.draw_graph(main, 3)


def test_notebooks_show_tables(main):
    text = main._repr_html_()
    xml.fromstring(text.replace("<br>", "<br/>"))
    assert text.count("<tr>") == 2 + len(main.global_block().ops) + len(main.global_block().vars)
    assert "Program of 1 blocks" in text and "persistable" in text and "parameter" in text
    assert main.global_block()._repr_html_() in text
    variable = main.global_block().var("fc_0.tmp_0")._repr_html_()
    xml.fromstring(variable.replace("<br>", "<br/>"))
    assert "Variable fc_0.tmp_0: float32[-1, 1]" in variable
    assert "written by mul<" in variable and "read by elementwise_add, " in variable


def test_text_in_notebooks_is_escaped():
    block = static.Program().global_block()
    bad = block.create_var(name="<b>&", shape=[2], dtype="float32")
    block.append_op("relu", {"X": bad}, {"Out": bad}).set_attr("note", "<i>", "STRING")
    for text in (block._repr_html_(), bad._repr_html_(), block.program._repr_html_()):
        assert "<b>" not in text and "<i>" not in text and "&lt;b&gt;&amp;" in text
        xml.fromstring(text.replace("<br>", "<br/>"))
