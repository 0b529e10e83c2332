"""dropout: zeros at random; the gradient goes where the values went."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestDropout(OpTest):
    """The mask is the operator's own: outputs are checked against it."""

    shape = (6, 7)
    attrs = {"dropout_prob": 0.25}
    factor = 1.0
    fixed_dtypes = {"Mask": "uint8"}

    def setUp(self):
        self.op_type = "dropout"
        self.inputs = {"X": rand(*self.shape)}
        mask = self.run_slots(self.inputs).arrays()["Mask"]
        self.outputs = {"Out": self.inputs["X"] * mask * self.factor, "Mask": mask}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestDropoutUpscale(TestDropout):
    attrs = {"dropout_prob": 0.25, "dropout_implementation": "upscale_in_train"}
    factor = 1 / 0.75


class TestDropoutSeed(TestDropout):
    attrs = {"dropout_prob": 0.25, "fix_seed": True, "seed": 11}


class TestDropoutNothing(TestDropout):
    attrs = {"dropout_prob": 0.0, "dropout_implementation": "upscale_in_train"}

    def test_mask(self):
        self.assertTrue(self.outputs["Mask"].all())


class TestDropoutAll(TestDropout):
    attrs = {"dropout_prob": 1.0, "dropout_implementation": "upscale_in_train"}
    factor = 0.0

    def test_mask(self):
        self.assertFalse(self.outputs["Mask"].any())


class TestDropoutTesting(OpTest):
    attrs = {"dropout_prob": 0.25, "is_test": True}
    factor = 0.75
    fixed_dtypes = {"Mask": "uint8"}
    elementwise = False  # Mask is empty

    def setUp(self):
        self.op_type = "dropout"
        self.inputs = {"X": rand(2, 3, 2, 2)}

    def reference(self, inputs, attrs):
        return {"Out": inputs["X"] * self.factor}

    def call_attrs(self):
        return self.attrs

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestDropoutTestingUpscaled(TestDropoutTesting):
    attrs = {"is_test": True, "dropout_implementation": "upscale_in_train"}
    factor = 1.0


def mask_of(x, **attrs):
    return _core.run_op("dropout", {"X": x}, attrs)["Mask"].numpy()


@pytest.mark.parametrize("is_test", [False, True])
def test_scalar(is_test):
    x = _core.to_variable(np.array(2.0))
    out = _core.ops.dropout(
        x, dropout_prob=0.0, is_test=is_test, dropout_implementation="upscale_in_train"
    )
    assert out.shape == () and out.numpy() == 2


def test_share_and_seeds():
    x = _core.to_variable(np.ones((400, 1000), "float32"))
    # 400,000 draws: a standard deviation of 0.0007.
    assert abs(mask_of(x, dropout_prob=0.3).mean() - 0.7) < 0.004
    assert (mask_of(x) != mask_of(x)).any()
    _core.seed(2)
    first = mask_of(x)
    _core.seed(2)
    np.testing.assert_array_equal(mask_of(x), first)
    fixed = {"fix_seed": True, "seed": 3}
    np.testing.assert_array_equal(mask_of(x, **fixed), mask_of(x, **fixed))
    seed = _core.to_variable(np.array([3], "int32"))
    given = _core.run_op("dropout", {"X": x, "Seed": seed})["Mask"].numpy()
    np.testing.assert_array_equal(given, mask_of(x, **fixed))


def test_backward_keeps_the_mask_alone():
    x = _core.to_variable(np.ones((8, 8), "float32"))
    x.stop_gradient = False
    out = _core.ops.dropout(x)
    assert [(op, slot) for op, slot, *_ in _core.saved(out)] == [("dropout", "Mask")]


def test_errors():
    x = _core.to_variable(np.ones(3))
    with pytest.raises(ValueError, match="dropout_prob must lie in"):
        _core.ops.dropout(x, dropout_prob=1.5)
    with pytest.raises(ValueError, match="must be one of"):
        _core.ops.dropout(x, dropout_implementation="downgrade")
    with pytest.raises(NotImplementedError, match="kernel"):
        _core.ops.dropout(_core.to_variable(np.ones(3, "int64")))
