"""What works on programs works on those with blocks inside blocks."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.static import layers


def ints(value):
    return layers.fill_constant([1], "int64", value)


def nothing(*done):
    """What a function gives that only writes."""


def powers():
    """x to the power of n by a loop, halved where that is over 100; and what is not wanted."""
    x, n = static.data("x", [2], "float32"), static.data("n", [1], "int64")
    dropped = layers.dropout(x, 0.5)
    result = layers.fill_constant([2], "float32", 1.0)
    i = ints(0)
    more = layers.less_than(i, n)
    with layers.While(more).block():
        layers.assign(result * x, result)
        large = layers.reduce_sum(result) > 100.0
        layers.cond(large, lambda: nothing(layers.assign(result * 0.5, result)))
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    unwanted = layers.cond(layers.reduce_sum(dropped) > 0.0, lambda: dropped, lambda: x)
    return x, n, result, unwanted


def by_hand(x, n):
    result = np.ones(2, "float32")
    for _ in range(n):
        result = result * x
        if result.sum() > 100:
            result = result * np.float32(0.5)
    return result


FEEDS = [(np.array([2.0, 3.0], "float32"), n) for n in (0, 1, 5, 9)]


def check(program, result):
    for x, n in FEEDS:
        feed = {"x": x, "n": np.array([n])}
        got = static.Executor().run(program, feed=feed, fetch_list=[result])[0]
        assert np.array_equal(got, by_hand(x, n))


def test_clones_run():
    *_, result, _ = powers()
    main = static.default_main_program()
    check(main, result)
    for for_test in (False, True):
        copy = main.clone(for_test)
        assert copy.num_blocks == main.num_blocks == 5
        check(copy, result.name)
        assert static.diff(main.clone(), copy).lines == [] or for_test


def test_bytes_and_text_and_code_rebuild_it():
    *_, result, _ = powers()
    main = static.default_main_program()
    again = static.Program.parse_from_string(main.serialize_to_string())
    assert str(again) == str(main) and not static.diff(main, again)
    check(again, result.name)
    scope = {}
    exec(static.to_code(main), scope)
    assert scope["program"].serialize_to_string() == main.serialize_to_string()


def test_a_pruned_program_keeps_what_its_blocks_need():
    x, n, result, unwanted = powers()
    main = static.default_main_program()
    less = static.passes.apply("prune", main, feeds=["x", "n"], fetches=[result.name])
    assert less.num_blocks == 3 and unwanted.name not in less.global_block().vars
    types = [op.type for block in less.blocks for op in block.ops]
    assert "dropout" not in types and types.count("while") == 1
    assert [b.parent_idx for b in less.blocks] == [-1, 0, 1]
    (loop,) = (op for op in less.global_block().ops if op.type == "while")
    (way,) = (op for op in less.block(1).ops if op.type == "conditional_block")
    assert loop.attr("sub_block") == 1 and way.attr("sub_block") == 2
    less.desc.verify()
    for x, n in FEEDS:
        feed = {"x": x, "n": np.array([n])}
        got = static.Executor().run(main, feed=feed, fetch_list=[result], use_prune=True)[0]
        assert np.array_equal(got, by_hand(x, n))


def test_blocks_that_move_up_are_found():
    x = static.data("x", [2], "float32")
    first = layers.cond(layers.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x * 3.0)
    second = layers.cond(layers.reduce_sum(x) > 1.0, lambda: x * 4.0, lambda: x * 5.0)
    main = static.default_main_program()
    less = static.passes.apply("prune", main, feeds=["x"], fetches=[second.name])
    assert main.num_blocks == 5 and less.num_blocks == 3 and first is not None
    ops = [op for op in less.global_block().ops if op.type == "conditional_block"]
    assert [op.attr("sub_block") for op in ops] == [1, 2]
    for value, factor in ((1.0, 4.0), (0.1, 5.0)):
        feed = {"x": np.full(2, value, "float32")}
        got = static.Executor().run(main, feed=feed, fetch_list=[second], use_prune=True)[0]
        assert np.array_equal(got, feed["x"] * np.float32(factor))


def test_a_saved_model_runs(tmp_path):
    x, n, result, _ = powers()
    exe = static.Executor()
    static.io.save_inference_model(str(tmp_path), ["x", "n"], [result], exe)
    program, feeds, fetches = static.io.load_inference_model(str(tmp_path), exe)
    assert program.num_blocks == 3 and feeds == ["x", "n"]
    for x, n in FEEDS:
        got = exe.run(program, feed={"x": x, "n": np.array([n])}, fetch_list=fetches)[0]
        assert np.array_equal(got, by_hand(x, n))


def test_weights_in_blocks_are_saved(tmp_path):
    x = static.data("x", [None, 3], "float32")
    y = layers.cond(
        layers.reduce_sum(x) > 0.0, lambda: layers.fc(x, 2, param_attr="w"), lambda: x[:, :2]
    )
    exe = static.Executor()
    exe.run(static.default_startup_program())
    value = np.array([[1, 2, 3]], "float32")
    wanted = exe.run(feed={"x": value}, fetch_list=[y])[0]
    static.io.save_inference_model(str(tmp_path), ["x"], [y], exe)
    with static.scope_guard(static.Scope()):
        program, _, fetches = static.io.load_inference_model(str(tmp_path), exe)
        assert np.array_equal(exe.run(program, feed={"x": value}, fetch_list=fetches)[0], wanted)


def test_a_block_of_another_program_brings_its_blocks():
    *_, result, _ = powers()
    other = static.Program()
    other.create_block()
    other.rollback()
    other.global_block().extend(static.default_main_program().global_block())
    assert other.num_blocks == 6
    other.desc.verify()
    check(other, result.name)


def test_pictures_have_a_box_for_each_block():
    powers()
    drawing = static.draw_graph(static.default_main_program())
    assert drawing.boxes == {
        1: "block 1 of while", 2: "block 2 of conditional_block", 3: "block 3 of conditional_block",
        4: "block 4 of conditional_block",
    }  # fmt: skip
    inside = [n for n in drawing.nodes if n.get("boxes") == (1, 2)]
    assert any(n["label"].startswith("scale") for n in inside)
    assert 'subgraph cluster_1 { label="block 1 of while"; subgraph cluster_2 {' in drawing.dot
    picture = drawing.svg()
    assert picture.count("stroke-dasharray") == 4
    assert all(f">{title}</text>" in picture for title in drawing.boxes.values())
    ends = {n["id"] for n in drawing.nodes}
    assert all(a in ends and b in ends for a, b in drawing.edges)


def test_notebooks_and_listings_show_all_blocks():
    powers()
    main = static.default_main_program()
    text = static.debugger.pprint_program_codes(main)
    assert text.count("// block ") == 5 and "sub_block=block 1" in text
    assert "conditional_block" in main._repr_html_()
    assert {v.block.idx for v in main.list_vars()} >= {0, 1, 2}
    assert all(repr(v) for v in main.list_vars())


def test_a_program_that_trained_loses_its_gradient_blocks():
    w = layers.create_parameter([2], "float32", name="w")
    x = static.data("x", [2], "float32")
    i, s = layers.while_loop(lambda i, s: i < 3, lambda i, s: [i + 1, s * w], [ints(0), x * 1.0])
    static.optimizer.SGD(0.1).minimize(layers.reduce_sum(s))
    main = static.default_main_program()
    test = main.clone(for_test=True)
    assert main.num_blocks == 3 and test.num_blocks == 2
    lines = static.debugger.pprint_program_codes(main).splitlines()
    assert "// block 2, in block 0, for the gradient of block 1" in lines
    test.desc.verify()
    exe = static.Executor()
    exe.run(static.default_startup_program())
    static.global_scope().var("w").set(np.array([2.0, 3.0], "float32"))
    got = exe.run(test, feed={"x": np.ones(2, "float32")}, fetch_list=[s.name])[0]
    assert got.tolist() == [8.0, 27.0]


def test_a_write_of_what_blocks_wrote_is_a_copy():
    x = static.data("x", [2], "float32")
    y = layers.fill_constant([2], "float32", 7.0)
    made = layers.cond(layers.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x * 3.0)
    layers.assign(made, y)
    for sign, factor in ((1.0, 2.0), (-1.0, 3.0)):
        feed = {"x": np.full(2, sign, "float32")}
        got = static.Executor().run(feed=feed, fetch_list=[y])[0]
        assert got.tolist() == [sign * factor] * 2


def test_a_write_to_a_variable_that_has_ended():
    made = []
    x = static.data("x", [2], "float32")
    layers.cond(layers.reduce_sum(x) > 0.0, lambda: nothing(made.append(x * 2.0)))
    with pytest.raises(dygraph.errors.PreconditionNotMetError, match="ends with it"):
        layers.assign(x, made[0])
