"""float16 and bfloat16 on a device: results and gradients against float64 on the host.

A result of the device differs from the exact one by its roundings: products and sums are taken in
float32, whose own errors are 2^-13 of those of float16 and less, and each value that is stored
rounds by at most u, 2^-11 for float16 and 2^-8 for bfloat16, of itself. So a result that is stored
once is within u of the largest value that enters its sum; `roundings` counts the stores on its way.
"""

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import _core, ops

PLACE = cuda_library.place()
HOST = dygraph.CPUPlace()
pytestmark = pytest.mark.skipif(PLACE is None, reason="no CUDA library")

UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
TYPES = list(UNIT)


@pytest.fixture(params=TYPES)
def dtype(request):
    return request.param


@pytest.fixture(autouse=True)
def everything_on_the_device():
    """Operators without a kernel there raise."""
    with cuda_library.on(PLACE):
        _core.set_flag("host_fallback", "off")
        yield


def rounded(values, dtype):
    """The numbers that the narrow type has nearest to the values, as float64."""
    x = dygraph.to_variable(np.asarray(values, "float32")).to(HOST)
    return x.astype(dtype).astype("float64").numpy()


def draw(*shape, seed=0, low=-1.0, high=1.0):
    return np.random.default_rng(seed + sum(shape)).uniform(low, high, shape)


class Wide:
    """An input that is float32 beside narrow ones: a parameter, a statistic."""

    def __init__(self, values):
        self.values = np.asarray(values, "float32")


def run(function, inputs, place, narrow, wide):
    """Results, and gradients of their sum weighted with numbers that the narrow type has."""
    variables = []
    for given in inputs:
        is_wide = isinstance(given, Wide)
        values = given.values if is_wide else given
        if values.dtype.kind != "f":
            variables.append(dygraph.to_variable(values).to(place))
            continue
        x = dygraph.to_variable(values).to(place).astype(wide if is_wide else narrow)
        x.stop_gradient = False
        variables.append(x)
    results = function(*variables)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    total = None
    for i, y in enumerate(results):
        if y.dtype.name not in (narrow, wide) or y.stop_gradient:
            continue
        factors = np.random.default_rng(7 + i).integers(-4, 5, y.shape) / 4
        factors = dygraph.to_variable(factors).to(place).astype(y.dtype.name)
        part = (y * factors).astype(wide).sum()
        total = part if total is None else total + part
    total.backward()
    return results, [v.grad if not v.stop_gradient else None for v in variables]


def compare(function, *inputs, dtype, roundings=2, grad_roundings=None):
    """The function of narrow inputs on the device against float64 on the host."""
    given = [
        x if isinstance(x, Wide) or np.asarray(x).dtype.kind != "f" else rounded(x, dtype)
        for x in inputs
    ]
    results, gradients = run(function, given, PLACE, dtype, "float32")
    exact, exact_gradients = run(function, given, HOST, "float64", "float64")
    assert results[0].dtype.name == dtype and results[0].place == PLACE

    def check(got, want, times):
        want = want.numpy()
        most = np.abs(want).max(initial=0.0)
        got = got.astype("float32").numpy()
        np.testing.assert_allclose(got, want, atol=times * UNIT[dtype] * most, rtol=0)

    for got, want in zip(results, exact, strict=True):
        if want.dtype.is_floating:
            check(got, want, roundings)
        else:
            assert got.tolist() == want.tolist()
    for x, got, want in zip(inputs, gradients, exact_gradients, strict=True):
        assert (got is None) == (want is None)
        if got is not None:
            assert got.dtype.name == ("float32" if isinstance(x, Wide) else dtype)
            check(got, want, grad_roundings or roundings + 1)


# Products -----------------------------------------------------------------------------------------

