"""Layers with parameters: their names, shapes and start values, and what the program computes."""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F
from dygraph import static, unique_name
from dygraph.static import layers

_draw = np.random.default_rng(6)


def signed(*shape):
    return _draw.uniform(-1, 1, shape).astype("float32")


def ints(high, *shape):
    return _draw.integers(0, high, shape)


LOD = [[0, 2, 5]]
X, IMAGE, VOLUME = signed(5, 4), signed(2, 4, 6, 6), signed(1, 2, 4, 4, 4)
H, LABEL = signed(2, 4), ints(3, 5, 1)

# name: (feeds, LoD or not, what is described, {parameter: shape}, the same on eager Variables)
CASES = {
    "fc": (
        {"x": X}, (), lambda x: layers.fc(x, 3, act="relu"),
        {"fc_0.w_0": (4, 3), "fc_0.b_0": (3,)},
        lambda x, w, b: F.relu(F.elementwise_add(F.mul(x, w), b, axis=1)),
    ),
    "fc of two": (
        {"x": X, "y": signed(5, 2, 3)}, (),
        lambda x, y: layers.fc([x, y], 3, bias_attr=False, name="both"),
        {"both.w_0": (4, 3), "both.w_1": (6, 3)},
        lambda x, y, w, v: F.sum([F.mul(x, w), F.mul(y, v)]),
    ),
    "embedding": (
        {"x": ints(7, 5, 1)}, "x", lambda x: layers.embedding(x, [7, 3], padding_idx=-1),
        {"embedding_0.w_0": (7, 3)}, lambda x, w: F.lookup_table(w, x, padding_idx=6),
    ),
    "prelu": (
        {"x": IMAGE}, (), lambda x: layers.prelu(x, "channel"), {"prelu_0.w_0": (1, 4, 1, 1)},
        lambda x, w: F.prelu(x, w, mode="channel"),
    ),
    "bilinear_tensor_product": (
        {"x": X, "y": signed(5, 2)}, (),
        lambda x, y: layers.bilinear_tensor_product(x, y, 3, act="tanh"),
        {"bilinear_tensor_product_0.w_0": (3, 4, 2), "bilinear_tensor_product_0.b_0": (1, 3)},
        lambda x, y, w, b: F.tanh(F.bilinear_tensor_product(x, y, w, b)),
    ),
    "row_conv": (
        {"x": X}, "x", lambda x: layers.row_conv(x, 2), {"row_conv_0.w_0": (3, 4)},
        lambda x, w: F.row_conv(x, w),
    ),
    "conv2d": (
        {"x": IMAGE}, (), lambda x: layers.conv2d(x, 6, 3, 2, 1, groups=2, act="relu"),
        {"conv2d_0.w_0": (6, 2, 3, 3), "conv2d_0.b_0": (6,)},
        lambda x, w, b: F.relu(F.elementwise_add(
            F.conv2d(x, w, strides=[2, 2], paddings=[1, 1], groups=2), b, axis=1)),
    ),
    "conv2d NHWC": (
        {"x": signed(2, 6, 6, 4)}, (),
        lambda x: layers.conv2d(x, 3, [3, 1], padding="SAME", data_format="NHWC"),
        {"conv2d_0.w_0": (3, 4, 3, 1), "conv2d_0.b_0": (3,)},
        lambda x, w, b: F.elementwise_add(
            F.conv2d(x, w, padding_algorithm="SAME", data_format="NHWC"), b, axis=3),
    ),
    "conv2d depthwise": (
        {"x": IMAGE}, (),
        lambda x: layers.conv2d(x, 4, 3, groups=4, use_cudnn=False, bias_attr=False),
        {"conv2d_0.w_0": (4, 1, 3, 3)}, lambda x, w: F.depthwise_conv2d(x, w, groups=4),
    ),
    "conv3d": (
        {"x": VOLUME}, (), lambda x: layers.conv3d(x, 3, 2),
        {"conv3d_0.w_0": (3, 2, 2, 2, 2), "conv3d_0.b_0": (3,)},
        lambda x, w, b: F.elementwise_add(F.conv3d(x, w), b, axis=1),
    ),
    "conv2d_transpose": (
        {"x": IMAGE}, (), lambda x: layers.conv2d_transpose(x, 3, output_size=12, stride=2),
        {"conv2d_transpose_0.w_0": (4, 3, 2, 2), "conv2d_transpose_0.b_0": (3,)},
        lambda x, w, b: F.elementwise_add(
            F.conv2d_transpose(x, w, strides=[2, 2], output_size=[12, 12]), b, axis=1),
    ),
    "conv3d_transpose": (
        {"x": VOLUME}, (), lambda x: layers.conv3d_transpose(x, 3, filter_size=2, stride=2),
        {"conv3d_transpose_0.w_0": (2, 3, 2, 2, 2), "conv3d_transpose_0.b_0": (3,)},
        lambda x, w, b: F.elementwise_add(
            F.conv3d_transpose(x, w, strides=[2, 2, 2]), b, axis=1),
    ),
    "batch_norm": (
        {"x": IMAGE}, (), lambda x: layers.batch_norm(x, act="relu"),
        {"batch_norm_0.w_0": (4,), "batch_norm_0.b_0": (4,), "batch_norm_0.w_1": (4,),
         "batch_norm_0.w_2": (4,)},
        lambda x, s, b, m, v: F.relu(F.batch_norm(x, s, b, m, v)[0]),
    ),
    "data_norm": (
        {"x": X}, (), lambda x: layers.data_norm(x, name="n"),
        {"n.batch_size": (4,), "n.batch_sum": (4,), "n.batch_square": (4,)},
        lambda x, n, s, q: F.data_norm(x, n, s, q, epsilon=1e-5, summary_decay_rate=0.9999999),
    ),
    "layer_norm": (
        {"x": IMAGE}, (), lambda x: layers.layer_norm(x, begin_norm_axis=2),
        {"layer_norm_0.w_0": (36,), "layer_norm_0.b_0": (36,)},
        lambda x, s, b: F.layer_norm(x, scale=s, bias=b, begin_norm_axis=2),
    ),
    "layer_norm without": (
        {"x": IMAGE}, (), lambda x: layers.layer_norm(x, scale=False, shift=False), {},
        lambda x: F.layer_norm(x),
    ),
    "group_norm": (
        {"x": IMAGE}, (), lambda x: layers.group_norm(x, 2),
        {"group_norm_0.w_0": (4,), "group_norm_0.b_0": (4,)},
        lambda x, s, b: F.group_norm(x, groups=2, scale=s, bias=b),
    ),
    "instance_norm": (
        {"x": IMAGE}, (), lambda x: layers.instance_norm(x),
        {"instance_norm_0.w_0": (4,), "instance_norm_0.b_0": (4,)},
        lambda x, s, b: F.instance_norm(x, scale=s, bias=b),
    ),
    "spectral_norm": (
        {"x": signed(4, 3, 2)}, (), lambda x: layers.spectral_norm(x, dim=1, power_iters=2),
        {"spectral_norm_0.w_0": (3,), "spectral_norm_0.w_1": (8,)},
        lambda x, u, v: F.spectral_norm(x, u, v, dim=1, power_iters=2),
    ),
    "sequence_conv": (
        {"x": X}, "x", lambda x: layers.sequence_conv(x, 3, act="tanh"),
        {"sequence_conv_0.w_0": (12, 3), "sequence_conv_0.b_0": (3,)},
        lambda x, w, b: F.tanh(F.elementwise_add(
            F.sequence_conv(x, w, contextLength=3, contextStart=-1), b, axis=1)),
    ),
    "nce": (
        {"x": X, "y": LABEL}, (), lambda x, y: layers.nce(x, y, 9, num_neg_samples=4, seed=3),
        {"nce_0.w_0": (9, 4), "nce_0.b_0": (9, 1)},
        lambda x, y, w, b: F.nce(
            x, y, w, bias=b, num_total_classes=9, num_neg_samples=4, seed=3) / 5,
    ),
    "hsigmoid": (
        {"x": X, "y": LABEL}, (), lambda x, y: layers.hsigmoid(x, y, 6),
        {"hsigmoid_0.w_0": (5, 4), "hsigmoid_0.b_0": (5, 1)},
        lambda x, y, w, b: F.hierarchical_sigmoid(x, w, y, bias=b, num_classes=6),
    ),
    "linear_chain_crf": (
        {"x": X, "y": LABEL}, "xy", lambda x, y: layers.linear_chain_crf(x, y),
        {"linear_chain_crf_0.w_0": (6, 4)}, lambda x, y, w: F.linear_chain_crf(x, w, y),
    ),
    "dynamic_lstm": (
        {"x": signed(5, 12)}, "x", lambda x: layers.dynamic_lstm(x, 12, is_reverse=True),
        {"dynamic_lstm_0.w_0": (3, 12), "dynamic_lstm_0.b_0": (1, 21)},
        lambda x, w, b: F.lstm(x, w, b, is_reverse=True),
    ),
    "dynamic_lstmp": (
        {"x": signed(5, 12)}, "x", lambda x: layers.dynamic_lstmp(x, 12, 2, use_peepholes=False),
        {"dynamic_lstmp_0.w_0": (2, 12), "dynamic_lstmp_0.w_1": (3, 2),
         "dynamic_lstmp_0.b_0": (1, 12)},
        lambda x, w, p, b: F.lstmp(x, w, p, b, use_peepholes=False),
    ),
    "dynamic_gru": (
        {"x": signed(5, 12)}, "x", lambda x: layers.dynamic_gru(x, 4, origin_mode=True),
        {"dynamic_gru_0.w_0": (4, 12), "dynamic_gru_0.b_0": (1, 12)},
        lambda x, w, b: F.gru(x, w, bias=b, origin_mode=True),
    ),
    "gru_unit": (
        {"x": signed(2, 12), "y": H}, (), lambda x, y: layers.gru_unit(x, y, 12)[0],
        {"gru_unit_0.w_0": (4, 12), "gru_unit_0.b_0": (1, 12)},
        lambda x, y, w, b: F.gru_unit(x, y, w, bias=b),
    ),
    "lstm_unit": (
        {"x": signed(2, 3), "y": H, "z": signed(2, 4)}, (),
        lambda x, y, z: layers.lstm_unit(x, y, z, forget_bias=1.0)[0],
        {"fc_0.w_0": (7, 16), "fc_0.b_0": (16,)},
        lambda x, y, z, w, b: F.lstm_unit(
            F.elementwise_add(F.mul(F.concat([x, y], axis=1), w), b), z, forget_bias=1.0)[1],
    ),
    "lstm": (
        {"x": signed(3, 2, 4), "y": signed(1, 2, 2), "z": signed(1, 2, 2)}, (),
        lambda x, y, z: layers.lstm(x, y, z, 3, 2, 1)[0],
        {"lstm_0.w_0": (8, 4), "lstm_0.w_1": (8, 2), "lstm_0.b_0": (8,), "lstm_0.b_1": (8,)},
        lambda x, y, z, w, v, a, b: F.rnn(
            x, [y, z], [w, v, a, b], mode="LSTM", input_size=4, hidden_size=2)[0],
    ),
    "center_loss": (
        {"x": X, "y": LABEL}, (), lambda x, y: layers.center_loss(x, y, 3, 0.1, None),
        {"center_loss_0.w_0": (3, 4)},
        lambda x, y, w: F.center_loss(
            x, y, w, dygraph.to_variable([0.1], dtype="float32"), cluster_num=3)[2],
    ),
}  # fmt: skip


