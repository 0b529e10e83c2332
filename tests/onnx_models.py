"""ONNX models that tests build: no files, weights from a seed."""

import numpy as np

import onnx
from onnx import helper, numpy_helper, parser


def model(text, weights=(), opset=21, functions=(), **more):
    """The model of a graph as text, with arrays as initializers."""
    graph = parser.parse_graph(text)
    for name, array in dict(weights).items():
        graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    imports = [helper.make_opsetid("", opset)]
    imports += [helper.make_opsetid(d, 1) for d in {f.domain for f in functions}]
    made = helper.make_model(
        graph, opset_imports=imports, functions=list(functions), ir_version=10, **more
    )
    onnx.checker.check_model(made)
    return made


def normal(seed, *shape):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def mlp():
    return model(
        """g (float[N, 4] x) => (float[N, 3] y) {
            h = Gemm <transB = 1> (x, w1, b1)
            a = Relu (h)
            m = MatMul (a, w2)
            y = Softmax <axis = -1> (m)
        }""",
        {"w1": normal(1, 8, 4), "b1": normal(2, 8), "w2": normal(3, 8, 3)},
    )


def lenet():
    return model(
        """g (float[N, 1, 28, 28] x) => (float[N, 10] y) {
            c1 = Conv <pads = [2, 2, 2, 2], kernel_shape = [5, 5]> (x, w1, b1)
            r1 = Relu (c1)
            p1 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r1)
            c2 = Conv <kernel_shape = [5, 5]> (p1, w2, b2)
            r2 = Relu (c2)
            p2 = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (r2)
            f = Flatten (p2)
            y = Gemm <transB = 1> (f, w3, b3)
        }""",
        {
            "w1": normal(1, 6, 1, 5, 5) * 0.2, "b1": normal(2, 6),
            "w2": normal(3, 16, 6, 5, 5) * 0.1, "b2": normal(4, 16),
            "w3": normal(5, 10, 400) * 0.05, "b3": normal(6, 10),
        },
    )  # fmt: skip


def residual():
    """Two blocks of a ResNet, one with a stride, with batch normalization and a global pool."""
    text, weights, x = [], {}, "x"
    for k, (i, o, stride) in enumerate([(3, 8, 1), (8, 16, 2)]):
        for name, shape in (("a", (o, i, 3, 3)), ("b", (o, o, 3, 3)), ("s", (o, i, 1, 1))):
            weights[f"{name}{k}"] = normal(k, *shape) * 0.3
        for name in "ab":
            weights[f"{name}{k}_scale"], weights[f"{name}{k}_bias"] = normal(7, o), normal(8, o)
            weights[f"{name}{k}_mean"] = normal(9, o)
            weights[f"{name}{k}_var"] = np.abs(normal(10, o)) + 0.5
        stats = {
            n: ", ".join(f"{n}{k}_{s}" for s in ("scale", "bias", "mean", "var")) for n in "ab"
        }
        text.append(f"""
            c{k} = Conv <pads = [1, 1, 1, 1], strides = [{stride}, {stride}]> ({x}, a{k})
            n{k} = BatchNormalization <epsilon = 0.001> (c{k}, {stats["a"]})
            r{k} = Relu (n{k})
            d{k} = Conv <auto_pad = "SAME_UPPER"> (r{k}, b{k})
            m{k} = BatchNormalization (d{k}, {stats["b"]})
            t{k} = Conv <strides = [{stride}, {stride}]> ({x}, s{k})
            u{k} = Add (m{k}, t{k})
            v{k} = Relu (u{k})""")
        x = f"v{k}"
    return model(
        f"""g (float[N, 3, H, W] x) => (float[N, 16] y) {{ {"".join(text)}
            q = GlobalAveragePool (v1)
            zero = Constant <value_ints = [0]> ()
            s = Shape <end = 1> (q)
            rest = Constant <value_ints = [-1]> ()
            shape = Concat <axis = 0> (s, rest)
            y = Reshape (q, shape)
        }}""",
        weights,
    )


def recurrent(kind="LSTM", direction="bidirectional", more=""):
    gates, d = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind], 2 if direction == "bidirectional" else 1
    outputs = "y, h, c" if kind == "LSTM" else "y, h"
    state = f"float[{d}, N, 6] h" + (f", float[{d}, N, 6] c" if kind == "LSTM" else "")
    return model(
        f"""g (float[T, N, 5] x, int32[N] lengths) => (float[T, {d}, N, 6] y, {state}) {{
            {outputs} = {kind} <hidden_size = 6, direction = "{direction}" {more}>
                (x, w, r, b, lengths)
        }}""",
        {
            "w": normal(1, d, gates * 6, 5) * 0.5, "r": normal(2, d, gates * 6, 6) * 0.5,
            "b": normal(3, d, gates * 12) * 0.5,
        },
    )  # fmt: skip


