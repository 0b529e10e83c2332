"""The code of the developer guide (000 and 001), nearly as it stands there.

``import dygraph.static as fluid`` takes the place of ``import paddle.v2.fluid as fluid``; the diabetes data
that of the housing data, with ten measurements instead of thirteen.
"""

import numpy as np
import pytest

import dygraph.static as fluid
from dygraph import unique_name
from dygraph.regularizer import L1Decay

ParamAttr = fluid.ParamAttr
Program = fluid.Program
core = fluid.core
UniformInitializer = fluid.initializer.UniformInitializer
GradientClipByValue = fluid.clip.GradientClipByValue


@pytest.fixture(autouse=True)
def programs():
    """Default programs, names and scope of each test's own."""
    with (
        fluid.program_guard(Program(), Program()),
        unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        fluid.default_startup_program().random_seed = 1
        yield


def fit_a_line(width=10):
    x = fluid.layers.data(name="x", shape=[width], dtype="float32")
    y_predict = fluid.layers.fc(input=x, size=1, act=None)
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    cost = fluid.layers.square_error_cost(input=y_predict, label=y)
    avg_cost = fluid.layers.mean(x=cost)
    return x, y, y_predict, avg_cost


def test_fit_a_line():
    x, y, _, avg_cost = fit_a_line()
    learning_rate = 0.05
    sgd_optimizer = fluid.optimizer.SGD(learning_rate)
    sgd_optimizer.minimize(avg_cost)

    place = fluid.CPUPlace()
    train_reader = fluid.batch(
        fluid.reader.shuffle(fluid.dataset.diabetes.train(), buf_size=500), batch_size=20
    )
    feeder = fluid.DataFeeder(place=place, feed_list=[x, y])

    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    PASS_NUM = 10
    losses = []
    for _pass_id in range(PASS_NUM):
        for data in train_reader():
            (avg_loss_value,) = exe.run(
                fluid.default_main_program(), feed=feeder.feed(data), fetch_list=[avg_cost]
            )
            losses.append(float(avg_loss_value))
    steps = len(losses) // PASS_NUM
    assert np.mean(losses[-steps:]) < 0.5 * np.mean(losses[:steps])


def test_operators_of_fit_a_line():
    _, _, _, avg_cost = fit_a_line()
    fluid.optimizer.SGD(0.01).minimize(avg_cost)
    assert [op.type for op in fluid.default_main_program().global_block().ops] == [
        "mul", "elementwise_add", "elementwise_sub", "square", "mean",
        "fill_constant", "mean_grad", "square_grad", "elementwise_sub_grad",
        "elementwise_add_grad", "mul_grad", "sgd", "sgd",
    ]  # fmt: skip
    startup = fluid.default_startup_program().global_block()
    assert [op.type for op in startup.ops] == ["fill_constant", "fill_constant", "uniform_random"]


def test_programs_may_be_switched():
    other = Program()
    before = fluid.switch_main_program(other)
    fit_a_line()
    assert fluid.switch_main_program(before) is other
    assert other.global_block().ops and not before.global_block().ops


def test_param_attr():
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    w_param_attrs = ParamAttr(
        name=None,
        initializer=UniformInitializer(low=-1.0, high=1.0, seed=0),
        learning_rate=1.0,
        regularizer=L1Decay(1.0),
        trainable=True,
        clip=GradientClipByValue(-1.0, 1.0),
    )
    y_predict = fluid.layers.fc(input=x, size=1, param_attr=w_param_attrs)
    fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(y_predict))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    weight = fluid.global_scope().find_var("fc_0.w_0").get().numpy()
    assert weight.min() >= -1 and weight.max() <= 1 and weight.std() > 0.3
    x_data = np.full((2, 13), 5.0, "float32")  # the gradient of a weight is 5, clipped to 1
    exe.run(fluid.default_main_program(), feed={"x": x_data})
    moved = fluid.global_scope().find_var("fc_0.w_0").get().numpy()
    np.testing.assert_allclose(moved, weight - 0.1 * (1 + np.sign(weight)), rtol=1e-5, atol=1e-6)