def described(name):
    feeds, ragged, write, _, _ = CASES[name]
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), unique_name.guard():
        variables = [
            layers.data(key, [-1, *a.shape[1:]], False, str(a.dtype), int(key in ragged))
            if name != "spectral_norm"
            else layers.data(key, a.shape, False, str(a.dtype))
            for key, a in feeds.items()
        ]  # fmt: skip
        results = write(*variables)
    values = {
        key: dygraph.to_variable(a, lod=LOD) if key in ragged else dygraph.to_variable(a)
        for key, a in feeds.items()
    }
    return main, startup, results, values


@pytest.mark.parametrize("name", CASES)
def test_parameters_and_values(name):
    main, startup, results, feeds = described(name)
    _, _, _, shapes, compute = CASES[name]
    results = list(results) if isinstance(results, tuple) else [results]
    assert {p.name: p.shape for p in main.all_parameters()} == shapes
    assert all(p.persistable for p in main.all_parameters())
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    held = {n: scope.find_var(n).get().numpy().copy() for n in shapes}
    wanted = compute(*feeds.values(), *(dygraph.to_variable(held[n]) for n in shapes))
    wanted = list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
    found = executor.run(main, feeds, results, scope=scope, return_numpy=False)
    for variable, want, got in zip(results, wanted, found, strict=True):
        assert got.numpy().tobytes() == want.numpy().tobytes()
        assert got.lod() == want.lod() and variable.lod_level == len(got.lod())
        assert len(variable.shape) == got.ndim
        for size, true in zip(variable.shape, got.shape, strict=True):
            assert size in (-1, true)


