"""int8 after training: numbers by hand, accuracy on the digits, what ONNX Runtime gives."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import dygraph
from dygraph import nn, static
from dygraph.jit import InputSpec
from dygraph.quantization import KL, MinMax, Percentile, quantize, ranges
from onnx_export_cases import model_of, run

EXAMPLES = Path(__file__).parents[2] / "examples"


def types(program):
    return [op.type for op in program.global_block().ops if op.type not in ("feed", "fetch")]


def test_the_numbers_of_a_product():
    """By hand: weights in 7 bits by column, the input in 8 by what was seen."""
    net = nn.Linear(2, 2, bias_attr=False)
    weight = np.array([[1.0, -0.2], [0.5, 0.4]], "float32")
    net.weight.set_value(weight)
    made = quantize(net, [np.array([[2.0, -1.0]], "float32")], [InputSpec([None, 2])], "minmax")
    assert list(made.limits.values()) == [2.0]
    x = np.array([[1.2345, -0.777], [9.0, -9.0]], "float32")
    # 127 steps to the limit 2, the lowest one more; 63 steps to each column's greatest weight.
    whole = np.clip(np.round(x / 2.0 * 127), -128, 127)
    scales = np.array([1.0, 0.4])
    rounded = np.round(weight / scales * 63) / 63 * scales
    want = (whole * 2.0 / 127) @ rounded
    np.testing.assert_allclose(made(dygraph.to_variable(x)).numpy(), want, rtol=1e-5, atol=1e-6)
    held = made.scope.get_var(next(n for n in made.scope.local_var_names() if "int8" in n))
    assert str(held.dtype) == "int8" and held.numpy().tolist() == [[63, -32], [32, 63]]


def test_weights_of_8_bits():
    net = nn.Linear(2, 1, bias_attr=False)
    net.weight.set_value(np.array([[1.0], [0.3]], "float32"))
    made = quantize(net, [np.ones((1, 2), "float32")], [InputSpec([None, 2])], weight_bits=8)
    names = [n for n in made.scope.local_var_names() if "int8" in n]
    assert made.scope.get_var(names[0]).numpy().tolist() == [[127], [38]]


def test_what_a_relu_gives_has_255_steps_and_the_model_stays():
    net = nn.Sequential(
        nn.Conv2D(1, 2, 3), nn.BatchNorm2D(2), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(),
        nn.Linear(18, 3),
    )  # fmt: skip
    net.eval()
    before = {n: p.numpy().copy() for n, p in net.state_dict().items()}
    x = np.random.default_rng(0).normal(size=(4, 1, 8, 8)).astype("float32")
    made = quantize(net, (x for _ in range(2)), [InputSpec([None, 1, 8, 8])])
    ops = [op for op in made.program.global_block().ops if op.type == "quantize_linear"]
    assert [op.attr("bit_length") for op in ops] == [8, 9]
    assert "batch_norm" not in types(made.program)
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name])
    exact = net(dygraph.to_variable(x)).numpy()
    assert abs(made(dygraph.to_variable(x)).numpy() - exact).max() < 0.05 * abs(exact).max()


def test_what_is_skipped():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    x, spec = np.ones((1, 2), "float32"), [InputSpec([None, 2])]
    assert types(quantize(net, [x], spec).program).count("quantize_linear") == 2
    skipped = next(op for op in quantize(net, [x], spec).program.global_block().ops
                   if op.type == "dequantize_linear" and "int8" in op.input("X")[0])  # fmt: skip
    name = skipped.input("X")[0].removesuffix(".int8")
    assert types(quantize(net, [x], spec, skip=[name]).program).count("quantize_linear") == 1
    with pytest.raises(ValueError, match="must have a product or a convolution"):
        quantize(net, [x], spec, skip="matmul_v2")


def test_limits_of_the_methods():
    seen = ranges.Histogram(4096)
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=100_000)
    numbers[0] = -40.0  # alone
    for part in np.array_split(numbers, 7):
        seen.add(part)
    assert MinMax().limit(seen) == 40.0
    percentile = np.percentile(abs(numbers), 99.9)
    assert abs(Percentile(99.9).limit(seen) - percentile) <= 2 * seen.width
    kl = KL()
    histogram = ranges.Histogram(kl.bins)
    for part in np.array_split(numbers, 7):
        histogram.add(part)
    assert 2.0 < kl.limit(histogram) < 6.0  # not the number that stands alone
    assert histogram.counts.sum() == numbers.size


def test_divergence_of_what_fits_exactly_is_zero():
    counts = np.zeros(256)
    counts[:256:2] = 7  # of each pair of bins one holds numbers
    assert abs(ranges.divergence(counts, 256)) < 1e-12
    assert ranges.divergence(counts, 128) > 0.1  # half the numbers would be cut off


@pytest.fixture(scope="module")
def digits():
    """(LeNet of the example, trained; images to calibrate with; to test with; their labels)"""
    spec = importlib.util.spec_from_file_location("example_digits", EXAMPLES / "digits.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    images, tests, labels, truth = example.load_data()
    dygraph.seed(0)
    net = example.LeNet()
    adam = dygraph.optimizer.Adam(3e-3, parameter_list=net.parameters())
    for _ in range(6):
        for i in range(0, len(images), 64):
            scores = net(dygraph.to_variable(images[i : i + 64]))
            target = dygraph.to_variable(labels[i : i + 64])
            dygraph.ops.softmax_with_cross_entropy(scores, target).mean().backward()
            adam.step()
            adam.clear_gradients()
    net.eval()
    return net, images[:256], tests, truth[:, 0]


@pytest.mark.parametrize("method", ["minmax", "percentile", "kl"])
def test_accuracy_on_the_digits(digits, method, tmp_path):
    net, calibration, images, truth = digits

    def accuracy(scores):
        return (scores.argmax(1) == truth).mean()

    with dygraph.no_grad():
        exact = accuracy(net(dygraph.to_variable(images)).numpy())
    assert exact > 0.93
    spec = [InputSpec(["batch", 1, 8, 8])]
    small = quantize(net, np.array_split(calibration, 4), spec, method)
    assert accuracy(small(dygraph.to_variable(images)).numpy()) >= exact - 0.01
    model = model_of(small)
    made = [node.op_type for node in model.graph.node]
    assert made.count("QuantizeLinear") == 4 and made.count("DequantizeLinear") == 8
    (given,), (out,) = model.graph.input, model.graph.output
    assert accuracy(run(model, {given.name: images})[out.name]) >= exact - 0.01
    weights = [t for t in model.graph.initializer if t.name.startswith("weight")]
    assert sum(len(t.raw_data) for t in weights if t.data_type == 3) > 10_000  # int8
    small.save(str(tmp_path))
    again = dygraph.jit.load(str(tmp_path))(dygraph.to_variable(images[:5])).numpy()
    np.testing.assert_array_equal(again, small(dygraph.to_variable(images[:5])).numpy())


def test_a_program_of_fluid_with_two_inputs():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        a, b = (static.data(n, [None, 4], "float32") for n in "ab")
        out = static.layers.fc([a, b], 3)
    executor, scope = static.Executor(), dygraph._core.Scope()
    executor.run(startup, scope=scope)
    rng = np.random.default_rng(1)
    feed = {n: rng.normal(size=(6, 4)).astype("float32") for n in "ab"}
    small = quantize(main, [feed], feeds=["a", "b"], fetches=[out], scope=scope)
    (want,) = executor.run(main, feed=feed, fetch_list=[out], scope=scope)
    got = small(*(dygraph.to_variable(feed[n]) for n in "ab")).numpy()
    assert abs(got - want).max() < 0.05 * abs(want).max()


def test_refusals():
    net, spec, x = nn.Linear(2, 2), [InputSpec([None, 2])], np.ones((1, 2), "float32")
    for wrong, kind, text in [
        ({"batches": []}, ValueError, "at least one batch"),
        ({"batches": [(x, x)]}, TypeError, r"Leave labels out: batches=\(\(x,\) for x, y"),
        ({"batches": [{"y": x}]}, TypeError, "must hold the inputs"),
        ({"batches": ["x"]}, TypeError, "must be an array or a Variable"),
        ({"batches": [x * np.inf]}, ValueError, "finite"),
        ({"method": "max"}, ValueError, "'minmax', 'percentile', 'kl'"),
        ({"method": KL}, TypeError, "object of these classes"),
        ({"weight_bits": 9}, ValueError, "at most 8"),
    ]:
        given = {"batches": [x], "input_spec": spec, **wrong}
        with pytest.raises(kind, match=text):
            quantize(net, **given)
    with pytest.raises(TypeError, match="input_spec must be given"):
        quantize(net, [x])
    for percent in (0, 101):
        with pytest.raises(ValueError, match="above 0 and at most 100"):
            Percentile(percent)
