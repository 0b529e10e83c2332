"""Scripts written for Fluid that hold loops and choices; their import line alone is changed.

``import paddle.fluid as fluid`` is ``import dygraph.static as fluid`` here. What they compute is computed
once more in NumPy.
"""

import numpy as np
import pytest

import dygraph.static as fluid
from dygraph import unique_name


@pytest.fixture(autouse=True)
def programs():
    """Default programs, names and a scope of each test's own."""
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        yield


def test_while_with_arrays():
    """A running sum over two arrays, in a loop inside a loop, and its gradient."""
    d0 = fluid.layers.data("d0", shape=[10], append_batch_size=False, dtype="float32")
    d1 = fluid.layers.data("d1", shape=[10], append_batch_size=False, dtype="float32")
    d2 = fluid.layers.data("d2", shape=[10], append_batch_size=False, dtype="float32")
    for d in (d0, d1, d2):
        d.stop_gradient = False
    i = fluid.layers.zeros(shape=[1], dtype="int64")
    i.stop_gradient = True
    init = fluid.layers.zeros(shape=[10], dtype="float32")
    mem_array = fluid.layers.array_write(x=init, i=i)
    data_array = fluid.layers.array_write(x=d0, i=i)
    i = fluid.layers.increment(i)
    fluid.layers.array_write(d1, i, array=data_array)
    i = fluid.layers.increment(i)
    fluid.layers.array_write(d2, i, array=data_array)
    i = fluid.layers.zeros(shape=[1], dtype="int64")
    i.stop_gradient = True
    array_len = fluid.layers.fill_constant(shape=[1], dtype="int64", value=1)
    array_len.stop_gradient = True
    cond = fluid.layers.less_than(x=i, y=array_len)
    j = fluid.layers.fill_constant(shape=[1], dtype="int64", value=1)
    j.stop_gradient = True
    array_len2 = fluid.layers.fill_constant(shape=[1], dtype="int64", value=3)
    array_len2.stop_gradient = True
    cond2 = fluid.layers.less_than(x=j, y=array_len2)
    while_op = fluid.layers.While(cond=cond)
    while_op2 = fluid.layers.While(cond=cond2)
    with while_op.block():
        d = fluid.layers.array_read(array=data_array, i=i)
        prev = fluid.layers.array_read(array=mem_array, i=i)
        result = fluid.layers.sums(input=[d, prev])

        i = fluid.layers.increment(x=i, in_place=True)
        fluid.layers.array_write(result, i=i, array=mem_array)
        fluid.layers.less_than(x=i, y=array_len, cond=cond)

        with while_op2.block():
            d2 = fluid.layers.array_read(array=data_array, i=j)
            prev2 = fluid.layers.array_read(array=mem_array, i=j)
            result2 = fluid.layers.sums(input=[d2, prev2])

            j = fluid.layers.increment(x=j, in_place=True)
            fluid.layers.array_write(result2, i=j, array=mem_array)
            fluid.layers.less_than(x=j, y=array_len2, cond=cond2)
    sum_result = fluid.layers.array_read(array=mem_array, i=j)
    loss = fluid.layers.mean(sum_result)
    fluid.backward.append_backward(loss)

    exe = fluid.Executor(fluid.CPUPlace())
    d = [np.random.RandomState(k).random_sample(size=[10]).astype("float32") for k in range(3)]
    total, *grads = exe.run(
        feed={"d0": d[0], "d1": d[1], "d2": d[2]},
        fetch_list=[sum_result, "d0@GRAD", "d1@GRAD", "d2@GRAD"],
    )
    np.testing.assert_allclose(total, d[0] + d[1] + d[2], rtol=1e-6)
    for grad in grads:
        np.testing.assert_allclose(grad, np.full(10, 0.1), rtol=1e-6)


