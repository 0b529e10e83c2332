"""Programs in the form of Paddle 2: what is added, and that they compute the same."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.static import io, layers

FEED = {"x": np.random.default_rng(3).standard_normal((2, 4, 6)).astype("float32")}


def described(build, *names):
    """(program, result) of a function of data of [None, 4, 6]."""
    main, startup = static.Program(), static.Program()
    with dygraph.unique_name.guard(), static.program_guard(main, startup):
        result = build(*(static.data(name, [None, 4, 6], "float32") for name in names))
    return main, startup, result


def run(program, feed, name):
    return static.Executor().run(program, feed, [name], scope=static.Scope())[0]


def training():
    def build(x):
        h = layers.transpose(layers.reshape(layers.fc(x, size=8), [-1, 1, 4, 2]), [0, 3, 1, 2])
        h = layers.pool2d(layers.batch_norm(h), pool_size=2, pool_type="max", pool_padding=1)
        h = layers.squeeze(layers.unsqueeze(layers.flatten(h), [1]), [1])
        loss = layers.mean(layers.square(h))
        static.optimizer.Momentum(0.1, 0.9).minimize(loss)
        return loss

    return described(build, "x")


def test_gradients_read_what_paddles_read():
    main, _, _ = training()
    before = main.serialize_to_string()
    program = io.for_paddle(main)
    assert main.serialize_to_string() == before
    ops = program.global_block().ops
    written = {name for op in ops for name in op.output_arg_names}
    reshapes = [op for op in ops if op.type == "reshape2_grad"]
    assert len(reshapes) == 4
    for op in reshapes:
        assert (
            sorted(op.input_names) == ["Out@GRAD", "XShape"] and set(op.input_arg_names) <= written
        )
    (pool,) = (op for op in ops if op.type == "pool2d")
    (pool_grad,) = (op for op in ops if op.type == "pool2d_grad")
    assert pool_grad.input("Out") == pool.output("Out")
    (norm,) = (op for op in ops if op.type == "batch_norm")
    (norm_grad,) = (op for op in ops if op.type == "batch_norm_grad")
    for slot in ("MeanOut", "VarianceOut", "ReserveSpace"):
        assert norm_grad.input(slot) == norm.output(slot)
    assert norm_grad.input("Bias") == norm.input("Bias")
    x_shape = program.global_block().var(reshapes[-1].input("XShape")[0])
    assert x_shape.shape[0] == 0 and x_shape.stop_gradient
    assert io.unknown_to_paddle(program) == []
    again = static.Program.parse_from_string(program.serialize_to_string())
    assert io.for_paddle(again).serialize_to_string() == program.serialize_to_string()


def test_training_takes_the_same_steps():
    main, startup, loss = training()
    scopes = static.Scope(), static.Scope()
    static.Executor().run(startup, scope=scopes[0])
    for name in scopes[0].local_var_names():
        scopes[1].var(name).set(scopes[0].get_var(name).get().numpy())
    losses = [
        [static.Executor().run(p, FEED, [loss.name], scope=s)[0].tobytes() for _ in range(4)]
        for p, s in zip((main, io.for_paddle(main)), scopes, strict=True)
    ]
    assert losses[0] == losses[1] and len(set(losses[0])) == 4


# Attention ----------------------------------------------------------------------------------------


def attention(q, k, v, heads=0, scale=None, mask=None, causal=False):
    """By hand, in float64."""

    def apart(x):
        x = x.astype("float64")
        return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3) if heads else x

    q, k, v = apart(q), apart(k), apart(v)
    scores = q @ k.swapaxes(-1, -2) * (scale or q.shape[-1] ** -0.5)
    seen = np.ones(scores.shape, bool)
    if causal:
        seen &= np.tri(*scores.shape[-2:], dtype=bool)
    if mask is not None and mask.dtype == bool:
        seen &= mask
    elif mask is not None:
        scores = scores + mask
    e = np.where(seen, np.exp(scores - scores.max(-1, keepdims=True)), 0)
    total = e.sum(-1, keepdims=True)
    mixed = np.divide(e, total, out=np.zeros_like(e), where=total > 0) @ v
    return mixed.transpose(0, 2, 1, 3).reshape(len(mixed), mixed.shape[2], -1) if heads else mixed


BOOLS = np.random.default_rng(4).random((4, 4)) < 0.6
BOOLS[2] = False  # a query that sees no key
ADDED = np.random.default_rng(5).standard_normal((4, 4)).astype("float32")


@pytest.mark.parametrize(
    "options",
    [
        {}, {"heads": 2}, {"heads": 3, "causal": True}, {"scale": 0.3, "mask": ADDED},
        {"mask": BOOLS}, {"heads": 2, "mask": BOOLS}, {"heads": 2, "mask": ADDED, "causal": True},
    ],
)  # fmt: skip
def test_attention_becomes_products_and_a_softmax(options):
    mask = options.get("mask")

    def build(q, k, v):
        given = None if mask is None else static.data("mask", [4, 4], str(mask.dtype))
        return dygraph.ops.scaled_dot_product_attention(
            q, k, v, mask=given, num_heads=options.get("heads", 0),
            scale=options.get("scale", 0.0), is_causal=options.get("causal", False),
            dropout_prob=0.5, is_test=True,
        )  # fmt: skip

    main, _, out = described(build, "q", "k", "v")
    rng = np.random.default_rng(6)
    feed = {name: rng.standard_normal((2, 4, 6)).astype("float32") for name in "qkv"}
    want = attention(*feed.values(), **options)
    if mask is not None:
        feed["mask"] = mask
    program = io.for_paddle(main)
    assert io.unknown_to_paddle(main) and io.unknown_to_paddle(program) == []
    assert not any(op.type.startswith("scaled") for op in program.global_block().ops)
    for each in (main, program):
        np.testing.assert_allclose(run(each, feed, out.name), want, rtol=1e-5, atol=1e-6)
    assert program.global_block().var(out.name).shape == out.shape


def test_attention_that_is_trained_stays_and_is_reported():
    def build(x):
        loss = layers.mean(dygraph.nn.scaled_dot_product_attention(layers.fc(x, 6, 2), x, x))
        static.optimizer.SGD(0.1).minimize(loss)
        return loss

    main, _, _ = described(build, "x")
    reported = io.unknown_to_paddle(io.for_paddle(main))
    assert [line.split("no ")[1] for line in reported] == [
        "scaled_dot_product_attention", "scaled_dot_product_attention_grad"
    ]  # fmt: skip


def test_what_paddle_ignores_is_reported():
    main, _, _ = described(lambda x: layers.swish(layers.swish(x, beta=1.0), beta=2.0), "x")
    assert io.unknown_to_paddle(main) == [
        "operator 1 of block 0: Paddle's swish does not read beta"
    ]


def test_misuse():
    for function in (io.for_paddle, io.unknown_to_paddle):
        with pytest.raises(TypeError, match=f"{function.__name__}: program must be"):
            function(3)
