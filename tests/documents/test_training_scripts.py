"""The training scripts of the developer guide (000 and 001), and those it links to, small.

``import dygraph.static as paddle`` and ``import dygraph.static as fluid`` take the place of the documents' import
lines; what the document calls ``fluid.io.save.persistables`` has its name in Fluid.
"""

import inspect
import json

import numpy as np
import pytest

import dygraph.static as fluid
import dygraph.static as paddle
from dygraph import unique_name


@pytest.fixture(autouse=True)
def programs(tmp_path, monkeypatch):
    """Default programs, names, scope and directory of each test's own."""
    monkeypatch.chdir(tmp_path)
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        fluid.default_main_program().random_seed = 1
        fluid.default_startup_program().random_seed = 1
        yield


def persistables(program=None):
    """Values by name of what outlives a run."""
    scope = fluid.global_scope()
    variables = fluid.io.get_program_persistable_vars(program or fluid.default_main_program())
    return {v.name: np.array(scope.find_var(v.name).get_tensor()) for v in variables}


def test_fit_a_line_saved_and_loaded_in_the_loop():
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    y_predict = fluid.layers.fc(input=x, size=1, act=None)
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    cost = fluid.layers.square_error_cost(input=y_predict, label=y)
    avg_cost = fluid.layers.mean(x=cost)

    learning_rate = 0.01
    sgd_optimizer = fluid.optimizer.SGD(learning_rate)
    sgd_optimizer.minimize(avg_cost)

    train_reader = paddle.batch(
        paddle.reader.shuffle(paddle.dataset.uci_housing.train(), buf_size=500, seed=0),
        batch_size=20,
    )
    place = fluid.CPUPlace()
    feeder = fluid.DataFeeder(place=place, feed_list=[x, y])

    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())

    PASS_NUM = 8
    losses = []
    for _pass_id in range(PASS_NUM):
        fluid.io.save_persistables(exe, "./fit_a_line.model/")
        before = persistables()
        for name, value in before.items():
            fluid.global_scope().find_var(name).get_tensor().set(value * 0 - 1, place)
        fluid.io.load_persistables(exe, "./fit_a_line.model/")
        after = persistables()
        assert all(before[n].tobytes() == after[n].tobytes() for n in before) and len(after) == 3
        of_pass = []
        for data in train_reader():
            (avg_loss_value,) = exe.run(
                fluid.default_main_program(), feed=feeder.feed(data), fetch_list=[avg_cost]
            )
            of_pass.append(float(avg_loss_value))
        losses.append(np.mean(of_pass))
    assert losses[-1] < 0.1 * losses[0] and len(of_pass) == 21


def test_training_goes_on_where_it_was_saved():
    """Row 64: bit for bit."""
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
    fluid.optimizer.Adam(0.05).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    feeder = fluid.DataFeeder([x, y])
    batches = list(paddle.batch(paddle.dataset.uci_housing.train(), 40)())

    def train(batches):
        for data in batches:
            exe.run(feed=feeder.feed(data), fetch_list=[loss])

    exe.run(fluid.default_startup_program())
    train(batches[:5])
    fluid.io.save_persistables(exe, "half")
    train(batches[5:])
    whole = persistables()
    with fluid.scope_guard(fluid.Scope()):
        exe.run(fluid.default_startup_program())
        fluid.io.load_persistables(exe, "half")
        train(batches[5:])
        again = persistables()
    assert whole.keys() == again.keys() and len(whole) > 6
    assert all(whole[n].tobytes() == again[n].tobytes() for n in whole)