def test_create_var():
    cur_program = Program()
    cur_block = cur_program.current_block()
    new_var = cur_block.create_var(name="X", shape=[-1, 16, 16], dtype="float32")
    assert new_var.shape == (-1, 16, 16) and cur_block.var("X") is new_var
    assert cur_program.list_vars() == [new_var] or cur_program.list_vars()[0] is new_var


def test_append_backward():
    data = fluid.layers.data(name="data", shape=(2, 3, 4))
    out = fluid.layers.fc(input=data, size=128, act=None)
    loss = fluid.layers.reduce_sum(out)
    pairs = fluid.backward.append_backward(loss=loss)
    assert [(p.name, g.name) for p, g in pairs] == [
        ("fc_0.w_0", "fc_0.w_0@GRAD"), ("fc_0.b_0", "fc_0.b_0@GRAD"),
    ]  # fmt: skip
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    x_data = np.random.default_rng(0).random((5, 2, 3, 4)).astype("float32")
    w_grad, b_grad = exe.run(feed={"data": x_data}, fetch_list=[g for _, g in pairs])
    expected = np.repeat(x_data.reshape(5, 24).sum(0)[:, None], 128, axis=1)
    np.testing.assert_allclose(w_grad, expected, rtol=1e-5)
    np.testing.assert_array_equal(b_grad, np.full(128, 5.0))


def test_minimize_after_describing():
    data = fluid.layers.data(name="data", shape=(2, 3, 4))
    loss = fluid.layers.reduce_sum(fluid.layers.fc(input=data, size=128, act=None))
    sgd_optimizer = fluid.optimizer.SGD(learning_rate=0.001)
    ops, _ = sgd_optimizer.minimize(loss)
    assert [op.type for op in ops] == ["sgd", "sgd"]


def test_two_ways_of_feeding():
    place = fluid.CPUPlace()
    x = fluid.layers.data(name="x", shape=[4], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="int64")
    predict = fluid.layers.fc(input=x, size=8, act="softmax")
    avg_cost = fluid.layers.mean(fluid.layers.cross_entropy(input=predict, label=y))
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())

    y_data = np.random.randint(0, 8, [11, 1]).astype("int64")
    y_tensor = core.Tensor()
    y_tensor.set(y_data, place)

    x_data = np.random.uniform(0.1, 1, [11, 4]).astype("float32")
    x_tensor = core.Tensor()
    x_tensor.set(x_data, place)

    cost = exe.run(
        fluid.default_main_program(),
        feed={"x": x_tensor, "y": y_tensor},
        fetch_list=[avg_cost],
    )
    same = exe.run(feed={"x": x_data, "y": y_data}, fetch_list=[avg_cost])
    assert cost[0] == same[0] > 0

    def demo_reader():
        def random_generator():
            for _ in range(10):
                yield np.random.uniform(0.1, 1, [4]), np.random.randint(0, 8, [1])

        return random_generator

    train_reader = fluid.batch(fluid.reader.shuffle(demo_reader(), buf_size=500), batch_size=4)
    feeder = fluid.DataFeeder(place=place, feed_list=[x, y])
    sizes = []
    for data in train_reader():
        (rows,) = exe.run(
            fluid.default_main_program(), feed=feeder.feed(data), fetch_list=[predict]
        )
        sizes.append(rows.shape)
    assert sizes == [(4, 8), (4, 8), (2, 8)]


def test_printing():
    fit_a_line()
    main = fluid.default_main_program()
    assert str(main) == main.to_string(True)
    assert fluid.debugger.pprint_program_codes(main).count("\n") >= 5


