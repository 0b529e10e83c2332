"""Loaded models compute what ONNX Runtime computes, and train as eager layers do."""

import numpy as np
import onnxruntime
import pytest

import dygraph
import dygraph.onnx
import onnx
import onnx_models
from dygraph import static
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, UnimplementedError

R = np.random.RandomState(0)


def floats(*shape):
    return R.randn(*shape).astype("float32")


def reference(model, feed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, feed)


FEEDS = {
    "mlp": [{"x": floats(5, 4)}, {"x": floats(1, 4)}],
    "lenet": [{"x": floats(2, 1, 28, 28)}],
    "residual": [{"x": floats(2, 3, 12, 10)}, {"x": floats(1, 3, 7, 9)}],
    "encoder": [{"words": R.randint(0, 20, (2, 7))}, {"words": R.randint(0, 20, (1, 4))}],
    "loop": [{"turns": np.array(4), "x": floats(2, 3)}, {"turns": np.array(1), "x": floats(1, 3)}],
    "while_loop": [{"x": np.array([1.0, 2.0], "float32")}, {"x": np.full(4, 30, "float32")}],
    "choice": [{"x": np.array([3.0, 1.0], "float32")}, {"x": np.array([-5.0], "float32")}],
    "scan": [{"start": floats(3), "x": floats(4, 3)}, {"start": floats(3), "x": floats(1, 3)}],
    "sequence_in_loop": [{"turns": np.array(3), "x": floats(2)}],
    "quantized": [{"x": floats(3, 4)}],
}


