"""Errors of a backward pass name the operator and the path from the loss to it."""

import numpy as np
import pytest

import dygraph


class Refused(dygraph.PyLayer):
    """Its backward raises an error of the user's own."""

    @staticmethod
    def forward(ctx, x):
        return x * 2.0

    @staticmethod
    def backward(ctx, grad):
        raise LookupError("no gradient today")


class Twisted(dygraph.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2.0

    @staticmethod
    def backward(ctx, grad):
        return grad.reshape([1, 2])


def leaf(values, name=None):
    x = dygraph.to_variable(np.float32(values), name)
    x.stop_gradient = False
    return x


def refuse(grad):
    raise KeyError("a hook's own")


def complain(grad):
    raise ArithmeticError("the gradient is too small")


def lines_of(info):
    return str(info.value).splitlines()


def test_an_error_of_the_core_names_each_operator_on_its_way():
    x = leaf([1.0, 2.0])
    loss = dygraph.tanh(dygraph.exp(Twisted.apply(x))).sum()
    with pytest.raises(ValueError, match="gradient of its shape") as info:
        loss.backward()
    assert lines_of(info)[-1] == (
        "path of the backward pass: this Variable -> reduce_sum -> tanh -> exp -> Twisted"
    )


def test_an_error_of_the_user_keeps_its_type_and_gets_the_path():
    x = leaf([1.0, 2.0])
    loss = dygraph.exp(Refused.apply(x)).sum()
    loss.name = "loss"
    with pytest.raises(LookupError) as info:
        loss.backward()
    assert type(info.value) is LookupError
    assert lines_of(info) == [
        "no gradient today",
        "in the backward of Refused. Under dygraph.detect_anomaly() the line of its forward call "
        "is named",
        "path of the backward pass: 'loss' -> reduce_sum -> exp -> Refused",
    ]


def test_the_middle_of_a_long_path_is_left_out():
    x = leaf([0.5])
    y = Refused.apply(x)
    for _ in range(1000):
        y = dygraph.tanh(y)
    with pytest.raises(LookupError) as info:
        y.sum().backward()
    assert lines_of(info)[-1] == (
        "path of the backward pass: this Variable -> reduce_sum -> tanh -> ... 996 more ... -> "
        "tanh -> tanh -> tanh -> Refused"
    )


def test_under_detect_anomaly_the_path_has_lines():
    x = leaf([1.0, 2.0])
    with dygraph.detect_anomaly():
        y = dygraph.sqrt(x - x)
        loss = dygraph.exp(y).sum()
        with pytest.raises(FloatingPointError) as info:
            loss.backward()
    first = test_under_detect_anomaly_the_path_has_lines.__code__.co_firstlineno
    path = lines_of(info)[-1]
    where = "test_error_paths.py:{} in test_under_detect_anomaly_the_path_has_lines)"
    for operator, line in (("sqrt", 3), ("exp", 4), ("reduce_sum", 4)):
        assert f" -> {operator} (" in path
        assert where.format(first + line) in path
    assert path.index("reduce_sum") < path.index("exp") < path.index("sqrt")


def test_a_hook_of_an_operators_output_is_named():
    x = leaf([1.0, 2.0])
    y = dygraph.exp(x)
    y.register_hook(complain)
    with pytest.raises(ArithmeticError) as info:
        dygraph.tanh(y).sum().backward()
    assert type(info.value) is ArithmeticError
    assert lines_of(info) == [
        "the gradient is too small",
        "in a hook on the gradient of the output of exp",
        "path of the backward pass: this Variable -> reduce_sum -> tanh -> exp",
    ]


def test_a_hook_of_one_of_several_outputs_has_its_number():
    x = leaf([1.0, 2.0])
    _, second = dygraph.split(x, num=2)
    second.register_hook(complain)
    with pytest.raises(ArithmeticError, match="in a hook on the gradient of output 1 of split"):
        second.sum().backward()


def test_a_hook_of_a_parameter_is_named():
    w = leaf([1.0, 2.0], "w")
    w.register_hook(complain)
    with pytest.raises(ArithmeticError) as info:
        (w * 3.0).sum().backward()
    assert lines_of(info)[1:] == [
        "in a hook on the gradient of 'w'",
        "path of the backward pass: this Variable -> reduce_sum -> scale -> 'w'",
    ]
    b = leaf([1.0, 2.0])
    b.register_hook(lambda grad: grad.sum())
    with pytest.raises(ValueError, match="a hook must give a gradient of the same shape") as info:
        b.sum().backward()
    assert lines_of(info)[1] == "in a hook on the gradient of the leaf of shape [2]"


def test_a_key_error_keeps_its_key():
    w = leaf([1.0], "w")
    w.register_hook(refuse)
    with pytest.raises(KeyError) as info:
        w.sum().backward()
    assert info.value.args == ("a hook's own",)
    if hasattr(info.value, "__notes__"):  # Python 3.11
        assert info.value.__notes__[0] == "in a hook on the gradient of 'w'"


def test_an_exit_passes_as_it_is():
    def leave(grad):
        raise SystemExit("done")

    w = leaf([1.0])
    w.register_hook(leave)
    with pytest.raises(SystemExit) as info:
        w.sum().backward()
    assert info.value.args == ("done",)


def test_a_graph_that_was_freed():
    x = leaf([1.0])
    y = dygraph.exp(x)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="the graph of exp was freed") as info:
        dygraph.tanh(y).sum().backward()
    assert lines_of(info)[-1].endswith("this Variable -> reduce_sum -> tanh -> exp")


def test_grad_and_the_second_order_name_it_too():
    x = leaf([1.0, 2.0], "x")
    y = dygraph.exp(x)
    (first,) = dygraph.grad([y.sum()], [x], create_graph=True)
    y.register_hook(complain)
    with pytest.raises(ArithmeticError) as info:
        dygraph.grad([first.sum()], [x])
    path = lines_of(info)[-1]
    assert path.startswith("path of the backward pass: this Variable -> reduce_sum -> ")
    assert path.endswith(" -> exp")
    with pytest.raises(ArithmeticError) as info:
        dygraph.grad([dygraph.tanh(x), y], [x])
    assert lines_of(info)[-1] == "path of the backward pass: variable 1 -> exp"
