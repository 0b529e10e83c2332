import numpy as np
import pytest

import recurrent_reference
from dygraph import _core
from op_test import OpTest, rand


class LstmCase(OpTest):
    """A case over a LoD; subclasses set what differs."""

    lod = [[0, 3, 4, 9]]
    d = 3
    with_state = False
    attrs_of_case = {}

    def setUp(self):
        self.op_type = "lstm"
        d, attrs = self.d, self.attrs_of_case
        width = 7 * d if attrs.get("use_peepholes", True) else 4 * d
        n = len(self.lod[-1]) - 1
        self.inputs = {
            "Input": (rand(self.lod[-1][-1], 4 * d), self.lod),
            "Weight": rand(d, 4 * d),
            "Bias": rand(1, width),
        }
        if self.with_state:
            self.inputs.update(H0=rand(n, d), C0=rand(n, d))
        self.attrs = attrs

    def reference(self, inputs, attrs):
        x, lod = inputs["Input"]
        hidden, cell = recurrent_reference.lstm(
            x, lod, inputs["Weight"], inputs["Bias"], inputs.get("H0"), inputs.get("C0"), attrs
        )
        return {"Hidden": (hidden, lod), "Cell": (cell, lod)}

    def test_check_output(self):
        self.check_output()


class TestLstm(LstmCase):
    def test_check_grad(self):
        self.check_grad(["Input", "Weight", "Bias"], ["Hidden", "Cell"])


class TestLstmState(LstmCase):
    with_state = True
    attrs_of_case = {"use_peepholes": False}

    def test_check_grad(self):
        self.check_grad(["Input", "H0", "C0", "Weight"], ["Hidden"])


class TestLstmReverse(LstmCase):
    with_state = True
    attrs_of_case = {"is_reverse": True}


class TestLstmOtherActivations(LstmCase):
    attrs_of_case = {
        "gate_activation": "tanh",
        "cell_activation": "identity",
        "candidate_activation": "sigmoid",
    }


class TestLstmRelu(LstmCase):
    attrs_of_case = {"cell_activation": "relu", "candidate_activation": "identity"}


class TestLstmEmptySequences(LstmCase):
    lod = [[0, 0, 4, 4, 5, 5]]
    with_state = True


class TestLstmTwoLevels(LstmCase):
    lod = [[0, 1, 3], [0, 2, 5, 6]]
    with_state = True


def call(**changes):
    d, lod = 2, [[0, 2, 3]]
    slots = {
        "Input": _core.to_variable(np.zeros((3, 4 * d)), lod=lod),
        "Weight": _core.to_variable(np.zeros((d, 4 * d))),
        "Bias": _core.to_variable(np.zeros((1, 7 * d))),
    }
    attrs = changes.pop("attrs", {})
    slots.update({k: _core.to_variable(v) for k, v in changes.items()})
    return _core.run_op("lstm", slots, attrs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Input": np.zeros((3, 8))}, "Input must have a level of detail"),
        ({"Weight": np.zeros((2, 6))}, r"Weight must have shape \[D, 4 \* D\]"),
        ({"Bias": np.zeros((1, 8))}, r"Bias must have shape \[1, 7 \* D\] with use_peepholes"),
        ({"H0": np.zeros((2, 2))}, "H0 and C0 must be given together"),
        ({"H0": np.zeros((3, 2)), "C0": np.zeros((2, 2))}, r"H0 must have shape \[sequences, D\]"),
        ({"attrs": {"gate_activation": "softmax"}}, "gate_activation"),
    ],
)
def test_what_does_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        call(**changes)


def test_no_rows_at_all():
    empty = _core.to_variable(np.zeros((0, 8)), lod=[[0, 0]])
    weight, bias = np.zeros((2, 8)), np.zeros((1, 14))
    slots = {"Input": empty, "Weight": _core.to_variable(weight), "Bias": _core.to_variable(bias)}
    assert _core.run_op("lstm", slots, {})["Hidden"].shape == (0, 2)
