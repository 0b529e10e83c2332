import numpy as np
import pytest

import recurrent_reference
from dygraph import _core
from op_test import OpTest, rand

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def make_weights(mode, inputs, hidden, layers, directions):
    g = GATES[mode] * hidden
    widths = [inputs] + [directions * hidden] * (layers - 1)
    weights = [rand(g, w) for width in widths for _ in range(directions) for w in (width, hidden)]
    return weights + [rand(g) for _ in weights]


class RnnCase(OpTest):
    mode = "LSTM"
    layers, directions = 1, 1
    lengths = None
    shape = (3, 2, 2)  # time, batch, inputs
    hidden = 2

    def setUp(self):
        self.op_type = "rnn"
        (_, batch, width), layers, directions = self.shape, self.layers, self.directions
        weights = make_weights(self.mode, width, self.hidden, layers, directions)
        states = 2 if self.mode == "LSTM" else 1
        self.inputs = {
            "Input": rand(*self.shape),
            "PreState": [
                (f"state_{i}", rand(layers * directions, batch, self.hidden)) for i in range(states)
            ],
            "WeightList": [(f"weight_{i}", w) for i, w in enumerate(weights)],
        }
        if self.lengths is not None:
            self.inputs["SequenceLength"] = np.array(self.lengths, "int32")
        self.attrs = {
            "mode": self.mode,
            "is_bidirec": directions == 2,
            "input_size": width,
            "hidden_size": self.hidden,
            "num_layers": layers,
        }

    def reference(self, inputs, attrs):
        out, last = recurrent_reference.rnn(
            attrs["mode"],
            inputs["Input"],
            [s for _, s in inputs["PreState"]],
            [w for _, w in inputs["WeightList"]],
            inputs.get("SequenceLength"),
            attrs["num_layers"],
            2 if attrs["is_bidirec"] else 1,
        )
        return {"Out": out, "State": [(f"State[{i}]", s) for i, s in enumerate(last)]}

    def test_check_output(self):
        self.check_output()


class TestRnnLstm(RnnCase):
    def test_check_grad(self):
        self.check_grad(["Input", "state_0", "state_1", "weight_1"], ["Out", "State[1]"])


class TestRnnLstmDeep(RnnCase):
    layers, directions = 2, 2
    lengths = [2, 3, 0]
    shape = (3, 3, 2)


class TestRnnRagged(RnnCase):
    """Rows with LoD: the same network over the same sequences, without padding."""

    mode = "GRU"
    layers, directions = 2, 2
    lengths = [2, 0, 3]
    shape = (3, 3, 2)
    reference = None

    def setUp(self):
        super().setUp()
        inputs = dict(self.inputs)
        out, last = recurrent_reference.rnn(
            self.mode,
            inputs["Input"],
            [s for _, s in inputs["PreState"]],
            [w for _, w in inputs["WeightList"]],
            self.lengths,
            self.layers,
            self.directions,
        )
        lod = [[0, 2, 2, 5]]

        def rows(padded):
            return np.concatenate([padded[:n, b] for b, n in enumerate(self.lengths)])

        del self.inputs["SequenceLength"]
        self.inputs["Input"] = (rows(inputs["Input"]), lod)
        self.outputs = {"Out": (rows(out), lod), "State": [("State[0]", last[0])]}


class TestRnnGru(RnnCase):
    mode = "GRU"
    lengths = [1, 3]

    def test_check_grad(self):
        self.check_grad(["Input", "state_0", "weight_1", "weight_3"], ["State[0]"])


class TestRnnGruDeep(RnnCase):
    mode = "GRU"
    layers, directions = 2, 2


class TestRnnTanh(RnnCase):
    mode = "RNN_TANH"
    layers, directions = 2, 2
    lengths = [3, 2]


class TestRnnRelu(RnnCase):
    mode = "RNN_RELU"
    layers = 2