def test_printing_as_on_the_slides():
    from dygraph.static import debuger, debugger, framework

    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    y_predict = fluid.layers.fc(input=x, size=1, act=None)
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    cost = fluid.layers.square_error_cost(input=y_predict, label=y)
    avg_cost = fluid.layers.mean(x=cost)
    sgd_optimizer = fluid.optimizer.SGD(learning_rate=0.001)
    sgd_optimizer.minimize(avg_cost)
    text = fluid.default_main_program().to_string(True)
    flat = " ".join(text.split())
    assert (
        'vars { name: "fc_0.w_0@GRAD" type { type: LOD_TENSOR lod_tensor { tensor '
        "{ data_type: FP32 dims: 13 dims: 1 }" in flat
    )
    assert (
        'vars { name: "fc_0.tmp_1@GRAD" type { type: LOD_TENSOR lod_tensor { tensor '
        "{ data_type: FP32 dims: -1 dims: 1 }" in flat
    )
    assert (
        'ops { inputs { parameter: "X" arguments: "x" } inputs { parameter: "Y" arguments: '
        '"fc_0.w_0" } outputs { parameter: "Out" arguments: "fc_0.tmp_0" } type: "mul"' in flat
    )
    assert 'attrs { name: "x_num_col_dims" type: INT i: 1 }' in flat
    assert 'attrs { name: "y_num_col_dims" type: INT i: 1 }' in flat
    assert flat.startswith("blocks { idx: 0 parent_idx: -1 vars {")
    codes = debuger.pprint_program_codes(framework.default_main_program().desc)
    assert codes == debugger.pprint_program_codes(fluid.default_main_program())
    types = [op.type for op in fluid.default_main_program().global_block().ops]
    lines = [line for line in codes.splitlines() if " = " in line]
    assert len(types) == len(lines) == 13
    assert all(f"{type}(" in line for type, line in zip(types, lines, strict=True))
    assert fluid.default_startup_program().to_string(True).count("ops {") == 3


def digits_network():
    image = fluid.layers.data(name="img", shape=[1, 8, 8], dtype="float32")
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    pooled = fluid.nets.simple_img_conv_pool(
        input=image, filter_size=3, num_filters=8, pool_size=2, pool_stride=2, act="relu"
    )
    predict = fluid.layers.fc(input=pooled, size=10, act="softmax")
    avg_cost = fluid.layers.mean(fluid.layers.cross_entropy(input=predict, label=label))
    return image, label, predict, avg_cost


def digits(part, count):
    return paddle.reader.firstn(
        paddle.reader.map_readers(lambda s: (s[0].reshape(1, 8, 8), s[1]), part()), count
    )


def test_recognize_digits_saved_for_inference():
    image, label, predict, avg_cost = digits_network()
    acc = fluid.layers.accuracy(input=predict, label=label)
    test_program = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.01).minimize(avg_cost)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    feeder = fluid.DataFeeder(feed_list=[image, label], place=place)
    exe.run(fluid.default_startup_program())
    train_reader = paddle.batch(digits(paddle.dataset.digits.train, 960), batch_size=64)
    test_reader = paddle.batch(digits(paddle.dataset.digits.test, 256), batch_size=64)
    for _pass_id in range(4):
        for data in train_reader():
            exe.run(fluid.default_main_program(), feed=feeder.feed(data))
        acc_set = [
            float(exe.run(program=test_program, feed=feeder.feed(d), fetch_list=[acc])[0])
            for d in test_reader()
        ]
    assert np.mean(acc_set) > 0.85
    fluid.io.save_inference_model("digits.model", ["img"], [predict], exe)

    rows = np.stack([row[0] for row in digits(paddle.dataset.digits.test, 5)()])
    some = {"img": rows, "label": np.zeros((5, 1), "int64")}
    (wanted,) = exe.run(test_program, some, [predict])
    inference_scope = fluid.Scope()
    with fluid.scope_guard(inference_scope):
        [inference_program, feed_target_names, fetch_targets] = fluid.io.load_inference_model(
            "digits.model", exe
        )
        results = exe.run(
            inference_program, feed={feed_target_names[0]: rows}, fetch_list=fetch_targets
        )
    assert feed_target_names == ["img"] and results[0].tobytes() == wanted.tobytes()
    types = [op.type for op in inference_program.global_block().ops]
    assert not any("grad" in t or t in ("adam", "cross_entropy", "accuracy") for t in types)


