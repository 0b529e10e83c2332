"""Numbers stored as whole ones, and back."""

import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest, rand

ONE = np.ones(1)


def halves_to_even(x, low, high):
    return np.clip(np.rint(x), low, high)


class TestQuantizeLinear(OpTest):
    op_type = "quantize_linear"
    attrs = {"quant_axis": 1, "bit_length": 5}

    def setUp(self):
        self.inputs = {
            "X": rand(4, 3, 5, low=-3, high=3), "Scale": np.array([3.0, 1.0, 2.0]),
            "ZeroPoint": np.zeros(3),
        }  # fmt: skip

    def reference(self, inputs, attrs):
        x, scale = inputs["X"], inputs["Scale"]
        y = halves_to_even(x / scale[:, None] * 15, -16, 15)
        return {"Y": y, "OutScale": scale, "OutState": 0 * ONE, "OutAccum": 0 * ONE}

    def test_check_output(self):
        self.check_output()


class TestQuantizeLinearTrain(OpTest):
    op_type = "quantize_linear"
    attrs = {"quant_axis": -1, "is_test": False, "moving_rate": 0.5}

    def setUp(self):
        self.inputs = {
            "X": rand(4, 5, low=-3, high=3), "Scale": ONE, "ZeroPoint": 0 * ONE,
            "InAccum": 3 * ONE, "InState": 2 * ONE,
        }  # fmt: skip

    def reference(self, inputs, attrs):
        x = inputs["X"]
        accum, state = 1.5 + np.abs(x).max(initial=0.0) * ONE, 2 * ONE
        y = halves_to_even(x / (accum / state) * 127, -128, 127)
        return {"Y": y, "OutScale": accum / state, "OutState": state, "OutAccum": accum}

    def test_check_output(self):
        self.check_output()


class TestDequantizeLinear(OpTest):
    op_type = "dequantize_linear"
    leave_out = {"lod_passes": "OutScale has as many numbers as X has rows, and no LoD"}
    attrs = {"quant_axis": 0}

    def setUp(self):
        self.inputs = {
            "X": np.random.randint(-128, 128, [3, 4]).astype("int8"),
            "Scale": np.array([3.0, 1.0, 2.0]), "ZeroPoint": np.zeros(3),
        }  # fmt: skip

    def reference(self, inputs, attrs):
        y = inputs["X"] * inputs["Scale"][:, None] / 127
        return {
            "Y": y, "OutScale": inputs["Scale"], "OutState": 0 * ONE, "OutAccum": 0 * ONE,
        }  # fmt: skip

    def test_check_output(self):
        self.check_output()


class TestFakeDequantize(OpTest):
    op_type = "fake_dequantize_max_abs"
    attrs = {"max_range": 31.0}

    def setUp(self):
        self.inputs = {"X": np.rint(rand(4, 5, low=-31, high=31)), "Scale": np.array([2.5])}

    def reference(self, inputs, attrs):
        return {"Out": inputs["X"] * inputs["Scale"] / 31}

    def test_check_output(self):
        self.check_output()


class TestFakeChannelDequantize(OpTest):
    op_type = "fake_channel_wise_dequantize_max_abs"
    attrs = {"quant_bits": [8, 4], "x_num_col_dims": 2}

    def setUp(self):
        self.inputs = {
            "X": np.rint(rand(2, 3, 4, low=-800, high=800)),
            "Scales": [("channels", np.array([2.5, 1.0, 0.5, 3.0])), ("own", np.array([4.0]))],
        }

    def reference(self, inputs, attrs):
        x, scale = inputs["X"], dict(inputs["Scales"])
        return {"Out": x * scale["channels"] * scale["own"] / (127 * 7)}

    def test_check_output(self):
        self.check_output()


class TestQuantize(OpTest):
    op_type = "quantize"
    attrs = {"Scale": 10.0, "is_negative_input": True}
    fixed_dtypes = {"Output": "int8"}

    def setUp(self):
        x = rand(4, 5, low=-20, high=20)
        x.flat[:4] = [0.25, 0.35, -0.25, 1e9]
        self.inputs = {"Input": np.rint(x * 16) / 16}  # exact in float32
        y = halves_to_even(self.inputs["Input"] * 10, -128, 127)
        self.outputs = {"Output": y.astype("int8")}

    def test_check_output(self):
        self.check_output()


