"""Images stay channels-last from convolution to convolution; bits depend on no thread count."""

import numpy as np
import pytest

from dygraph import _core


def variable(*shape, seed=0):
    v = _core.to_variable((np.random.RandomState(seed).rand(*shape) - 0.5).astype("float32"))
    v.stop_gradient = False
    return v


def block(x, w, channels):
    """conv2d -> batch_norm -> relu -> pool2d, with every value in between."""
    conv = _core.run_op("conv2d", {"Input": x, "Filter": w}, {"paddings": [1, 1]})["Output"]
    ones = _core.to_variable(np.ones(channels, "float32"))
    slots = {"X": conv, "Scale": ones, "Bias": ones, "Mean": ones, "Variance": ones}
    norm = _core.run_op("batch_norm", slots, {})["Y"]
    relu = _core.ops.relu(norm)
    attrs = {"pooling_type": "max", "ksize": [2, 2], "strides": [2, 2]}
    return [conv, norm, relu, _core.run_op("pool2d", {"X": relu}, attrs)["Out"]]


# The order convolutions prefer: oneDNN's kernel channels-last, ours plain.
ORDER = "NHWC" if any("onednn" in k for k in _core.describe_op("conv2d")["kernels"]) else "NCHW"


def test_activations_and_gradients_stay_in_the_order_of_the_convolution():
    x, first, second = variable(4, 8, 16, 16), variable(16, 8, 3, 3), variable(24, 16, 3, 3)
    values = block(x, first, 16)
    values += block(values[-1], second, 24)
    assert [_core.layout(v) for v in values] == [ORDER] * 8
    loss = _core.ops.mean(values[-1])
    seed = _core.to_layout(_core.to_variable(np.ones(values[-1].shape, "float32")), ORDER)
    grads = _core.grad([values[-1]], values[:-1], [seed], True, False, True)
    assert [_core.layout(g) for g in grads] == [ORDER] * 7
    first_grad = _core.grad([loss], [first], [], False, False, True)[0]
    assert _core.layout(first_grad) == "NCHW"  # weights stay plain


def test_chain_equals_plain_chain():
    x, first = variable(2, 8, 12, 12), variable(16, 8, 3, 3)
    got = block(x, first, 16)[-1]
    grad = _core.grad([got], [x, first], [], False, False, True)
    _core.set_flag("kernel_library", "plain")
    try:
        plain = block(x, first, 16)[-1]
        plain_grad = _core.grad([plain], [x, first], [], False, False, True)
    finally:
        _core.set_flag("kernel_library", "")
    assert _core.layout(plain) == "NCHW"
    np.testing.assert_allclose(got.numpy(), plain.numpy(), rtol=1e-4, atol=1e-4)
    for a, b in zip(grad, plain_grad, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-3, atol=1e-3)


def results(layout):
    x, w = _core.to_layout(variable(16, 6, 20, 20), layout), variable(16, 6, 5, 5)
    x.stop_gradient = False
    values = block(x, w, 16)
    logits, labels = variable(300, 200), _core.to_variable(np.arange(300) % 200)
    slots = {"Logits": logits, "Label": labels}
    loss = _core.run_op("softmax_with_cross_entropy", slots, {})["Loss"]
    grads = _core.grad([values[-1], loss], [x, w, logits], [], False, False, True)
    return [v.numpy().tobytes() for v in (*values, loss, *grads)]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_own_kernels_give_the_same_bits_for_any_thread_count(layout):
    threads = _core.num_threads()
    _core.set_flag("kernel_library", "plain")
    try:
        _core.set_num_threads(1)
        alone = results(layout)
        for n in (2, 3):
            _core.set_num_threads(n)
            assert results(layout) == alone
    finally:
        _core.set_num_threads(threads)
        _core.set_flag("kernel_library", "")


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


@pytest.mark.slow
def test_memory_is_flat_over_many_shapes():
    """The ready primitives are bounded in number."""

    def run(sizes):
        w = _core.to_variable(np.ones((16, 16, 3, 3), "float32"))
        for h, wide in sizes:
            x = _core.to_variable(np.ones((1, 16, h, wide), "float32"))
            _core.run_op("conv2d", {"Input": x, "Filter": w}, {})

    run(
        [(h, wide) for h in range(31, 63) for wide in range(31, 95)]
    )  # 2048: the cache has been full
    before = resident()
    run([(h, wide) for h in range(63, 95) for wide in range(31, 95)])
    assert resident() - before < 30 << 20


@pytest.mark.parametrize("shape", [(2, 1, 3, 4), (2, 5, 1, 1)])
def test_orders_that_agree_share_memory_until_one_is_written(shape):
    array = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    plain = _core.to_variable(array)
    last = _core.to_layout(plain, "NHWC")
    assert _core.layout(last) == "NHWC"
    plain[...] = 0.0
    np.testing.assert_array_equal(last.numpy(), array)
    np.testing.assert_array_equal(_core.to_layout(last, "NCHW").numpy(), array)
    assert not plain.numpy().any()
