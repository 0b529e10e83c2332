"""Passes that write one operator for several: what they take, what they leave, and the results."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dygraph import static
from dygraph.static import layers, passes

R = np.random.default_rng(0)


def described(function, *shapes):
    """(main, startup, feed, name of the result) of a function of arrays of these shapes."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), static.unique_name.guard():
        inputs = [static.data(f"x{i}", [-1, *shape[1:]]) for i, shape in enumerate(shapes)]
        result = function(*inputs)
    feed = {f"x{i}": R.normal(size=shape).astype("float32") for i, shape in enumerate(shapes)}
    return main, startup, feed, result.name


def before_and_after(name, main, startup, feed, result):
    """(types of operators after the pass, the result before it, the result after it)."""
    less = passes.apply(main, [name], keep=[result])
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    values = [executor.run(p, feed, [result], scope=scope)[0] for p in (main, less)]
    return [op.type for op in less.global_block().ops], *values


# fuse_fc ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 7), (5, 64), (64, 300), (3, 4, 9), (0, 6)])
@pytest.mark.parametrize("act", [None, "relu"])
def test_fc_has_the_bits_of_its_parts(shape, act):
    net = described(lambda x: layers.fc(x, 33, len(shape) - 1, act=act), shape)
    net[2]["x0"][..., :1] *= 1e-30  # some results are zero or not normal
    types, want, got = before_and_after("fuse_fc", *net)
    assert types == ["fc"]
    assert got.shape == want.shape and got.tobytes() == want.tobytes()


def test_fc_of_values_that_are_not_finite():
    net = described(lambda x: layers.fc(x, 9, act="relu"), (4, 6))
    net[2]["x0"][:3, 0] = [np.nan, np.inf, -np.inf]
    types, want, got = before_and_after("fuse_fc", *net)
    assert types == ["fc"] and np.isnan(want).any()
    np.testing.assert_array_equal(got, want)


def matrix(x, n=5):
    return layers.create_parameter([x.shape[-1], n], "float32")


def vector(n=5):
    return layers.create_parameter([n], "float32", is_bias=True)


@pytest.mark.parametrize(
    ("function", "types"),
    [
        (lambda x: layers.tanh(layers.fc(x, 5)), ["fc", "tanh"]),
        (lambda x: layers.matmul(x, matrix(x)) + vector(), ["fc"]),
        (lambda x: layers.fc(x, 5, bias_attr=False), ["mul"]),
        (lambda x: layers.matmul(x, matrix(x), alpha=2.0) + vector(),
         ["matmul", "elementwise_add"]),
        (lambda x: layers.matmul(x, matrix(x)) + vector(1), ["matmul", "elementwise_add"]),
        (lambda x: (lambda h: h + vector() + h)(layers.matmul(x, matrix(x))),
         ["matmul", "elementwise_add", "elementwise_add"]),
    ],
)  # fmt: skip
def test_what_becomes_fc(function, types):
    got, want, value = before_and_after("fuse_fc", *described(function, (4, 6)))
    assert [re.sub("matmul_v2", "matmul", t) for t in got] == types
    assert value.tobytes() == want.tobytes()


def test_fc_of_training_stays():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        loss = layers.mean(layers.fc(static.data("x", [None, 4]), 3, act="relu"))
        static.optimizer.SGD(0.1).minimize(loss)
    types = [op.type for op in main.global_block().ops]
    less = passes.apply(main, ["fuse_fc"], keep=[loss.name])
    assert [op.type for op in less.global_block().ops] == types


def test_a_weight_of_another_size_raises():
    main, startup, feed, result = described(lambda x: layers.fc(x, 5), (4, 6))
    less = passes.apply(main, ["fuse_fc"], keep=[result])
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    scope.var("fc_0.b_0").set(np.zeros(3, "float32"))
    with pytest.raises(ValueError, match="fc: .*Bias must have 5 elements"):
        executor.run(less, feed, [result], scope=scope)


# fuse_layer_norm ----------------------------------------------------------------------------------


def test_a_residual_layer_norm_has_the_bits_of_its_parts():
    net = described(
        lambda x, y: layers.layer_norm(x + y, begin_norm_axis=2, epsilon=1e-3), (2, 3, 8), (2, 3, 8)
    )
    types, want, got = before_and_after("fuse_layer_norm", *net)
    assert types == ["skip_layernorm"] and got.tobytes() == want.tobytes()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: layers.layer_norm(x + y, begin_norm_axis=2, scale=False),
        lambda x, y: (lambda s: s + layers.layer_norm(s, begin_norm_axis=2))(x + y),
        lambda x, y: layers.layer_norm(x + layers.reduce_sum(y, dim=1, keep_dim=True)),
    ],
)
def test_a_layer_norm_that_stays(function):
    types, want, got = before_and_after(
        "fuse_layer_norm", *described(function, (2, 3, 8), (2, 3, 8))
    )
    assert "layer_norm" in types and got.tobytes() == want.tobytes()


