"""Layer functions written with LayerHelper."""

import numpy as np
import pytest

from dygraph import static
from dygraph.static.layer_helper import LayerHelper


def dense(input, size, param_attr=None, bias_attr=None, act=None, name=None):
    helper = LayerHelper("dense", **locals())
    dtype = helper.input_dtype()
    w = helper.create_parameter(helper.param_attr, [helper.input().shape[1], size], dtype)
    out = helper.create_variable_for_type_inference(dtype)
    helper.append_op("mul", {"X": input, "Y": w}, {"Out": out})
    return helper.append_activation(helper.append_bias_op(out))


@pytest.fixture
def programs():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), static.unique_name.guard():
        yield main, startup


def test_a_layer_trains(programs):
    main, startup = programs
    start = static.initializer.Constant
    x = static.data("x", [None, 3], "float64")
    out = dense(x, 2, start(0.5), start(-1.0), "relu")
    static.optimizer.SGD(1.0).minimize(static.layers.reduce_sum(out))
    assert out.shape == (-1, 2) and out.lod_level == 0
    assert [p.name for p in main.all_parameters()] == ["dense_0.w_0", "dense_0.b_0"]
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    rows = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    (got,) = executor.run(main, {"x": rows}, [out], scope=scope)
    np.testing.assert_array_equal(got, [[2.0, 2.0], [0.0, 0.0]])
    np.testing.assert_array_equal(scope.find_var("dense_0.b_0").get().numpy(), [-2.0, -2.0])
    assert "dense_1.b_0" not in {p.name for p in main.all_parameters()}
    dense(x, 2, bias_attr=False)
    assert [p.name for p in main.all_parameters()][2:] == ["dense_1.w_0"]


def test_the_operator_says_what_its_result_is(programs):
    """A result starts as a dense variable; the operator makes rows of it, of its input's type."""
    main, _ = programs
    helper = LayerHelper("merge")
    rows = helper.create_variable(type="SELECTED_ROWS", shape=[10, 2], dtype="float64")
    out = helper.create_variable_for_type_inference()
    assert (out.type, out.dtype) == ("LOD_TENSOR", None)
    helper.append_op("merge_selected_rows", {"X": rows}, {"Out": out})
    assert (out.type, str(out.dtype), out.shape) == ("SELECTED_ROWS", "float64", (10, 2))
    back = helper.create_variable_for_type_inference("float32")
    helper.append_op("get_tensor_from_selected_rows", {"X": out}, {"Out": back})
    assert (back.type, str(back.dtype)) == ("LOD_TENSOR", "float64")


def test_variables_beside_the_block(programs):
    main, startup = programs
    helper = LayerHelper("counter", name="steps")
    count = helper.create_global_variable(True, shape=[1], dtype="int64", name="count")
    helper.set_variable_initializer(count, static.initializer.Constant(5))
    helper.append_op("increment", {"X": count}, {"Out": count}, {"step": 2.0})
    assert count.persistable and count.stop_gradient
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    executor.run(main, scope=scope)
    assert scope.find_var("count").get().item() == 7


def test_mistakes(programs):
    x, y = static.data("x", [2], "float32"), static.data("y", [2], "float64")
    with pytest.raises(ValueError, match="pair: input must be one variable, got 2"):
        LayerHelper("pair", input=[x, y]).input()
    with pytest.raises(ValueError, match=r"of one type, got \['float32', 'float64'\]"):
        LayerHelper("pair", input=[x, y]).input_dtype()
    with pytest.raises(ValueError, match="act"):
        LayerHelper("pair", act="reluu").append_activation(x)
