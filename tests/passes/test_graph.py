"""The SSA graph of a program: versions, producers and consumers, edits, and the way back."""

import pytest

from dygraph import errors, static
from dygraph.static import layers, passes


def names(versions):
    return [repr(v) for v in versions]


def test_the_graph_of_the_documents_example():
    """D3: image -> fc (mul and elementwise_add) -> softmax_with_cross_entropy -> reduce_mean."""
    main = static.Program()
    with static.program_guard(main, static.Program()), static.unique_name.guard():
        image = static.data("image", [None, 3, 224, 224])
        label = static.data("label", [None, 1], "int64")
        y = layers.fc(image, size=1000)
        loss = layers.softmax_with_cross_entropy(y, label)
        layers.reduce_mean(loss)
    graph = passes.graph(main)
    assert [n.type for n in graph.nodes] == [
        "mul", "elementwise_add", "softmax_with_cross_entropy", "reduce_mean",
    ]  # fmt: skip
    # image, label, fc_w, fc_b, the results of mul, of the addition, softmax, loss, mean
    assert len(graph.versions) == 9
    assert sum(len(n.inputs) + len(n.outputs) for n in graph.nodes) == 12
    assert sum(len(v.inputs) + len(v.outputs) for v in graph.versions) == 12
    mul, add, cross_entropy, mean = graph.nodes
    assert names(mul.inputs) == ["image:0", "fc_0.w_0:0"] and mul.outputs == add.inputs[:1]
    assert names(add.inputs[1:]) == ["fc_0.b_0:0"]
    (product,) = mul.outputs
    assert product.inputs == [mul] and product.outputs == [add] and product.number == 1
    weight = mul.inputs[1]
    assert weight.inputs == [] and weight.outputs == [mul] and weight.wanted
    assert cross_entropy.inputs[0] == add.outputs[0]
    assert sorted(names(cross_entropy.inputs)) == ["fc_0.tmp_1:1", "label:0"]
    assert mean.inputs[0].inputs == [cross_entropy] and mean.outputs[0].outputs == []
    drawing = graph.draw()
    assert (len(drawing.nodes), len(drawing.edges)) == (13, 12)
    assert drawing.dot.count("->") == 12


def overwritten():
    main = static.Program()
    with static.program_guard(main), static.unique_name.guard():
        x = static.data("x", [1])
        y = layers.exp(x)
        z = layers.sqrt(y)
        layers.assign(z, output=y)
        layers.increment(y)
        layers.square(y)
    return main


def test_every_write_is_a_version_with_one_producer():
    graph = passes.graph(overwritten())
    assert str(graph).splitlines() == [
        "block 0",
        "0: exp_0.tmp_0:1 = exp(x:0)",
        "1: sqrt_0.tmp_0:1 = sqrt(exp_0.tmp_0:1)",
        "2: exp_0.tmp_0:2 = assign(sqrt_0.tmp_0:1)",
        "3: exp_0.tmp_0:3 = increment(exp_0.tmp_0:2)",
        "4: square_0.tmp_0:1 = square(exp_0.tmp_0:3)",
    ]
    versions = graph.versions
    assert len(versions) == len(set(versions)) == 6
    assert all(len(v.inputs) == (v.number > 0) for v in versions)
    assert {repr(v): [n.type for n in v.outputs] for v in versions} == {
        "x:0": ["exp"], "exp_0.tmp_0:1": ["sqrt"], "sqrt_0.tmp_0:1": ["assign"],
        "exp_0.tmp_0:2": ["increment"], "exp_0.tmp_0:3": ["square"], "square_0.tmp_0:1": [],
    }  # fmt: skip


def test_a_version_is_not_replaced_past_a_write_of_the_other_name():
    main = overwritten()
    before = main.serialize_to_string()
    graph = passes.graph(main)
    exp, sqrt, assign, increment, square = graph.nodes
    # square reads version 3 of a name that has version 1 nowhere any more
    assert not graph.replace(increment.outputs[0], exp.outputs[0])
    # increment may write in place what it reads
    assert not graph.replace(assign.outputs[0], sqrt.outputs[0])
    assert graph.to_program().serialize_to_string() == before
    # nor may assign, which writes the name
    assert not graph.replace(sqrt.outputs[0], exp.outputs[0])


