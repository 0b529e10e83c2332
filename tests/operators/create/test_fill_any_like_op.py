"""fill_any_like: a constant in the shape of X."""

import numpy as np

from op_test import OpTest, rand


class TestFillAnyLike(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "fill_any_like"
        self.inputs = {"X": rand(3, 4)}
        self.attrs = {"value": 2.5}

    def reference(self, inputs, attrs):
        return {"Out": np.full_like(inputs["X"], attrs["value"], dtype=attrs.get("dtype"))}

    def test_check_output(self):
        self.check_output()


class TestFillAnyLikeOtherType(TestFillAnyLike):
    fixed_dtypes = {"Out": "int64"}

    def setUp(self):
        self.op_type = "fill_any_like"
        self.inputs = {"X": rand(2, 3, 2, 2)}
        self.attrs = {"value": -3.0, "dtype": "int64"}


class TestFillAnyLikeBool(TestFillAnyLike):
    fixed_dtypes = {"Out": "bool"}

    def setUp(self):
        self.op_type = "fill_any_like"
        self.inputs = {"X": np.zeros(4, "int32")}
        self.attrs = {"value": 1.0, "dtype": "bool"}
