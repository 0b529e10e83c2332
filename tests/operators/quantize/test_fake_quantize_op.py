"""Fake quantisation against its formulas; values of Paddle in test_values_of_paddle.py."""

import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest, rand

THROUGH = {"gradient": "the gradient goes straight through a step function"}


def rounded(x, scale, attrs, back, axis=None):
    """What `bit_length` bits keep of x."""
    levels = 2 ** (attrs.get("bit_length", 8) - 1) - 1
    if axis is not None:
        scale = np.expand_dims(scale, [i for i in range(x.ndim) if i != axis])
    whole = np.clip(x, -scale, scale) / scale * levels
    whole = np.sign(whole) * np.floor(np.abs(whole) + 0.5)
    return whole * scale / levels if back else whole


class TestAbsMax(OpTest):
    elementwise = False  # OutScale is [1]
    op_type, back = "fake_quantize_abs_max", False
    attrs = {"bit_length": 5}

    def setUp(self):
        self.inputs = {"X": rand(4, 5, low=-3, high=3)}

    def reference(self, inputs, attrs):
        x = inputs["X"]
        scale = np.abs(x).max(initial=0.0)
        out = rounded(x, scale, attrs, self.back) if x.size else x
        return {"Out": out, "OutScale": np.reshape(scale, [1])}

    def test_check_output(self):
        self.check_output()


class TestAbsMaxBack(TestAbsMax):
    op_type, back = "fake_quantize_dequantize_abs_max", True
    leave_out = THROUGH

    def test_gradient_goes_straight_through(self):
        through(self)


class TestImages(TestAbsMaxBack):
    def setUp(self):
        self.inputs = {"X": rand(2, 3, 4, 5, dtype="float32")}


class TestMovingAverage(OpTest):
    op_type, back = "fake_quantize_moving_average_abs_max", False
    attrs = {"moving_rate": 0.75, "bit_length": 6}

    def setUp(self):
        self.inputs = {
            "X": rand(4, 5, low=-3, high=3), "InScale": np.array([2.0]),
            "InAccum": np.array([2.5]), "InState": np.array([1.5]),
        }  # fmt: skip

    def reference(self, inputs, attrs):
        x, rate = inputs["X"], attrs["moving_rate"]
        accum = rate * inputs["InAccum"] + np.abs(x).max(initial=0.0)
        state = rate * inputs["InState"] + 1
        scale = accum / state
        if attrs.get("is_test"):
            scale, state, accum = inputs["InScale"], inputs["InState"], inputs["InAccum"]
        out = rounded(x, scale, attrs, self.back)
        return {"Out": out, "OutScale": scale, "OutState": state, "OutAccum": accum}

    def test_check_output(self):
        self.check_output()


class TestMovingAverageTest(TestMovingAverage):
    attrs = {**TestMovingAverage.attrs, "is_test": True}


class TestMovingAverageBack(TestMovingAverage):
    op_type, back = "fake_quantize_dequantize_moving_average_abs_max", True
    grad_inputs, grad_outputs = ["X"], ["Out"]
    leave_out = THROUGH

    def test_gradient_goes_straight_through(self):
        through(self)


class TestScale(OpTest):
    op_type = "moving_average_abs_max_scale"
    attrs = {"moving_rate": 0.75}
    grad_inputs, grad_outputs = ["X"], ["Out"]

    def setUp(self):
        full = TestMovingAverage.setUp
        full(self)
        del self.inputs["InScale"]

    def reference(self, inputs, attrs):
        accum = attrs["moving_rate"] * inputs["InAccum"] + np.abs(inputs["X"]).max(initial=0.0)
        state = attrs["moving_rate"] * inputs["InState"] + 1
        return {
            "Out": inputs["X"], "OutScale": accum / state, "OutState": state, "OutAccum": accum,
        }  # fmt: skip

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestChannels(OpTest):
    op_type, back = "fake_channel_wise_quantize_abs_max", False
    attrs = {"quant_axis": 1, "bit_length": 4}

    def setUp(self):
        self.inputs = {"X": rand(4, 3, 5, low=-3, high=3)}

    def reference(self, inputs, attrs):
        x, axis = inputs["X"], attrs.get("quant_axis", 0)
        scale = np.abs(x).max(tuple(i for i in range(x.ndim) if i != axis), initial=0.0)
        return {"Out": rounded(x, scale, attrs, self.back, axis), "OutScale": scale}

    def test_check_output(self):
        self.check_output()


class TestRows(TestChannels):
    attrs = {}
    leave_out = {"lod_passes": "OutScale has as many numbers as X has rows, and no LoD"}