def started(write):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), unique_name.guard():
        results = write()
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    return main, results, scope


def value(scope, name):
    return scope.find_var(name).get().numpy().copy()


def test_start_values():
    def write():
        layers.batch_norm(static.data("x", [None, 3, 2, 2]))
        layers.prelu(static.data("y", [None, 3]), "element")
        layers.conv2d(static.data("z", [None, 50, 8, 8]), 40, 3)

    _, _, scope = started(write)
    for name, start in (("w_0", 1), ("b_0", 0), ("w_1", 0), ("w_2", 1)):
        assert (value(scope, f"batch_norm_0.{name}") == start).all()
    assert (value(scope, "prelu_0.w_0") == 0.25).all()
    assert abs(value(scope, "conv2d_0.w_0").std() - (2 / 450) ** 0.5) < 0.002


def test_batch_norm_keeps_its_statistics():
    main, out, scope = started(
        lambda: layers.batch_norm(
            static.data("x", [None, 2]), momentum=0.5, moving_mean_name="m",
            moving_variance_name="v",
        )
    )  # fmt: skip
    x, executor = np.array([[0.0, 2.0], [4.0, 2.0]], "float32"), static.Executor()
    executor.run(main, {"x": x}, [out], scope=scope)
    assert value(scope, "m").tolist() == [1.0, 1.0] and value(scope, "v").tolist() == [2.5, 0.5]
    executor.run(main.clone(for_test=True), {"x": x}, [out], scope=scope)
    assert value(scope, "m").tolist() == [1.0, 1.0]
    executor.run(main, {"x": x}, [out], scope=scope)
    assert value(scope, "m").tolist() == [1.5, 1.5]
    op = next(op for op in main.global_block().ops if op.type == "batch_norm")
    assert op.output("MeanOut") == op.input("Mean") == ["m"]
    assert not main.global_block().var("m").trainable


