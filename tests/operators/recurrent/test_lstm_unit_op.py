import numpy as np

from op_test import OpTest, rand
from recurrent_reference import sigmoid


class TestLstmUnit(OpTest):
    def setUp(self):
        self.op_type = "lstm_unit"
        self.inputs = {"X": rand(5, 12), "C_prev": rand(5, 3)}
        self.attrs = {"forget_bias": 0.5}

    def reference(self, inputs, attrs):
        i, f, o, g = np.split(inputs["X"], 4, axis=1)
        c = sigmoid(f + attrs["forget_bias"]) * inputs["C_prev"] + sigmoid(i) * np.tanh(g)
        return {"C": c, "H": sigmoid(o) * np.tanh(c)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "C_prev"], ["C", "H"])
        self.check_grad(["X", "C_prev"], ["H"])
