"""Model.fit and its callbacks."""

import glob
import struct
import sys

import numpy as np
import pytest

import dygraph
from dygraph import Model, callbacks, io
from dygraph.dataset import digits


class Accuracy:
    """As Fluid's: fed with values and weights."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.value = self.weight = 0.0

    def update(self, value, weight):
        self.value += value * weight
        self.weight += weight

    def eval(self):
        return self.value / self.weight


class Largest:
    name = "largest"

    def reset(self):
        self.value = -np.inf

    def update(self, preds, labels):
        assert isinstance(preds, np.ndarray) and isinstance(labels, np.ndarray)
        self.value = max(self.value, labels.max())

    def eval(self):
        return self.value


def square(y, label):
    return (y - label) * (y - label)


X = np.arange(12, dtype="float32").reshape(12, 1) / 12
DATA = io.TensorDataset([X, 3 * X + 1])


def make(rate=0.1, metrics=None, kind=dygraph.optimizer.SGD, **options):
    with dygraph.guard(seed=1):
        net = dygraph.nn.Linear(1, 1)
    model = Model(net)
    model.prepare(kind(rate, parameter_list=net.parameters(), **options), square, metrics)
    return model


def test_fit_does_what_a_loop_of_ones_own_does():
    model, own = make(), make()
    history = model.fit(DATA, batch_size=5, epochs=3, verbose=0, shuffle=False)
    losses = []
    for _ in range(3):
        total = 0.0
        for i in (0, 5, 10):
            x, y = X[i : i + 5], (3 * X + 1)[i : i + 5]
            loss = square(own.network(dygraph.to_variable(x)), dygraph.to_variable(y)).mean()
            loss.backward()
            own.optimizer.step()
            own.network.clear_gradients()
            total += loss.item() * len(x)
        losses.append(total / 12)
    assert history == {"loss": losses}
    np.testing.assert_array_equal(model.network.weight.numpy(), own.network.weight.numpy())


def test_evaluate_and_predict():
    model = make(metrics=[Largest()])
    weight, bias = model.network.weight.numpy(), model.network.bias.numpy()
    expected = X * weight + bias
    np.testing.assert_allclose(model.predict(DATA, batch_size=5), expected, rtol=1e-6)
    logs = model.evaluate(DATA, batch_size=5)
    assert logs["loss"] == pytest.approx(np.mean((expected - 3 * X - 1) ** 2), rel=1e-5)
    assert logs["largest"] == pytest.approx(3.75)
    assert model.network.training and model.network.weight.grad is None
    model.network.eval()
    model.evaluate(DATA)
    assert not model.network.training


def test_digits_through_a_reader():
    net = dygraph.nn.Sequential(dygraph.nn.Linear(64, 32, act="relu"), dygraph.nn.Linear(32, 10))
    model = Model(net)
    adam = dygraph.optimizer.Adam(0.01, parameter_list=net.parameters())

    def loss(logits, label):
        return dygraph.ops.softmax_with_cross_entropy(logits, label.reshape([-1, 1]))

    model.prepare(adam, loss, Accuracy())
    train = dygraph.batch(dygraph.reader.shuffle(digits.train(), 2000, seed=1), 64)
    history = model.fit(train, dygraph.batch(digits.test(), 64), epochs=4, verbose=0)
    assert list(history) == ["loss", "accuracy", "eval_loss", "eval_accuracy"]
    assert history["eval_accuracy"][-1] > 0.9 and history["accuracy"][-1] > 0.95
    assert history["loss"][0] > 2 * history["loss"][-1]


def test_all_kinds_of_data():
    model = make()
    batches = [[dygraph.to_variable(X), dygraph.to_variable(X)]]
    for data in (DATA, io.DataLoader(DATA, 4, num_workers=2), batches, lambda: iter(batches)):
        assert len(model.fit(data, epochs=2, verbose=0)["loss"]) == 2
    assert model.predict([dygraph.to_variable(X)]).shape == (12, 1)
    for bad, text in [(3, "must be a Dataset"), (iter(batches), "iterated again")]:
        with pytest.raises(TypeError, match=text):
            model.fit(bad, verbose=0)
    with pytest.raises(ValueError, match="labels after its 1 inputs, got none"):
        model.fit([dygraph.to_variable(X)], verbose=0)


def test_several_inputs_and_outputs():
    class Two(dygraph.Layer):
        def forward(self, a, b):
            return a + b, a - b

    model = Model(Two(), inputs=2)
    data = io.TensorDataset([X, 2 * X, X])
    added, less = model.predict(data, batch_size=7)
    np.testing.assert_allclose(added, 3 * X)
    np.testing.assert_allclose(less, -X)
    model.prepare(loss=lambda a, b, label: a - b - label)
    assert model.evaluate(data)["loss"] == pytest.approx(3 * X.mean(), rel=1e-5)
    with pytest.raises(ValueError, match="must have 2 inputs, got 1 fields"):
        model.predict([dygraph.to_variable(X)])


def test_what_is_not_prepared_is_named():
    with pytest.raises(TypeError, match="network must be a Layer, got int 3"):
        Model(3)
    model = Model(dygraph.nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="the optimizer must be given, got none"):
        model.fit(DATA)
    with pytest.raises(RuntimeError, match="the loss must be given, got none"):
        model.evaluate(DATA)
    for arguments, text in [
        (dict(optimizer=3), "must have step"),
        (dict(loss=3), "must be a function"),
        (dict(metrics=3), "a metric must have reset"),
    ]:
        with pytest.raises(TypeError, match=text):
            model.prepare(**arguments)
    with pytest.raises(TypeError, match="callbacks must be .* got int 3"):
        make().fit(DATA, callbacks=[3])


# Callbacks ----------------------------------------------------------------------------------------


def test_callbacks_are_told_in_order():
    noted = []

    class Tell(callbacks.Callback):
        def __getattribute__(self, name):
            if name.startswith("on_") or name == "close":
                return lambda *args: noted.append((name, *args[:1]))
            return super().__getattribute__(name)

    make().fit(DATA, batch_size=6, epochs=2, verbose=0, callbacks=Tell())
    epoch = [("on_batch_end", 0), ("on_batch_end", 1)]
    logs = noted[-2][1]
    assert noted == [
        ("on_train_begin",),
        ("on_epoch_begin", 0), *epoch, ("on_epoch_end", 0),
        ("on_epoch_begin", 1), *epoch, ("on_epoch_end", 1),
        ("on_train_end", logs), ("close",),
    ]  # fmt: skip
    assert set(logs) == {"loss"}
    noted.clear()
    with pytest.raises(Exception, match="must"):
        make().fit([[dygraph.to_variable(X), dygraph.to_variable(np.ones((5, 3)))]],
                   verbose=0, callbacks=Tell())  # fmt: skip
    assert noted[-1] == ("close",) and ("on_train_end",) not in {t[:1] for t in noted}


def test_early_stopping_and_the_best_values():
    class Force(callbacks.Callback):
        """Sets the loss and marks the network, so that the best epoch is known."""

        losses = [3.0, 2.0, 2.5, float("nan"), 1.0]

        def on_epoch_end(self, epoch, logs):
            logs["loss"] = self.losses[epoch]
            self.model.network.weight.set_value(np.full((1, 1), epoch, "float32"))

    stop = callbacks.EarlyStopping(patience=1, restore_best=True)
    model = make()
    history = model.fit(DATA, epochs=5, verbose=0, batch_size=12, callbacks=[Force(), stop])
    assert len(history["loss"]) == 4
    assert (stop.best, stop.best_epoch, stop.stopped_epoch) == (2.0, 1, 3)
    assert model.network.weight.item() == 1.0
    Force.losses = [1.0, 2.0, 3.0, 2.0, 1.0]
    stop = callbacks.EarlyStopping("loss", mode="max", patience=0, min_delta=0.5)
    make().fit(DATA, epochs=5, verbose=0, batch_size=12, callbacks=[Force(), stop])
    assert (stop.best, stop.stopped_epoch) == (3.0, 3)
    with pytest.raises(ValueError, match="'eval_los'.*Did you mean 'eval_loss'"):
        make().fit(DATA, DATA, verbose=0, callbacks=callbacks.EarlyStopping("eval_los"))
    with pytest.raises(ValueError, match="must watch one of .*, got 'eval_los'.* 'eval_loss'"):
        stop = callbacks.EarlyStopping("eval_los", mode="min")
        make().fit(DATA, DATA, verbose=0, callbacks=stop)
    assert callbacks.EarlyStopping("eval_acc", mode="max").best == -np.inf
    assert callbacks.EarlyStopping().best is None


class Given(dygraph.metrics.MetricBase):
    """A metric that gives one number after the other."""

    values = ()

    def reset(self):
        pass

    def update(self, preds, labels):
        pass

    def eval(self):
        self.count = getattr(self, "count", -1) + 1
        return self.values[self.count]


SCORES = {
    "Accuracy": "max", "Auc": "max", "Precision": "max", "Recall": "max", "ChunkEvaluator": "max",
    "EditDistance": "min",
}  # fmt: skip


@pytest.mark.parametrize("kind", SCORES)
def test_which_value_is_better_the_metric_says(kind, tmp_path):
    """Whatever it is called: the network keeps the weights of its best epoch."""

    class Weights(callbacks.Callback):
        def on_epoch_end(self, epoch, logs):
            self.model.network.weight.set_value(np.full((1, 1), epoch, "float32"))

    class Fixed(Given, getattr(dygraph.metrics, kind)):
        values = [0.4, 0.9, 0.1, 0.5]

    best = {"max": 1, "min": 2}[SCORES[kind]]
    for name in ("eval", "loss_of_mine", None):
        metric = Fixed(name)
        watched = name or "Fixed"
        stop = callbacks.EarlyStopping(watched, patience=5, restore_best=True)
        keep = callbacks.ModelCheckpoint(tmp_path / watched, monitor=watched)
        model = make(metrics=metric)
        model.fit(DATA, epochs=4, verbose=0, batch_size=12, callbacks=[Weights(), stop, keep])
        assert (stop.best_epoch, stop.best) == (best, metric.values[best])
        assert model.network.weight.item() == best
        assert model.load(tmp_path / watched / "best.ckpt").step == best


def test_a_metric_that_does_not_say_which_value_is_better():
    class Plain:
        name, reset, update, eval = "acc", lambda s: None, lambda s, p, y: None, lambda s: 1.0

    Watching = {
        "EarlyStopping": callbacks.EarlyStopping,
        "ModelCheckpoint": lambda monitor, **mode: callbacks.ModelCheckpoint(
            "x", 1, monitor, **mode
        ),
    }
    for owner, watching in Watching.items():
        model = make(metrics=Plain())
        with pytest.raises(
            ValueError, match=f"{owner}: mode must be 'min' or 'max' for 'eval_acc'"
        ):
            model.fit(DATA, DATA, verbose=0, callbacks=watching("eval_acc"))
    stop = callbacks.EarlyStopping("eval_acc", mode="max")
    model.fit(DATA, DATA, epochs=2, verbose=0, callbacks=stop)
    assert stop.best == 1.0
    Plain.better = "up"
    with pytest.raises(ValueError, match="better of the metric 'acc'"):
        make(metrics=Plain()).fit(DATA, verbose=0, callbacks=callbacks.EarlyStopping("acc"))
    both = dygraph.metrics.CompositeMetric()
    assert both.better is None
    both.add_metric(dygraph.metrics.EditDistance())
    both.add_metric(dygraph.metrics.Auc())
    assert both.better == "min"


def test_names_of_the_logs_are_never_given_twice():
    twice = [dygraph.metrics.Precision(), dygraph.metrics.Precision()]
    with pytest.raises(ValueError, match="'Precision' twice"):
        make(metrics=twice)
    with pytest.raises(ValueError, match="'loss' twice"):
        make(metrics=dygraph.metrics.Recall("loss"))


def test_a_plateau_of_a_score_needs_mode_max():
    class Fixed(Given, dygraph.metrics.Accuracy):
        values = [0.1, 0.2, 0.3, 0.4]

    move = callbacks.LRScheduler(monitor="Fixed")
    rate = dygraph.lr.ReduceLROnPlateau(0.5, patience=0)
    with pytest.raises(ValueError, match="must have mode='max' to watch 'Fixed', got mode='min'"):
        make(rate, metrics=Fixed()).fit(DATA, verbose=0, callbacks=move)
    rate = dygraph.lr.ReduceLROnPlateau(0.5, mode="max", patience=0)
    make(rate, metrics=Fixed()).fit(DATA, epochs=4, verbose=0, callbacks=move)
    assert rate() == 0.5


def test_checkpoints(tmp_path):
    model = make(kind=dygraph.optimizer.Momentum, momentum=0.9)
    calls = [
        callbacks.ModelCheckpoint(tmp_path / "all", save_freq=2),
        callbacks.ModelCheckpoint(tmp_path / "best", monitor="loss"),
    ]
    history = model.fit(DATA, batch_size=4, epochs=5, verbose=0, callbacks=calls, shuffle=False)
    names = sorted(p.name for p in tmp_path.glob("*/*"))
    assert names == ["best.ckpt", "epoch_1.ckpt", "epoch_3.ckpt"]
    found = model.load(tmp_path / "best" / "best.ckpt")
    assert found.step == int(np.argmin(history["loss"]))
    model.load(tmp_path / "all" / "epoch_1.ckpt")
    again = model.fit(DATA, batch_size=4, epochs=3, verbose=0, shuffle=False)
    assert again["loss"] == history["loss"][2:]


class ByStep:
    last_epoch = 0

    def __call__(self):
        return 0.1

    def step(self):
        self.last_epoch += 1


class ByEpoch:
    count = 0

    def __call__(self):
        return 0.1

    def epoch(self):
        self.count += 1


class OnPlateau:
    def __init__(self):
        self.losses = []

    def __call__(self):
        return 0.1

    def step(self, loss):
        self.losses.append(loss)


class Moving:
    """Fluid's: moves when it is asked."""

    asked = 0

    def __call__(self):
        self.asked += 1
        return 0.1

    def step(self):
        raise AssertionError("gives a rate, and is not for callbacks")


