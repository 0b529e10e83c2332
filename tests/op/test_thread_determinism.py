"""The same bits for any number of threads, forward and backward, by kernels of our own and by a
library's.

Every case is large enough for its loops to be shared out; tests/op_contract.py compares small
ones."""

import numpy as np
import pytest

import dygraph
from dygraph import _core, nn

RNG = np.random.default_rng(11)


def f(*shape, low=-1.0, high=1.0):
    return RNG.uniform(low, high, shape).astype("float32")


def i(high, *shape):
    return RNG.integers(0, high, shape)


def lod(array, lengths):
    return array, [[0, *np.cumsum(lengths).tolist()]]


LENGTHS = [1, 50, 200, 3, 120, 90, 300, 36]  # 800 rows

IMAGE = f(4, 32, 40, 40)
ROWS = f(600, 512)
UNARY = (
    "relu tanh sigmoid exp sqrt rsqrt abs square gelu elu softplus softsign swish silu mish log "
    "reciprocal erf sin cos leaky_relu hard_swish logsigmoid stanh"
).split()
REDUCE = "reduce_sum reduce_mean reduce_max reduce_min reduce_prod".split()

CASES = {
    **{op: ({"X": f(300, 700, low=0.2, high=2.0)}, {}) for op in UNARY},
    **{f"{op} rows": ({"X": f(700, 513)}, {"dim": [1]}, op) for op in REDUCE},
    **{f"{op} columns": ({"X": f(700, 513)}, {"dim": [0]}, op) for op in REDUCE},
    **{f"{op} all": ({"X": f(700, 513)}, {"reduce_all": True}, op) for op in REDUCE},
    "reduce_sum middle": ({"X": f(60, 70, 80)}, {"dim": [1]}, "reduce_sum"),
    "mean": ({"X": f(999, 333)}, {}),
    "elementwise_add row": ({"X": ROWS, "Y": f(512)}, {}, "elementwise_add"),
    "elementwise_mul column": ({"X": ROWS, "Y": f(600, 1)}, {}, "elementwise_mul"),
    "elementwise_div channels": ({"X": IMAGE, "Y": f(32, low=1)}, {"axis": 1}, "elementwise_div"),
    "elementwise_max": ({"X": ROWS, "Y": f(600, 512)}, {}),
    "matmul_v2": ({"X": f(300, 257), "Y": f(257, 310)}, {}),
    "matmul_v2 batches": ({"X": f(8, 70, 64), "Y": f(8, 90, 64)}, {"trans_y": True}, "matmul_v2"),
    "matmul_v2 vector": ({"X": f(1200, 300), "Y": f(300)}, {}, "matmul_v2"),
    "bmm": ({"X": f(16, 60, 70), "Y": f(16, 70, 80)}, {}),
    "mul": ({"X": f(200, 300), "Y": f(300, 210)}, {}),
    "conv2d": ({"Input": f(4, 16, 30, 30), "Filter": f(24, 16, 3, 3)}, {"paddings": [1, 1]}),
    "conv2d strides": (
        {"Input": f(4, 3, 61, 61), "Filter": f(16, 3, 5, 5)},
        {"strides": [2, 2]},
        "conv2d",
    ),
    "conv2d groups": (
        {"Input": f(4, 16, 30, 30), "Filter": f(16, 4, 3, 3)},
        {"groups": 4},
        "conv2d",
    ),
    "depthwise_conv2d": (
        {"Input": f(4, 32, 30, 30), "Filter": f(32, 1, 3, 3)},
        {"groups": 32, "paddings": [1, 1]},
    ),
    "conv2d_transpose": ({"Input": f(4, 16, 20, 20), "Filter": f(16, 12, 3, 3)}, {}),
    "conv3d": ({"Input": f(2, 4, 12, 14, 14), "Filter": f(8, 4, 3, 3, 3)}, {}),
    "pool2d max": (
        {"X": IMAGE},
        {"pooling_type": "max", "ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1]},
        "pool2d",
    ),
    "pool2d avg": (
        {"X": IMAGE},
        {"pooling_type": "avg", "ksize": [2, 2], "strides": [2, 2]},
        "pool2d",
    ),
    "batch_norm": (
        {"X": IMAGE, "Scale": f(32), "Bias": f(32), "Mean": f(32), "Variance": f(32, low=0.5)},
        {},
    ),
    "layer_norm": ({"X": ROWS, "Scale": f(512), "Bias": f(512)}, {"begin_norm_axis": 1}),
    "group_norm": ({"X": IMAGE, "Scale": f(32), "Bias": f(32)}, {"groups": 8}),
    "instance_norm": ({"X": IMAGE, "Scale": f(32), "Bias": f(32)}, {}),
    "softmax": ({"X": ROWS}, {}),
    "softmax columns": ({"X": f(64, 90, 60)}, {"axis": 1}, "softmax"),
    "log_softmax": ({"X": ROWS}, {}),
    "logsumexp": ({"X": ROWS}, {"axis": [1]}),
    "softmax_with_cross_entropy": ({"Logits": ROWS, "Label": i(512, 600, 1)}, {}),
    "arg_max": ({"X": ROWS}, {"axis": 1}),
    "argsort": ({"X": ROWS}, {"axis": 1}),
    "top_k_v2": ({"X": ROWS}, {"k": 7}),
    "cumsum": ({"X": ROWS}, {"axis": 1}),
    "cumsum columns": ({"X": ROWS}, {"axis": 0}, "cumsum"),
    "transpose2": ({"X": f(64, 70, 80)}, {"axis": [2, 0, 1]}),
    "concat": ({"X": [("a", ROWS), ("b", f(600, 300))]}, {"axis": 1}),
    "sum": ({"X": [("a", ROWS), ("b", f(600, 512)), ("c", f(600, 512))]}, {}),
    "gather": ({"X": ROWS, "Index": i(600, 900)}, {}),
    "scatter_nd_add": ({"X": ROWS, "Index": i(600, 900, 1), "Updates": f(900, 512)}, {}),
    "take_along_axis": ({"Input": ROWS, "Index": i(512, 600, 300)}, {"Axis": 1}),
    "lookup_table_v2": ({"W": f(500, 128), "Ids": i(500, 64, 20)}, {}),
    "where": ({"Condition": ROWS > 0, "X": f(600, 512), "Y": f(600, 512)}, {}),
    "tile": ({"X": f(100, 90)}, {"repeat_times": [3, 4]}),
    "expand_v2": ({"X": f(1, 90, 1)}, {"shape": [70, 90, 60]}),
    "bilinear_interp": ({"X": IMAGE}, {"out_h": 63, "out_w": 57}),
    "unfold": (
        {"X": IMAGE},
        {"kernel_sizes": [3, 3], "strides": [1, 1], "paddings": [1] * 4, "dilations": [1, 1]},
    ),
    "prelu": ({"X": IMAGE, "Alpha": f(32)}, {"mode": "channel"}),
    "p_norm": ({"X": ROWS}, {"axis": 1, "porder": 3.0}),
    "frobenius_norm": ({"X": ROWS}, {"reduce_all": True}),
    "squared_l2_norm": ({"X": ROWS}, {}),
    "kldiv_loss": ({"X": ROWS, "Target": f(600, 512, low=0.1)}, {"reduction": "mean"}),
    "huber_loss": ({"X": f(90000, 1), "Y": f(90000, 1)}, {"delta": 0.5}),
    "sequence_pool": ({"X": lod(f(800, 96), LENGTHS)}, {"pooltype": "SUM"}),
    "sequence_softmax": ({"X": lod(f(800, 1), LENGTHS)}, {}),
    "lstm": (
        {"Input": lod(f(800, 4 * 48), LENGTHS), "Weight": f(48, 4 * 48), "Bias": f(1, 7 * 48)},
        {"use_peepholes": True},
    ),
    "gru": (
        {"Input": lod(f(800, 3 * 48), LENGTHS), "Weight": f(48, 3 * 48), "Bias": f(1, 3 * 48)},
        {},
    ),
    "uniform_random": ({}, {"shape": [300, 500], "seed": 5}),
    "gaussian_random": ({}, {"shape": [300, 500], "seed": 5}),
    "truncated_gaussian_random": ({}, {"shape": [300, 500], "seed": 5}),
    "dropout": ({"X": ROWS}, {"dropout_prob": 0.4, "seed": 3, "fix_seed": True}),
    "lrn": ({"X": IMAGE}, {}),
    "rms_norm": ({"x": ROWS, "norm_weight": f(512)}, {"begin_norm_axis": 1}),
    "norm": ({"X": ROWS}, {"axis": 1}),
    "l1_norm": ({"X": ROWS}, {}),
    "clip_by_norm": ({"X": ROWS}, {"max_norm": 2.0}),
    "grid_sampler": ({"X": IMAGE, "Grid": f(4, 50, 60, 2)}, {}),
    "temporal_shift": ({"X": IMAGE}, {"seg_num": 2}),
    "maxout": ({"X": IMAGE}, {"groups": 4, "axis": 1}),
    "pool3d": ({"X": f(2, 8, 14, 20, 20)}, {"pooling_type": "avg", "ksize": [2, 2, 2]}),
    "fc": ({"Input": f(300, 257), "W": f(257, 310), "Bias": f(310)}, {}),
    "addmm": ({"Input": f(300, 310), "X": f(300, 257), "Y": f(257, 310)}, {}),
    "dot": ({"X": ROWS, "Y": f(600, 512)}, {}),
    "bilinear_tensor_product": ({"X": f(400, 40), "Y": f(400, 50), "Weight": f(20, 40, 50)}, {}),
    "einsum": (
        {"Operands": [("a", f(12, 60, 70)), ("b", f(12, 70, 80))]},
        {"equation": "bij,bjk->ik"},
    ),
    "scaled_dot_product_attention": (
        {"Query": f(4, 100, 64), "Key": f(4, 120, 64), "Value": f(4, 120, 64)},
        {"num_heads": 4},
    ),
    "cross_entropy2": ({"X": f(600, 512, low=0.1), "Label": i(512, 600, 1)}, {}),
    "bpr_loss": ({"X": f(600, 120), "Label": i(120, 600, 1)}, {}),
    "label_smooth": ({"X": ROWS}, {"epsilon": 0.1}),
    "warpctc": (
        {
            "Logits": lod(f(800, 30), LENGTHS),
            "Label": lod(i(29, 24, 1) + 1, [1, 5, 4, 2, 3, 3, 4, 2]),
        },
        {},
    ),
    "linear_chain_crf": (
        {
            "Emission": lod(f(800, 30), LENGTHS),
            "Transition": f(32, 30),
            "Label": lod(i(30, 800, 1), LENGTHS),
        },
        {},
    ),
    "sequence_conv": (
        {"X": lod(f(800, 64), LENGTHS), "Filter": f(192, 96)},
        {"contextLength": 3, "contextStart": -1},
    ),
    "adam": (
        {
            **{"Param": ROWS, "Grad": f(600, 512), "Moment1": f(600, 512)},
            **{"Moment2": f(600, 512, low=0), "LearningRate": f(1, low=0.1)},
            **{"Beta1Pow": f(1, low=0.1), "Beta2Pow": f(1, low=0.1)},
        },
        {},
    ),
    "momentum": (
        {"Param": ROWS, "Grad": f(600, 512), "Velocity": f(600, 512), "LearningRate": f(1)},
        {"mu": 0.9},
    ),
    "lamb": (
        {
            **{"Param": ROWS, "Grad": f(600, 512), "Moment1": f(600, 512)},
            **{"Moment2": f(600, 512, low=0), "LearningRate": f(1, low=0.1)},
            **{"Beta1Pow": f(1, low=0.1), "Beta2Pow": f(1, low=0.1)},
        },
        {},
    ),
    "check_finite_and_unscale": ({"X": [("x", ROWS)], "Scale": f(1, low=0.5)}, {}),
}


def conv(n, c, size, out_c, kernel, pad=0, stride=1, groups=1):
    images, filters = f(n, c, size, size), f(out_c, c // groups, kernel, kernel)
    attrs = {"paddings": [pad, pad], "strides": [stride, stride], "groups": groups}
    return {"Input": images, "Filter": filters}, attrs, "conv2d"


# Where a library computes, or where it is left to cut sums itself.
LIBRARY_CASES = {
    "convolution of images": conv(16, 32, 14, 32, 3, pad=1),
    "convolution of one image": conv(1, 32, 60, 64, 3, pad=1),
    "convolution of one image, many channels": conv(1, 64, 14, 320, 3, pad=1),
    "convolution, three images": conv(3, 24, 41, 40, 5, pad=2, stride=2),
    "convolution, many channels": conv(4, 256, 4, 256, 3, pad=1),
    "convolution, 1 x 1": conv(4, 128, 28, 256, 1),
    "convolution, 1 x 1, strided": conv(4, 128, 28, 256, 1, stride=2),
    "convolution, first": conv(4, 3, 90, 32, 7, pad=3, stride=2),
    "convolution, groups": conv(4, 64, 30, 64, 3, pad=1, groups=4),
    "convolution, depthwise": conv(4, 64, 60, 64, 3, pad=1, groups=64),
    "transposed convolution": (
        {"Input": f(4, 48, 20, 20), "Filter": f(48, 32, 3, 3)},
        {"strides": [2, 2]},
        "conv2d_transpose",
    ),
    "convolution of volumes": (
        {"Input": f(3, 16, 12, 14, 14), "Filter": f(24, 16, 3, 3, 3)},
        {},
        "conv3d",
    ),
    "product": ({"X": f(300, 500), "Y": f(500, 310)}, {}, "matmul_v2"),
    "product, few rows": ({"X": f(64, 784), "Y": f(784, 256)}, {}, "matmul_v2"),
    "product, long sums": ({"X": f(256, 2100), "Y": f(2100, 300)}, {}, "matmul_v2"),
    "product, transposed, long sums": (
        {"X": f(256, 4000), "Y": f(300, 4000)},
        {"trans_y": True},
        "matmul_v2",
    ),
    "product, both transposed": (
        {"X": f(700, 200), "Y": f(300, 700)},
        {"trans_x": True, "trans_y": True},
        "matmul_v2",
    ),
    "products": ({"X": f(6, 200, 300), "Y": f(6, 300, 210)}, {}, "matmul_v2"),
    "mul": ({"X": f(200, 1500), "Y": f(1500, 310)}, {}, "mul"),
    "lstm": CASES["lstm"][:2] + ("lstm",),
    "gru": CASES["gru"][:2] + ("gru",),
}


def variables(inputs):
    """Slots of fresh variables, those of floating point wanting a gradient, and a list of those."""
    slots, leaves = {}, []

    def make(entry):
        array, levels = entry if isinstance(entry, tuple) else (entry, None)
        v = _core.to_variable(array, levels)
        if array.dtype.kind == "f":
            v.stop_gradient = False
            leaves.append(v)
        return v

    for slot, entry in inputs.items():
        if isinstance(entry, list):
            slots[slot] = [make(array) for _, array in entry]
        else:
            slots[slot] = make(entry)
    return slots, leaves


def flat(results):
    for value in results.values():
        yield from value if isinstance(value, list) else [value]


def bits(name, cases):
    inputs, attrs, *op = cases[name]
    slots, leaves = variables(inputs)
    with dygraph.enable_grad():
        results = list(flat(_core.run_op(op[0] if op else name.split()[0], slots, attrs)))
    tops = [v for v in results if not v.stop_gradient]
    if tops:
        rng = np.random.default_rng(3)
        seeds = [_core.to_variable(rng.uniform(-1, 1, v.shape).astype(str(v.dtype))) for v in tops]
        _core.backward(tops, seeds, False, False)
    values = [v.numpy() for v in results]
    gradients = [v.grad.numpy() for v in leaves if v.grad is not None]
    assert not tops or gradients
    return [(a.dtype, a.shape, a.tobytes()) for a in values + gradients]


@pytest.fixture
def flags():
    names = ["FLAGS_kernel_library", "FLAGS_matrix_product"]
    before, threads = dygraph.get_flags(names), _core.num_threads()
    yield
    dygraph.set_flags(before)
    _core.set_num_threads(threads)


def compare(name, cases, counts):
    _core.set_num_threads(1)
    one = bits(name, cases)
    for threads in counts:
        _core.set_num_threads(threads)
        assert bits(name, cases) == one, f"{threads} threads"


@pytest.mark.parametrize("name", CASES)
def test_the_same_bits_for_any_number_of_threads(name, flags):
    dygraph.set_flags({"FLAGS_kernel_library": "plain"})
    compare(name, CASES, (2, 3, 8))


@pytest.mark.parametrize("name", LIBRARY_CASES)
def test_the_same_bits_by_a_library(name, flags):
    compare(name, LIBRARY_CASES, (2, 3, 8))


@pytest.mark.parametrize("name", [name for name in LIBRARY_CASES if "product" in name])
def test_the_same_bits_by_a_library_where_another_kernel_is_chosen(name, flags):
    dygraph.set_flags({"FLAGS_matrix_product": "onednn"})
    compare(name, LIBRARY_CASES, (2, 3, 8))


def perceptron():
    net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    return net, f(64, 784), lambda out: (out * out).mean()


def convolutions():
    net = nn.Sequential(
        nn.Conv2D(3, 24, 5, padding=2), nn.BatchNorm2D(24), nn.ReLU(), nn.Conv2D(24, 40, 3)
    )
    return net, f(8, 3, 40, 40), lambda out: (out * out).mean()


def recurrent():
    return (
        nn.LSTM(60, 96, num_layers=2, time_major=False),
        f(16, 40, 60),
        lambda out: (out[0] * out[0]).mean(),
    )


# A whole step: the libraries compute where they usually do, optimizers join their loops.
@pytest.mark.parametrize("make", [perceptron, convolutions, recurrent])
def test_a_training_step_gives_the_same_bits(make, flags):
    net, batch, loss_of = make()
    start = {name: array.numpy().copy() for name, array in net.state_dict().items()}

    def trained(threads):
        _core.set_num_threads(threads)
        net.set_state_dict(start)
        adam = dygraph.optimizer.Adam(0.01, parameters=net.parameters())
        for _ in range(2):
            loss = loss_of(net(dygraph.to_variable(batch)))
            loss.backward()
            adam.step()
            adam.clear_grad()
        return [loss.item(), *(v.numpy().tobytes() for v in net.state_dict().values())]

    one = trained(1)
    assert one[1:] != [array.tobytes() for array in start.values()]
    for threads in (2, 3, 8):
        assert trained(threads) == one, f"{threads} threads"