def test_switch_sets_the_learning_rate():
    """Warm-up, then two rates by the number of the step."""
    global_step = fluid.layers.autoincreased_step_counter(counter_name="@step@", begin=0, step=1)
    global_step = fluid.layers.cast(global_step, "float32")
    lr = fluid.layers.create_global_var(
        shape=[1], value=0.0, dtype="float32", persistable=True, name="learning_rate"
    )
    warmup_steps = fluid.layers.fill_constant(shape=[1], dtype="float32", value=2.0)
    boundary = fluid.layers.fill_constant(shape=[1], dtype="float32", value=4.0)
    with fluid.layers.Switch() as switch:
        with switch.case(global_step < warmup_steps):
            decayed = 0.1 * (global_step / float(2))
            fluid.layers.assign(decayed, lr)
        with switch.case(global_step < boundary):
            fluid.layers.assign(fluid.layers.fill_constant([1], "float32", 0.1), lr)
        with switch.default():
            fluid.layers.assign(fluid.layers.fill_constant([1], "float32", 0.01), lr)

    x = fluid.layers.data(name="x", shape=[2], dtype="float32")
    y = fluid.layers.fc(
        input=x, size=1, bias_attr=False,
        param_attr=fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(1.0)),
    )  # fmt: skip
    avg_cost = fluid.layers.mean(fluid.layers.square(y))
    fluid.optimizer.SGD(learning_rate=lr).minimize(avg_cost)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    data = np.array([[1.0, 2.0], [0.5, -1.0]], "float32")
    w, rates = np.ones((2, 1)), []
    for step in range(6):
        cost, rate = exe.run(feed={"x": data}, fetch_list=[avg_cost, lr])
        want = [0.0, 0.05, 0.1, 0.1, 0.01, 0.01][step]
        np.testing.assert_allclose(cost, np.mean((data @ w) ** 2), rtol=1e-5)
        np.testing.assert_allclose(rate, [want], rtol=1e-6)
        w -= want * data.T @ (data @ w)  # the mean is over two rows
        got = np.array(fluid.global_scope().find_var("w").get_tensor())
        np.testing.assert_allclose(got, w, rtol=1e-5)
        rates.append(float(rate[0]))
    assert len(set(rates)) == 4


def last_states(rows, lengths, w_input, w_state, bias):
    """The state of each sequence after its last step."""
    states, at = [], 0
    for length in lengths:
        h = np.zeros(len(w_state))
        for row in rows[at : at + length]:
            h = np.tanh(row @ w_input + h @ w_state + bias)
        states.append(h)
        at += length
    return np.array(states)


def test_dynamic_rnn():
    """Sequences of different lengths through a DynamicRNN, and two steps of training."""
    sentence = fluid.layers.data(name="sentence", shape=[3], dtype="float32", lod_level=1)
    label = fluid.layers.data(name="label", shape=[4], dtype="float32")
    drnn = fluid.layers.DynamicRNN()
    with drnn.block():
        word = drnn.step_input(sentence)
        prev = drnn.memory(shape=[4], value=0.0)
        hidden = fluid.layers.fc(
            input=[word, prev], size=4, act="tanh",
            param_attr=[fluid.ParamAttr(name="w_input"), fluid.ParamAttr(name="w_state")],
            bias_attr=fluid.ParamAttr(name="bias"),
        )  # fmt: skip
        drnn.update_memory(prev, hidden)
        drnn.output(hidden)
    last = fluid.layers.sequence_last_step(drnn())
    loss = fluid.layers.mean(fluid.layers.square_error_cost(input=last, label=label))
    fluid.optimizer.SGD(learning_rate=0.5).minimize(loss)

    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    rng = np.random.RandomState(0)
    lengths = [2, 5, 1]
    rows, wanted = rng.uniform(-1, 1, (8, 3)), rng.uniform(-1, 1, (3, 4))
    feed = {
        "sentence": fluid.create_lod_tensor(rows.astype("float32"), [lengths], place),
        "label": wanted.astype("float32"),
    }

    def weights():
        scope = fluid.global_scope()
        names = ("w_input", "w_state", "bias")
        return [np.array(scope.find_var(n).get_tensor()).astype("f8") for n in names]

    def cost(*values):
        return np.mean((last_states(rows, lengths, *values) - wanted) ** 2)

    for _ in range(2):
        before = weights()
        got_last, got_loss = exe.run(feed=feed, fetch_list=[last, loss])
        np.testing.assert_allclose(got_last, last_states(rows, lengths, *before), rtol=1e-4)
        np.testing.assert_allclose(got_loss, cost(*before), rtol=1e-4)
        for k, (old, new) in enumerate(zip(before, weights(), strict=True)):
            slope = np.zeros_like(old)
            for at in np.ndindex(*old.shape):
                ends = []
                for sign in (1, -1):
                    moved = [w.copy() for w in before]
                    moved[k][at] += sign * 1e-5
                    ends.append(cost(*moved))
                slope[at] = (ends[0] - ends[1]) / 2e-5
            np.testing.assert_allclose(new, old - 0.5 * slope, rtol=1e-4, atol=1e-6)