class TestQuantizeShift(OpTest):
    op_type = "quantize"
    attrs = {"Scale": 8.0, "Shift": 100.0}
    fixed_dtypes = {"Output": "uint8"}

    def setUp(self):
        self.inputs = {"Input": np.rint(rand(4, 5, low=-20, high=20) * 16) / 16}
        y = halves_to_even(self.inputs["Input"] * 8 + 100, 0, 255)
        self.outputs = {"Output": y.astype("uint8")}

    def test_check_output(self):
        self.check_output()


class TestDequantize(OpTest):
    op_type = "dequantize"
    attrs = {"Scale": 8.0, "Shift": 100.0}
    fixed_dtypes = {"Output": "float32"}

    def setUp(self):
        x = np.random.randint(0, 256, [4, 5]).astype("uint8")
        self.inputs = {"Input": x}
        self.outputs = {"Output": ((x.astype("float32") - 100) / 8).astype("float32")}

    def test_check_output(self):
        self.check_output()


class TestRequantize(OpTest):
    op_type = "requantize"
    attrs = {"Scale_in": 10.0, "Scale_out": 5.0, "Shift_in": 0.0, "Shift_out": 0.0}

    def setUp(self):
        x = np.random.randint(-128, 128, [4, 5]).astype("int8")
        self.inputs = {"Input": x}
        self.outputs = {"Output": np.rint(x / 2).astype("int8")}

    def test_check_output(self):
        self.check_output()


class TestDequantizeAbsMax(OpTest):
    op_type = "dequantize_abs_max"
    attrs = {"max_range": 127.0}
    fixed_dtypes = {"Out": "float32"}

    def setUp(self):
        x = np.random.randint(-128, 128, [4, 5]).astype("int8")
        self.inputs = {"X": x, "Scale": np.array([3.0], "float32")}
        self.outputs = {"Out": (x * 3.0 / 127).astype("float32")}

    def test_check_output(self):
        self.check_output()


class TestDequantizeLog(OpTest):
    op_type = "dequantize_log"
    fixed_dtypes = {"Out": "float32"}

    def setUp(self):
        x = np.array([[0, 1, 127], [-128, -1, -127]], "int8")
        numbers = np.random.random(128).astype("float32")
        self.inputs = {"X": x, "Dict": numbers}
        first, second = numbers[[0, 1, 127]], -numbers[[0, 127, 1]]
        self.outputs = {"Out": np.stack([first, second])}

    def test_check_output(self):
        self.check_output()


def test_nan_becomes_zero():
    assert ops.quantize(dygraph.to_variable([np.nan, np.inf]), Scale=2.0).tolist() == [0, 255]


def test_to_bfloat16():
    x = dygraph.to_variable([1.0, -2.5])
    out = ops.quantize(x, bfloat16=True)
    assert out.dtype.name == "bfloat16" and out.astype("float32").tolist() == [1.0, -2.5]


def test_what_does_not_fit_is_refused():
    x, bytes_ = dygraph.to_variable([1.0]), dygraph.to_variable(np.array([1], "int8"))
    for call, message in [
        (lambda: ops.quantize(x, Scale=0.0), "Scale must not be 0"),
        (lambda: ops.quantize(x, Shift=0.5), "whole number from 0 to 255"),
        (lambda: ops.requantize(bytes_, Shift_in=3.0), "must be 0 for int8"),
        (lambda: ops.quantize_linear(x, x, x, quant_axis=-1), "ZeroPoint must be 0"),
        (lambda: ops.quantize_linear(x, x, x, quant_axis=1), "more axes than quant_axis"),
        (lambda: ops.dequantize_log(bytes_, x), "Dict must hold 128 numbers"),
    ]:
        with pytest.raises(dygraph.errors.DygraphError, match=message):
            call()