def call(attrs=None, lengths=None, layers=1, x=None, states=None, take=None):
    hidden, inputs = 2, 3
    weights = make_weights("GRU", inputs, hidden, layers, 1)
    slots = {
        "Input": _core.to_variable(np.ones((4, 2, inputs)) if x is None else x),
        "PreState": [
            _core.to_variable(np.zeros((layers, 2, hidden)) if states is None else states)
        ],
        "WeightList": [_core.to_variable(w) for w in weights][:take],
    }
    if lengths is not None:
        slots["SequenceLength"] = _core.to_variable(np.array(lengths))
    base = {"mode": "GRU", "input_size": inputs, "hidden_size": hidden, "num_layers": layers}
    return _core.run_op("rnn", slots, {**base, **(attrs or {})})


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"lengths": [1, 5]}, IndexError, r"SequenceLength must lie in \[0, 4\].*got 5"),
        ({"lengths": [-1, 2]}, IndexError, "got -1 at position 0"),
        ({"lengths": [1, 2, 3]}, ValueError, r"SequenceLength must have shape \[batch\]"),
        ({"lengths": [1.0, 2.0]}, TypeError, "int32 or int64"),
        ({"x": np.zeros((4, 2, 5))}, ValueError, "input_size being 3"),
        ({"states": np.zeros((2, 2, 2))}, ValueError, r"PreState\[0\] must have shape"),
        ({"take": 3}, ValueError, "WeightList must hold 4 tensors"),
        ({"attrs": {"hidden_size": 3}}, ValueError, "must have shape"),
        ({"attrs": {"mode": "LSTMP"}}, ValueError, "mode"),
        ({"attrs": {"num_layers": 10**9}}, ValueError, "num_layers"),
    ],
)
def test_what_does_not_fit(changes, kind, message):
    with pytest.raises(kind, match=message):
        call(**changes)


def test_dropout_between_layers_only():
    """At probability 1 the upper layer reads zeros: its output is that of a zero input."""
    np.random.seed(5)
    weights = make_weights("RNN_TANH", 3, 2, 2, 1)
    x, state = rand(4, 2, 3), rand(2, 2, 2)

    def run(value, **attrs):
        slots = {
            "Input": _core.to_variable(value),
            "PreState": [_core.to_variable(state)],
            "WeightList": [_core.to_variable(w) for w in weights],
        }
        base = {"mode": "RNN_TANH", "input_size": 3, "hidden_size": 2, "num_layers": 2}
        return _core.run_op("rnn", slots, {**base, **attrs})["Out"].numpy()

    h, want = state[1], []
    for _ in range(4):
        h = np.tanh(weights[6] + h @ weights[3].T + weights[7])
        want.append(h)
    np.testing.assert_allclose(run(x, dropout_prob=1.0), want, rtol=1e-10)
    plain = run(x)
    np.testing.assert_array_equal(run(x, dropout_prob=0.5, is_test=True), plain)
    assert not np.array_equal(run(x, dropout_prob=0.5, seed=3), plain)
    np.testing.assert_array_equal(
        run(x, dropout_prob=0.5, seed=3), run(x, dropout_prob=0.5, seed=3)
    )


class TestRnnDropout(RnnCase):
    """Gradients pass through the mask that was drawn; a fixed seed makes differences meaningful."""

    layers = 2
    mode = "GRU"

    def setUp(self):
        super().setUp()
        self.attrs.update(dropout_prob=0.5, seed=11)
        self.outputs = {
            name: value
            for name, value in zip(("Out", "State"), self.masked_reference(), strict=True)
        }

    reference = None

    def masked_reference(self):
        run = self.run_slots(self.inputs, outputs={"DropoutState": np.zeros(1)})
        mask = run.results["DropoutState"].numpy().reshape(6, 2) * 2.0
        np.testing.assert_array_equal(np.unique(mask), [0.0, 2.0])
        weights = [w for _, w in self.inputs["WeightList"]]
        state = self.inputs["PreState"][0][1]
        half = len(weights) // 2
        pick = [(0, 1, half, half + 1), (2, 3, half + 2, half + 3)]
        out, last = self.inputs["Input"], []
        for layer, numbers in enumerate(pick):
            x = out if layer == 0 else out * mask.reshape(out.shape)
            out, (end,) = recurrent_reference.rnn(
                "GRU", x, [state[layer : layer + 1]], [weights[i] for i in numbers]
            )
            last.append(end)
        return out, [("State[0]", np.concatenate(last))]