# fuse_attention -----------------------------------------------------------------------------------


def attention(scale="alpha", mask=True, drop=None):
    def net(q, k, v, m):
        scores = layers.matmul(
            layers.scale(q, 0.25) if scale == "query" else q,
            k,
            transpose_y=True,
            alpha=0.25 if scale == "alpha" else 1.0,
        )
        if scale == "scores":
            scores = layers.scale(scores, 0.25)
        weights = layers.softmax(scores + m if mask else scores)
        if drop:
            weights = layers.dropout(weights, 0.5, dropout_implementation=drop, is_test=True)
        return layers.matmul(weights, v)

    return described(net, (2, 3, 7, 16), (2, 3, 11, 16), (2, 3, 11, 5), (2, 1, 1, 11))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": "query"},
        {"scale": "scores"},
        {"mask": False},
        {"drop": "upscale_in_train"},
    ],
)
def test_attention_of_its_parts(options):
    net = attention(**options)
    feed = net[2]
    feed["x3"] = np.where(R.random((2, 1, 1, 11)) < 0.3, -1e4, 0).astype("float32")
    types, want, got = before_and_after("fuse_attention", *net)
    assert types == ["scaled_dot_product_attention"]
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()
    q, k, v = (feed[f"x{i}"].astype("float64") for i in range(3))
    scores = 0.25 * q @ k.swapaxes(-1, -2) + (feed["x3"] if options.get("mask", True) else 0)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    np.testing.assert_allclose(
        got, weights / weights.sum(-1, keepdims=True) @ v, rtol=1e-4, atol=1e-5
    )


def test_attention_whose_dropout_scales_stays():
    types, want, got = before_and_after("fuse_attention", *attention(drop="downgrade_in_infer"))
    assert "softmax" in types and got.tobytes() == want.tobytes()


def test_attention_stays_where_others_would_draw_other_numbers():
    def noisy(q, k, v):
        weights = layers.softmax(layers.matmul(q, k, transpose_y=True))
        return layers.matmul(weights, v) + layers.uniform_random([1])

    shape = (2, 3, 7, 16)
    main, _, _, result = described(noisy, shape, shape, shape)
    less = passes.apply(main, ["fuse_attention"], keep=[result])
    assert less.serialize_to_string() == main.serialize_to_string()


def test_attention_whose_weights_are_fetched_stays():
    main, _, _, result = attention()
    (softmax,) = [op for op in main.global_block().ops if op.type == "softmax"]
    less = passes.apply(main, ["fuse_attention"], keep=[result, *softmax.output("Out")])
    assert less.serialize_to_string() == main.serialize_to_string()


# The page -----------------------------------------------------------------------------------------


def test_the_page_lists_the_passes_and_runs():
    text = (Path(__file__).resolve().parents[2] / "docs/passes.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    own = "from dygraph import static; print(*static.passes.names())"  # without those of tests
    names = subprocess.run([sys.executable, "-c", own], capture_output=True, text=True, check=True)
    assert sorted(listed) == names.stdout.split()
    assert tuple(listed[: len(passes.DEFAULT)]) == passes.DEFAULT
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(code, {})


# fuse_convolution ---------------------------------------------------------------------------------


def folded(x, act="relu", **sizes):
    return layers.conv2d(x, 32, 3, act=act, **{"padding": 1, **sizes})


@pytest.mark.parametrize("act", ["relu", None])
@pytest.mark.parametrize("sizes", [{}, {"padding": [0, 2]}])
def test_convolutions_by_winograd(act, sizes):
    net = described(lambda x: folded(x, act, **sizes), (2, 16, 9, 12))
    types, want, got = before_and_after("fuse_convolution", *net)
    assert types == ["conv2d_fusion"]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize(
    "sizes", [{"stride": 2}, {"dilation": 2}, {"groups": 2}, {"bias_attr": False}]
)
def test_other_convolutions_stay(sizes):
    net = described(lambda x: folded(x, **sizes), (2, 16, 9, 12))
    types, want, got = before_and_after("fuse_convolution", *net)
    assert "conv2d_fusion" not in types and got.tobytes() == want.tobytes()
