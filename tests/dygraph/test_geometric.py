"""dygraph.geometric: messages of a graph and segments, against Paddle 2.6.2's numbers."""

import numpy as np
import pytest

import dygraph
from dygraph import geometric, static

X = np.array([[1.0, 5.0], [2.0, 2.0], [3.0, 5.0], [4.0, 1.0]])
Y = np.array([[1.0], [2.0], [0.5], [3.0], [1.0]])
SRC, DST = np.array([0, 1, 2, 3, 0]), np.array([1, 1, 1, 0, 3])


def var(values, leaf=False):
    made = dygraph.to_variable(np.array(values))
    made.stop_gradient = not leaf
    return made


THIRD = 1 / 3
# What Paddle 2.6.2 printed of these: the result, the gradients of its sum for x and for y.
RECORDED = {
    ("sum", "add"): (
        [[7, 4], [9.5, 15.5], [0, 0], [2, 6]], [[2, 2], [1, 1], [1, 1], [1, 1]],
        [[2], [2], [2], [2], [2]],
    ),
    ("sum", "div"): (
        [[4 / 3, THIRD], [8, 16], [0, 0], [1, 5]],
        [[2, 2], [0.5, 0.5], [2, 2], [THIRD, THIRD]],
        [[-6], [-1], [-32], [-5 / 9], [-6]],
    ),
    ("mean", "mul"): (
        [[12, 3], [13 / 6, 11.5 / 3], [0, 0], [1, 5]],
        [[4 / 3, 4 / 3], [2 / 3, 2 / 3], [1 / 6, 1 / 6], [3, 3]],
        [[2], [4 / 3], [8 / 3], [5], [6]],
    ),
    ("max", "sub"): (
        [[1, -2], [2.5, 4.5], [0, 0], [0, 4]], [[1, 1], [0, 0], [1, 1], [1, 1]],
        [[0], [0], [-2], [-2], [-2]],
    ),
    ("max", "mul"): (
        [[12, 3], [4, 5], [0, 0], [1, 5]], [[1, 2], [2, 0], [0, 0], [3, 3]],
        [[5], [2], [0], [5], [6]],
    ),
    ("min", "add"): (
        [[7, 4], [2, 4], [0, 0], [2, 6]], [[2, 1], [0, 1], [0, 0], [1, 1]],
        [[1], [1], [0], [2], [2]],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("reduce_op", "message_op"), RECORDED)
def test_send_ue_recv(reduce_op, message_op):
    out, x_grad, y_grad = RECORDED[reduce_op, message_op]
    x, y = var(X, True), var(Y, True)
    got = geometric.send_ue_recv(x, y, var(SRC), var(DST), message_op, reduce_op)
    np.testing.assert_allclose(got.numpy(), out, rtol=1e-6)
    got.sum().backward()
    np.testing.assert_allclose(x.gradient(), x_grad, rtol=1e-6)
    np.testing.assert_allclose(y.gradient(), y_grad, rtol=1e-6)


@pytest.mark.parametrize(
    ("reduce_op", "out", "x_grad"),
    [
        ("sum", [[4, 1], [6, 12], [0, 0], [1, 5]], [[2, 2], [1, 1], [1, 1], [1, 1]]),
        (
            "mean", [[4, 1], [2, 4], [0, 0], [1, 5]],
            [[4 / 3, 4 / 3], [THIRD, THIRD], [THIRD, THIRD], [1, 1]],
        ),
        ("max", [[4, 1], [3, 5], [0, 0], [1, 5]], [[1, 2], [0, 0], [1, 1], [1, 1]]),
        ("min", [[4, 1], [1, 2], [0, 0], [1, 5]], [[2, 1], [0, 1], [0, 0], [1, 1]]),
    ],
)  # fmt: skip
def test_send_u_recv(reduce_op, out, x_grad):
    x = var(X, True)
    got = geometric.send_u_recv(x, var(SRC), var(DST), reduce_op)
    assert got.tolist() == out
    got.sum().backward()
    np.testing.assert_allclose(x.gradient(), x_grad, rtol=1e-6)


def test_sizes_and_edges_with_numbers():
    x, ends = var(X), (var(SRC), var(DST))
    assert geometric.send_u_recv(x, *ends, out_size=6).shape == (6, 2)
    assert geometric.send_u_recv(x, *ends, out_size=var([5])).shape == (5, 2)
    assert geometric.send_ue_recv(x, var(np.ones(5)), *ends).tolist() == [
        [5, 2], [9, 15], [0, 0], [2, 6],
    ]  # fmt: skip
    assert geometric.send_uv(x, x * 2, *ends, "mul").tolist() == [
        [4, 20], [8, 8], [12, 20], [8, 10], [8, 10],
    ]  # fmt: skip
    assert geometric.send_uv(x, x, *ends, "sub").tolist() == (X[SRC] - X[DST]).tolist()


@pytest.mark.parametrize(
    ("kind", "out", "grad"),
    [
        ("sum", [[6, 12], [0, 0], [4, 1]], [[1, 1], [1, 1], [1, 1], [1, 1]]),
        ("mean", [[2, 4], [0, 0], [4, 1]], [[THIRD] * 2, [THIRD] * 2, [THIRD] * 2, [1, 1]]),
        ("max", [[3, 5], [0, 0], [4, 1]], [[0, 1], [0, 0], [1, 1], [1, 1]]),
        ("min", [[1, 2], [0, 0], [4, 1]], [[1, 0], [0, 1], [0, 0], [1, 1]]),
    ],
)
def test_segments(kind, out, grad):
    function = getattr(geometric, f"segment_{kind}")
    x, ids = var(X, True), var([0, 0, 0, 2])
    assert function(x, ids).tolist() == out
    function(x, ids).sum().backward()
    np.testing.assert_allclose(x.gradient(), grad, rtol=1e-6)
    assert function(x, ids, num_segments=5).tolist() == [*out, [0, 0], [0, 0]]


def test_two_derivatives():
    x = var(X, True)
    out = geometric.send_u_recv(x**3, var(SRC), var(DST), "mean")
    (first,) = dygraph.grad([out.sum()], [x], create_graph=True)
    (second,) = dygraph.grad([first.sum()], [x])
    share = np.array([4 / 3, THIRD, THIRD, 1.0])[:, None]
    np.testing.assert_allclose(second.numpy(), share * 6 * X)


def test_a_program_with_any_number_of_nodes_and_edges():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [-1, 2], "float64")
        source, target = (static.data(n, [-1], "int64") for n in ("source", "target"))
    out = geometric.send_u_recv(x, source, target)
    total = geometric.segment_sum(x, source)
    executor = static.Executor(dygraph.CPUPlace())
    feed = {"x": X, "source": SRC[:4], "target": DST[:4]}
    got = executor.run(program, feed=feed, fetch_list=[out, total])
    assert got[0].tolist() == [[4, 1], [6, 12], [0, 0], [0, 0]]
    assert got[1].tolist() == X.tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.send_u_recv(var(X), var(SRC), var(DST), "prod"), "reduce_op"),
        (lambda g: g.send_u_recv(X, var(SRC), var(DST)), "x must be a Variable"),
        (lambda g: g.send_u_recv(var(X), SRC, var(DST)), "src_index must be a Variable"),
        (lambda g: g.send_u_recv(var(X), var(SRC), var(DST), out_size=0), "out_size"),
        (lambda g: g.send_u_recv(var(X), var(SRC), var(DST), out_size=2), "Dst_index must lie"),
        (lambda g: g.send_uv(var(X), var(X), var(SRC), var(DST), "pow"), "message_op"),
        (lambda g: g.send_uv(var(SRC), var(SRC), var(SRC), var(DST), "div"), "floating-point"),
        (lambda g: g.send_uv(var(X), var(SRC), var(SRC), var(DST)), "type of x"),
        (lambda g: g.segment_sum(var(X), [0, 0, 1, 1]), "segment_ids must be a Variable"),
        (lambda g: g.segment_sum(var(X), var([0, 0, 1, 1]), num_segments=1), "must lie in"),
        (lambda g: g.segment_prod, "no function 'segment_prod'"),
    ],
)
def test_errors(call, message):
    with pytest.raises((ValueError, TypeError, IndexError, AttributeError), match=message):
        call(geometric)