def test_dropout_for_test():
    main, out, scope = started(lambda: layers.dropout(static.data("x", [None, 100]), 0.5))
    x, executor = np.ones((1, 100), "float32"), static.Executor()
    (dropped,) = executor.run(main, {"x": x}, [out], scope=scope)
    assert set(dropped.ravel().tolist()) == {0.0, 1.0}
    (kept,) = executor.run(main.clone(for_test=True), {"x": x}, [out], scope=scope)
    assert (kept == 0.5).all()


def test_auc_goes_on():
    main, results, scope = started(
        lambda: layers.auc(static.data("p", [None, 2]), static.data("y", [None, 1], "int64"))[:2]
    )
    p = np.array([[0.9, 0.1], [0.4, 0.6], [0.6, 0.4], [0.1, 0.9]], "float32")
    label, executor = np.array([[0], [0], [1], [1]]), static.Executor()
    first = executor.run(main, {"p": p, "y": label}, list(results), scope=scope)
    assert [a.item() for a in first] == [0.75, 0.75]
    second = executor.run(main, {"p": p, "y": 1 - label}, list(results), scope=scope)
    assert second[0].item() == 0.5


def test_crf_decoding_reads_the_loss_layer_s_parameter():
    def write():
        x = layers.data("x", [4], lod_level=1)
        label = layers.data("y", [1], dtype="int64", lod_level=1)
        layers.linear_chain_crf(x, label, param_attr="crf")
        return layers.crf_decoding(x, "crf")

    main, path, scope = started(write)
    assert [p.name for p in main.all_parameters()] == ["crf"]
    x = dygraph.to_variable(X, lod=LOD)
    wanted = F.crf_decoding(x, dygraph.to_variable(value(scope, "crf")))
    feeds = {"x": x, "y": dygraph.to_variable(LABEL, lod=LOD)}
    (got,) = static.Executor().run(main, feeds, [path], scope=scope, return_numpy=False)
    assert got.numpy().tobytes() == wanted.numpy().tobytes()
    assert path.lod_level == len(got.lod())


