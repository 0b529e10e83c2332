import numpy as np

import recurrent_reference
from op_test import OpTest, rand

NAMES = ["identity", "sigmoid", "tanh", "relu"]


class GruUnitCase(OpTest):
    with_bias = True
    attrs_of_case = {}

    def setUp(self):
        self.op_type = "gru_unit"
        self.inputs = {"Input": rand(4, 9), "HiddenPrev": rand(4, 3), "Weight": rand(3, 9)}
        if self.with_bias:
            self.inputs["Bias"] = rand(1, 9)
        self.attrs = self.attrs_of_case

    def reference(self, inputs, attrs):
        step = recurrent_reference.gru_step
        gate = recurrent_reference.ACTIVATIONS[NAMES[attrs.get("gate_activation", 1)]]
        candidate = recurrent_reference.ACTIVATIONS[NAMES[attrs.get("activation", 2)]]
        rows = [
            step(x, h, inputs["Weight"], inputs.get("Bias"), gate, candidate,
                 attrs.get("origin_mode", False))
            for x, h in zip(inputs["Input"], inputs["HiddenPrev"], strict=True)
        ]  # fmt: skip
        return {"Hidden": np.array(rows).reshape(inputs["HiddenPrev"].shape)}

    def test_check_output(self):
        self.check_output()


class TestGruUnit(GruUnitCase):
    def test_check_grad(self):
        self.check_grad(["Input", "HiddenPrev", "Weight", "Bias"], ["Hidden"])


class TestGruUnitOrigin(GruUnitCase):
    with_bias = False
    attrs_of_case = {"origin_mode": True}


class TestGruUnitActivations(GruUnitCase):
    attrs_of_case = {"activation": 0, "gate_activation": 2}