def test_evaluator_of_a_pass():
    image, label, predict, avg_cost = digits_network()
    accuracy = fluid.evaluator.Accuracy(input=predict, label=label)
    fluid.optimizer.SGD(learning_rate=0.1).minimize(avg_cost)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder([image, label])
    train_reader = paddle.batch(digits(paddle.dataset.digits.train, 150), batch_size=40)
    PASS_NUM = 2
    for _pass_id in range(PASS_NUM):
        accuracy.reset()
        right = seen = 0
        for data in train_reader():
            loss, acc, scores = exe.run(
                fluid.default_main_program(),
                feed=feeder.feed(data),
                fetch_list=[avg_cost, *accuracy.metrics, predict],
            )
            pass_acc = accuracy.eval(exe)
            hits = (scores.argmax(1) == [y for _, y in data]).sum()
            right, seen = right + hits, seen + len(data)
            assert acc == pytest.approx(hits / len(data)) and loss > 0
            assert pass_acc == pytest.approx(right / seen)
        pass_total_acc = accuracy.eval(exe)
        assert seen == 150 and pass_total_acc == pytest.approx(right / 150)


def chunks(tags):
    """(start, end, kind) of IOB tags: 0 and 1 begin and go on with kind 0, 2 and 3 kind 1."""
    found, start, kind = set(), None, None
    for i, tag in enumerate([*tags, 4]):
        goes_on = start is not None and tag == 2 * kind + 1
        if start is not None and not goes_on:
            found.add((start, i, kind))
            start = None
        if start is None and tag != 4:
            start, kind = i, tag // 2
    return found


def test_label_semantic_roles():
    """Tags of words by a CRF; the evaluator's F1 beside one counted here."""
    r = np.random.default_rng(0)
    # Words 0..3 begin and continue the two kinds of chunks, others stand outside.
    rows = []
    for _ in range(40):
        words = []
        while len(words) < 3 + r.integers(6):
            kind = r.integers(3)
            words += [[0, 1], [2, 3, 3], [int(r.integers(4, 9))]][kind]
        rows.append((words, [min(w, 4) for w in words]))
    word = fluid.layers.data(name="word", shape=[1], dtype="int64", lod_level=1)
    target = fluid.layers.data(name="target", shape=[1], dtype="int64", lod_level=1)
    emb = fluid.layers.embedding(input=word, size=[9, 8])
    feature_out = fluid.layers.fc(input=emb, size=5)
    crf_cost = fluid.layers.linear_chain_crf(
        input=feature_out, label=target, param_attr=fluid.ParamAttr(name="crfw", learning_rate=1.0)
    )
    avg_cost = fluid.layers.mean(crf_cost)
    crf_decode = fluid.layers.crf_decoding(
        input=feature_out, param_attr=fluid.ParamAttr(name="crfw")
    )
    chunk_evaluator = fluid.evaluator.ChunkEvaluator(
        input=crf_decode, label=target, chunk_scheme="IOB", num_chunk_types=2
    )
    fluid.optimizer.Adam(learning_rate=0.05).minimize(avg_cost)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    feeder = fluid.DataFeeder(feed_list=[word, target], place=place)
    exe.run(fluid.default_startup_program())
    train_data = paddle.batch(lambda: iter(rows), batch_size=8)
    scores = []
    for _pass_id in range(6):
        chunk_evaluator.reset(exe)
        right = found = there = 0
        for data in train_data():
            cost, decoded, precision, recall, f1 = exe.run(
                fluid.default_main_program(),
                feed=feeder.feed(data),
                fetch_list=[avg_cost, crf_decode, *chunk_evaluator.metrics],
            )
            of_batch = [0, 0, 0]
            ends = np.cumsum([0, *(len(w) for w, _ in data)])
            for (_, tags), a, b in zip(data, ends, ends[1:], strict=False):
                predicted, true = chunks(decoded[a:b, 0].tolist()), chunks(tags)
                of_batch[0] += len(predicted & true)
                of_batch[1] += len(predicted)
                of_batch[2] += len(true)
            assert float(recall) == pytest.approx(of_batch[0] / of_batch[2])
            right, found, there = right + of_batch[0], found + of_batch[1], there + of_batch[2]
        pass_precision, pass_recall, pass_f1 = chunk_evaluator.eval(exe)
        assert pass_recall.item() == pytest.approx(right / there)
        assert pass_precision.item() == pytest.approx(right / max(found, 1))
        scores.append(pass_f1.item())
    assert scores[-1] > 0.95 > scores[0] and np.isfinite([cost, precision, f1]).all()


