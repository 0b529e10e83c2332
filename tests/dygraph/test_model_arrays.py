"""Model.fit, evaluate and predict of arrays, Variables and lists."""

import numpy as np
import pytest

import dygraph
from dygraph import Model, callbacks, io

ROWS = np.arange(24, dtype="float64").reshape(12, 2) / 12
SUMS = ROWS.sum(1)


def make_for_rows(inputs=1):
    with dygraph.guard(seed=1):
        net = dygraph.nn.Linear(2, 1)
    model = Model(net, inputs)
    model.prepare(dygraph.optimizer.SGD(0.1, net.parameters()), dygraph.nn.MSELoss())
    return model


@pytest.mark.parametrize("kind", [np.array, dygraph.to_variable, np.ndarray.tolist])
def test_fit_takes_arrays_and_variables_and_lists(kind):
    model, own = make_for_rows(), make_for_rows()
    history = model.fit(kind(ROWS), kind(SUMS), batch_size=5, epochs=2, verbose=0, shuffle=False)
    data = io.TensorDataset([ROWS.astype("float32"), SUMS.astype("float32").reshape(12, 1)])
    assert history == own.fit(data, batch_size=5, epochs=2, verbose=0, shuffle=False)
    assert history.history["loss"] == history["loss"]
    np.testing.assert_array_equal(model.network.weight.numpy(), own.network.weight.numpy())
    assert model.evaluate(kind(ROWS), kind(SUMS)) == own.evaluate(data, batch_size=32)
    np.testing.assert_array_equal(model.predict(kind(ROWS)), own.predict(data, batch_size=32))


def test_fit_of_arrays_has_kerass_arguments():
    class Sizes(callbacks.Callback):
        sizes: tuple = ()

        def on_epoch_begin(self, epoch, steps):
            self.sizes += (steps,)

    count = Sizes()
    many, sums = np.tile(ROWS, (6, 1)), np.tile(SUMS, 6)  # 72 rows
    make_for_rows().fit(many, sums, epochs=1, verbose=0, callbacks=count)  # batches of 32
    make_for_rows().fit(many, sums, 10, 2, 0, count)
    assert count.sizes == (3, 8, 8)
    model = make_for_rows()
    history = model.fit(ROWS, SUMS, validation_split=0.25, verbose=0, callbacks=count)
    assert history["eval_loss"] == [model.evaluate(ROWS[9:], SUMS[9:])["loss"]]
    for name in ("validation_data", "eval_data"):
        history = model.fit(ROWS[:9], SUMS[:9], verbose=0, **{name: (ROWS[9:], SUMS[9:])})
        assert history["eval_loss"] == [model.evaluate(ROWS[9:], SUMS[9:])["loss"]]
    data = io.TensorDataset([ROWS.astype("float32"), SUMS.astype("float32").reshape(12, 1)])
    history = model.fit(data, validation_split=0.25, verbose=0)
    assert history["eval_loss"][0] == pytest.approx(model.evaluate(ROWS[9:], SUMS[9:])["loss"])


def test_several_arrays_and_weights_of_samples():
    class Both(dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.fc = dygraph.nn.Linear(2, 1, bias_attr=False)

        def forward(self, a, b):
            return self.fc(a) + b

    model = Model(Both(), inputs=2)
    model.network.fc.weight.set_value(np.ones((2, 1), "float32"))
    weights = np.array([0.0, 2.0], "float32")

    def loss(out, label, weight):
        assert out.shape == label.shape == (2, 1) and weight.shape == (2,)
        return (weight * (out - label).reshape([-1])).mean()

    model.prepare(dygraph.optimizer.SGD(0.0, model.parameters()), loss)
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.5], [0.25]])
    history = model.fit([a, b], [np.array([1.0, 1.25]), weights], verbose=0)
    assert history["loss"] == [(0 * 2.5 + 2 * 6.0) / 2]
    assert model.predict([a, b]).tolist() == [[3.5], [7.25]]


def test_what_fit_refuses_of_arrays():
    model = make_for_rows()
    data = io.TensorDataset([ROWS, SUMS])
    for arguments, options, text in [
        ((ROWS,), {}, "arrays must come with their labels.*fit"),
        ((ROWS, SUMS[:3]), {}, r"equally many rows, got \[12, 2\] and \[3\]"),
        (([ROWS, ROWS], SUMS), {}, "Write Model\\(network, inputs=2\\)"),
        ((ROWS, SUMS), dict(sample_weight=SUMS), "argument 'sample_weight'. Weigh in the loss"),
        ((ROWS, SUMS), dict(class_weight={0: 1}), "argument 'class_weight'. Weigh in the loss"),
        ((ROWS, SUMS), dict(epoch=3), "unexpected argument 'epoch'. Did you mean 'epochs'"),
        ((ROWS, SUMS), dict(validation_split=0.5, eval_data=data), "one of eval_data and valid"),
        ((ROWS, SUMS), dict(validation_split=0.99), "leave rows on both sides"),
        ((ROWS, SUMS), dict(validation_split=1.5), "lie between 0 and 1"),
        ((data, SUMS), {}, "y must go with arrays, got TensorDataset"),
        (([[1.0], [2.0, 3.0]], [1, 2]), {}, "array 0 is list"),
        ((ROWS, np.array(["a"] * 12)), {}, "array 1 is of type <U1"),
    ]:
        with pytest.raises((TypeError, ValueError), match=text):
            model.fit(*arguments, verbose=0, **options)
    with pytest.raises(TypeError, match="Write batch_size=64"):
        model.evaluate(data, 64)
    with pytest.raises(KeyError, match="Did you mean 'eval_loss'"):
        model.fit(ROWS, SUMS, verbose=0, validation_split=0.5)["val_loss"]