def test_each_kind_of_schedule_moves_as_it_is_meant():
    def fit(schedule, *calls):
        history = make(schedule).fit(DATA, batch_size=4, epochs=2, verbose=0, callbacks=calls)
        return schedule, history

    assert fit(ByStep())[0].last_epoch == 6
    assert fit(ByStep(), callbacks.LRScheduler(by_step=False))[0].last_epoch == 2
    assert fit(ByEpoch())[0].count == 2
    schedule, history = fit(OnPlateau())
    assert schedule.losses == history["loss"]
    assert fit(Moving())[0].asked == 6


def test_what_is_printed(capsys, monkeypatch):
    make().fit(DATA, DATA, batch_size=6, epochs=2, verbose=2, eval_freq=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["epoch 1", "epoch 2"]
    assert "eval_loss" not in lines[0] and ", eval_loss " in lines[1]
    make().fit(DATA, batch_size=6, verbose=1)
    shown = capsys.readouterr()
    assert "epoch 1: loss" in shown.out and "0/2" in shown.err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    make().fit(DATA, batch_size=6, verbose=1)
    shown = capsys.readouterr()
    assert "epoch 1: loss" in shown.out and shown.err == ""


def test_tensorboard(tmp_path, monkeypatch):
    board = callbacks.TensorBoard(tmp_path, every_batch=True)
    make().fit(DATA, batch_size=6, epochs=2, verbose=0, callbacks=board)
    (path,) = glob.glob(f"{tmp_path}/*tfevents*")
    data, records = open(path, "rb").read(), []
    while data:  # length, its checksum, record, its checksum
        (size,) = struct.unpack("<Q", data[:8])
        records.append(data[12 : 12 + size])
        data = data[16 + size :]
    assert sum(b"batch/loss" in r for r in records) == 4
    assert sum(b"loss" in r and b"batch/" not in r for r in records) == 2
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match="pip install tensorboardX"):
        make().fit(DATA, verbose=0, callbacks=board)