PRODUCTS = {
    "mul": (lambda x, y: ops.mul(x, y), [(5, 3, 4), (12, 6)]),
    "matmul": (
        lambda x, y: ops.matmul(x, y, transpose_X=True, alpha=0.3),
        [(2, 7, 5), (2, 7, 3)],
    ),
    "matmul_v2": (lambda x, y: ops.matmul_v2(x, y, trans_y=True), [(4, 9), (5, 9)]),
    "one matrix for many": (lambda x, y: ops.matmul_v2(x, y), [(40, 3, 8), (8, 4)]),
    "many for one matrix": (lambda x, y: ops.matmul_v2(x, y), [(3, 8), (40, 8, 4)]),
    "bmm": (lambda x, y: ops.bmm(x, y), [(3, 4, 6), (3, 6, 2)]),
    "addmm": (
        lambda c, x, y: ops.addmm(c, x, y, Alpha=0.7, Beta=-1.3),
        [(1, 6), (4, 9), (9, 6)],
    ),
    "nothing to add": (lambda x, y: ops.matmul_v2(x, y), [(4, 0), (0, 3)]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, dtype):
    function, shapes = PRODUCTS[name]
    inputs = [draw(*shape, seed=i) for i, shape in enumerate(shapes)]
    compare(function, *inputs, dtype=dtype)


def test_many_gradients_are_added_in_float32(dtype):
    """The matrix is used 2000 times: sums in the narrow type would stop to grow at 1 / u."""
    x, y = np.ones((2000, 1, 2)), np.ones((1, 2, 3))
    compare(lambda a, b: ops.matmul_v2(a, b), x, y, dtype=dtype)
    a, b = (dygraph.to_variable(v.astype("float32")).astype(dtype) for v in (x, y))
    b.stop_gradient = False
    ops.matmul_v2(a, b).astype("float32").sum().backward()
    np.testing.assert_allclose(b.grad.astype("float32").numpy(), 2000, rtol=UNIT[dtype])


@pytest.mark.parametrize(("bias", "act"), [(True, ""), (True, "relu"), (False, "relu")])
def test_fc(bias, act, dtype):
    values = [rounded(draw(*s, seed=i), dtype) for i, s in enumerate([(4, 6), (6, 8), (8,)])]

    def call(place, to):
        x, w, b = (dygraph.to_variable(v).to(place).astype(to) for v in values)
        return ops.fc(x, w, activation_type=act, bias=b if bias else None)

    got, want = call(PLACE, dtype), call(HOST, "float64").numpy()
    assert got.dtype.name == dtype
    most = 2 * UNIT[dtype] * np.abs(want).max()
    np.testing.assert_allclose(got.astype("float32").numpy(), want, rtol=0, atol=most)


# Images -------------------------------------------------------------------------------------------

CONVOLUTIONS = {
    "conv2d": ("conv2d", (2, 4, 7, 6), (6, 4, 3, 3), {"strides": [2, 1], "paddings": [1, 1]}),
    "groups": ("conv2d", (2, 4, 5, 5), (6, 2, 3, 3), {"groups": 2, "dilations": [2, 1]}),
    "uneven": ("conv2d", (1, 3, 6, 5), (4, 3, 3, 2), {"paddings": [1, 0, 2, 1]}),
    "depthwise": ("depthwise_conv2d", (2, 4, 6, 6), (4, 1, 3, 3), {"groups": 4}),
    "transposed": ("conv2d_transpose", (2, 4, 4, 5), (4, 3, 3, 3), {"strides": [2, 2]}),
    "conv3d": ("conv3d", (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), {"paddings": [1, 1, 0]}),
}


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, last, dtype):
    kind, x, w, attrs = CONVOLUTIONS[name]
    image, filters = draw(*x), draw(*w, seed=1)
    if last:
        image = np.moveaxis(image, 1, -1)
        attrs = {**attrs, "data_format": "NDHWC" if kind == "conv3d" else "NHWC"}
    compare(lambda a, b: getattr(ops, kind)(a, b, **attrs), image, filters, dtype=dtype)


def test_a_convolution_with_bias_and_residual(dtype):
    inputs = [draw(*s, seed=i) for i, s in enumerate([(2, 3, 5, 5), (4, 3, 3, 3), (4,)])]
    residual = draw(2, 4, 3, 3)
    compare(
        lambda x, w, b, r: ops.conv2d(x, w, bias=b, residual_data=r),
        *inputs,
        residual,
        dtype=dtype,
        roundings=3,
    )


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("last", [False, True])
def test_pools(kind, last, dtype):
    image = draw(2, 3, 9, 8)
    attrs = {"ksize": [3, 2], "strides": [2, 2], "paddings": [1, 0], "pooling_type": kind}
    if last:
        image, attrs["data_format"] = np.moveaxis(image, 1, -1), "NHWC"
    compare(lambda x: ops.pool2d(x, **attrs), image, dtype=dtype)
    whole = {"global_pooling": True, "pooling_type": kind}
    compare(lambda x: ops.pool2d(x, **whole), draw(2, 3, 20, 20), dtype=dtype)


# Norms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("is_test", [False, True])
@pytest.mark.parametrize("name", ["batch_norm", "fused_batch_norm_act", "fused_bn_add_activation"])
def test_batch_norms(name, is_test, layout, dtype):
    """Values far from 0 keep what their type holds: moments are those of the values as stored."""
    x, z = draw(4, 3, 5, 5) * 3 + 2, draw(4, 3, 5, 5, seed=1)
    if layout == "NHWC":
        x, z = (np.moveaxis(v, 1, -1) for v in (x, z))
    scale, bias, mean, variance = (Wide(draw(3, seed=i, low=0.5, high=2)) for i in range(4))

    def call(x, *rest):
        rest = list(rest)
        first = [x, rest.pop(0)] if name == "fused_bn_add_activation" else [x]
        for v in rest[2:]:
            v.stop_gradient = True
        return getattr(ops, name)(*first, *rest, data_layout=layout, is_test=is_test)[0]

    arrays = [x, z] if name == "fused_bn_add_activation" else [x]
    compare(call, *arrays, scale, bias, mean, variance, dtype=dtype, grad_roundings=4)


