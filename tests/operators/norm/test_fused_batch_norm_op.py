"""fused_batch_norm_act and fused_bn_add_activation: against NumPy, and against the operators that
they stand for."""

import numpy as np
import pytest

import dygraph
from dygraph import _core
from op_test import OpTest, away_from, rand

ops = _core.ops


class TestFusedBatchNormAct(OpTest):
    op_type = "fused_batch_norm_act"
    shape = (4, 3, 2, 3)
    attrs = {}
    grad_inputs = ["X", "Scale", "Bias"]
    grad_outputs = ["Y"]
    leave_out = {"empty": "the mean of nothing is an error, as of batch_norm"}

    def setUp(self):
        before = self.draw()
        while np.abs(before).min() < 0.02:  # too near the kink of relu for numeric differences
            before = self.draw()
        self.outputs["Y"] = np.maximum(self.summand(before), 0)

    def draw(self):
        """Sets the inputs and all outputs but Y; what relu is given without a summand."""
        last = self.attrs.get("data_layout") == "NHWC"
        axis = len(self.shape) - 1 if last else 1
        n = self.shape[axis]
        wide = [1] * len(self.shape)
        wide[axis] = n
        others = tuple(i for i in range(len(self.shape)) if i != axis)
        x = rand(*self.shape, low=-2, high=3)
        mean, variance = rand(n), rand(n, low=0.5, high=2)
        scale, bias = rand(n, low=0.5, high=2), rand(n)
        is_global = self.attrs.get("use_global_stats") or self.attrs.get("is_test")
        m, v = (mean, variance) if is_global else (x.mean(others), x.var(others))
        share = 1.0 if is_global else 0.9
        inverse = 1 / np.sqrt(v + 1e-5)
        self.inputs = {"X": x, "Scale": scale, "Bias": bias, "Mean": mean, "Variance": variance}
        self.outputs = {
            "MeanOut": share * mean + (1 - share) * m,
            "VarianceOut": share * variance + (1 - share) * v,
            "SavedMean": m,
            "SavedVariance": inverse,
        }
        return (x - m.reshape(wide)) * (inverse * scale).reshape(wide) + bias.reshape(wide)

    def summand(self, before):
        return before

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(self.grad_inputs, "Y")

    def test_check_grad_of_x(self):
        self.check_grad(["X"], "Y", no_grad_set=set(self.grad_inputs) - {"X"})


class TestActMatrix(TestFusedBatchNormAct):
    shape = (7, 3)


class TestActVolume(TestFusedBatchNormAct):
    shape = (2, 3, 2, 2, 2)


class TestActChannelsLast(TestFusedBatchNormAct):
    shape = (3, 2, 3, 4)
    attrs = {"data_layout": "NHWC"}


class TestActTest(TestFusedBatchNormAct):
    attrs = {"is_test": True}


class TestActGlobal(TestFusedBatchNormAct):
    attrs = {"use_global_stats": True}


class TestFusedBnAddActivation(TestFusedBatchNormAct):
    op_type = "fused_bn_add_activation"
    grad_inputs = ["X", "Z", "Scale", "Bias"]

    def summand(self, before):
        z = rand(*self.shape, low=-2, high=2)
        after = away_from(0, before + z)
        self.inputs["Z"] = after - before
        return after


class TestAddChannelsLast(TestFusedBnAddActivation):
    shape = (3, 2, 3, 4)
    attrs = {"data_layout": "NHWC"}


class TestAddGlobal(TestFusedBnAddActivation):
    shape = (5, 4)
    attrs = {"use_global_stats": True}


def _arrays(shape, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(1.0, 2.0, shape).astype("float32")
    z = rng.normal(size=shape).astype("float32")
    c = shape[1]
    vectors = [rng.uniform(0.5, 1.5, c).astype("float32") for _ in range(4)]
    top = rng.normal(size=shape).astype("float32")
    return x, z, vectors, top


def _run(fused, with_z, arrays, order, **attrs):
    """Y, its running statistics, and the gradients."""
    x, z, vectors, top = arrays
    x, z, top = (_core.to_layout(dygraph.to_variable(a), order) for a in (x, z, top))
    scale, bias, mean, variance = (dygraph.to_variable(v) for v in vectors)
    wanted = [x, scale, bias] + ([z] if with_z else [])
    for v in wanted:
        v.stop_gradient = False
    if fused and with_z:
        out = ops.fused_bn_add_activation(x, z, scale, bias, mean, variance, **attrs)
    elif fused:
        out = ops.fused_batch_norm_act(x, scale, bias, mean, variance, **attrs)
    else:
        out = ops.batch_norm(x, scale, bias, mean, variance, **attrs)
    y = out[0]
    if not fused:
        y = ops.relu(ops.elementwise_add(y, z) if with_z else y)
    grads = dygraph.grad([y], wanted, [top])
    return [v.numpy() for v in (y, out[1], out[2], *grads)]


@pytest.mark.parametrize("order", ["NCHW", "NHWC"])
@pytest.mark.parametrize("with_z", [False, True])
@pytest.mark.parametrize("attrs", [{}, {"use_global_stats": True}])
@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (3, 65, 4, 5), (2, 515, 3, 3), (33, 130)])
def test_the_bits_are_those_of_the_operators_in_a_row(shape, attrs, with_z, order):
    if len(shape) == 2 and order == "NHWC":
        order = "NCHW"
    arrays = _arrays(shape, len(shape))
    together = _run(True, with_z, arrays, order, **attrs)
    for one, other in zip(together, _run(False, with_z, arrays, order, **attrs), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("with_z", [False, True])
def test_a_nan_and_an_infinity_pass(with_z):
    x = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 4.0]], "float32")
    z = np.array([[np.inf, 0.0], [-np.inf, 0.0], [np.nan, 0.0]], "float32")
    one, none = np.ones(2, "float32"), np.zeros(2, "float32")
    attrs = {"use_global_stats": True, "epsilon": 0.0}
    given = [dygraph.to_variable(a) for a in (x, z, one, none, none, one)]
    if with_z:
        y = ops.fused_bn_add_activation(*given, **attrs)[0].numpy()
        expected = [[np.inf, 2.0], [0.0, np.nan], [np.nan, 4.0]]
    else:
        y = ops.fused_batch_norm_act(given[0], *given[2:], **attrs)[0].numpy()
        expected = [[1.0, 2.0], [3.0, np.nan], [5.0, 4.0]]
    np.testing.assert_array_equal(y, expected)


def test_z_must_have_the_shape_of_x():
    x, z, c = np.ones((2, 3), "float32"), np.ones((2, 4), "float32"), np.ones(3, "float32")
    given = [dygraph.to_variable(a) for a in (x, z, c, c, c, c)]
    with pytest.raises(ValueError, match=r"Z must have the shape of X \[2, 3\], got \[2, 4\]"):
        ops.fused_bn_add_activation(*given)