def test_schedules_of_dygraph():
    def fit(schedule):
        make(schedule).fit(DATA, batch_size=4, epochs=2, verbose=0)
        return schedule.get_lr()

    assert fit(dygraph.lr.StepDecay(0.1, step_size=1, decay_rate=0.5)) == pytest.approx(0.025)
    cosine = 0.5 * 0.1 * (1 + np.cos(np.pi * 6 / 12))  # six batches of twelve
    assert fit(dygraph.lr.CosineAnnealingDecay(0.1, T_max=12)) == pytest.approx(cosine)
    # Fluid's moves by itself, once a step.
    assert fit(dygraph.lr.PiecewiseDecay([5, 6], [1e-3, 2e-3, 3e-3], begin=0)) == 3e-3
    assert fit(dygraph.lr.ReduceLROnPlateau(0.1, patience=5)) == pytest.approx(0.1)


# Cells that run again -----------------------------------------------------------------------------


def test_fit_again_goes_on(capsys, tmp_path):
    once, twice = make(kind=dygraph.optimizer.Adam), make(kind=dygraph.optimizer.Adam)
    whole = once.fit(DATA, batch_size=5, epochs=5, verbose=0, shuffle=False)
    keep = callbacks.ModelCheckpoint(tmp_path)
    options = dict(batch_size=5, shuffle=False, callbacks=keep)
    twice.fit(DATA, epochs=2, verbose=2, **options)
    assert "going on" not in capsys.readouterr().out
    second = twice.fit(DATA, epochs=3, verbose=2, **options)
    assert second["loss"] == whole["loss"][2:] and twice.history == whole and twice.epoch == 5
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "going on after 2 epochs with the same optimizer"
    assert [line.split(":")[0] for line in lines[1:]] == ["epoch 3", "epoch 4", "epoch 5"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"epoch_{i}.ckpt" for i in range(5)]
    again = Model(twice.network)
    again.prepare(dygraph.optimizer.SGD(0.0, again.parameters()), square)
    again.fit(DATA, verbose=2)
    assert "going on after 5 epochs with a new optimizer" in capsys.readouterr().out
    assert again.epoch == 1
    fresh = make(kind=dygraph.optimizer.Adam)
    fresh.load(tmp_path / "epoch_1.ckpt")
    assert fresh.epoch == 2
    third = fresh.fit(DATA, batch_size=5, epochs=3, verbose=0, shuffle=False)
    assert third == second and fresh.history == whole