def encoder(width=16, heads=4):
    """A layer of a Transformer as exporters write it: shapes are computed."""
    each = width // heads
    return model(
        f"""g (int64[N, T] words) => (float[N, T, {width}] y) {{
            e = Gather (table, words)
            s = Shape (e)
            i0 = Constant <value_int = 0> ()
            i1 = Constant <value_int = 1> ()
            n = Gather (s, i0)
            t = Gather (s, i1)
            axis = Constant <value_ints = [0]> ()
            n1 = Unsqueeze (n, axis)
            t1 = Unsqueeze (t, axis)
            parts = Constant <value_ints = [{heads}, {each}]> ()
            rest = Constant <value_ints = [{width}]> ()
            split = Concat <axis = 0> (n1, t1, parts)
            joined = Concat <axis = 0> (n1, t1, rest)
            zero = Constant <value_ints = [0]> ()
            place = Slice (places, zero, t1)
            x = Add (e, place)
            q = MatMul (x, wq)
            k = MatMul (x, wk)
            v = MatMul (x, wv)
            q4 = Reshape (q, split)
            k4 = Reshape (k, split)
            v4 = Reshape (v, split)
            q5 = Transpose <perm = [0, 2, 1, 3]> (q4)
            k5 = Transpose <perm = [0, 2, 3, 1]> (k4)
            v5 = Transpose <perm = [0, 2, 1, 3]> (v4)
            score = MatMul (q5, k5)
            root = Constant <value_float = {each**0.5}> ()
            scaled = Div (score, root)
            weight = Softmax <axis = 3> (scaled)
            mixed = MatMul (weight, v5)
            back = Transpose <perm = [0, 2, 1, 3]> (mixed)
            flat = Reshape (back, joined)
            out = MatMul (flat, wo)
            sum = Add (x, out)
            z = LayerNormalization <axis = -1> (sum, gain, bias)
            f1 = MatMul (z, w1)
            f2 = Gelu (f1)
            f3 = MatMul (f2, w2)
            y = Add (z, f3)
        }}""",
        {
            "table": normal(1, 20, width), "places": normal(2, 32, width),
            **{f"w{n}": normal(3 + i, width, width) * 0.3 for i, n in enumerate("qkvo")},
            "gain": normal(8, width), "bias": normal(9, width),
            "w1": normal(10, width, 32) * 0.3, "w2": normal(11, 32, width) * 0.3,
        },
    )  # fmt: skip


def loop():
    """A loop whose number of turns is an input, with a state and the states of all turns."""
    return model(
        """g (int64 turns, float[N, 3] x) => (float[N, 3] last, float[K, N, 3] all) {
            true = Constant <value: tensor = bool {1}> ()
            last, all = Loop <body = body (int64 i, bool go, float[N, 3] h) =>
                (bool goes, float[N, 3] next, float[N, 3] seen) {
                    goes = Identity (go)
                    m = MatMul (h, w)
                    next = Tanh (m)
                    seen = Identity (next)
                }> (turns, true, x)
        }""",
        {"w": normal(1, 3, 3)},
    )


def while_loop():
    """A loop that a condition ends."""
    return model(
        """g (float[N] x) => (float[N] y) {
            true = Constant <value: tensor = bool {1}> ()
            y = Loop <body = body (int64 i, bool go, float[N] h) => (bool goes, float[N] next) {
                next = Mul (h, w)
                total = ReduceSum <keepdims = 0> (next)
                limit = Constant <value_float = 50.0> ()
                goes = Less (total, limit)
            }> ("", true, x)
        }""",
        {"w": np.array([1.5], "float32")},
    )


def choice():
    return model(
        """g (float[N] x) => (float[N] y) {
            total = ReduceSum <keepdims = 0> (x)
            zero = Constant <value_float = 0.0> ()
            more = Greater (total, zero)
            y = If <then_branch = a () => (float[N] p) { p = Mul (x, w) },
                    else_branch = b () => (float[N] q) { q = Sub (x, w) }> (more)
        }""",
        {"w": np.array([3.0], "float32")},
    )


def scan():
    return model(
        """g (float[3] start, float[T, 3] x) => (float[3] last, float[T, 3] sums) {
            last, sums = Scan <num_scan_inputs = 1, body = body (float[3] s, float[3] r) =>
                (float[3] next, float[3] seen) {
                    t = Add (s, r)
                    next = Mul (t, w)
                    seen = Identity (next)
                }> (start, x)
        }""",
        {"w": np.array([0.5], "float32")},
    )


def sequence_in_loop(more=""):
    """A loop that adds the states of its turns to a sequence."""
    return model(
        f"""g (int64 turns, float[N] x) => (float[K, N] all, float[N] first) {{
            true = Constant <value: tensor = bool {{1}}> ()
            none = SequenceEmpty ()
            last, seen = Loop <body = body (int64 i, bool go, float[N] h, seq(float[N]) s) =>
                (bool goes, float[N] next, seq(float[N]) after) {{
                    goes = Identity (go)
                    next = Mul (h, w)
                    after = SequenceInsert (s, next)
                    {more}
                }}> (turns, true, x, none)
            all = ConcatFromSequence <axis = 0, new_axis = 1> (seen)
            zero = Constant <value_int = 0> ()
            first = SequenceAt (seen, zero)
        }}""",
        {"w": np.array([2.0], "float32")},
    )


def quantized():
    return model(
        """g (float[N, 4] x) => (float[N, 3] y) {
            q = QuantizeLinear (x, sx, zx)
            d = DequantizeLinear (q, sx, zx)
            w = DequantizeLinear <axis = 1> (wq, sw, zw)
            y = MatMul (d, w)
        }""",
        {
            "sx": np.array(0.05, "float32"), "zx": np.array(10, "int8"),
            "wq": (normal(1, 4, 3) * 40).astype("int8"),
            "sw": np.array([0.1, 0.2, 0.3], "float32"), "zw": np.zeros(3, "int8"),
        },
    )  # fmt: skip
