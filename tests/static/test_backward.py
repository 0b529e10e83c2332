"""append_backward and gradients: what is written, and what is refused."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError


@pytest.fixture
def program():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        yield main


def source(name, shape):
    """A fed variable that wants a gradient."""
    x = static.data(name, shape)
    x.stop_gradient = False
    return x


def run(program, feed, fetch):
    return static.Executor().run(program, feed, fetch, scope=static.Scope())


def types(program):
    return [op.type for op in program.global_block().ops]


def test_terms_are_added_once_in_order(program):
    x = source("x", [3])
    loss = static.layers.mean(x * x + static.layers.exp(x))
    (gradient,) = static.gradients(loss, x)
    assert types(program).count("sum") == 1
    value = np.array([0.5, -1.0, 2.0], "f")
    (got,) = run(program, {"x": value}, [gradient])
    np.testing.assert_allclose(got, (2 * value + np.exp(value)) / 3, rtol=1e-6)
    (op,) = [op for op in program.global_block().ops if op.type == "sum"]
    assert op.output("Out") == ["x@GRAD"]
    assert [name.partition("@RENAME")[0] for name in op.input("X")] == ["x@GRAD"] * len(
        op.input("X")
    )


def test_stop_gradient_and_no_grad_set(program):
    x, y = source("x", [2]), source("y", [2])
    hidden = x * y
    stopped = hidden.detach()
    loss = static.layers.mean(hidden + stopped)
    gx, gy = static.gradients(loss, [x, y], no_grad_set={"y"})
    assert gy is None
    (got,) = run(program, {"x": np.array([1, 2], "f"), "y": np.array([3, 4], "f")}, [gx])
    assert got.tolist() == [1.5, 2.0]


def test_nothing_unneeded_is_computed(program):
    x, y = source("x", [2]), source("y", [2])
    loss = static.layers.mean(static.layers.exp(x) * static.layers.tanh(y))
    before = len(types(program))
    static.gradients(loss, x)
    made = types(program)[before:]
    assert "tanh_grad" not in made and "exp_grad" in made


def test_second_order(program):
    x = source("x", [2])
    (first,) = static.gradients(x * x * x, x)
    (second,) = static.gradients(first, x)
    value = np.array([2.0, -3.0], "f")
    got = run(program, {"x": value}, [first, second])
    np.testing.assert_allclose(got[0], 3 * value**2)
    np.testing.assert_allclose(got[1], 6 * value)


def test_given_gradients(program):
    x = source("x", [None, 2])
    flow = static.data("flow", [None, 2])
    (gradient,) = static.gradients([x * 3.0], [x], [flow])
    feed = {"x": np.ones((2, 2), "f"), "flow": np.array([[1, 2], [3, 4]], "f")}
    (got,) = run(program, feed, [gradient])
    np.testing.assert_array_equal(got, 3 * feed["flow"])
    with pytest.raises(InvalidArgumentError, match="shape and type"):
        static.gradients([x * 2.0], [x], [static.data("wrong", [3])])
    with pytest.raises(InvalidArgumentError, match="for each of the 1 targets, got 2"):
        static.gradients([x * 2.0], [x], [flow, flow])


def test_a_batch_of_unknown_size_gets_ones(program):
    x = source("x", [None, 2])
    (gradient,) = static.gradients(x * x, x)
    value = np.arange(6, dtype="f").reshape(3, 2)
    (got,) = run(program, {"x": value}, [gradient])
    np.testing.assert_array_equal(got, 2 * value)


def test_overwritten_values_are_refused(program):
    """exp's gradient needs its result, which the operator behind it overwrites."""
    x = source("x", [2])
    y = static.layers.exp(x)
    block = program.global_block()
    block.append_op("scale", {"X": y}, {"Out": y}, {"scale": 2.0})
    with pytest.raises(PreconditionNotMetError, match=rf"exp: .*'{y.name}'.*scale, overwrites"):
        static.gradients(y, x)


def test_writing_in_place_where_it_may(program):
    """scale reads no value backward: two writers of one name have gradients of their own."""
    x = source("x", [2])
    y = x * 3.0
    program.global_block().append_op("scale", {"X": y}, {"Out": y}, {"scale": 5.0})
    (gradient,) = static.gradients(static.layers.mean(y), x)
    (got,) = run(program, {"x": np.ones(2, "f")}, [gradient])
    np.testing.assert_allclose(got, [7.5, 7.5])