def test_an_interrupted_step_leaves_no_gradient():
    class Stop(Exception):
        pass

    model, own = make(), make()
    with dygraph.guard():
        (model.network(dygraph.to_variable(X)) * 100.0).mean().backward()  # as if then interrupted
    history = model.fit(DATA, batch_size=12, verbose=0, shuffle=False)
    assert history == own.fit(DATA, batch_size=12, verbose=0, shuffle=False)
    assert model.network.weight.item() == own.network.weight.item()


class Forced(callbacks.Callback):
    """Gives the losses one after the other, and the weight their number."""

    def __init__(self, *losses):
        self.losses = losses

    def on_epoch_end(self, epoch, logs):
        logs["loss"] = self.model.history["loss"][-1] = self.losses[epoch]
        self.model.network.weight.set_value(np.full((1, 1), epoch, "float32"))


def test_the_best_value_lasts_over_calls_and_not_over_models(tmp_path):
    force = Forced(3.0, 2.0, 2.5, 2.6, 1.0, 1.5)
    stop = callbacks.EarlyStopping(patience=1, restore_best=True)
    model = make()

    def fit(model):
        keep = callbacks.ModelCheckpoint(tmp_path, monitor="loss")  # a new one in each cell
        model.fit(DATA, batch_size=12, epochs=2, verbose=0, callbacks=[force, keep, stop])
        return stop.best_epoch, stop.stopped_epoch, model.load(tmp_path / "best.ckpt").step

    assert fit(model) == (1, None, 1)
    model.fit(DATA, batch_size=12, epochs=0, verbose=0)
    force.losses = (5.0, 4.0, 4.5)
    other = make()
    assert fit(other) == (1, None, 1) and stop.best == 4.0
    assert other.network.weight.item() == 1.0