def test_two_programs_share_parameters():
    """The generator and the discriminator of a GAN: described apart, run in turns."""

    def attr(name):
        return ParamAttr(name=name)

    def generate(noise):
        hidden = fluid.layers.fc(
            noise, 16, param_attr=attr("g1"), bias_attr=attr("gb1"), act="relu"
        )
        return fluid.layers.fc(hidden, 2, param_attr=attr("g2"), bias_attr=attr("gb2"))

    def judge(point):
        hidden = fluid.layers.fc(
            point, 16, param_attr=attr("d1"), bias_attr=attr("db1"), act="relu"
        )
        return fluid.layers.fc(hidden, 1, param_attr=attr("d2"), bias_attr=attr("db2"))

    def loss_of(logit, wanted):
        label = fluid.layers.fill_constant_batch_size_like(
            input=logit, shape=[-1, 1], dtype="float32", value=wanted
        )
        return fluid.layers.mean(fluid.layers.sigmoid_cross_entropy_with_logits(logit, label))

    startup, d_program, g_program = Program(), Program(), Program()
    with fluid.program_guard(d_program, startup):
        real = fluid.layers.data("real", [2])
        noise = fluid.layers.data("noise", [4])
        d_loss = loss_of(judge(real), 1.0) + loss_of(judge(generate(noise)), 0.0)
        fluid.optimizer.Adam(0.01).minimize(d_loss, parameter_list=["d1", "db1", "d2", "db2"])
    with fluid.program_guard(g_program, startup):
        noise = fluid.layers.data("noise", [4])
        g_loss = loss_of(judge(generate(noise)), 1.0)
        fluid.optimizer.Adam(0.01).minimize(g_loss, parameter_list=["g1", "gb1", "g2", "gb2"])
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    rng = np.random.default_rng(0)
    scope, seen = fluid.global_scope(), []
    for _ in range(30):
        before = {n: scope.find_var(n).get().numpy() for n in ("g1", "d1")}
        feed = {
            "real": (rng.standard_normal((32, 2)) + 3).astype("float32"),
            "noise": rng.standard_normal((32, 4)).astype("float32"),
        }
        (d_value,) = exe.run(d_program, feed, [d_loss])
        assert (scope.find_var("g1").get().numpy() == before["g1"]).all()
        assert (scope.find_var("d1").get().numpy() != before["d1"]).any()
        middle = scope.find_var("d1").get().numpy()
        (g_value,) = exe.run(g_program, {"noise": feed["noise"]}, [g_loss])
        assert (scope.find_var("d1").get().numpy() == middle).all()
        assert (scope.find_var("g1").get().numpy() != before["g1"]).any()
        seen.append((float(d_value), float(g_value)))
    assert len(set(seen)) == 30 and np.isfinite(seen).all()


def test_testing_while_training():
    x, y, y_predict, avg_cost = fit_a_line()
    test_program = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.SGD(0.05).minimize(avg_cost)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder([x, y])
    rows = list(fluid.dataset.diabetes.test()())
    before = exe.run(test_program, feeder.feed(rows), [avg_cost])[0]
    for data in fluid.batch(fluid.dataset.diabetes.train(), 20)():
        exe.run(fluid.default_main_program(), feeder.feed(data), [avg_cost])
    twice = [exe.run(test_program, feeder.feed(rows), [avg_cost])[0] for _ in range(2)]
    assert twice[0] == twice[1] < before
    del y_predict


def test_what_differs_in_testing():
    """``clone(for_test=True)``: dropout lets all through, batch_norm goes by its running means."""
    x = fluid.layers.data("x", [4])
    normed = fluid.layers.batch_norm(x, momentum=0.5)
    dropped = fluid.layers.dropout(normed, 0.5, dropout_implementation="upscale_in_train")
    test_program = fluid.default_main_program().clone(for_test=True)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": np.random.default_rng(0).standard_normal((64, 4)).astype("float32") * 3 + 5}

    def means():
        block = fluid.default_main_program().global_block()
        (op,) = [op for op in block.ops if op.type == "batch_norm"]
        return [
            np.array(fluid.global_scope().find_var(op.input(slot)[0]).get_tensor())
            for slot in ("Mean", "Variance")
        ]

    (in_training,) = exe.run(feed=feed, fetch_list=[dropped])
    assert 0.3 < (in_training == 0).mean() < 0.7
    mean, variance = means()
    np.testing.assert_allclose(mean, 0.5 * feed["x"].mean(0), rtol=1e-5)
    (in_testing,) = exe.run(test_program, feed, [dropped])
    np.testing.assert_allclose(
        in_testing, (feed["x"] - mean) / np.sqrt(variance + 1e-5), rtol=1e-4, atol=1e-5
    )
    assert all((a == b).all() for a, b in zip(means(), (mean, variance), strict=True))