def test_profiler(capsys, tmp_path):
    image, label, _, avg_cost = digits_network()
    fluid.optimizer.Momentum(learning_rate=0.001, momentum=0.9).minimize(avg_cost)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder([image, label])
    (data,) = paddle.batch(digits(paddle.dataset.digits.train, 16), batch_size=16)()
    trace = tmp_path / "profile"
    with fluid.profiler.profiler("CPU", "total", str(trace)):
        for _ in range(3):
            exe.run(fluid.default_main_program(), feed=feeder.feed(data))
    table = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    counts = {row[0]: row[1] for row in table}
    assert counts["conv2d"] == counts["conv2d_grad"] == "3" and counts["momentum"] == "12"
    events = json.loads(trace.read_text())["traceEvents"]
    assert sum(e["name"] == "conv2d" for e in events) == 3


def test_levels_of_detail():
    """Figures (a) and (b): sequences, and sequences of sequences, one after another."""
    core = fluid.core
    for lod in (
        [[0, 5, 8, 10, 14]],
        [[0, 4, 5, 6, 8], [0, 2, 3, 5, 7, 8, 10, 13, 14]],
    ):
        tensor = core.LoDTensor()
        tensor.set(np.zeros((14, 1), "float32"), fluid.CPUPlace())
        tensor.set_lod(lod)
        assert tensor.lod() == lod
        assert tensor.recursive_sequence_lengths() == [np.diff(level).tolist() for level in lod]
    ordinary = core.Tensor()
    ordinary.set(np.zeros(3), fluid.CPUPlace())
    assert ordinary.lod() == []


def test_readers_instead_of_feeding():
    """The same training by both of Fluid's later ways gives the same losses."""
    seen = []
    for iterable in (True, False):
        with (
            fluid.program_guard(fluid.Program(), fluid.Program()),
            unique_name.guard(),
            fluid.scope_guard(fluid.Scope()),
        ):
            fluid.default_startup_program().random_seed = 1
            image, label, _, avg_cost = digits_network()
            fluid.optimizer.SGD(0.1).minimize(avg_cost)
            reader = fluid.io.PyReader([image, label], capacity=4, iterable=iterable)
            reader.decorate_sample_list_generator(
                paddle.batch(digits(paddle.dataset.digits.train, 64), batch_size=16)
            )
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(fluid.default_startup_program())
            losses = []
            for _epoch in range(2):
                if iterable:
                    for data in reader():
                        losses.append(float(exe.run(feed=data, fetch_list=[avg_cost])[0]))
                    continue
                reader.start()
                try:
                    while True:
                        losses.append(float(exe.run(fetch_list=[avg_cost])[0]))
                except fluid.core.EOFException:
                    reader.reset()
            seen.append(losses)
    assert len(seen[0]) == 8 and seen[0] == seen[1]


def test_fc_takes_its_arguments_in_order_of_importance():
    """As the notes on operators (002) give them."""
    assert list(inspect.signature(fluid.layers.fc).parameters) == [
        "input", "size", "num_flatten_dims", "param_attr", "bias_attr", "act", "is_test", "name",
    ]  # fmt: skip