def test_statistics_are_float32(dtype):
    x = rounded(draw(8, 3, 4, 4) + 5, dtype)
    ones, zeros = np.ones(3, "float32"), np.zeros(3, "float32")
    state = [dygraph.to_variable(v) for v in (ones, zeros, zeros, ones)]
    y, mean, variance = ops.batch_norm(dygraph.to_variable(x).astype(dtype), *state)[:3]
    assert (y.dtype.name, mean.dtype.name, variance.dtype.name) == (dtype, "float32", "float32")
    np.testing.assert_allclose(mean.numpy(), 0.1 * x.mean((0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(variance.numpy(), 0.9 + 0.1 * x.var((0, 2, 3)), rtol=1e-6)


def test_parameters_of_norms_must_be_float32(dtype):
    x = dygraph.to_variable(draw(4, 3)).astype(dtype)
    narrow = dygraph.to_variable(np.ones(3)).astype(dtype)
    with pytest.raises(TypeError):
        ops.layer_norm(x, scale=narrow)
    with pytest.raises(TypeError, match="must have one element type"):
        ops.layer_norm(x, scale=dygraph.to_variable(np.ones(3)))  # float64
    with pytest.raises(TypeError, match="must have one element type"):
        ops.layer_norm(dygraph.to_variable(draw(4, 3)), scale=dygraph.ones([3]))


ROWS = {
    "layer_norm": (
        lambda x, s, b: ops.layer_norm(x, scale=s, bias=b, begin_norm_axis=1),
        [(6, 40), (40,), (40,)],
    ),
    "group_norm": (
        lambda x, s, b: ops.group_norm(x, scale=s, bias=b, groups=2),
        [(2, 4, 5, 3), (4,), (4,)],
    ),
    "group_norm, channels last": (
        lambda x, s, b: ops.group_norm(x, scale=s, bias=b, groups=2, data_layout="NHWC"),
        [(2, 5, 3, 4), (4,), (4,)],
    ),
    "instance_norm": (
        lambda x, s, b: ops.instance_norm(x, scale=s, bias=b)[0],
        [(2, 3, 5, 4), (3,), (3,)],
    ),
    "rms_norm": (
        lambda x, s, b: ops.rms_norm(x, s, norm_bias=b, begin_norm_axis=1),
        [(6, 40), (40,), (40,)],
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_norms_of_rows(name, dtype):
    function, (x, *parameters) = ROWS[name]
    wide = [Wide(draw(*s, seed=i, low=0.5, high=2)) for i, s in enumerate(parameters)]

    def call(*given):
        result = function(*given)
        return result[0] if isinstance(result, (list, tuple)) else result

    compare(call, draw(*x) * 2 + 1, *wide, dtype=dtype, grad_roundings=4)


def test_rms_norm_of_a_sum(dtype):
    x, bias, residual = draw(5, 8), draw(8, seed=1), draw(5, 8, seed=2)
    weight = Wide(draw(8, low=0.5, high=2))

    def call(x, bias, residual, weight):
        return ops.rms_norm(x, weight, bias=bias, residual=residual)

    # The sum is stored twice before it is normalised.
    compare(call, x, bias, residual, weight, dtype=dtype, roundings=4, grad_roundings=6)


# Attention ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [None, "added", "seen", "causal"])
def test_attention(mask, dtype):
    """Weights are rounded for the second product: one rounding more than the result's own."""
    q, k, v = draw(2, 3, 5, 8), draw(2, 3, 7, 8, seed=1), draw(2, 3, 7, 4, seed=2)
    more = []
    if mask == "added":
        added = draw(3, 5, 7)
        added[:, :, 2] = -1e30
        more = [added]
    elif mask == "seen":
        more = [np.random.default_rng(0).random((5, 7)) < 0.7]

    def call(q, k, v, *m):
        mask_given = m[0] if m else None
        return ops.scaled_dot_product_attention(
            q, k, v, mask=mask_given, is_causal=mask == "causal", scale=0.41
        )

    if mask == "added":  # the hidden column of the mask has infinite numbers in float16
        compare_with_mask(call, [q, k, v], more[0], dtype)
    else:
        compare(call, q, k, v, *more, dtype=dtype, roundings=3, grad_roundings=6)


def compare_with_mask(call, inputs, mask, dtype):
    def with_mask(q, k, v):
        m = dygraph.to_variable(mask.astype("float32")).to(q.place).astype(q.dtype.name)
        return call(q, k, v, m)

    mask = np.where(mask < -1e29, mask, rounded(np.clip(mask, -1, 1), dtype))
    compare(with_mask, *inputs, dtype=dtype, roundings=3, grad_roundings=6)


def test_a_mask_gets_a_gradient(dtype):
    q, k, v = draw(2, 3, 5, 8), draw(2, 3, 7, 8, seed=1), draw(2, 3, 7, 4, seed=2)

    def call(q, k, v, m):
        return ops.scaled_dot_product_attention(q, k, v, mask=m)

    compare(call, q, k, v, draw(5, 7), dtype=dtype, roundings=3, grad_roundings=6)


def test_attention_of_heads_side_by_side_with_dropout(dtype):
    q = draw(2, 6, 8)

    def call(x):
        return ops.scaled_dot_product_attention(x, x, x, num_heads=2, dropout_prob=0.4, seed=3)

    compare(call, q, dtype=dtype, roundings=3, grad_roundings=8)


# The others ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("implementation", ["upscale_in_train", "downgrade_in_infer"])
@pytest.mark.parametrize("is_test", [False, True])
def test_dropout(implementation, is_test, dtype):
    attrs = {"dropout_prob": 0.3, "seed": 5, "fix_seed": True, "is_test": is_test}
    compare(
        lambda x: ops.dropout(x, dropout_implementation=implementation, **attrs),
        draw(40, 30),
        dtype=dtype,
    )


ids = np.array([[3, 0], [3, 3], [1, 2]])
SHAPES = {
    "lookup_table_v2": (lambda w, i: ops.lookup_table_v2(w, i), [draw(4, 6), ids]),
    "padding": (lambda w, i: ops.lookup_table_v2(w, i, padding_idx=3), [draw(4, 6), ids]),
    "concat": (lambda x, y: ops.concat([x, y], axis=1), [draw(3, 4), draw(3, 2)]),
    "split": (lambda x: ops.split(x, num=3, axis=1), [draw(4, 6)]),
    "slice": (lambda x: x[1:3, :, 2], [draw(4, 3, 5)]),
    "strides": (lambda x: x[::-2, 1:], [draw(7, 5)]),
    "transpose": (lambda x: dygraph.transpose(x, [2, 0, 1]), [draw(3, 4, 5)]),
    "reshape": (lambda x: dygraph.reshape(x, [6, 2]), [draw(3, 4)]),
    "flatten": (lambda x: x.flatten(), [draw(3, 4)]),
    "squeeze": (lambda x: x.unsqueeze(1).squeeze(0), [draw(1, 4)]),
    "stack": (lambda x, y: ops.stack([x, y], axis=1), [draw(3, 4), draw(3, 4, seed=1)]),
    "unstack": (lambda x: dygraph.unstack(x, axis=1), [draw(3, 4)]),
    "gather": (lambda x, i: ops.gather(x, i), [draw(4, 5), ids[:, 0]]),
    "gather_nd": (lambda x, i: ops.gather_nd(x, i), [draw(4, 5), ids]),
    "index_select": (lambda x, i: ops.index_select(x, i, dim=1), [draw(3, 4), ids[1]]),
    "pad": (lambda x: ops.pad2d(x, paddings=[1, 2, 0, 1]), [draw(2, 3, 4, 4)]),
    "expand": (lambda x: ops.expand_v2(x, shape=[5, 3, 4]), [draw(3, 4)]),
    "tile": (lambda x: ops.tile(x, repeat_times=[40, 2]), [draw(3, 4)]),
    "where": (lambda c, x, y: ops.where(c, x, y), [draw(3, 4) > 0, draw(3, 4), draw(3, 4, seed=1)]),
    "flip": (lambda x: ops.flip(x, axis=[1]), [draw(3, 4)]),
    "roll": (lambda x: ops.roll(x, shifts=[1], axis=[0]), [draw(3, 4)]),
    "reduce_sum": (lambda x: ops.reduce_sum(x, dim=[1]), [draw(5, 300)]),
    "reduce_mean": (lambda x: ops.reduce_mean(x, dim=[0]), [draw(300, 5)]),
    "mean": (lambda x: ops.mean(x), [draw(30, 20)]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_others(name, dtype):
    function, inputs = SHAPES[name]
    compare(function, *inputs, dtype=dtype, roundings=1, grad_roundings=2)


def test_a_mean_of_more_than_the_type_can_count(dtype):
    x = dygraph.to_variable(np.full((100, 1000), 0.5, "float32")).astype(dtype)
    x.stop_gradient = False
    for mean in (ops.mean(x), ops.reduce_mean(x, dim=[0, 1])):
        assert mean.item() == 0.5
        x.clear_gradient()
        (mean * 1024.0).backward()
        np.testing.assert_allclose(x.grad.astype("float32").numpy(), 1024 / 100000, rtol=2**-8)
