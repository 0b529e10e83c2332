import numpy as np
import pytest

import recurrent_reference
from dygraph import _core
from op_test import OpTest, rand


class GruCase(OpTest):
    lod = [[0, 2, 6, 7]]
    d = 3
    with_state = False
    with_bias = True
    attrs_of_case = {}

    def setUp(self):
        self.op_type = "gru"
        d = self.d
        self.inputs = {
            "Input": (rand(self.lod[-1][-1], 3 * d), self.lod),
            "Weight": rand(d, 3 * d),
        }
        if self.with_bias:
            self.inputs["Bias"] = rand(1, 3 * d)
        if self.with_state:
            self.inputs["H0"] = rand(len(self.lod[-1]) - 1, d)
        self.attrs = self.attrs_of_case

    def reference(self, inputs, attrs):
        x, lod = inputs["Input"]
        hidden = recurrent_reference.gru(
            x, lod, inputs["Weight"], inputs.get("Bias"), inputs.get("H0"), attrs
        )
        return {"Hidden": (hidden, lod)}

    def test_check_output(self):
        self.check_output()


class TestGru(GruCase):
    def test_check_grad(self):
        self.check_grad(["Input", "Weight", "Bias"], ["Hidden"])


class TestGruState(GruCase):
    with_state = True
    with_bias = False

    def test_check_grad(self):
        self.check_grad(["Input", "H0", "Weight"], ["Hidden"])


class TestGruOrigin(GruCase):
    with_state = True
    attrs_of_case = {"origin_mode": True, "is_reverse": True}


class TestGruOtherActivations(GruCase):
    attrs_of_case = {"activation": "identity", "gate_activation": "tanh"}


class TestGruEmptySequences(GruCase):
    lod = [[0, 2], [0, 0, 5]]
    with_state = True


def test_what_does_not_fit():
    x = _core.to_variable(np.zeros((3, 6)), lod=[[0, 3]])
    weight = _core.to_variable(np.zeros((2, 6)))
    for slots, message in (
        ({"Input": _core.to_variable(np.zeros((3, 6))), "Weight": weight}, "level of detail"),
        ({"Input": _core.to_variable(np.zeros((3, 7))), "Weight": weight}, r"\[rows, 3 \* D\]"),
        ({"Input": x, "Weight": _core.to_variable(np.zeros((6, 2)))}, r"Weight must have shape"),
        ({"Input": x, "Weight": weight, "H0": _core.to_variable(np.zeros((2, 2)))}, "H0 must have"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.run_op("gru", slots, {})