def test_an_edit_is_written_into_a_copy():
    main = static.Program()
    with static.program_guard(main), static.unique_name.guard():
        layers.square(layers.sqrt(layers.exp(static.data("x", [1]))))
    before = main.serialize_to_string()
    graph = passes.graph(main)
    exp, sqrt, square = graph.nodes
    assert graph.replace(sqrt.outputs[0], exp.outputs[0])
    assert square.inputs == exp.outputs and exp.outputs[0].outputs == [sqrt, square]
    graph.remove(sqrt)
    assert exp.outputs[0].outputs == [square]
    left = graph.to_program()
    assert [op.type for op in left.global_block().ops] == ["exp", "square"]
    assert left.global_block().ops[1].input("X") == ["exp_0.tmp_0"]
    assert "sqrt_0.tmp_0" not in left.global_block().vars
    assert main.serialize_to_string() == before


def test_a_loop_reads_and_writes_what_its_block_does():
    main = static.Program()
    with static.program_guard(main), static.unique_name.guard():
        x, i = static.data("x", [2]), layers.fill_constant([1], "int64", 0)
        n = layers.fill_constant([1], "int64", 3)
        total, more = layers.assign(x), layers.less_than(i, n)
        with layers.While(more).block():
            layers.assign(layers.elementwise_add(total, x), output=total)
            layers.increment(i)
            layers.less_than(i, n, cond=more)
        layers.exp(total)
    graph = passes.graph(main)
    (loop,) = [node for node in graph.nodes if node.type == "while"]
    read, written = ({v.name for v in versions} for versions in (loop.inputs, loop.outputs))
    assert {"x", i.name, n.name, total.name, more.name} <= read
    assert written >= {i.name, total.name, more.name} and "x" not in written
    (exp,) = [node for node in graph.nodes if node.type == "exp"]
    assert exp.inputs[0].inputs == [loop]
    body = loop.body
    assert [node.type for node in body.nodes] == [
        "elementwise_add", "assign", "increment", "less_than",
    ]  # fmt: skip
    outer = {v.name: v for v in body.versions if v.number == 0}
    assert outer.keys() == {"x", i.name, n.name, total.name} and all(
        v.wanted for v in outer.values()
    )
    # what a block reads has no name in the operator, so that nothing can take its place
    first = next(v for v in loop.inputs if v.name == total.name)
    assert not graph.replace(first, exp.inputs[0])
    assert graph.to_program().serialize_to_string() == main.serialize_to_string()


def test_wrong_edits():
    graph, other = passes.graph(overwritten()), passes.graph(overwritten())
    exp, sqrt = graph.nodes[:2]
    with pytest.raises(errors.PreconditionNotMetError, match="unread, but 'exp_0.tmp_0' of exp"):
        graph.remove(exp)
    with pytest.raises(errors.PreconditionNotMetError, match="one of this graph"):
        graph.remove(other.nodes[0])
    with pytest.raises(TypeError, match=r"Graph.replace takes a Version, got"):
        graph.replace(exp, sqrt)
    with pytest.raises(TypeError, match="must be a static.Program"):
        passes.graph(overwritten().desc)
    with pytest.raises(TypeError, match="keep must be a list of names"):
        passes.graph(overwritten(), "x")
    with pytest.raises(ValueError, match="what is kept must be a variable.*'exp_0.tmp_1'.*'exp_0."):
        passes.graph(overwritten(), ["exp_0.tmp_1"])
    last = graph.nodes[-1]
    with pytest.raises(errors.PreconditionNotMetError, match="'square_0.tmp_0' of square"):
        graph.remove(last)  # nothing says what is wanted, so it may be fetched
    graph = passes.graph(overwritten(), keep=["sqrt_0.tmp_0"])
    last = graph.nodes[-1]
    graph.remove(last)
    with pytest.raises(errors.PreconditionNotMetError, match="square was taken out before"):
        graph.remove(last)