class TestChannelsBack(TestChannels):
    op_type, back = "fake_channel_wise_quantize_dequantize_abs_max", True
    leave_out = THROUGH

    def test_gradient_goes_straight_through(self):
        through(self)


def through(case):
    """X@GRAD is Out@GRAD."""
    inputs = {s: dygraph.to_variable(v) for s, v in case.inputs.items()}
    inputs["X"].stop_gradient = False
    out = dygraph.run_op(case.op_type, inputs, case.attrs)["Out"]
    arrived = rand(*case.inputs["X"].shape).astype(out.numpy().dtype)
    (got,) = dygraph.grad([out], [inputs["X"]], [dygraph.to_variable(arrived)])
    np.testing.assert_array_equal(got.numpy(), arrived)


class TestRange(OpTest):
    op_type = "fake_quantize_range_abs_max"
    attrs = {"window_size": 3}

    def setUp(self):
        self.inputs = {
            "X": np.array([0.5, -1.0, 2.0, 0.0]), "InScale": np.array([5.0]),
            "Iter": np.array([4]), "InScales": np.array([1.0, 5.0, 4.0]),
        }  # fmt: skip
        # 5 leaves the ring; the greatest left is 4
        self.outputs = {
            "Out": np.array([16.0, -32.0, 64.0, 0.0]), "OutScale": np.array([4.0]),
            "OutScales": np.array([1.0, 2.0, 4.0]),
        }  # fmt: skip

    def test_check_output(self):
        self.check_output()


def test_the_ring_of_a_program_is_its_variable():
    static = dygraph.static
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [-1], "float32")
        block = main.global_block()
        names = {n: block.create_var(name=n, shape=s, dtype=d, persistable=True)
                 for n, s, d in (("scale", [1], "float32"), ("iter", [1], "int64"),
                                 ("scales", [2], "float32"))}  # fmt: skip
        out = block.create_var(name="out", dtype="float32")
        block.append_op(
            type="fake_quantize_range_abs_max",
            inputs={"X": x, "InScale": names["scale"], "Iter": names["iter"]},
            outputs={"Out": out, "OutScale": names["scale"], "OutScales": names["scales"]},
            attrs={"window_size": 2},
        )
        block.append_op(
            type="increment", inputs={"X": names["iter"]}, outputs={"Out": names["iter"]},
            attrs={"step": 1.0},
        )  # fmt: skip
    scope = static.Scope()
    with static.scope_guard(scope):
        for name, value in (("scale", np.zeros(1, "float32")), ("iter", np.zeros(1, "int64")),
                            ("scales", np.zeros(2, "float32"))):  # fmt: skip
            scope.var(name).set(value, dygraph.CPUPlace())
        exe = static.Executor(dygraph.CPUPlace())
        seen = []
        for most in (8.0, 2.0, 4.0, 1.0):
            feed = {"x": np.array([most], "float32")}
            scale, ring = exe.run(main, feed=feed, fetch_list=["scale", "scales"])
            seen.append((scale.tolist(), ring.tolist()))
    assert seen == [
        ([8.0], [8.0, 0.0]), ([8.0], [8.0, 2.0]), ([4.0], [4.0, 2.0]), ([4.0], [4.0, 1.0]),
    ]  # fmt: skip


def test_scales_of_channels_stay_with_is_test():
    x, scale = dygraph.to_variable([[1.0, 2.0]]), dygraph.to_variable([4.0])
    out, kept = ops.fake_channel_wise_quantize_abs_max(x, in_scale=scale, is_test=True)
    assert out.tolist() == [[32.0, 64.0]] and kept.tolist() == [4.0]
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="InScale must be given"):
        ops.fake_channel_wise_quantize_abs_max(x, is_test=True)


@pytest.mark.parametrize("round_type", [0, 1])
def test_nan_and_zero(round_type):
    zero = ops.fake_quantize_dequantize_abs_max(dygraph.zeros([3]), round_type=round_type)
    assert zero[0].tolist() == [0.0] * 3 and zero[1].tolist() == [0.0]
    x = dygraph.to_variable([np.nan, 1.0])
    out, scale = ops.fake_quantize_abs_max(x, round_type=round_type)
    assert np.isnan(out.numpy()).all() and np.isnan(scale.numpy()).all()


def test_states_must_be_given():
    x = dygraph.to_variable([1.0])
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="InAccum must be given"):
        ops.fake_quantize_moving_average_abs_max(x, x)
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="Iter must be given"):
        ops.fake_quantize_range_abs_max(x, x)
    with pytest.raises(dygraph.errors.DygraphError, match="bit_length"):
        ops.fake_quantize_abs_max(x, bit_length=1)
