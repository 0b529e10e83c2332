"""Backward passes."""

import numpy as np

import dygraph
from dygraph import nn
from mistakes.common import floats, ids, leaf


def backward_twice():
    loss = dygraph.mean(leaf(2, 2) * leaf(2, 2))
    loss.backward()
    loss.backward()


def backward_twice_through_a_shared_part():
    w = leaf(2, 2)
    shared = dygraph.tanh(w) * w
    dygraph.mean(shared).backward()
    dygraph.mean(shared * shared).backward()


def backward_under_no_grad():
    w = leaf(2)
    with dygraph.no_grad():
        loss = dygraph.mean(w * w)
    loss.backward()


def backward_in_eval_mode():
    net = nn.Linear(2, 2)
    net.eval()
    dygraph.mean(net(floats(3, 2))).backward()


def backward_of_data():
    dygraph.mean(floats(2)).backward()


def backward_after_detach():
    dygraph.mean(leaf(2).detach() * 2).backward()


def backward_after_a_trip_through_numpy():
    dygraph.to_variable(dygraph.tanh(leaf(2)).numpy()).backward()


def backward_of_an_integer():
    dygraph.arg_max(leaf(2, 3), axis=1).backward()


def backward_of_a_metric():
    x = leaf(3, 4)
    _, indices = dygraph.top_k(x, k=1)
    dygraph.accuracy(x, indices, ids([0], [1], [2]))[0].backward()


def backward_of_a_comparison():
    (leaf(3) > 0).backward()


def loss_that_is_no_scalar():
    w = leaf(2, 3)
    (w * w).backward()
    return f"as in Fluid ones are propagated, gradient {w.gradient().tolist()}"


def gradient_of_another_shape():
    (leaf(2, 3) * 2).backward(floats(3, 2))


def gradient_of_another_dtype():
    (leaf(2, 3) * 2).backward(floats(2, 3, dtype="float64"))


def gradient_as_an_array():
    w = leaf(2)
    (w * 2).backward(np.ones(2, "float32"))
    return f"arrays are converted, gradient {w.gradient().tolist()}"


def missing_clear_gradients():
    w = leaf(1)
    (w * 3).backward()
    (w * 3).backward()
    return f"gradients add up as in Fluid, {w.gradient().tolist()}: clear them after each step"


def gradient_of_an_intermediate():
    w = leaf(2)
    hidden = w * 2
    dygraph.mean(hidden).backward()
    return f"{hidden.gradient()}: retain_grad() or dygraph.grad() gives it"


def grad_of_an_unused_input():
    dygraph.grad([dygraph.mean(leaf(2))], [leaf(2)])


def grad_of_an_input_without_gradient():
    dygraph.grad([dygraph.mean(leaf(2))], [floats(2)])


def grad_with_respect_to_an_array():
    dygraph.grad([dygraph.mean(leaf(2))], [np.ones(2)])


def in_place_on_a_leaf():
    w = leaf(3)
    w[0] = 1.0


def in_place_addition_to_a_parameter():
    w = nn.Linear(2, 2).weight
    w += 1.0


def set_value_of_another_shape():
    nn.Linear(2, 2).weight.set_value(np.ones((3, 2), "float32"))


def set_value_of_another_dtype():
    weight = nn.Linear(2, 2).weight
    weight.set_value(np.ones((2, 2), "int64"))
    return f"arrays are converted, the parameter stays {weight.dtype}"


def assignment_to_the_gradient_of_another_shape():
    leaf(2).grad = floats(3)


def hook_that_returns_another_shape():
    w = leaf(2)
    w.register_hook(lambda g: dygraph.mean(g))
    dygraph.mean(w).backward()


def hook_that_is_no_function():
    leaf(2).register_hook("print")


def hook_that_raises():
    w = leaf(2)

    def hook(g):
        raise RuntimeError("my hook does not like this gradient")

    w.register_hook(hook)
    dygraph.mean(w).backward()


def numpy_of_a_sparse_gradient():
    table = nn.Embedding([10, 2], is_sparse=True)
    dygraph.mean(table(ids(1, 3))).backward()
    return f"rows {table.weight.grad.rows()}, numpy() is dense {table.weight.grad.numpy().shape}"


def nan_in_the_forward_pass():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x):
            return dygraph.log(self.fc(x) * 0 - 1)

    with dygraph.detect_anomaly():
        Net()(floats(1, 2))


def nan_in_the_backward_pass():
    x = dygraph.to_variable(np.zeros(2, "float32"))
    x.stop_gradient = False
    with dygraph.detect_anomaly():
        dygraph.ops.sum([dygraph.sqrt(x)]).backward()


def custom_backward_that_gives_too_little():
    class Scale(dygraph.PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    dygraph.mean(Scale.apply(leaf(2), leaf(2))).backward()