def test_a_parameter_s_name_shares_it():
    def write():
        x = static.data("x", [None, 3])
        return layers.fc(x, 3, param_attr="w", bias_attr=False), layers.fc(x, 3, param_attr="w")

    main, _, _ = started(write)
    assert [p.name for p in main.all_parameters()] == ["w", "fc_1.b_0"]


def test_nets():
    def write():
        image = static.data("image", [None, 3, 12, 12])
        a = static.nets.simple_img_conv_pool(image, 4, 3, 2, 2, act="relu")
        b = static.nets.img_conv_group(
            image,
            [4, 5],
            2,
            conv_act="relu",
            conv_with_batchnorm=True,
            pool_stride=2,
            conv_batchnorm_drop_rate=[0.3, 0.0],
        )
        words = layers.data("words", [4], lod_level=1)
        c = static.nets.sequence_conv_pool(words, 3, 3)
        d = static.nets.glu(static.data("g", [None, 6]))
        q, k = static.data("q", [None, 3, 4]), static.data("k", [None, 5, 4])
        e = static.nets.scaled_dot_product_attention(q, k, k, num_heads=2, dropout_rate=0.1)
        return [a, b, c, d, e]

    main, results, scope = started(write)
    assert [r.shape for r in results] == [
        (-1, 4, 5, 5), (-1, 5, 6, 6), (-1, 3), (-1, 3), (-1, 3, 4)
    ]  # fmt: skip
    feeds = {
        "image": signed(2, 3, 12, 12), "words": dygraph.to_variable(X, lod=LOD),
        "g": signed(2, 6), "q": signed(2, 3, 4), "k": signed(2, 5, 4),
    }  # fmt: skip
    found = static.Executor().run(main, feeds, results, scope=scope)
    assert [a.shape for a in found] == [(2, 4, 5, 5), (2, 5, 6, 6), (2, 3), (2, 3), (2, 3, 4)]
    half = feeds["g"]
    gated = half[:, :3] / (1 + np.exp(-half[:, 3:].astype("float64")))
    np.testing.assert_allclose(found[3], gated, rtol=1e-6)


def test_training_through_them():
    def write():
        x = static.data("x", [None, 3, 8, 8])
        label = static.data("label", [None, 1], "int64")
        out = layers.batch_norm(layers.conv2d(x, 4, 3, act="relu"))
        out = layers.fc(layers.pool2d(out, 2, pool_stride=2), 3, act="softmax")
        loss = layers.mean(layers.cross_entropy(out, label))
        static.optimizer.SGD(0.5).minimize(loss)
        return loss

    main, loss, scope = started(write)
    feed = {"x": signed(6, 3, 8, 8), "label": ints(3, 6, 1)}
    executor = static.Executor()
    losses = [executor.run(main, feed, [loss], scope=scope)[0].item() for _ in range(20)]
    assert losses[-1] < losses[0] / 2


def test_nce_draws_by_a_distribution():
    def write():
        x, label = static.data("x", [None, 4]), static.data("y", [None, 1], "int64")
        probabilities = [0.7, 0.2, 0.1]
        return layers.nce(
            x, label, 3, param_attr=static.initializer.Constant(0.0), bias_attr=False,
            num_neg_samples=2, sampler="custom_dist", custom_dist=probabilities, seed=5,
        )  # fmt: skip

    main, cost, scope = started(write)
    feed = {"x": X, "y": LABEL}
    (got,) = static.Executor().run(main, feed, [cost], scope=scope)
    eager = dygraph.nn.NCE(
        3, 4, param_attr=dygraph.initializer.Constant(0.0), bias_attr=False, num_neg_samples=2,
        sampler="custom_dist", custom_dist=[0.7, 0.2, 0.1], seed=5,
    )  # fmt: skip
    wanted = eager(dygraph.to_variable(X), dygraph.to_variable(LABEL))
    assert got.tobytes() == wanted.numpy().tobytes()