def test_parameters_and_their_marks(program):
    loss = static.layers.mean(static.layers.fc(static.data("x", [None, 3]), size=2))
    pairs = static.append_backward(loss)
    assert [(p.name.split(".")[1], g.name == f"{p.name}@GRAD") for p, g in pairs] == [
        ("w_0", True), ("b_0", True),
    ]  # fmt: skip
    ops = [op for op in program.global_block().ops if op.has_attr("op_role_var")]
    marks = [op.attr("op_role_var") for op in ops if op.attr("op_role_var")]
    assert marks == [[p.name, g.name] for p, g in reversed(pairs)]


def test_callbacks_see_every_operator(program):
    loss = static.layers.mean(static.layers.fc(static.data("x", [None, 3]), size=2))
    seen = []
    static.append_backward(loss, callbacks=[lambda block, op: seen.append(op.type)])
    assert seen == ["mean_grad", "elementwise_add_grad", "mul_grad"]


def test_data_alone_may_have_a_gradient(program):
    x = static.data("x", [2, 3])
    x.stop_gradient = False
    assert static.append_backward(static.layers.mean(x)) == []
    (grad,) = static.Executor().run(feed={"x": np.ones((2, 3), "float32")}, fetch_list=["x@GRAD"])
    np.testing.assert_allclose(grad, np.full((2, 3), 1 / 6), rtol=1e-6)


def test_what_cannot_be_differentiated(program):
    x = static.data("x", [None, 3])
    with pytest.raises(PreconditionNotMetError, match="must depend on a trainable parameter"):
        static.append_backward(static.layers.mean(x))
    with pytest.raises(ArgumentTypeError, match="must be a variable of a program"):
        static.append_backward(dygraph.to_variable([1.0]))
    with pytest.raises(ArgumentTypeError, match="must be of a floating-point type"):
        static.append_backward(static.data("n", [1], "int64"))
    with pytest.raises(PreconditionNotMetError, match=r"append_backward\(loss\)"):
        static.layers.mean(x).backward()


def test_a_program_without_parameters(program):
    """Gradients of its data alone: no pairs, and nothing to update."""
    x = static.data("x", [3])
    x.stop_gradient = False
    loss = static.layers.mean(x * x)
    assert static.append_backward(loss) == []
    feed = {"x": np.array([3, 0, -6], "float32")}
    (got,) = static.Executor().run(program, feed, ["x@GRAD"])
    assert got.tolist() == [2, 0, -4]
    with pytest.raises(PreconditionNotMetError, match="params_grads must hold a parameter"):
        static.optimizer.SGD(0.1).minimize(static.layers.mean(x * 2))


def test_a_counter_that_went_on(program):
    """Elements of an array are found where they were written, and the counter keeps its value."""
    a, b = static.data("a", [2]), static.data("b", [2])
    a.stop_gradient = b.stop_gradient = False
    i = static.layers.zeros([1], "int64")
    array = static.layers.array_write(a, i)
    static.layers.increment(i)
    static.layers.array_write(b, i, array)
    static.layers.increment(i, 2)
    first = static.layers.zeros([1], "int64")
    parts = [static.layers.array_read(array, k) for k in (first, first + 1)]
    static.append_backward(static.layers.mean(parts[0] * 2 + parts[1] * 6))
    feed = {"a": np.ones(2, "float32"), "b": np.ones(2, "float32")}
    got = static.Executor().run(program, feed, ["a@GRAD", "b@GRAD", i])
    assert [g.tolist() for g in got] == [[1, 1], [3, 3], [3]]


def test_sparse_gradients_of_a_table(program):
    ids = static.data("ids", [None], "int64")
    table = static.create_parameter([10, 4], "float32", name="table")
    rows = dygraph.ops.lookup_table_v2(table, ids, is_sparse=True)
    ((_, gradient),) = static.append_backward(static.layers.mean(rows))
    assert gradient.type == "SELECTED_ROWS" and gradient.shape == (10, 4)


