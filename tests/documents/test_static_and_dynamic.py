"""The code of the design of static and dynamic graph (003), nearly as it stands there."""

import numpy as np
import pytest

import dygraph.static as fluid
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


def test_layers_write_the_same_descriptions():
    """The two operators again, by `layers.sums` and `layers.split`."""
    block = fluid.default_main_program().global_block()
    parts = [fluid.data(f"tmp_in_{i}", [None, 3]) for i in range(3)]
    fluid.layers.sums(parts, out=block.create_var(name="tmp_out_0", dtype="float32"))
    assert description(block.ops[-1]) == {
        "type": "sum",
        "inputs": {"X": ["tmp_in_0", "tmp_in_1", "tmp_in_2"]},
        "outputs": {"Out": ["tmp_out_0"]},
    }
    outs = fluid.layers.split(fluid.data("whole", [None, 6]), 3, dim=1)
    op = block.ops[-1]
    assert op.type == "split" and op.inputs["X"] == ["whole"] and op.attr("axis") == 1
    assert op.outputs == {"Out": [v.name for v in outs]} and len(set(op.output("Out"))) == 3
    feed = {f"tmp_in_{i}": np.full((2, 3), i + 1.0, "float32") for i in range(3)}
    feed["whole"] = np.arange(12, dtype="float32").reshape(2, 6)
    total, last = fluid.Executor().run(feed=feed, fetch_list=["tmp_out_0", outs[2]])
    assert (total == 6).all() and last.tolist() == [[4, 5], [10, 11]]


def test_y_is_x_plus_one():
    """A program describes what to compute; eager code has computed it."""
    x = fluid.data("x", [None])
    y = x + 1
    assert types()[0][-1] in ("scale", "elementwise_add") and y.shape == (-1,)
    with pytest.raises((TypeError, RuntimeError)):
        y.numpy()
    (got,) = fluid.Executor().run(feed={"x": np.float32([1, 2])}, fetch_list=[y])
    with fluid.dygraph.guard():
        now = fluid.dygraph.to_variable(np.float32([1, 2])) + 1
    assert got.tolist() == now.numpy().tolist() == [2, 3]


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


# Executor -----------------------------------------------------------------------------------------


def test_creating_an_executor():
    USE_CUDA = False

    place = fluid.CUDAPlace(0) if USE_CUDA else fluid.CPUPlace()

    executor = fluid.Executor(place)
    assert executor.run(fluid.Program()) == []
    x = fluid.data("x", [None])
    fluid.layers.relu(x)
    with pytest.raises((NotImplementedError, IndexError), match=r"CUDAPlace\(100\)"):
        fluid.Executor(fluid.CUDAPlace(100)).run(feed={"x": np.float32([1])})


def test_steps_of_a_run():
    """Persistable variables in the top scope, others in a child that goes; operators in order."""
    x_data = np.random.default_rng(0).random((4, 3)).astype("float32")
    y_data = x_data.sum(1, keepdims=True)
    x, y = fluid.data("x", [None, 3]), fluid.data("y", [None, 1])
    hidden = fluid.layers.fc(x, 8, act="relu")
    loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(hidden, 1), y))
    fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fluid.default_startup_program())
    scope, train_program = fluid.global_scope(), fluid.default_main_program()
    kept = {v.name for v in train_program.list_vars() if v.persistable}
    assert set(scope.local_var_names()) == kept and len(kept) == 9
    with fluid.dygraph.profiler.Profiler() as seen:
        loss_numpy_value = executor.run(
            train_program, feed={"x": x_data, "y": y_data}, fetch_list=[loss]
        )
    assert np.isfinite(loss_numpy_value[0])
    assert set(scope.local_var_names()) == kept and scope.kids == []
    ran = sorted((e["ts"], e["name"]) for e in seen.chrome_trace()["traceEvents"])
    types = [op.type for op in train_program.global_block().ops]
    assert [name for _, name in ran] == [*types, "fetch"]


# Dynamic graph ------------------------------------------------------------------------------------


def test_relu_keeps_its_result_for_backward():
    """x_grad = y_grad * (y > 0): of the call, y is kept and nothing else."""
    with fluid.dygraph.guard():
        x = fluid.dygraph.to_variable(np.random.default_rng(0).standard_normal([4, 5]))
        x.stop_gradient = False
        y = fluid.layers.relu(x)
        (kept,) = fluid.dygraph.saved(y)
        assert (kept.op, kept.slot, kept.shape) == ("relu", "Out", (4, 5))
        fluid.layers.reduce_sum(y * y).backward()
        np.testing.assert_array_equal(x.gradient(), 2 * y.numpy() * (y.numpy() > 0))


def test_gradients_that_meet_are_added():
    with fluid.dygraph.guard():
        x = fluid.dygraph.to_variable(np.float64([2.0, 3.0]))
        x.stop_gradient = False
        (x * x + x * 3.0 + x).sum().backward()
        assert x.gradient().tolist() == [8.0, 10.0]


def test_prediction_records_nothing():
    """In prediction mode no backward is recorded, and forward values go at once."""
    with fluid.dygraph.guard():
        layer = fluid.dygraph.Linear(5, 3)
        x = fluid.dygraph.to_variable(np.ones((2, 5), "float32"))
        assert fluid.dygraph.saved(layer(x).sum()).total > 0
        layer.eval()
        y = layer(x)
        assert y.stop_gradient
        with pytest.raises(RuntimeError, match="eval"):
            y.sum().backward()
        layer.train()
        layer(x).sum().backward()
        assert layer.weight.gradient().tolist() == [[2.0] * 3] * 5


def test_layers_hold_no_results():
    """State is a layer's; what a call computes is not."""
    with fluid.dygraph.guard():
        layer = fluid.dygraph.Linear(5, 3)

        def held():
            return {id(v) for v in layer.__dict__.values()} | {id(p) for p in layer.parameters()}

        before = held()
        y = layer(fluid.dygraph.to_variable(np.ones((2, 5), "float32")))
        assert held() == before and id(y) not in before


def test_variables_go_with_their_last_reference():
    memory, place = fluid.dygraph.memory, fluid.CPUPlace()
    with fluid.dygraph.guard():
        before = memory.stats(place)["used"]
        x = fluid.dygraph.to_variable(np.ones(1 << 16, "float32"))
        x.stop_gradient = False
        y = fluid.layers.relu(x)
        del x  # the tape holds what backward needs of it, and no more
        y.sum().backward()
        del y
        assert memory.stats(place)["used"] == before


def test_dynamic_graph_computes_at_once():
    with fluid.dygraph.guard():
        x = fluid.dygraph.to_variable(np.random.random([4, 5]))
        y = fluid.layers.relu(x)
        np.testing.assert_array_equal(y.numpy(), x.numpy())
    assert types() == ([], [])