@pytest.mark.parametrize("moves", [True, False])
def test_center_loss_moves_the_centers(moves):
    def write():
        x, label = static.data("x", [None, 2]), static.data("y", [None, 1], "int64")
        attr = static.ParamAttr("c", initializer=static.initializer.Constant(0.0))
        return layers.center_loss(x, label, 2, 0.5, attr, update_center=moves)

    main, loss, scope = started(write)
    feed = {"x": np.array([[2.0, 4.0]], "float32"), "y": np.array([[1]])}
    (got,) = static.Executor().run(main, feed, [loss], scope=scope)
    assert got.tolist() == [[10.0]]
    # The difference, times alpha, over 1 plus the rows of the class.
    assert value(scope, "c").tolist() == [[0.0, 0.0], [0.5, 1.0] if moves else [0.0, 0.0]]


def test_numbers_of_any_shape_get_an_axis_more():
    words = np.array([[1], [3]])
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 1], "int64")
        rows = static.embedding(x, [4, 2], padding_idx=1, param_attr="table")
        hot = static.one_hot(x, 4)
        loose = static.one_hot(x, 3, allow_out_of_range=True)
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    table = np.arange(8, dtype="float32").reshape(4, 2)
    scope.find_var("table").set(table)
    rows, hot, loose = executor.run(main, {"x": words}, [rows, hot, loose], scope=scope)
    np.testing.assert_array_equal(rows, [[[0, 0]], [[6, 7]]])
    np.testing.assert_array_equal(hot, [[[0, 1, 0, 0]], [[0, 0, 0, 1]]])
    np.testing.assert_array_equal(loose, [[[0, 1, 0]], [[0, 0, 0]]])


def test_volumes_are_written_as_paddle_reads_them():
    """Paddle's transposed convolution and resize of volumes misread NCDHW and NDHWC."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [1, 4, 4, 4, 2])
        out = layers.conv3d_transpose(x, 3, filter_size=2, stride=2, data_format="NDHWC")
        assert out.shape == (1, 8, 8, 8, 3)
        layers.conv3d_transpose(x, 3, filter_size=2)
        layers.conv3d(x, 3, 2, data_format="NDHWC")
        F.trilinear_interp(x, out_d=2, out_h=3, out_w=3, data_layout="NDHWC")
        F.trilinear_interp(x, out_d=2, out_h=2, out_w=3, data_layout="NCDHW")
    block = main.global_block()
    by_hand = block.append_op(
        type="conv3d_transpose",
        inputs={"Input": ["x"], "Filter": block.ops[0].input("Filter")},
        outputs={"Output": [block.create_var(name="by_hand").name]},
        attrs={"data_format": "NDHWC"},
    )  # fmt: skip
    assert by_hand.attr("data_format") == "NHWC"
    written = [
        (op.type, op.attr("data_format" if op.has_attr("data_format") else "data_layout"))
        for op in main.global_block().ops
        if "conv3d" in op.type or "interp" in op.type
    ]
    assert written == [
        ("conv3d_transpose", "NHWC"), ("conv3d_transpose", "NCHW"), ("conv3d", "NDHWC"),
        ("trilinear_interp", "NHWC"), ("trilinear_interp", "NCHW"), ("conv3d_transpose", "NHWC"),
    ]  # fmt: skip
    again = static.Program.parse_from_string(main.serialize_to_string()).global_block().ops
    assert [op.attr("data_format") for op in again if op.type == "conv3d_transpose"] == [
        "NHWC", "NCHW", "NHWC"
    ]  # fmt: skip


def test_volumes_with_channels_last_compute_the_same():
    x = signed(1, 3, 2, 4, 2)
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        v = static.data("x", list(x.shape))
        out = layers.conv3d_transpose(
            v, 3, filter_size=2, stride=2, data_format="NDHWC", param_attr="w", bias_attr=False
        )
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    got, w = exe.run(main, {"x": x}, [out, "w"], scope=scope)
    first = F.conv3d_transpose(
        dygraph.to_variable(np.moveaxis(x, -1, 1).copy()), dygraph.to_variable(w), strides=[2, 2, 2]
    )
    np.testing.assert_allclose(np.moveaxis(got, -1, 1), first.numpy(), atol=1e-6)


def test_the_layout_of_affine_channel_is_written_as_paddle_reads_it():
    """Paddle takes AnyLayout, the operator's default, for channels that stand last."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, c = static.data("x", [2, 3, 4, 5]), static.data("c", [3])
        F.affine_channel(x, c, c)
    assert main.global_block().ops[-1].attr("data_layout") == "NCHW"