def test_one_of_several_results_is_used(program):
    """A list of gradients that lacks one: the last cell of an LSTM, without the last h."""
    r = np.random.RandomState(0)
    arrays = [r.rand(*shape) for shape in [(4, 2, 2), (1, 2, 3), (1, 2, 3)]]
    arrays += [r.rand(*shape) - 0.5 for shape in [(12, 2), (12, 3), (12,), (12,)]]

    def loss(x, h, c, *weights):
        sizes = {"input_size": 2, "hidden_size": 3, "num_layers": 1}
        _, (_, cell) = dygraph.ops.rnn(x, [h, c], list(weights), mode="LSTM", **sizes)
        return (cell * cell).sum()

    fed = [static.data(f"v{i}", a.shape, "float64") for i, a in enumerate(arrays)]
    fed[0].stop_gradient = False
    (gradient,) = static.gradients(loss(*fed), fed[0])
    feed = {f"v{i}": a for i, a in enumerate(arrays)}
    (got,) = run(program, feed, [gradient])
    eager = [dygraph.to_variable(a) for a in arrays]
    eager[0].stop_gradient = False
    (expected,) = dygraph.grad(loss(*eager), eager[0])
    assert np.abs(got).max() > 1e-3
    np.testing.assert_array_equal(got, expected.numpy())


def test_derivatives_that_are_zero_everywhere(program):
    """Zeros, but None for what does not lead to the target, and for a label."""
    x, w, other = source("x", [3]), source("w", [3]), source("other", [3])
    label = source("label", [3])
    (first,) = static.gradients(static.layers.relu(x * w), x)
    hidden = static.layers.sigmoid_cross_entropy_with_logits(first, label)
    second = static.gradients(first, [x, w, other])
    assert second[2] is None
    assert static.gradients(hidden, label) == [None]
    feed = {"x": np.array([1, -2, 3], "f"), "w": np.array([2, 3, -1], "f")}
    feed["label"] = np.zeros(3, "f")
    zeros, by_weight = run(program, feed, second[:2])
    assert zeros.tolist() == [0, 0, 0]
    assert by_weight.tolist() == [1, 0, 0]


def test_a_parameter_whose_gradient_is_zero_everywhere(program):
    """append_backward gives it zeros, as backward() does: the bias under relu of a penalty."""
    x = source("x", [2, 2])
    hidden = static.layers.relu(static.layers.fc(x, 3))
    (g,) = static.gradients(hidden, x)
    pairs = static.append_backward(static.layers.mean(g * g))
    shapes = {p.shape: gradient for p, gradient in pairs}
    assert set(shapes) == {(2, 3), (3,)}
    scope = static.Scope()
    executor = static.Executor()
    executor.run(static.default_startup_program(), scope=scope)
    feed = {"x": np.array([[1, -2], [3, 4]], "f")}
    (got,) = executor.run(program, feed, [shapes[(3,)]], scope=scope)
    assert got.tolist() == [0, 0, 0]


def test_constants_alone_may_have_a_gradient(program):
    a, b = (static.layers.fill_constant([1], "float32", value) for value in (3.0, 4.0))
    a.stop_gradient = b.stop_gradient = False
    assert static.append_backward(a * b) == []
    got = static.Executor().run(fetch_list=[a.grad_name, b.grad_name])
    assert [float(g[0]) for g in got] == [4.0, 3.0]


def test_the_gradient_of_split_is_concat_as_in_fluid():
    """Where each part has its gradient; the numbers are those of eager calls."""
    x = np.arange(12, dtype="float32").reshape(2, 6)
    main = static.Program()
    with static.unique_name.guard(), static.program_guard(main, static.Program()):
        a = static.data("a", [2, 6], "float32")
        a.stop_gradient = False
        first, second = static.layers.split(a, [2, 4], dim=1)
        assert static.layers.sum([first, first]).name == "sum_0.tmp_0"
        loss = static.layers.reduce_sum(first * first) + static.layers.reduce_sum(second)
        (whole,) = static.gradients(loss, a)
        types = [op.type for op in main.global_block().ops]
        assert "concat" in types and "split_grad" not in types
        (lone,) = static.gradients(static.layers.reduce_sum(first * first), a)
        assert "split_grad" in [op.type for op in main.global_block().ops]
    got, of_one = static.Executor().run(main, {"a": x}, [whole, lone])
    expected = np.concatenate([2 * x[:, :2], np.ones((2, 4))], 1)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(of_one, np.concatenate([2 * x[:, :2], np.zeros((2, 4))], 1))