def test_best_ckpt_stays_until_a_value_is_better(tmp_path):
    force, model = Forced(3.0, 2.0, 2.5, 2.6, 1.0, 1.5), make()
    steps = []
    for _ in range(3):
        keep = callbacks.ModelCheckpoint(tmp_path, monitor="loss")
        model.fit(DATA, batch_size=12, epochs=2, verbose=0, callbacks=[force, keep])
        steps.append(dygraph.checkpoint.load(tmp_path / "best.ckpt").step)
    assert steps == [1, 1, 4]


def test_a_plateau_by_name_and_schedules_by_unit():
    def fit(schedule, *calls):
        make(schedule).fit(DATA, batch_size=4, epochs=2, verbose=0, callbacks=calls)
        return schedule

    assert fit(dygraph.lr.StepDecay(0.5, 1, 0.5)).epoch_num == 2
    assert fit(dygraph.lr.StepDecay(0.5, 1, 0.5), callbacks.LRScheduler(True)).epoch_num == 6
    assert fit(dygraph.lr.CosineAnnealingDecay(0.5, 9)).last_epoch == 6
    by_epoch = callbacks.LRScheduler(by_step=False)
    assert fit(dygraph.lr.CosineAnnealingDecay(0.5, 9), by_epoch).last_epoch == 2
    assert fit(dygraph.lr.NoamDecay(4, 9)).step_num == 7
    with pytest.raises(ValueError, match="NoamDecay, which counts the optimizer's steps"):
        fit(dygraph.lr.NoamDecay(4, 9), callbacks.LRScheduler(by_step=False))