@pytest.mark.parametrize("name", FEEDS)
def test_program_and_layer_equal_onnx_runtime(name):
    model = getattr(onnx_models, name)()
    loaded = dygraph.onnx.load(model)
    for feed in FEEDS[name]:
        wanted = reference(model, feed)
        for a, b in zip(loaded.run(feed), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        eager = loaded.layer(*[dygraph.to_variable(feed[n]) for n in loaded.feed_names])
        eager = eager if isinstance(eager, tuple) else (eager,)
        for a, b in zip(eager, wanted, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "kind, direction, more",
    [
        ("LSTM", "forward", ""),
        ("LSTM", "bidirectional", ""),
        ("LSTM", "reverse", ", clip = 0.4, input_forget = 1"),
        ("GRU", "bidirectional", ", linear_before_reset = 1"),
        ("GRU", "reverse", ""),
        ("RNN", "reverse", ""),
        ("RNN", "forward", ', activations = ["LeakyRelu"], activation_alpha = [0.3]'),
    ],
)
def test_recurrent_layers_of_open_length(kind, direction, more):
    model = onnx_models.recurrent(kind, direction, more)
    loaded = dygraph.onnx.load(model)
    for steps, lengths in ((5, [5, 2, 3]), (2, [2, 1])):
        feed = {"x": floats(steps, len(lengths), 5), "lengths": np.array(lengths, "int32")}
        for a, b in zip(loaded.run(feed), reference(model, feed), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def ints(*values):
    return np.array(values, "int64")


X = np.arange(12, dtype="float32").reshape(4, 3)
# A graph with open sizes, its input, its initializers.
OPEN = {
    "backwards from the end": (
        "g (float[N, 3] x) => (float[M, 3] y) { y = Slice (x, s, e, a, p) }",
        X, {"s": ints(-1), "e": ints(-(2**63)), "a": ints(0), "p": ints(-1)},
    ),
    "backwards by two": (
        "g (float[N, 3] x) => (float[M, 3] y) { y = Slice (x, s, e, a, p) }",
        X, {"s": ints(10), "e": ints(-10), "a": ints(0), "p": ints(-2)},
    ),
    "pad reflect": (
        'g (float[N, 3] x) => (float[M, 3] y) { y = Pad <mode = "reflect"> (x, p) }',
        X, {"p": ints(2, 0, 1, 0)},
    ),
    "pad and cut": (
        "g (float[N, 3] x) => (float[M, K] y) { y = Pad (x, p, v) }",
        X, {"p": ints(2, -1, -1, 2), "v": np.array(7.0, "float32")},
    ),
    "gather from the end": (
        "g (float[N, 3] x) => (float[3, 3] y) { y = Gather (x, i) }", X, {"i": ints(-1, 0, -4)},
    ),
    "same pooling": (
        """g (float[N, H] x) => (float[1, 1, A, B] y) { a = Unsqueeze (x, z)
        y = AveragePool <kernel_shape = [3, 3], auto_pad = "SAME_UPPER", strides = [2, 2]> (a) }""",
        X, {"z": ints(0, 1)},
    ),
    "cubic": (
        """g (float[N, H] x) => (float[1, 1, A, B] y) { a = Unsqueeze (x, z)
        y = Resize <mode = "cubic", cubic_coeff_a = -0.5> (a, "", s) }""",
        X, {"z": ints(0, 1), "s": np.array([1, 1, 1.7, 0.6], "float32")},
    ),
    "one more axis": (
        """g (float[N, 3] x) => (float[1, N, 3] y) {
        s = Shape (x) o = Constant <value_ints = [1]> () q = Concat <axis = 0> (o, s)
        y = Expand (x, q) }""",
        X, {},
    ),
    "all in one": (
        """g (float[N, M] x) => (float[K] y) {
        s = Shape (x) n = ReduceProd <keepdims = 0> (s) u = Unsqueeze (n, z)
        y = Reshape (x, u) }""",
        X, {"z": ints(0)},
    ),
    "half of each axis": (
        """g (float[N, M] x) => (float[A, B] y) {
        s = Shape (x) h = Div (s, two) y = Slice (x, z, h) }""",
        X, {"two": ints(2), "z": ints(0, 0)},
    ),
    "remainder of large numbers": (
        "g (float[N, M] x) => (float[N, M] y) { y = Mod <fmod = 1> (x, b) }",
        X * 1e9 - 4e9, {"b": np.array([3.0, -7.0, 1.5], "float32")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPEN)
def test_open_sizes(name):
    text, x, weights = OPEN[name]
    model = onnx_models.model(text, weights)
    (wanted,) = reference(model, {"x": x})
    (found,) = dygraph.onnx.load(model).run([x])
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def square(y):
    return (y * y).mean()


@pytest.mark.parametrize(
    "name", ["lenet", "residual", "encoder", "loop", "choice", "scan", "while_loop"]
)
def test_a_step_of_training_equals_the_eager_step(name):
    model = getattr(onnx_models, name)()
    feed = FEEDS[name][0]
    eager, program = dygraph.onnx.load(model), dygraph.onnx.load(model)
    sgd = dygraph.optimizer.SGD(0.1, parameter_list=eager.layer.parameters())
    for _ in range(2):
        found = eager.layer(*[dygraph.to_variable(feed[n]) for n in eager.feed_names])
        loss = square(found[0] if isinstance(found, tuple) else found)
        loss.backward()
        sgd.step()
        eager.layer.clear_gradients()

    with static.program_guard(program.program, program.startup):
        total = square(program.fetch_vars[0])
        static.optimizer.SGD(0.1).minimize(total)
    executor = static.Executor()
    executor.run(program.startup, scope=program.scope)
    for _ in range(2):
        (last,) = executor.run(program.program, feed, [total], scope=program.scope)
    np.testing.assert_allclose(last, loss.numpy(), rtol=1e-6)
    before = dygraph.onnx.load(model).layer.state_dict()
    changed = 0
    for key, value in eager.layer.state_dict().items():
        # Trained by the program, seen in its layer: they share the weights.
        got = program.layer.state_dict()[key].numpy()
        np.testing.assert_allclose(got, value.numpy(), rtol=1e-6, atol=1e-7)
        changed += not np.array_equal(got, before[key].numpy())
    assert changed >= len([p for p in program.layer.parameters() if p.trainable])


def test_weights_keep_their_names_and_statistics_do_not_train():
    layer = dygraph.onnx.load(onnx_models.residual()).layer
    trains = {name: p.trainable for name, p in layer.named_parameters()}
    assert trains["a0"] and trains["a0_scale"]
    assert not trains["a0_mean"] and not trains["b1_var"]


def test_only_the_named_initializers_train():
    layer = dygraph.onnx.load(onnx_models.mlp(), trainable=["w2"]).layer
    assert [name for name, p in layer.named_parameters() if p.trainable] == ["w2"]
    with pytest.raises(InvalidArgumentError, match="must name initializers of the model, got 'no'"):
        dygraph.onnx.load(onnx_models.mlp(), trainable=["no"])


def test_open_sizes_of_one_name_must_agree():
    model = onnx_models.model("g (float[N] a, float[N] b) => (float[N] y) { y = Add (a, b) }")
    loaded = dygraph.onnx.load(model)
    assert loaded.run([np.ones(3, "float32"), np.ones(3, "float32")])[0].tolist() == [2.0] * 3
    with pytest.raises(InvalidArgumentError, match="N"):
        loaded.run([np.ones(3, "float32"), np.ones(1, "float32")])


def test_a_value_makes_an_input_a_constant():
    model = onnx_models.model(
        """g (float[1, 5, N] x, int64[2] size, int64[2] block) => (float[1, 5, 1, 1] y) {
            y = Col2Im (x, size, block)
        }"""
    )
    with pytest.raises(UnimplementedError, match=r"load\(path, values=\{'size': array\}\)"):
        dygraph.onnx.load(model)
    model = onnx_models.model(
        "g (int64[2] shape, float[N] x) => (float[2, N] y) { y = Expand (x, shape) }"
    )
    loaded = dygraph.onnx.load(model, values={"shape": np.array([2, 3])})
    assert loaded.feed_names == ["x"]
    assert loaded.run([np.arange(3, dtype="float32")])[0].tolist() == [[0.0, 1.0, 2.0]] * 2
    with pytest.raises(ArgumentTypeError, match="must be int64, got float64"):
        dygraph.onnx.load(model, values={"shape": np.array([1.0])})
    with pytest.raises(InvalidArgumentError, match="must name inputs of the model"):
        dygraph.onnx.load(model, values={"y": np.array([1])})


def test_scales_of_an_image_that_a_run_decides():
    model = onnx_models.model(
        """g (float[1, 1, H, W] x, float[4] scales) => (float[1, 1, A, B] y) {
            y = Resize <mode = "linear"> (x, "", scales)
        }"""
    )
    loaded = dygraph.onnx.load(model)
    for size, scales in (((2, 3), [1, 1, 2, 2]), ((4, 4), [1, 1, 1.5, 0.5])):
        feed = {"x": floats(1, 1, *size), "scales": np.array(scales, "float32")}
        for a, b in zip(loaded.run(feed), reference(model, feed), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_sequence_is_not_read_as_it_was_before_a_write():
    model = onnx_models.sequence_in_loop("count = SequenceLength (s)")
    with pytest.raises(UnimplementedError, match="must not be read as it was before a write"):
        dygraph.onnx.load(model)


def test_weights_of_inner_graphs_train_and_saved_models_compute_the_same(tmp_path):
    model = onnx_models.choice()
    then = next(a for a in model.graph.node[3].attribute if a.name == "then_branch").g
    then.initializer.append(onnx.numpy_helper.from_array(np.array([5.0], "float32"), "inner"))
    then.node[0].input[1] = "inner"
    loaded = dygraph.onnx.load(model)
    feed = {"x": np.array([1.0, 2.0], "float32")}
    loaded.layer(dygraph.to_variable(feed["x"])).sum().backward()
    found = {name: p.gradient() for name, p in loaded.layer.named_parameters()}
    assert found["inner"].tolist() == [3.0] and found["w"] is None
    executor = static.Executor()
    with static.scope_guard(loaded.scope):
        static.save_inference_model(
            str(tmp_path), loaded.feed_names, loaded.fetch_vars, executor, loaded.program
        )
    with static.scope_guard(static.Scope()):
        program, names, fetches = static.load_inference_model(str(tmp_path), executor)
        (y,) = executor.run(program, feed, fetches)
    assert names == ["x"] and y.tolist() == [5.0, 10.0]


def test_functions_of_the_model_are_expanded_with_their_attributes():
    function = onnx.parser.parse_function(
        """<opset_import: ["" : 21], domain: "own">
        scaled <factor> (x) => (y) {
            f = Constant <value_float: float = @factor> ()
            y = Mul (x, f)
        }"""
    )
    graph = onnx.parser.parse_graph(
        "g (float[2] x) => (float[2] y) { a = own.scaled <factor = 3.0> (x) "
        "y = own.scaled <factor = 2.0> (a) }"
    )
    imports = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("own", 1)]
    model = onnx.helper.make_model(graph, opset_imports=imports, functions=[function])
    loaded = dygraph.onnx.load(model)
    assert loaded.run([np.array([1, 2], "float32")])[0].tolist() == [6.0, 12.0]


def test_what_a_run_decides():
    """Sizes that are inputs, or computed from data."""
    model = onnx_models.model(
        """g (float[N, M] x, int64[2] shape, int64[1] axes) =>
            (float[A, B] y, float[C] s, int64[K] n) {
            y = Reshape (x, shape)
            s = ReduceSum <keepdims = 0> (x, axes)
            z = NonZero (x)
            n = Shape (z)
        }"""
    )
    loaded = dygraph.onnx.load(model)
    x = np.array([[1, 0, 2], [0, 3, 4]], "float32")
    y, s, n = loaded.run([x, np.array([3, -1]), np.array([0])])
    assert y.tolist() == [[1.0, 0.0], [2.0, 0.0], [3.0, 4.0]]
    assert s.tolist() == [1.0, 3.0, 6.0] and n.tolist() == [2, 4]


@pytest.mark.parametrize("opset", [7, 9, 11, 13, 18, 23])
def test_versions_of_one_operator(opset):
    """Attributes that became inputs: axes, starts, pads."""
    inputs, weights = "x", {}
    if opset >= 10:
        weights = {"starts": np.array([1]), "ends": np.array([3]), "axes": np.array([1])}
        cut = "Slice (x, starts, ends, axes)"
    else:
        cut = "Slice <starts = [1], ends = [3], axes = [1]> (x)"
    if opset >= 13:
        weights["one"] = np.array([1])
        total = "ReduceSum <keepdims = 0> (c, one)"
    else:
        total = "ReduceSum <axes = [1], keepdims = 0> (c)"
    weights = {name: value.astype("int64") for name, value in weights.items()}
    graph = onnx.parser.parse_graph(
        f"g (float[N, 4] {inputs}) => (float[N] y) {{ c = {cut} y = {total} }}"
    )
    for name, value in weights.items():
        graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    found = dygraph.onnx.load(model).run([np.arange(8, dtype="float32").reshape(2, 4)])[0]
    assert found.tolist() == [3.0, 11.0]


def test_softmax_before_opset_13_takes_all_later_axes_together():
    graph = onnx.parser.parse_graph(
        "g (float[N, 2, 2] x) => (float[N, 2, 2] y) { y = Softmax (x) }"
    )
    x = np.zeros((1, 2, 2), "float32")
    for opset, wanted in ((11, 0.25), (13, 0.5)):
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
        assert dygraph.onnx.load(model).run([x])[0].reshape(-1).tolist() == [wanted] * 4
