"""The code of the design of static and dynamic graph (003), nearly as it stands there."""

import numpy as np
import pytest

import static as fluid
from dygraph import unique_name


@pytest.fixture(autouse=True)
def programs():
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        yield


def types():
    return tuple(
        [op.type for op in program.global_block().ops]
        for program in (fluid.default_main_program(), fluid.default_startup_program())
    )


def description(op):
    return {"type": op.type, "inputs": op.inputs, "outputs": op.outputs}


def test_sum():
    parts = [fluid.data(f"tmp_in_{i}", [None, 3]) for i in range(3)]
    block = fluid.default_main_program().global_block()
    out = block.create_var(name="tmp_out_0", dtype="float32")
    op = block.append_op("sum", {"X": parts}, {"Out": out})
    assert description(op) == {
        "type": "sum",
        "inputs": {"X": ["tmp_in_0", "tmp_in_1", "tmp_in_2"]},
        "outputs": {"Out": ["tmp_out_0"]},
    }


def test_split():
    whole = fluid.data("tmp_in_0", [None, 6])
    block = fluid.default_main_program().global_block()
    outs = [block.create_var(name=f"tmp_out_{i}", dtype="float32") for i in range(3)]
    op = block.append_op("split", {"X": whole}, {"Out": outs}, {"axis": 1, "num": 3})
    assert op.type == "split" and op.input("X") == ["tmp_in_0"] and op.attr("axis") == 1
    assert op.output("Out") == ["tmp_out_0", "tmp_out_1", "tmp_out_2"]
    assert [v.shape for v in outs] == [(-1, 2)] * 3


def test_what_each_of_five_statements_inserts():
    assert types() == ([], [])
    # Statement 1
    image = fluid.data(name="image", shape=[None, 3, 224, 224], dtype="float32")
    assert types() == ([], [])
    # Statement 2
    conv_result = fluid.layers.conv2d(image, num_filters=64, filter_size=3)
    assert types() == (["conv2d", "elementwise_add"], ["fill_constant", "gaussian_random"])
    # Statement 3
    loss = fluid.layers.reduce_mean(conv_result)
    forward = ["conv2d", "elementwise_add", "reduce_mean"]
    assert types() == (forward, ["fill_constant", "gaussian_random"])
    # Statement 4
    adam = fluid.optimizer.Adam(learning_rate=1e-3)
    assert types() == (forward, ["fill_constant", "gaussian_random"])
    # Statement 5
    adam.minimize(loss)
    backward = ["fill_constant", "reduce_mean_grad", "elementwise_add_grad", "conv2d_grad"]
    assert types() == (
        [*forward, *backward, "adam", "adam"], ["fill_constant"] * 10 + ["gaussian_random"],
    )  # fmt: skip


def test_a_classifier_runs():
    image = fluid.data(shape=[None, 3, 8, 8], name="image", dtype="float32")
    label = fluid.data(shape=[None, 1], name="label", dtype="int64")

    y = fluid.layers.fc(image, size=10)

    loss = fluid.layers.softmax_with_cross_entropy(y, label)

    mean_loss = fluid.layers.reduce_mean(loss)

    fluid.optimizer.SGD(0.01).minimize(mean_loss)
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fluid.default_startup_program())
    rng = np.random.default_rng(0)
    feed = {
        "image": rng.random((4, 3, 8, 8)).astype("float32"),
        "label": rng.integers(0, 10, (4, 1)),
    }
    values = [executor.run(feed=feed, fetch_list=[mean_loss])[0] for _ in range(20)]
    assert values[-1] < values[0]
    scope = fluid.global_scope()
    assert scope.find_var("fc_0.w_0") is not None and scope.find_var(loss.name) is None


def test_inner_blocks_hide_names():
    program = fluid.default_main_program()
    outer = program.global_block()
    b = outer.create_var(name="b", shape=[1], dtype="float32")
    inner = program.create_block()
    try:
        assert program.current_block() is inner and inner.parent_idx == 0
        assert inner.var_recursive("b") is b
        hidden = inner.create_var(name="b", shape=[2], dtype="float32")
        assert inner.var_recursive("b") is hidden and outer.var_recursive("b") is b
    finally:
        program.rollback()
    assert program.current_block() is outer


def test_dynamic_graph_computes_at_once():
    with fluid.dygraph.guard():
        x = fluid.dygraph.to_variable(np.random.random([4, 5]))
        y = fluid.layers.relu(x)
        np.testing.assert_array_equal(y.numpy(), x.numpy())
    assert types() == ([], [])
