"""Tracing and what is loaded from it."""

import numpy as np

import dygraph
from dygraph import nn, static
from mistakes.common import floats


class Branches(nn.Layer):
    """Looks at the data."""

    def forward(self, x):
        if dygraph.mean(x) > 0:
            return x * 2
        return x


class Loops(nn.Layer):
    """Goes over the batch in Python."""

    def forward(self, x):
        total = x[0]
        for i in range(1, x.shape[0]):
            total = total + x[i]
        return total


class Leaves(nn.Layer):
    """Computes with NumPy."""

    def forward(self, x):
        return dygraph.to_variable(np.tanh(x.numpy()))


def trace_of_a_branch():
    dygraph.jit.trace(Branches(), [floats(2, 3)])


def trace_of_a_loop_over_the_batch():
    dygraph.jit.trace(Loops(), [floats(2, 3)])


def loop_over_the_batch_of_a_program():
    with static.program_guard(static.Program()):
        rows = static.data("rows", [None, 3])
        return [rows[i] for i in range(rows.shape[0])]


def trace_through_numpy():
    dygraph.jit.trace(Leaves(), [floats(2, 3)])


def trace_of_a_function():
    out, _ = dygraph.jit.trace(lambda x: x * 2, [floats(2, 3)])
    return f"functions are traced as well, output {out.shape}"


def trace_with_an_array():
    dygraph.jit.trace(nn.Linear(3, 2), [np.ones((2, 3), "float32")])


def trace_with_one_variable():
    out, _ = dygraph.jit.trace(nn.Linear(3, 2), floats(2, 3))
    return f"one Variable is taken for a list of one, output {out.shape}"


def trace_without_inputs():
    dygraph.jit.trace(nn.Linear(3, 2), [])


def trace_of_another_size():
    dygraph.jit.trace(nn.Linear(3, 2), [floats(2, 4)])


def traced_layer_with_another_size():
    _, traced = dygraph.jit.trace(nn.Linear(3, 2), [floats(2, 3)])
    traced([floats(5, 4)])


def traced_layer_with_too_few_inputs():
    _, traced = dygraph.jit.trace(nn.Linear(3, 2), [floats(2, 3)])
    traced([])


def model_fit_before_prepare():
    dygraph.Model(nn.Linear(2, 2)).fit([(np.ones((1, 2), "float32"), np.ones((1, 2), "float32"))])


def model_with_a_misspelt_metric():
    net = nn.Linear(2, 2)
    sgd = dygraph.optimizer.SGD(0.1, parameter_list=net.parameters())
    dygraph.Model(net).prepare(sgd, nn.MSELoss(), metrics="accuracy")


def run_op_of_an_unknown_name():
    dygraph.run_op("sofmax", {"X": floats(2)}, {})


def run_op_of_an_unknown_slot():
    dygraph.run_op("softmax", {"Input": floats(2)}, {})


def run_op_of_an_unknown_attribute():
    dygraph.run_op("softmax", {"X": floats(2)}, {"dim": 0})


def unknown_flag():
    dygraph.set_flags({"FLAGS_check_nan": True})
